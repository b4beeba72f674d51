"""The drag tool: one more body for the forces, during the interaction."""

import numpy as np
import pytest

from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.galaxy import Bodies
from vertigrad.models.physics.nbody import NBody, Params
from vertigrad.models.reference.gravity import accelerations

DRAG = Interaction(Gesture.DRAG, (0.0, 0.0, 9.0), (0.0, 0.0, -1.0), (0.5, -0.25, 0.1), radius=0.4, strength=2.0)


def bodies(count, seed=3):
    chance = np.random.default_rng(seed)
    positions = chance.normal(size=(count, 3)).astype(np.float32)
    speeds = (0.1 * chance.normal(size=(count, 3))).astype(np.float32)
    return Bodies(positions, speeds, np.full(count, 1 / count, np.float32), np.zeros(count, np.uint32))


@pytest.fixture
def created(steady):
    models = []

    def make(count=65):
        models.append(NBody("galaxy", Params(count=count, softening=0.1, time_scale=1.0), {}, 0, bodies(count)))
        return models[-1]

    yield make
    for model in models:
        model.close()


def test_the_force_is_that_of_a_body(created):
    model = created()
    start = bodies(65)
    model.interact(DRAG)
    model.step(0.0)
    own = accelerations(start.positions.astype(float), start.masses.astype(float), 0.1)
    pull = accelerations(np.array([DRAG.point]), np.array([2.0]), 0.4, at=start.positions.astype(float))
    found = model.state()["accelerations"].numpy()[:, :3]
    assert found == pytest.approx(own + pull, abs=2e-6)
    assert np.abs(pull).max() > 1.0, "it is no small force"


def test_a_step_with_interaction_agrees_with_the_reference(created):
    model = created(64)
    model.interact(DRAG)
    model.step(1 / 60)  # the first half of a step uses the forces of the previous step
    assert all(comparison.holds for comparison in model.compare_with_reference())
    model.interact(None)
    assert not all(_differs(model))


def _differs(model):
    """Compare with the reference without the tool during an interaction: the difference is detected."""
    reference = model.compare_with_reference
    model.interact(DRAG)
    step = model._step.replay
    model._step.replay = lambda **fields: step(**{**fields, "tool_mass": 0.0})
    found = [comparison.holds for comparison in reference()]
    model._step.replay = step
    return found


def test_after_the_interaction_it_has_no_effect(created):
    dragged, other = created(), created()
    dragged.interact(DRAG)
    dragged.interact(None)
    for model in (dragged, other):
        model.step(1 / 60)
    assert all((tensor.numpy() == other.state()[name].numpy()).all() for name, tensor in dragged.state().items())


def test_a_reset_during_an_interaction_ends_it(created):
    model = created()
    first = {name: tensor.numpy() for name, tensor in model.state().items()}
    model.interact(DRAG)
    model.step(1 / 60)
    model.reset()
    assert all((tensor.numpy() == first[name]).all() for name, tensor in model.state().items())


def test_the_kernel_with_two_bodies_per_invocation_includes_the_tool(created, monkeypatch):
    monkeypatch.setattr("vertigrad.models.physics.nbody.bodies_each", lambda count: 2)
    test_the_force_is_that_of_a_body(created)
