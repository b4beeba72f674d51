"""Bodies that the air of `smoke` moves: they gain what it loses, and fall with the mass of the air around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.models.physics.smoke import AIR
from vertigrad.models.reference.obstacle import Obstacle, Obstacles

from ..conftest import Make
from .among import FRAME, among, run

EDGE = 1.0 / 16.0  # of a cell [m]
STILL = {"source_radius": 0.0, "jet": 0.0, "confinement": 0.0}
JET = {"source_radius": 0.4, "jet": 4.0, "source": (0.0, 0.2, 0.0), "jitter": 0.0, "temperature": 200.0}
ROOM: dict[str, Any] = {
    **{"cells": 32, "height": 2.0, "width": 2.0, "depth": 2.0, "ball_radius": 0.0, "tracers": 10, "cycles": 4}
}


@pytest.fixture
def filled(make: Make) -> Make:
    """Create air from its obstacles and its parameters, as `among` does."""

    def make_air(*bodies: dict[str, Any], **values: Any) -> Any:
        return among(make, "smoke", *bodies, **{**ROOM, **values})

    return make_air


def bodies(air: Any) -> tuple[Obstacle, ...]:
    return Obstacles.of(air._tensors["bodies"].numpy()).all


def agrees(air: Any) -> None:
    for comparison in air.compare_with_reference():
        assert comparison.holds, str(comparison)


def exceeded(air: Any) -> bool:
    return bool(air.diagnostics()["displaced"].numpy().item() > air.limits["displaced"].bound)


def pushed_by_pressure(air: Any) -> np.ndarray:
    """Impulses (3, 3) [N s] of a step's pressure: on air that flows, on obstacles, and on closed sides of the box."""
    fields = air._fields()
    air._fall.replay(**air._body_fields("gravity"))
    for plan in (air._walls, air._advect, air._push):
        plan.replay(**fields)
    before = air._faces.numpy()[..., :3].astype(float)
    for _ in range(air._params.cycles):
        air._cycle.replay()
    air._load.replay(**fields)
    air._drift.replay(**fields)
    after, mass = air._faces.numpy()[..., :3].astype(float), AIR * EDGE**3
    pressure = air._pressure.pressure.numpy().astype(float)
    fluid = np.pad(air._pressure.solid.numpy() == 0, 1)
    air_gains, sides = np.zeros(3), np.zeros(3)
    for axis in range(3):
        cells = np.moveaxis(fluid, 2 - axis, 0)[:, 1:, 1:]
        free = np.moveaxis(cells[1:] & cells[:-1], 0, 2 - axis)
        air_gains[axis] = mass * (after - before)[..., axis][free].sum()
        along = np.moveaxis(pressure, 2 - axis, 0)
        sides[axis] = mass * (along[-1].sum() - along[0].sum())
    forces = air._bodies.bindings["answers"].numpy()[:, 0, :3].astype(float)
    return np.array([air_gains, forces.sum(axis=0) * fields["dt"], sides])


def test_bodies_gain_the_momentum_that_the_pressure_takes_from_the_air(filled: Make) -> None:
    air = filled(
        {
            "shape": "box",
            "size": (0.5, 0.3, 0.4),
            "position": (0.2, 0.8, 0.0),
            "rotation": (10, 30, 20),
            "density": 20.0,
        },
        {"shape": "sphere", "size": (0.4, 0.4, 0.4), "position": (-0.4, 1.0, 0.1), "density": 50.0},
        **{**JET, "sides": "closed", "gravity": 0.0},
    )
    run(air, 8)
    for gravity in (9.81, 0.0):  # each is lifted by the air in its own cells
        air._params.gravity = gravity
        agrees(air)
    gains, forces, sides = pushed_by_pressure(air)
    most = float(np.linalg.norm(forces))
    assert most > 1e-4
    np.testing.assert_allclose(gains + forces + sides, np.zeros(3), atol=0.01 * most)
    for body in bodies(air):
        assert np.linalg.norm(body.velocity) > 0.01, "the jet pushes both"
    assert np.linalg.norm(bodies(air)[0].spin) > 0.02, "it is hit off its center"


