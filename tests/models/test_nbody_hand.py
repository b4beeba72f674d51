"""A hand that drags bodies: one more body for the forces, for as long as it touches."""

import numpy as np
import pytest

from vertigrad.models.physics.galaxy import Bodies
from vertigrad.models.physics.nbody import NBody, Params
from vertigrad.models.reference.gravity import accelerations
from vertigrad.models.touch import Gesture, Touch

TOUCH = Touch(Gesture.DRAG, (0.0, 0.0, 9.0), (0.0, 0.0, -1.0), (0.5, -0.25, 0.1), radius=0.4, strength=2.0)


def bodies(count, seed=3):
    chance = np.random.default_rng(seed)
    places = chance.normal(size=(count, 3)).astype(np.float32)
    speeds = (0.1 * chance.normal(size=(count, 3))).astype(np.float32)
    return Bodies(places, speeds, np.full(count, 1 / count, np.float32), np.zeros(count, np.uint32))


@pytest.fixture
def made(steady):
    models = []

    def make(count=65):
        models.append(NBody("galaxy", Params(count=count, softening=0.1, time_scale=1.0), {}, 0, bodies(count)))
        return models[-1]

    yield make
    for model in models:
        model.close()


def test_the_force_is_that_of_a_body(made):
    model = made()
    start = bodies(65)
    model.touch(TOUCH)
    model.step(0.0)
    own = accelerations(start.positions.astype(float), start.masses.astype(float), 0.1)
    hand = accelerations(np.array([TOUCH.point]), np.array([2.0]), 0.4, at=start.positions.astype(float))
    found = model.state()["accelerations"].numpy()[:, :3]
    assert found == pytest.approx(own + hand, abs=2e-6)
    assert np.abs(hand).max() > 1.0, "it is no small force"


def test_a_touched_step_agrees_with_the_reference(made):
    model = made(64)
    model.touch(TOUCH)
    model.step(1 / 60)  # the first half of a step is made with the forces of the step before
    assert all(comparison.holds for comparison in model.compare_with_reference())
    model.touch(None)
    assert not all(_differs(model))


def _differs(model):
    """The reference without the hand, while the model is touched: that is seen."""
    reference = model.compare_with_reference
    model.touch(TOUCH)
    step = model._step.replay
    model._step.replay = lambda **fields: step(**{**fields, "hand_mass": 0.0})
    found = [comparison.holds for comparison in reference()]
    model._step.replay = step
    return found


def test_after_the_touch_nothing_of_it_is_left(made):
    touched, other = made(), made()
    touched.touch(TOUCH)
    touched.touch(None)
    for model in (touched, other):
        model.step(1 / 60)
    assert all((tensor.numpy() == other.state()[name].numpy()).all() for name, tensor in touched.state().items())


def test_a_reset_while_it_touches_begins_as_ever(made):
    model = made()
    first = {name: tensor.numpy() for name, tensor in model.state().items()}
    model.touch(TOUCH)
    model.step(1 / 60)
    model.reset()
    assert all((tensor.numpy() == first[name]).all() for name, tensor in model.state().items())


def test_bodies_whose_forces_are_added_up_in_pairs_feel_it_too(made, monkeypatch):
    monkeypatch.setattr("vertigrad.models.physics.nbody.bodies_each", lambda count: 2)
    test_the_force_is_that_of_a_body(made)
