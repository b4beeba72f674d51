"""The limit of energy gained without a source: not exceeded by defaults, and exceeded by unstable simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad.models.energy import EACH, EnergyModel
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics import shallow_water

SMALL: dict[str, dict[str, Any]] = {
    "cloth": {"resolution": 16},
    "fluid": {"spacing": 0.1},
    "mpm": {"count": 1000, "resolution": 16},
    "shallow_water": {"rows": 24, "columns": 32, "ground": "hills"},
}
LIFT = Interaction(
    Gesture.DRAG, (0.0, 0.0, 5.0), (0.0, 0.0, -1.0), (0.0, 0.3, 0.0), (0.0, 3.0, 0.0), radius=0.6, strength=2.0
)
Make = Callable[..., Any]


@pytest.fixture
def make(make: Make) -> Make:
    """Small models."""
    return lambda kind, **values: make(kind, **SMALL[kind] | values)


def gain(model: EnergyModel) -> float:
    with model.diagnostics()["energy_gain"] as found:
        return found.numpy().item()


def largest_gain(model: EnergyModel, frames: int) -> float:
    """Of these frames; measured in every fourth."""
    found = []
    for frame in range(frames):
        model.step(1.0 / 60.0)
        if frame % 4 == 3:
            found.append(gain(model))
    return max(found)


def bound(model: EnergyModel) -> float:
    return model.limits["energy_gain"].bound


@pytest.mark.parametrize("kind", SMALL)
def test_defaults_gain_no_energy_also_after_a_tool_has_added_some(make: Make, kind: str) -> None:
    model = make(kind)
    assert gain(model) == 0.0, "before the first step"
    assert largest_gain(model, 40) < bound(model)
    assert gain(model) != 0.0
    model.interact(LIFT)
    assert largest_gain(model, 12) == 0.0, "the tool adds energy"
    model.interact(None)
    assert largest_gain(model, 40) < bound(model)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("cloth", {"solver_substeps": 1}),
        ("fluid", {"iterations": 1, "courant": 1.0, "artificial_viscosity": 0.0}),
        ("shallow_water", {"time_step": 0.5, "max_substeps": 64}),
    ],
)
def test_steps_that_gain_energy_are_reported(
    make: Make, monkeypatch: pytest.MonkeyPatch, kind: str, values: dict[str, object]
) -> None:
    monkeypatch.setattr(shallow_water, "SHARE", 2.0)  # beyond the stable step; the others are so by their parameters
    model = make(kind, **values)
    assert largest_gain(model, 60) > bound(model)


@pytest.mark.parametrize(
    ("kind", "tensor", "columns", "push"), [("fluid", "velocities", [0, 3], 0.4), ("mpm", "particles", [4, 7], 1.0)]
)
def test_energy_is_compared_with_its_lowest_value(
    make: Make, kind: str, tensor: str, columns: list[int], push: float
) -> None:
    """What has fallen and is pushed has less energy than at the start, and more than before the push."""
    model = make(kind)
    before = model.diagnostics()["energy"].numpy().item()
    assert largest_gain(model, 4 * EACH + 1) < bound(model)
    pushed = model.state()[tensor].numpy()
    pushed[:, columns] += push
    model.state()[tensor][...] = pushed
    assert gain(model) > bound(model)
    assert model.diagnostics()["energy"].numpy().item() < before


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("cloth", {"wind": (3.0, 0.0, 0.0)}),
        ("shallow_water", {"rain": 1e4}),
        ("shallow_water", {"spring": 50.0}),
        ("shallow_water", {"edges": "open"}),
    ],
)
def test_sources_of_energy_are_not_reported(make: Make, kind: str, values: dict[str, object]) -> None:
    model = make(kind, **values)
    assert largest_gain(model, 20) == 0.0


def test_a_change_of_parameters_changes_what_is_compared(make: Make) -> None:
    model = make("fluid")
    assert largest_gain(model, 8) < bound(model)
    model._params.gravity = 20.0
    assert largest_gain(model, 8) < bound(model)
    model._params.gravity = 9.81
    model.step(1.0 / 60.0)
    assert gain(model) == pytest.approx(0.0, abs=1e-4)


def test_energy_of_still_water_is_that_of_its_level(make: Make) -> None:
    """ρ g ∫ (level² − z²) / 2 above the datum."""
    model = make("shallow_water", level=5.0, level_2=5.0, cell=2.0)
    bed = model._bed.numpy().astype(float)
    energy = 1000.0 * 9.81 * 4.0 * (25.0 - np.square(bed)).sum() / 2.0
    assert model.diagnostics()["energy"].numpy().item() == pytest.approx(energy, rel=1e-5)
