"""The model `obstacle` in all simulations: one placement, nothing enters, and a moved one pushes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.reference import obstacle as reference

Make = Callable[..., Any]
KINDS = ("box", "sphere", "cylinder", "distance", "heights")
MODELS = ("fluid", "mpm", "cloth", "smoke", "lattice_boltzmann")
EDGE, TURNED = 0.4, (20.0, 30.0, 10.0)
AT = (0.1, 0.25, 0.0)  # of the obstacle
FRAME = 1.0 / 60.0

VALUES: dict[str, dict[str, Any]] = {  # each around the origin's vertical, over y = 0, with matter above the obstacle
    "fluid": {
        **{"tank": (1.0, 1.2, 0.8), "corner": (-0.4, 0.0, -0.4), "spacing": 0.07},
        **{"column": (0.4, 0.4, 0.4), "column_offset": (0.3, 0.6, 0.2)},
    },
    "mpm": {
        **{"box": (1.0, 1.0, 1.0), "resolution": 16, "count": 1500, "jelly": "none", "snow": "none", "sand": "none"},
        "bulk_modulus": 1e4,
        **{"water_center": (0.1, 0.65, 0.0), "water_size": (0.4, 0.2, 0.4)},
    },
    "cloth": {
        **{"resolution": 12, "width": 0.7, "length": 0.7, "pins": "none", "center": (0.1, 0.6, 0.0)},
        "self_collision": False,
    },
    "smoke": {"cells": 16, "height": 1.0, "width": 1.0, "depth": 1.0, "ball_radius": 0.0, "tracers": 10},
    "lattice_boltzmann": {"rows": 48, "columns": 96, "speed": 0.001, "ends": "periodic", "sides": "periodic"},
}


def placed(make: Make, kind: str, **values: Any) -> Any:
    """A model obstacle: a shape, or of reference samples."""
    at: dict[str, Any] = {"position": AT, "rotation": TURNED, "size": (EDGE, 1.2 * EDGE, 0.8 * EDGE)} | values
    if kind in reference_samples():
        return make("obstacle", {kind: reference_samples()[kind]}, **at)
    return make("obstacle", shape=kind, **at)


def reference_samples() -> dict[str, np.ndarray]:
    """A sphere as distances at nodes in the box, and a hill."""
    z, y, x = np.meshgrid(*(np.linspace(-0.5, 0.5, 15) * edge * EDGE for edge in (0.8, 1.2, 1.0)), indexing="ij")
    ball = np.sqrt(x**2 + y**2 + z**2) - 0.35 * EDGE
    hill = 0.3 * EDGE * np.cos(np.pi * x[:, 0] / EDGE) * np.cos(np.pi * z[:, 0] / (0.8 * EDGE)) - 0.1
    return {"distance": ball.astype(np.float32), "heights": hill.astype(np.float32)}


def now(obstacle: Any) -> reference.Obstacle:
    return reference.Obstacle.of(obstacle.outputs()["obstacle"].numpy())


def run(obstacle: Any, model: Any, frames: int) -> None:
    for _ in range(frames):
        obstacle.step(FRAME)
        model.step(FRAME)


def solid_cells(model: Any, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions of cells, whether they are solid, and the edge of a cell."""
    if name == "smoke":
        solid = model._pressure.solid.numpy() != 0
        edge = 1.0 / solid.shape[1]
        z, y, x = np.indices(solid.shape)
        at = (np.stack([x, y, z], axis=-1) + 0.5) * edge - [0.5, 0.0, 0.5]
        return at.reshape(-1, 3), solid.ravel(), edge
    solid = model.outputs()["distance"].numpy() <= 0.0
    rows, columns = solid.shape
    row, column = np.indices(solid.shape)
    edge = 3.0 / columns
    at = np.stack([column - 0.5 * (columns - 1), 0.0 * row, row - 0.5 * (rows - 1)], axis=-1) * edge
    return at.reshape(-1, 3), solid.ravel(), edge


