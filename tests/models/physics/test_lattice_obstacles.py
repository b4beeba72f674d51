"""Obstacles that move through the flow of `lattice_boltzmann`, also faster than the lattice can follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.gpu import Gpu
from vertigrad.models.physics.lattice_boltzmann import LatticeBoltzmann
from vertigrad.models.physics.lattice_boltzmann_params import Params
from vertigrad.models.physics.obstacle import Obstacle
from vertigrad.models.physics.obstacle import Params as ObstacleParams
from vertigrad.models.reference import lattice_boltzmann as reference

FRAME = 1.0 / 60.0
ROWS, COLUMNS = 48, 96
EDGE = 3.0 / COLUMNS  # of a cell [m]
AT_REST = {"ends": "periodic", "sides": "periodic", "speed": 0.001}

Make = Callable[..., tuple[Obstacle, LatticeBoltzmann]]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    with ExitStack() as stack:

        def make_models(shape: str, size: float, **values: Any) -> tuple[Obstacle, LatticeBoltzmann]:
            placed = ObstacleParams.parse({"shape": shape, "size": (size,) * 3})
            obstacle = Obstacle("obstacle", placed, {}, 0)
            stack.callback(obstacle.close)
            parsed = Params.parse({"rows": ROWS, "columns": COLUMNS, **values})
            model = LatticeBoltzmann("flow", parsed, {"obstacle": obstacle.outputs()["obstacle"]}, 0)
            stack.callback(model.close)
            return obstacle, model

        yield make_models


def move(obstacle: Obstacle, model: LatticeBoltzmann, velocity: float, dt: float = FRAME) -> None:
    """A frame in which the obstacle moves along x [m/s]."""
    x, y, z = obstacle._params.position
    obstacle._params.position = (x + velocity * dt, y, z)
    obstacle.step(dt)
    model.step(dt)


def exceeded(model: LatticeBoltzmann) -> set[str]:
    values = {name: float(one.numpy().item()) for name, one in model.diagnostics().items()}
    assert np.isfinite(list(values.values())).all()
    return {name for name, limit in model.limits.items() if values[name] > limit.bound}


@pytest.mark.turns(4)
@pytest.mark.parametrize("collision", ["regularized", "trt"])
@pytest.mark.parametrize(("shape", "size"), [("sphere", 0.8), ("sphere", 0.3), ("box", 0.8), ("box", 0.3)])
@pytest.mark.parametrize("speed", [0.6, 3.0, 6.0, 12.0])
def test_an_obstacle_of_any_speed_leaves_the_flow_finite(
    make: Make, speed: float, shape: str, size: float, collision: str
) -> None:
    """Moved for a frame, and back and forth; where the wall is faster than its momentum exchange, that is reported."""
    obstacle, model = make(shape, size, collision=collision)
    too_fast = speed * FRAME / 15 / EDGE > reference.MOST_WALL_SPEED
    for velocity in (0.0, speed, 0.0, 0.0, *[-speed, speed, speed, -speed] * 4):
        move(obstacle, model, velocity)
        assert ("wall_mach" in exceeded(model)) == (too_fast and velocity != 0.0)
        populations, density = model._now.numpy(), model.outputs()["density"].numpy()
        assert np.isfinite(populations).all()
        assert reference.DENSITIES[0] - 0.01 < density.min() and density.max() < reference.DENSITIES[1] + 0.01
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


@pytest.mark.parametrize(("shape", "size"), [("sphere", 0.8), ("box", 0.3)])
def test_a_slow_obstacle_compresses_the_flow_by_what_a_piston_does(make: Make, shape: str, size: float) -> None:
    """By about u / c, 0.19 at 3 m/s, ahead of it and behind (Landau & Lifshitz, Fluid Mechanics, § 99)."""
    obstacle, model = make(shape, size, **AT_REST)
    for _ in range(3):
        move(obstacle, model, 3.0)
        density = model.outputs()["density"].numpy()
        assert 0.72 < density.min() < 0.95 and 1.05 < density.max() < 1.42
        assert not exceeded(model)


def test_the_flow_does_not_depend_on_the_frame_rate(make: Make) -> None:
    """The obstacle is where it is at the time of each step, not of each frame."""
    flows = []
    for frames in (60, 15, 5):
        obstacle, model = make("sphere", 0.5, **AT_REST)
        move(obstacle, model, 0.0)
        for _ in range(frames // 5):
            move(obstacle, model, 1.5, 1.0 / frames)
        flows.append(model.outputs()["velocity"].numpy() * model._values()["inflow"])
    assert np.abs(flows[0]).max() > 0.03
    for one, other in pairwise(flows):
        np.testing.assert_allclose(one, other, atol=2e-3)


def test_cells_that_an_obstacle_leaves_begin_with_its_velocity_and_the_density_around(make: Make) -> None:
    obstacle, model = make("box", 0.5, **AT_REST)
    move(obstacle, model, 3.0)
    inside = model.outputs()["distance"].numpy() <= 0.0
    populations = model._now.numpy().reshape(9, ROWS, COLUMNS).astype(float)
    density = 1.0 + populations.sum(axis=0)
    velocity = np.einsum("kyx,kc->yxc", populations, reference.C) / density[..., None]
    expected = 3.0 * FRAME / 15 / EDGE
    np.testing.assert_allclose(velocity[inside], np.tile([expected, 0.0], (inside.sum(), 1)), atol=1e-5)
    behind = inside & np.roll(~inside, 1, axis=1)
    assert behind.sum() > 8
    assert density[behind].max() < 0.95, "it is lower there than at rest"


def test_painted_walls_stay_at_rest_next_to_an_obstacle_that_moves(make: Make) -> None:
    obstacle, model = make("sphere", 0.5, **AT_REST)
    painted = np.zeros((ROWS, COLUMNS), np.float32)
    painted[4:8, 40:56] = 1.0
    ops.assign(model._painted, 0.0)
    model._painted[...] = painted
    move(obstacle, model, 1.0)
    velocity, inside = model._tensors["wall_velocity"].numpy(), model.outputs()["distance"].numpy() <= 0.0
    assert not velocity[painted > 0.5].any() and not velocity[~inside].any()
    assert (velocity[inside & (painted < 0.5)][:, 0] > 0.0).all()
