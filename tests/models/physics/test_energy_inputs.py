"""The limit of energy gained where there are obstacles or a bed: judged while they do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.models.energy import EACH, EnergyModel

FRAME = 1.0 / 60.0
VALUES: dict[str, dict[str, Any]] = {  # what falls, next to or onto an obstacle at (0, 0.2, 0)
    "fluid": {"tank": (1.0, 1.2, 0.8), "corner": (-0.5, 0.0, -0.4), "column": (0.4, 0.8, 0.8), "spacing": 0.08},
    "mpm": {
        **{"box": (1.0, 1.0, 1.0), "resolution": 16, "count": 1500, "jelly": "none", "snow": "none", "sand": "none"},
        **{"bulk_modulus": 1e4, "water_center": (0.0, 0.65, 0.0), "water_size": (0.5, 0.4, 0.5)},
    },
    "cloth": {"resolution": 12, "width": 0.7, "length": 0.7, "pins": "none", "center": (0.0, 0.6, 0.0)},
    "shallow_water": {"level": 3.0, "level_2": 1.0, "dam": 0.5},
}
Make = Callable[..., Any]


def run(model: EnergyModel, frames: int, before: Callable[[], object] = lambda: None) -> float:
    """The energy gained after so many frames."""
    for _ in range(frames):
        before()
        model.step(FRAME)
    return gain(model)


def gain(model: EnergyModel) -> float:
    with model.diagnostics()["energy_gain"] as found:
        return found.numpy().item()


def bound(model: EnergyModel) -> float:
    return model.limits["energy_gain"].bound


def bed() -> np.ndarray:
    return np.random.default_rng(2).random((16, 24)).astype(np.float32)


def around(count: int) -> np.ndarray:
    """Distances to a sphere of 0.2 m in a cube of 1 m."""
    at = np.moveaxis(np.indices((count,) * 3), 0, -1) / (count - 1) - 0.5
    return (np.linalg.norm(at, axis=-1) - 0.2).astype(np.float32)


@pytest.mark.parametrize("name", ["fluid", "mpm", "cloth"])
def test_an_obstacle_at_rest_is_judged_and_one_that_moves_is_not(make: Make, name: str) -> None:
    placed = {"size": (0.3, 0.3, 0.3), "position": (0.0, 0.2, 0.0), "rotation": (20.0, 30.0, 10.0)}
    obstacle = make("obstacle", shape="box", **placed)
    model = make(name, {"obstacle": obstacle.outputs()["obstacle"]}, **VALUES[name])

    def move(speed: float) -> None:
        x, y, z = obstacle._params.position
        obstacle._params.position = (x + speed * FRAME, y, z)
        obstacle.step(FRAME)

    for frames in (8, 8, 8):
        assert 0.0 != run(model, frames, lambda: move(0.0)) < bound(model)
    for frames in (1, 1, EACH - 1, 1):
        assert run(model, frames, lambda: move(0.3)) == 0.0
    assert run(model, 1, lambda: move(0.0)) == 0.0, "its velocity has changed, and the energy is recorded anew"
    assert 0.0 != run(model, EACH + 1, lambda: move(0.0)) < bound(model)


def test_a_bed_that_changes_is_not_judged(make: Make) -> None:
    with Tensor.from_numpy(bed()) as given, given[2:, 1:-1] as part:  # rows that are not contiguous
        water = make("shallow_water", {"bed": part}, **VALUES["shallow_water"])
        assert run(water, 8) != 0.0
        for frames in (1, EACH - 1, 1, 4):
            assert run(water, frames, lambda: ops.assign(given, given + 0.01)) == 0.0
        assert run(water, EACH + 1) != 0.0


def test_distances_that_change_are_not_judged(make: Make) -> None:
    """Also where only one sample of many does, in the last of several workgroups."""
    with Tensor.from_numpy(around(27)) as given:
        placed = {"obstacle_center": (0.1, 0.3, 0.0), "obstacle_spacing": 0.04}
        water = make("fluid", {"obstacle": given}, **VALUES["fluid"], **placed)
        assert len(water._tensors["input_hashes"].numpy()) == 2
        assert run(water, 6) != 0.0
        given[-1, -1, -1] = 9.0
        assert run(water, 1) == 0.0


def test_an_obstacle_whose_surface_moves_in_place_is_not_judged(make: Make) -> None:
    """A velocity without a change, as of a conveyor belt."""
    array = make("obstacle", shape="box", size=(0.3, 0.3, 0.3)).outputs()["obstacle"].numpy()
    array[20] = 0.5
    matter = make("mpm", {"obstacle": array}, **VALUES["mpm"])
    for frames in (1, 1, EACH + 1):
        assert run(matter, frames) == 0.0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("fluid", {"column": (1.0, 0.4, 0.8)}),
        ("mpm", {"water_center": (0.0, 0.2, 0.0), "water_size": (1.0, 0.4, 1.0)}),
        ("cloth", {"center": (0.0, 0.3, 0.0), "floor": True, "ground": 0.0}),
    ],
)
def test_energy_goes_to_bodies_and_back(make: Make, name: str, values: dict[str, Any]) -> None:
    """A body that falls loses as much as it and the medium gain, or more; what a push gives it is reported."""
    ball = make("obstacle", size=(0.3, 0.3, 0.3), position=(0.1, 0.7, 0.0), density=600.0)
    model = make(name, {"obstacle": ball.outputs()["obstacle"]}, **VALUES[name] | values)
    assert max(run(model, 4, lambda: ball.step(FRAME)) for _ in range(2 * EACH // 4)) < bound(model)
    bodies = model._bodies.tensor.numpy()
    bodies[21] += 8.0
    model._bodies.tensor[...] = bodies
    assert gain(model) > bound(model)