def allowance(model: Any, name: str) -> float:
    """How far inside of an obstacle particles may be [m]."""
    if name == "fluid":
        return 0.05 * model.spacing
    return 1.3 * model._grid.cell if name == "mpm" else 1e-3  # grids push from their nodes on


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_enters_an_obstacle_and_it_is_where_it_is_placed(make: Make, kind: str, name: str) -> None:
    at = (AT[0], 0.05, AT[2]) if name == "lattice_boltzmann" else AT
    obstacle = placed(make, kind, position=at)
    model = make(name, {"obstacle": obstacle.outputs()["obstacle"]}, **VALUES[name])
    where = now(obstacle)
    if name in ("smoke", "lattice_boltzmann"):
        run(obstacle, model, 1)
        cells, solid, edge = solid_cells(model, name)
        distance = where.distance(cells)
        assert 8 < solid.sum() < 0.2 * len(solid)
        assert distance[solid].max() < 0.02 * edge and distance[~solid].min() > -0.02 * edge
    else:
        nearest = []
        for _ in range(6):
            run(obstacle, model, 5)
            positions = model.outputs()["position"].numpy().reshape(-1, 3).astype(float)
            nearest.append(where.distance(positions).min())
        assert min(nearest) > -allowance(model, name), "it enters"
        assert min(nearest) < 2.0 * allowance(model, name) + 0.05, "it never touches"
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def speed_ahead(model: Any, name: str, where: reference.Obstacle, axis: int) -> float:
    """Mean velocity [m/s] along an axis of what is just ahead of the obstacle."""
    velocity = model.outputs()["velocity"].numpy()
    velocity = velocity.reshape(-1, velocity.shape[-1])[:, axis]
    if name in ("smoke", "lattice_boltzmann"):
        at, solid, edge = solid_cells(model, name)
        at, velocity = at[~solid], velocity[~solid]
    else:
        at, edge = model.outputs()["position"].numpy().reshape(-1, 3).astype(float), 0.05
    if name == "lattice_boltzmann":
        velocity = velocity * (model.diagnostics()["inflow"].numpy().item() * 900.0 * edge)
    ahead = (where.distance(at) < 1.2 * edge) & (where.normal(at)[:, axis] > 0.75)
    assert ahead.sum() > 1
    return float(velocity[ahead].mean())


PUSHED: dict[str, dict[str, Any]] = {  # matter at rest ahead of the obstacle
    "fluid": {"column": (0.55, 0.6, 0.8), "column_offset": (0.45, 0.0, 0.0), "gravity": 0.0},
    "mpm": {"water_center": (0.28, 0.3, 0.0), "water_size": (0.4, 0.5, 0.9), "count": 4000, "gravity": 0.0},
    "cloth": {"center": (-0.1, 0.45, 0.0), "pins": "none", "gravity": 0.0},
    "smoke": {"source_radius": 0.0},
    "lattice_boltzmann": {},
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
def test_a_moved_obstacle_pushes(make: Make, name: str) -> None:
    """What is ahead of it takes on its velocity, about, and does not get inside; steps agree with the reference."""
    start, axis = np.array([-0.1, 0.0 if name == "lattice_boltzmann" else 0.25, 0.0]), int(name == "cloth")
    still = {"rotation": (0.0, 0.0, 0.0), "size": (0.3, 0.3, 0.3)}
    obstacle = placed(make, "sphere", position=tuple(start), **still)
    model = make(name, {"obstacle": obstacle.outputs()["obstacle"]}, **VALUES[name] | PUSHED[name])
    run(obstacle, model, 1)
    for step in range(8):
        obstacle._params.position = tuple(start + 0.01 * (step + 1) * np.eye(3)[axis])
        run(obstacle, model, 1)
    assert now(obstacle).velocity[axis] == pytest.approx(0.6, rel=1e-4)
    assert 0.2 < speed_ahead(model, name, now(obstacle), axis) < 1.0
    if name in ("fluid", "mpm", "cloth"):
        positions = model.outputs()["position"].numpy().reshape(-1, 3).astype(float)
        assert now(obstacle).distance(positions).min() > -allowance(model, name)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["sphere", "box"])
