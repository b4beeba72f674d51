"""Bodies that a cloth moves: no momentum is lost, no energy is added, and heavy cloth pushes a light body away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.models.reference import obstacle as reference

FRAME = 1.0 / 60.0
FREE = {"gravity": 0.0, "drag": 0.0, "damping": 0.0}
DENSITY, EDGE, ROWS = 2.0, 0.6, 14  # of the cloth: kg/m², meters, vertices along an edge
SHEET: dict[str, Any] = {"width": EDGE, "length": EDGE, "resolution": ROWS, "pins": "none", "density": DENSITY}


def outputs(model: Any, name: str) -> np.ndarray:
    return model.outputs()[name].numpy().astype(float)


def body_of(cloth: Any) -> reference.Obstacle:
    return reference.Obstacle.of(outputs(cloth, "obstacle"))


def run(obstacle: Any, cloth: Any, frames: int) -> None:
    for _ in range(frames):
        obstacle.step(FRAME)
        cloth.step(FRAME)


def total(cloth: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Momentum [kg m/s], angular momentum [kg m²/s] and kinetic energy [J] of a cloth and its first body."""
    mass = DENSITY / cloth._tensors["vertices"].numpy().reshape(-1, 4)[:, 3].astype(float)
    at, velocity = (outputs(cloth, name).reshape(-1, 3) for name in ("position", "velocity"))
    body = body_of(cloth)
    assert body.rigid is not None
    turning = body.axes.T @ np.diag(body.rigid.inertia[:3]) @ body.axes
    momentum = mass @ velocity + body.rigid.mass * body.velocity
    own = body.rigid.mass * np.cross(body.position, body.velocity) + turning @ body.spin
    energy = mass @ (velocity**2).sum(axis=1) + body.rigid.mass * body.velocity @ body.velocity
    return momentum, mass @ np.cross(at, velocity) + own, 0.5 * (energy + body.spin @ turning @ body.spin)


@pytest.mark.parametrize("density", [300.0, 3.0])
def test_no_momentum_is_lost_and_no_energy_is_added(make: Callable[..., Any], density: float) -> None:
    """Cloth that hits a box of ten times or a tenth of its mass, off its center and without gravity."""
    box = make("obstacle", shape="box", size=(0.3, 0.2, 0.4), position=(0.0, -0.2, 0.0), density=density)
    cloth = make("cloth", {"obstacle": box.outputs()["obstacle"]}, **SHEET, **FREE, center=(0.1, -0.03, 0.05))
    with Tensor.from_numpy(np.tile(np.array([0, -2, 0, 0], np.float32), (ROWS, ROWS, 1))) as thrown:
        ops.assign(cloth._tensors["velocities"], thrown)
    before, turn_before, energy = total(cloth)
    for _ in range(6):
        run(box, cloth, 3)
        momentum, turn, now = total(cloth)
        np.testing.assert_allclose(momentum, before, atol=5e-4 * abs(before[1]))
        np.testing.assert_allclose(turn, turn_before, atol=2e-3 * EDGE * abs(before[1]))
        assert now < energy * 1.001, "a body that is pushed away gains what the cloth has lost, or less"
        energy = now
    body, share = body_of(cloth), DENSITY * EDGE**2 / (DENSITY * EDGE**2 + density * 0.3 * 0.2 * 0.4)
    assert -2.0 < body.velocity[1] < -2.0 * share * 0.9, "as fast as if both were one, or faster, but not beyond"
    assert abs(body.spin[2]) > 0.03, "it was hit off its center"
    assert body.distance(outputs(cloth, "position").reshape(-1, 3)).min() > 0.5 * 0.5 * cloth._fabric.thickness


def test_a_heavy_cloth_pushes_a_light_ball_away_and_not_an_immovable_one(make: Callable[..., Any]) -> None:
    moved = []
    for density in (20.0, 0.0):
        ball = make("obstacle", size=(0.3, 0.3, 0.3), position=(0.0, 0.15, 0.0), density=density)
        values = {**SHEET, "center": (0.2, 0.4, 0.0), "floor": True, "ground": 0.0, "friction": 0.0}
        cloth = make("cloth", {"obstacle": ball.outputs()["obstacle"]}, **values)
        run(ball, cloth, 36)
        moved.append(outputs(cloth, "obstacle_position")[0] - np.array([0, 0.15, 0], np.float32))
        body, at = body_of(cloth), outputs(cloth, "position").reshape(-1, 3)
        assert body.distance(at).min() > 0.0 and at[:, 1].min() > 0.0
        for comparison in cloth.compare_with_reference():
            assert comparison.holds, str(comparison)
    assert moved[0][0] < -0.05 and abs(moved[0][1]) < 0.005, "away from the cloth, on the ground"
    assert (moved[1] == 0.0).all()


