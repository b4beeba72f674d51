"""Limits of what flows without a limit of their energy: smoke, heat and mass that nothing adds or takes away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad.models.physics.smoke_budget import LEAST_PART

Make = Callable[..., Any]
SMOKE = {"cells": 16, "tracers": 10}


def value(model: Any, name: str) -> float:
    with model.diagnostics()[name] as found:
        return found.item()


def largest(model: Any, name: str, frames: int, dt: float = 1.0 / 60.0) -> float:
    found = []
    for _ in range(frames):
        model.step(dt)
        found.append(value(model, name))
    return max(found)


@pytest.mark.parametrize("values", [{}, {"time_step": 1 / 15}, {"sides": "open"}, {"combustion_rate": 5.0}])
def test_smoke_conserves_what_it_carries(make: Make, values: dict[str, Any]) -> None:
    model = make("smoke", **SMOKE, **values)
    assert value(model, "advection_error") == 0.0
    assert 0.0 < largest(model, "advection_error", 60) < model.limits["advection_error"].bound


@pytest.mark.parametrize("values", [{"buoyancy": 10.0}, {"jet": 50.0}])
def test_air_that_is_too_fast_for_the_cells_loses_smoke_and_is_reported(make: Make, values: dict[str, Any]) -> None:
    model = make("smoke", **SMOKE, **values)
    assert largest(model, "advection_error", 60) > model.limits["advection_error"].bound
    model.reset()
    assert value(model, "advection_error") == 0.0


def test_errors_are_relative_to_what_is_there_or_to_a_little_smoke(make: Make) -> None:
    model = make("smoke", **SMOKE, density=2.0, temperature=50.0)
    cells = np.prod(model.outputs()["density"].shape)
    for aim, found, expected in (
        ([1e4, 1e6, 1.02e4, 1.01e6], "density", 0.02),
        ([1e4, 1e6, 1e4, 0.97e6], "temperature", 0.03),
        ([1e-3, 0.0, 2e-3, 0.0], "traces", 1e-3 / (LEAST_PART * cells * 2.0)),
    ):
        model._tensors["totals"][...] = np.array(aim, np.float32)
        assert value(model, "advection_error") == pytest.approx(expected, rel=1e-2), found


@pytest.mark.parametrize("values", [{}, {"speed": 0.12, "size": 0.6}, {"ends": "periodic", "sides": "no slip"}])
def test_a_flow_conserves_mass_or_is_reported(make: Make, values: dict[str, Any]) -> None:
    model = make("lattice_boltzmann", rows=32, columns=64, **values)
    assert largest(model, "mass_change", 40) < model.limits["mass_change"].bound
    for added in (-0.1, 0.1):
        weights = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1], np.float32) / 36
        model.state()["populations"][...] = model.state()["populations"].numpy() + np.float32(added) * weights[:, None]
        model.step(1.0 / 60.0)
        assert value(model, "mass_change") > model.limits["mass_change"].bound
        model.reset()
        assert value(model, "mass_change") < 1e-6