@pytest.mark.parametrize("speed", [3.0, 12.0])
def test_what_a_fast_obstacle_moves_is_finite(make: Make, speed: float, kind: str, name: str) -> None:
    """Moved for a frame, and back and forth, in all models: their states and diagnostics."""
    obstacle = placed(make, kind, rotation=(0.0, 0.0, 0.0))
    model = make(name, {"obstacle": obstacle.outputs()["obstacle"]}, **VALUES[name])
    at = np.array(AT)
    for direction in (0, 1, 0, 0, *[-1, 1, 1, -1] * 4):
        at[0] += direction * speed * FRAME
        obstacle._params.position = tuple(at)
        run(obstacle, model, 1)
        for what, tensor in {**model.state(), **model.diagnostics()}.items():
            assert np.isfinite(tensor.numpy()).all(), what
    assert now(obstacle).velocity[0] == pytest.approx(-speed, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_placement_agrees_with_its_reference_and_what_is_drawn(make: Make, kind: str) -> None:
    obstacle = placed(make, kind, scale=1.5)
    for comparison in obstacle.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_velocities_follow_from_the_change_of_the_placement(make: Make) -> None:
    obstacle = placed(make, "box")
    obstacle._params.position, obstacle._params.rotation = (0.2, 0.25, 0.1), (0.0, 0.0, 3.0)
    obstacle._params.rotation = tuple(np.add(TURNED, (0.0, 0.0, 3.0)))
    obstacle.step(0.1)
    found = {name: float(tensor.numpy().item()) for name, tensor in obstacle.diagnostics().items()}
    assert found == pytest.approx({"speed": np.sqrt(2.0), "spin": np.radians(30.0)}, rel=1e-5)
    point = now(obstacle).position + np.array([0.1, 0.0, 0.0])
    np.testing.assert_allclose(now(obstacle).velocity_at(point), [1.0, 0.1 * np.radians(30.0), 1.0], rtol=1e-5)
    obstacle.step(0.1)
    assert not now(obstacle).velocity.any() and not now(obstacle).spin.any()
    obstacle._params.position = (20.0, 0.0, 0.0)
    obstacle.step(0.1)
    assert not now(obstacle).velocity.any(), "a jump moves nothing along"


def test_inputs_that_are_no_obstacles_are_refused(make: Make, steady: Gpu) -> None:
    with Tensor.from_numpy(np.zeros(8, np.float32)) as short, Tensor.zeros((4, 4, 4)) as grid:
        for name in ("fluid", "mpm", "cloth", "smoke"):
            with pytest.raises(InputError, match="output obstacle of a model of type obstacle"):
                make(name, {"obstacle": short}, **VALUES[name])
        with pytest.raises(InputError, match="output obstacle of a model of type obstacle"):
            make("lattice_boltzmann", {"obstacle": grid}, **VALUES["lattice_boltzmann"])
        with Tensor.zeros((4, 4)) as heights, pytest.raises(InputError, match="distances or heights"):
            make("obstacle", {"distance": grid, "heights": heights})


def test_an_iteration_of_the_fluid_is_three_dispatches(make: Make) -> None:
    """Also those that do nothing take time; obstacles are loaded by the one that accelerates the fluid."""
    obstacle = placed(make, "box").outputs()["obstacle"]
    short, long = (make("fluid", {"obstacle": obstacle}, iterations=n, **VALUES["fluid"]) for n in (8, 12))
    judged = 1
    assert len(long._step) - len(short._step) == 4 * 3 + judged


def test_outputs_of_an_obstacle_at_rest_are_not_written(make: Make) -> None:
    """Those of one that moves, or whose samples have changed, are."""
    with Tensor.from_numpy(reference_samples()["distance"]) as distance:
        first = make("obstacle", {"distance": distance}, position=AT)
        both = make("obstacle", {"others": first.outputs()["obstacle"]}, shape="box")

        def written() -> list[bool]:
            outputs = [model.outputs()["obstacle"] for model in (first, both)]
            before = [tensor.owner.block.revision for tensor in outputs]
            first.step(FRAME)
            both.step(FRAME)
            return [tensor.owner.block.revision != b for tensor, b in zip(outputs, before, strict=True)]

        assert written() == [False, False]
        first._params.position = (0.0, 0.3, 0.0)
        assert written() == [True, True], "it moves"
        assert written() == [True, True], "it has stopped"
        assert written() == [False, False]
        distance[0, 0, 0] = 2.0
        assert written() == [True, True]
        samples = both.outputs()["obstacle"].numpy()[2 * reference.HEADER :]
        assert samples[0] == 2.0
        first.state()["obstacle"][1] = 7.0
        assert written() == [True, True], "another has written it"
        assert now(first).position[0] == 0.0