@pytest.mark.parametrize("density", [60.0, 6.0])
def test_a_ball_falls_with_the_mass_of_the_air_around_it(filled: Make, density: float) -> None:
    """By (1 - r) / (1 + r / 2) of gravity (Landau & Lifshitz, Fluid Mechanics, § 11), a little less near walls."""
    air = filled({"size": (0.5, 0.5, 0.5), "position": (0.0, 1.1, 0.0), "density": density}, **STILL)
    run(air, 8)
    ratio = AIR / density
    expected = (1.0 - ratio) / (1.0 + 0.5 * ratio) * -9.81 * 8 * FRAME
    assert bodies(air)[0].velocity[1] == pytest.approx(expected, rel=0.06)
    assert bodies(air)[0].velocity[1] > -9.81 * (1.0 - ratio) * 8 * FRAME, "the air around it is accelerated, too"
    np.testing.assert_allclose(bodies(air)[0].velocity[[0, 2]], 0.0, atol=1e-3)
    assert air.diagnostics()["displaced"].numpy().item() == pytest.approx(ratio, rel=0.1)
    speed = air.outputs()["velocity"].numpy()[..., 1].min()
    assert speed < 0.6 * expected, "air below it goes down with it"
    agrees(air)


def test_a_jet_lifts_a_body_that_falls_without_it(filled: Make) -> None:
    heights = []
    for blown in ({**JET, "jet": 6.0}, STILL):
        air = filled({"size": (0.4, 0.4, 0.4), "position": (0.05, 0.5, 0.0), "density": 3.0}, **blown)
        run(air, 16)
        heights.append(bodies(air)[0].position[1])
        assert not exceeded(air)
    assert heights[0] > 0.55 and heights[1] < 0.4
    np.testing.assert_allclose(air.outputs()["obstacle_position"].numpy()[0], bodies(air)[0].position, rtol=1e-6)


def test_a_body_rests_on_the_floor(filled: Make) -> None:
    air = filled(
        {"shape": "box", "size": (0.4, 0.4, 0.4), "position": (0.1, 0.25, 0.0), "density": 60.0},
        **{**JET, "source": (-0.5, 0.3, 0.0), "sides": "closed"},
    )
    for _ in range(4):
        run(air, 8)
        force = air.outputs()["obstacle_force"].numpy()[0]
        assert np.abs(force).max() < 0.5 * 60.0 * 0.4**3 * 9.81, "pressures of a jet, not those of a closed box"
    assert bodies(air)[0].position[1] == pytest.approx(0.2, abs=5e-3)
    assert np.abs(bodies(air)[0].velocity).max() < 0.05


def test_what_has_no_density_is_as_without_bodies(filled: Make) -> None:
    """The same bits, with a body inside of an obstacle that is not moved; without one, nothing more is dispatched."""
    fixed = {"size": (0.8, 0.8, 0.8), "position": (0.0, 1.0, 0.0)}
    within = {"size": (0.1, 0.1, 0.1), "position": (0.0, 1.0, 0.0), "density": 500.0}
    alone, together = filled(fixed, **JET), filled(fixed, within, **{**JET, "gravity": 0.0})
    for air in (alone, together):
        run(air, 4)
    for name in ("velocity", "density", "temperature"):
        np.testing.assert_array_equal(alone.outputs()[name].numpy(), together.outputs()[name].numpy(), name)
    np.testing.assert_array_equal(bodies(together)[0].position, [0.0, 1.0, 0.0])
    assert together.outputs()["obstacle_force"].numpy()[0, 1] > 0.01, "the jet pushes it"
    added = ("_fall", "_load", "_move")
    assert [len(getattr(alone, plan)) for plan in added] == [0, 0, 0]
    assert [len(getattr(together, plan)) for plan in added] == [1, 2, 1]
    assert not len(alone._bodies._update) and not len(alone._bodies._show)


def test_a_body_lighter_than_the_coupling_stands_is_reported(filled: Make) -> None:
    found = []
    for density in (60.0, 1.5, 0.0):
        air = filled({"size": (0.5, 0.5, 0.5), "position": (0.0, 1.0, 0.0), "density": density}, **STILL)
        run(air, 2)
        found.append(exceeded(air))
    assert found == [False, True, False]


def test_a_restored_state_goes_on_with_the_same_bits(filled: Make) -> None:
    air = filled({"shape": "box", "size": (0.4, 0.3, 0.4), "position": (0.2, 1.0, 0.0), "density": 30.0}, **JET)
    run(air, 3)
    saved, scalars = {name: tensor.numpy() for name, tensor in air.state().items()}, air.scalar_state()
    ends = []
    for _ in range(2):
        run(air, 3)
        ends.append({name: tensor.numpy() for name, tensor in air.state().items()})
        for name, array in saved.items():
            with Tensor.from_numpy(array) as earlier:
                ops.assign(air.state()[name], earlier)
        air.load_scalar_state(scalars)
    for name in ends[0]:
        np.testing.assert_array_equal(ends[0][name], ends[1][name], name)