def test_a_body_carries_the_weight_of_cloth(make: Callable[..., Any]) -> None:
    """The force on a body that rests on the ground is the weight of the cloth on it, whether or not it could move."""
    for density in (0.0, 50.0):
        box = make(
            "obstacle", shape="box", size=(1.0, 0.2, 1.0), position=(0.0, 0.1, 0.0), density=density, friction=0.5
        )
        values = {**SHEET, "center": (0.0, 0.23, 0.0), "floor": True, "ground": 0.0, "damping": 2.0}
        cloth = make("cloth", {"obstacle": box.outputs()["obstacle"]}, **values)
        run(box, cloth, 40)
        forces = []
        for _ in range(10):
            run(box, cloth, 1)
            forces.append(outputs(cloth, "obstacle_force")[0])
        np.testing.assert_allclose(np.mean(forces, axis=0), [0.0, -9.81 * DENSITY * EDGE**2, 0.0], atol=0.5)
        assert outputs(cloth, "obstacle_position")[0, 1] == pytest.approx(0.1, abs=2e-3)


def test_what_another_medium_moves_is_not_moved_twice(make: Callable[..., Any]) -> None:
    ball = make("obstacle", size=(0.2, 0.2, 0.2), position=(0.4, 0.8, 0.4), density=500.0)
    water = make(
        "fluid", {"obstacle": ball.outputs()["obstacle"]}, tank=(0.8, 1.0, 0.8), column=(0.8, 0.2, 0.8), spacing=0.1
    )
    cloth = make("cloth", {"obstacle": water.outputs()["obstacle"]}, **SHEET, center=(0.4, 1.5, 0.4))
    for _ in range(6):
        run(ball, water, 1)
        cloth.step(FRAME)
        np.testing.assert_array_equal(outputs(cloth, "obstacle_position"), outputs(water, "obstacle_position"))
    assert outputs(water, "obstacle_position")[0, 1] < 0.77, "it falls"


DRAPED = {**SHEET, "center": (0.1, 0.3, 0.0), "friction": 0.4}


def test_obstacles_that_are_no_bodies_cost_nothing_in_a_small_step(make: Callable[..., Any]) -> None:
    """Dispatches: those that look for loads on bodies are in the last small step of a sweep, for what is shown."""
    box = make("obstacle", shape="box", size=(0.3, 0.3, 0.3))
    inputs = {"obstacle": box.outputs()["obstacle"]}
    alone, few, many = (
        make("cloth", given, **DRAPED, solver_substeps=n)._fabric for given, n in (({}, 10), (inputs, 10), (inputs, 30))
    )
    for_bodies = 5
    assert len(few.sweep_at_walls) == len(alone.sweep) + for_bodies
    assert len(few.sweep) == len(alone.sweep) + 10 * for_bodies
    small_step = (len(many.sweep) - len(few.sweep)) // 20
    assert len(many.sweep_at_walls) - len(few.sweep_at_walls) == 20 * (small_step - for_bodies)


def test_what_is_no_body_is_met_as_if_it_might_be_one(make: Callable[..., Any]) -> None:
    """The same bits, also of the force on it, while it moves and at rest."""
    found = []
    for assumed in (False, True):
        box = make("obstacle", shape="box", size=(0.3, 0.3, 0.3), position=(0.0, 0.1, 0.0), rotation=(10.0, 20.0, 30.0))
        cloth = make("cloth", {"obstacle": box.outputs()["obstacle"]}, **DRAPED)
        if assumed:
            cloth._bodies._movable.look = lambda: True
        for frame in range(24):
            box._params.position = (0.0, 0.1 + 0.01 * min(frame, 8), 0.0)
            run(box, cloth, 1)
        assert cloth._bodies.movable is assumed
        found.append({name: tensor.numpy() for name, tensor in cloth.outputs().items()})
    assert np.abs(found[0]["obstacle_force"]).max() > 0.1
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name], name)


def test_what_becomes_a_body_is_moved(make: Callable[..., Any]) -> None:
    ball = make("obstacle", size=(0.3, 0.3, 0.3), position=(0.0, 1.0, 0.0))
    cloth = make("cloth", {"obstacle": ball.outputs()["obstacle"]}, **SHEET)
    run(ball, cloth, 2)
    assert not cloth._bodies.movable
    ball._params.density = 100.0
    run(ball, cloth, 8)
    assert cloth._bodies.movable and outputs(cloth, "obstacle_position")[0, 1] < 0.98, "it falls"
    ball._params.density = 0.0
    run(ball, cloth, 8)
    assert not cloth._bodies.movable
    np.testing.assert_array_equal(outputs(cloth, "obstacle_position")[0], [0.0, 1.0, 0.0])
