"""The material point method: its reference, conservation laws, waves and piles, and invalid input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import ops, resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.mpm import Mpm, Params
from vertigrad.models.physics.mpm_bodies import MATERIALS, bodies, filled
from vertigrad.models.physics.mpm_grid import Grid
from vertigrad.models.physics.mpm_matter import lame, slowest_wave_step
from vertigrad.models.reference import mpm as mpm_reference
from vertigrad.scene import load
from vertigrad.scene.stage import Stage
from vertigrad.tensor import Tensor

Make = Callable[..., Mpm]
NOTHING = dict.fromkeys(MATERIALS, "none")
CUBE = {"box": (1.0, 1.0, 1.0), "resolution": 16, "count": 1500}


@pytest.fixture
def make(steady) -> Iterator[Make]:
    created: list[Mpm] = []

    def make_model(inputs: dict[str, Tensor] | None = None, seed: int = 2, **values: Any) -> Mpm:
        created.append(Mpm("test", Params(**{**CUBE, **values}), inputs or {}, seed))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def alone(material: str, **values: Any) -> dict[str, Any]:
    """One body in the center of the box."""
    body = {material: "box", f"{material}_center": (0.0, 0.5, 0.0), f"{material}_size": (0.4, 0.4, 0.4)}
    return {**NOTHING, **body, **values}


def steps(model: Mpm, count: int) -> None:
    """Physical steps, for any frame time."""
    fields = model._fields(model.time_step)
    for _ in range(count):
        model._step.replay(**fields)


def measured(model: Mpm) -> dict[str, float]:
    return {name: float(tensor.item()) for name, tensor in model.diagnostics().items()}


def set_velocities(model: Mpm, velocity: np.ndarray, gradient: np.ndarray | None = None) -> None:
    """Velocities (n, 3) and, the same for all, their gradient (3, 3)."""
    ops.assign(model.state()["particles"][:, 4:7], velocity.astype(np.float32))
    if gradient is not None:
        columns = np.zeros((3, 4), np.float32)
        columns[:, 0:3] = gradient.T
        ops.assign(model.state()["affine"], columns.reshape(1, 12))


def masses(model: Mpm) -> np.ndarray:
    known = model._constants
    return known.unit * np.array(known.mass)[model.outputs()["material"].numpy()]


def particles(model: Mpm) -> mpm_reference.Particles:
    particles, affine, strains = (
        model.state()[name].numpy().astype(float) for name in ("particles", "affine", "strains")
    )
    return mpm_reference.Particles.of(particles, affine, strains, model.outputs()["material"].numpy())


@pytest.mark.parametrize("resolution", [13, 16])
def test_steps_with_all_materials_and_obstacles_equal_the_reference(make: Make, resolution: int) -> None:
    """All four materials at walls, a ball, a signed distance and a tool, for whole and partial blocks of cells."""
    grid = np.stack(np.meshgrid(*[np.arange(9) * 0.1] * 3, indexing="ij"), axis=-1)[..., ::-1]
    tilted = (grid @ [0.3, 0.9, -0.1] - 0.2).astype(np.float32)
    with Tensor.from_numpy(tilted, "tilted") as distances:
        model = make(
            {"obstacle": distances},
            **{"resolution": resolution, "count": 1200, "ball_center": (-0.2, 0.05, 0.0), "ball_radius": 0.2},
            **{"obstacle_corner": (0.0, -0.05, -0.4), "obstacle_spacing": 0.1, "viscosity": 5.0},
            **{"water_center": (-0.3, 0.25, 0.0), "water_size": (0.3, 0.4, 0.3), "sand_center": (0.3, 0.2, 0.0)},
            **{"sand_size": (0.3, 0.3, 0.3), "jelly_center": (-0.2, 0.6, 0.1), "snow_center": (0.2, 0.6, -0.1)},
            cohesion=1500.0 if resolution == 16 else 0.0,
        )
        model.interact(Interaction(Gesture.DRAG, (0, 0, 1), (0, 0, -1), (0.1, 0.3, 0.0), (0.4, 0.2, -0.6), 0.3, 1.5))
        set_velocities(model, np.random.default_rng(1).normal(0.0, 1.0, (1200, 3)))
        for _ in range(5):
            steps(model, 8)
            for comparison in model.compare_with_reference():
                assert comparison.holds, str(comparison)
        model.close()


def test_energies_are_those_of_the_reference(make: Make) -> None:
    model = make(sand_center=(0.3, 0.3, 0.0), sand_size=(0.3, 0.4, 0.3), water_center=(-0.3, 0.25, 0.0))
    steps(model, 200)
    found = measured(model)
    reference = particles(model)
    still = reference._replace(gradients=np.zeros_like(reference.gradients))
    *_, energy = mpm_reference.strained(still, model._known | model._fields(model.time_step))
    mass = masses(model)
    assert found["elastic"] == pytest.approx(energy.sum() * model._volume, rel=1e-3)
    assert found["elastic"] > 0.0
    assert found["kinetic"] == pytest.approx(0.5 * mass @ (reference.velocities**2).sum(axis=1), rel=1e-4)
    assert found["potential"] == pytest.approx(9.81 * mass @ reference.positions[:, 1], rel=1e-4)
    assert found["momentum"] == pytest.approx(np.linalg.norm(mass @ reference.velocities), rel=1e-4)
    assert found["energy"] == pytest.approx(found["kinetic"] + found["elastic"] + found["potential"], rel=1e-5)
    assert found["cfl"] == pytest.approx(
        np.linalg.norm(reference.velocities, axis=1).max() * model.time_step / model._grid.cell, rel=1e-4
    )


@pytest.mark.turns(3)
@pytest.mark.parametrize("material", MATERIALS)
def test_free_fall_is_exact(make: Make, material: str) -> None:
    """v = -g t, and the fallen height of these steps, g t (t + step) / 2; nothing deforms."""
    model = make(**alone(material, gravity=10.0))
    before, n = model.outputs()["position"].numpy().astype(float), 60
    steps(model, n)
    time = n * model.time_step
    after, velocity = model.outputs()["position"].numpy(), model.outputs()["velocity"].numpy()
    assert np.abs(velocity - [0.0, -10.0 * time, 0.0]).max() < 1e-4 * 10.0 * time
    assert np.abs(velocity.mean(axis=0, dtype=float) - [0.0, -10.0 * time, 0.0]).max() < 5e-6 * 10.0 * time
    fallen = 0.5 * 10.0 * time * (time + model.time_step)
    assert np.abs(after - before - [0.0, -fallen, 0.0]).max() < 1e-4 * fallen + 1e-7
    strains = model.state()["strains"].numpy()
    assert np.abs(strains[:, [0, 5, 10]] - 1.0).max() < 1e-4
    assert np.abs(strains[:, 3] - (material != "sand")).max() < 1e-4


@pytest.mark.turns(3)
def test_mass_and_momentum_are_conserved(make: Make) -> None:
    """Two bodies collide away from walls. Fixed-point rounding changes them by less than 2e-7 per step."""
    bodies_ = {"jelly": "box", "jelly_center": (-0.2, 0.5, 0.02), "jelly_size": (0.24, 0.24, 0.24)}
    others = {"sand": "ball", "sand_center": (0.15, 0.55, 0.0), "sand_size": (0.24, 0.24, 0.24)}
    model = make(**{**NOTHING, **bodies_, **others, "gravity": 0.0})
    left = model.outputs()["position"].numpy()[:, 0:1] < -0.03
    set_velocities(model, np.where(left, [1.5, 0.1, 0.0], [-0.5, 0.0, 0.2]))
    mass = masses(model)
    momentum = mass @ model.outputs()["velocity"].numpy().astype(float)
    moving = mass @ np.linalg.norm(model.outputs()["velocity"].numpy(), axis=1)
    steps(model, 120)
    found = measured(model)
    after = mass @ model.outputs()["velocity"].numpy().astype(float)
    assert found["elastic"] > 0.01 * found["kinetic"], "they never met"
    assert np.linalg.norm(after - momentum) < 2e-5 * moving
    assert found["mass"] == pytest.approx(mass.sum(), rel=1e-5)
    assert found["grid_mass"] == pytest.approx(mass.sum(), rel=1e-5)


@pytest.mark.turns(3)
def test_a_spinning_body_keeps_its_angular_momentum(make: Make) -> None:
    """APIC conserves it up to rounding, including that of the gradients (Jiang et al. 2015, section 5.3)."""
    model = make(**alone("jelly", gravity=0.0, jelly_youngs_modulus=1e5))
    spin = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 1.0], [-4.0, -1.0, 0.0]])
    position = model.outputs()["position"].numpy().astype(float)
    set_velocities(model, (position - position.mean(axis=0)) @ spin.T, spin)
    mass = masses(model)

    def angular() -> np.ndarray:
        now = particles(model)
        own = now.gradients - np.swapaxes(now.gradients, 1, 2)
        turning = np.stack([own[:, 2, 1], own[:, 0, 2], own[:, 1, 0]], axis=1) * (model._grid.cell**2 / 4.0)
        return mass @ (np.cross(now.positions, now.velocities) + turning)

    first = angular()
    steps(model, 200)
    assert np.linalg.norm(angular() - first) < 1e-4 * np.linalg.norm(first)
    turned = model.outputs()["position"].numpy()
    assert np.linalg.norm(turned - position, axis=1).max() > 0.2, "it did not turn"


@pytest.mark.turns(3)
def test_a_bar_rings_with_the_period_of_its_length(make: Make) -> None:
    """A free bar without lateral strain: 2 length / sqrt(E / density) (Landau, Lifshitz, "Theory of Elasticity", §25).

    A free end has an effect up to half a cell beyond it, 2 x 0.5 of 19 cells here: within 6 %.
    """
    length, young = 0.6, 2e4
    model = make(
        **alone("jelly", jelly_size=(length, 0.12, 0.12), jelly_youngs_modulus=young, poissons_ratio=0.0, gravity=0.0),
        **{"resolution": 32, "count": 2400},
    )
    shape = np.sin(np.pi * model.outputs()["position"].numpy()[:, 0] / length)
    set_velocities(model, 0.05 * shape[:, None] * [1.0, 0.0, 0.0])
    period = 2.0 * length / np.sqrt(young / 1000.0)
    each, amplitudes = 3, []
    for _ in range(int(0.8 * period / (each * model.time_step))):
        steps(model, each)
        amplitudes.append(model.outputs()["velocity"].numpy()[:, 0] @ shape)
    turns = np.flatnonzero(np.diff(np.sign(amplitudes)))
    assert len(turns) == 2, "it crosses its rest twice in a period"
    a = np.array(amplitudes)
    crossing = [(i + 1 + a[i] / (a[i] - a[i + 1])) * each * model.time_step for i in turns]
    assert 2.0 * (crossing[1] - crossing[0]) == pytest.approx(period, rel=0.06)


def settled(make: Make, material: str, **values: Any) -> np.ndarray:
    """Positions of a column of 0.2 x 0.4 x 0.2 m, a second after its release."""
    column = {f"{material}_center": (0.0, 0.21, 0.0), f"{material}_size": (0.2, 0.4, 0.2), "count": 600}
    model = make(**alone(material, **column, friction=0.6, **values))
    steps(model, int(1.0 / model.time_step))
    found = measured(model)
    assert found["cfl"] < model.limits["cfl"].bound
    assert found["crowding"] < model.limits["crowding"].bound
    return model.outputs()["position"].numpy()


@pytest.mark.turns(4)
def test_water_is_flat_sand_piles_up_and_jelly_stands(make: Make) -> None:
    top = {}
    for material, values in (
        ("water", {}),
        ("sand", {}),
        ("slippery", {"friction_angle": 5.0}),
        ("wet", {"cohesion": 5e3}),
        ("jelly", {"jelly_youngs_modulus": 5e4}),
    ):
        kind = material if material in MATERIALS else "sand"
        positions = settled(make, kind, **values)
        top[material] = float(np.quantile(positions[:, 1], 0.98))
    assert top["water"] < 0.07
    assert top["water"] < top["slippery"] < top["sand"] - 0.02
    assert top["sand"] < 0.3 < min(top["jelly"], top["wet"])


@pytest.mark.turns(3)
def test_bodies_sink_and_float_in_water_by_their_densities(make: Make) -> None:
    """Balls that fall into water: sand without friction, which would carry it, sinks, and snow floats."""
    pool: dict[str, Any] = {**NOTHING, "box": (0.5, 0.75, 0.5), "resolution": 20, "count": 4000, "friction_angle": 0.0}
    pool |= {"water": "box", "water_center": (0.0, 0.15, 0.0), "water_size": (0.5, 0.3, 0.5)}
    above = {}
    for material in ("sand", "snow"):
        ball = {material: "ball", f"{material}_center": (0.0, 0.43, 0.0), f"{material}_size": (0.24, 0.24, 0.24)}
        model = make(**{**pool, **ball})
        steps(model, int(1.6 / model.time_step))
        kinds, heights = model.outputs()["material"].numpy(), model.outputs()["position"].numpy()[:, 1]
        above[material] = heights[kinds != 0].mean() - heights[kinds == 0].mean()
    assert above["sand"] < -0.01 and above["snow"] > 0.14, above


@pytest.mark.turns(3)
def test_water_at_rest_keeps_its_volume(make: Make) -> None:
    """Water that covers the floor sinks by the compression of its own pressure, within a fifth of a cell."""
    model = make(
        **alone("water", box=(0.5, 1.0, 0.5), water_center=(0.0, 0.2, 0.0), water_size=(0.5, 0.4, 0.5), count=2400)
    )
    before = model.outputs()["position"].numpy()[:, 1].mean()
    steps(model, int(0.6 / model.time_step))
    depth, cell = 0.4, 1.0 / 16.0
    pressed = 0.5 * 1000.0 * 9.81 * depth / 5e4 * depth / 2.0  # K dV/V = rho g h, in the mean over the depth
    after = model.outputs()["position"].numpy()[:, 1].mean()
    assert before - after == pytest.approx(pressed, abs=0.2 * cell)


def test_a_fall_breaks_soft_snow_and_not_real_snow(make: Make) -> None:
    """A ball by the presets of the scene. The step that follows from its waves drops no time there."""
    scene = load(resources.path("scenes", "mpm.toml"))
    ball = {"snow": "ball", "snow_center": (0.0, 0.35, 0.0), "snow_size": (0.4, 0.4, 0.4)}
    heights, longest = {}, {}
    for name, values in scene.presets.items():
        (modulus,) = values.values()
        model = make(**NOTHING | ball, resolution=20, snow_youngs_modulus=modulus)
        for _ in range(36):
            model.step(1.0 / 60.0)
        assert model.clocks[0].dropped == 0.0
        found = measured(model)
        assert all(found[limit] <= bound.bound for limit, bound in model.limits.items())
        heights[name] = float(np.percentile(model.outputs()["position"].numpy()[:, 1], 99))
        params = scene.models["matter"].params.with_values({"snow_youngs_modulus": modulus})
        longest[name] = params.courant * slowest_wave_step(params, Grid.of(params).cell)
    assert heights["Soft snow"] < 0.16 and heights["Real snow"] > 0.3
    assert 1.0 / 60.0 / longest["Real snow"] < Mpm.max_steps
    assert scene.models["matter"].params.snow_youngs_modulus == 8000.0, "the scene begins with soft snow"


def test_compressed_snow_hardens(make: Make) -> None:
    model = make(**alone("snow", snow_center=(0.0, 0.3, 0.0), count=800))
    set_velocities(model, np.tile([0.0, -2.0, 0.0], (800, 1)))
    steps(model, 100)
    strains = model.state()["strains"].numpy()
    assert (strains[:, 3] < 0.97).mean() > 0.5
    stretched = np.linalg.svd(strains.reshape(-1, 3, 4)[:, :, 0:3])[1]
    assert stretched.max() < 1.0 + 0.0075 + 1e-4
    assert stretched.min() > 1.0 - 0.025 - 1e-4


@pytest.mark.turns(4)
@pytest.mark.parametrize("obstacle", ["ball", "distances"])
def test_nothing_falls_into_an_obstacle(make: Make, obstacle: str) -> None:
    """The same ball by its radius and by its distances; particles come at most a cell inside."""
    corner, spacing = np.array([-0.5, -0.25, -0.5]), 0.0625
    z, y, x = np.meshgrid(*[np.arange(17) * spacing] * 3, indexing="ij")
    far = np.linalg.norm(np.stack([x, y, z], axis=-1) + corner - [0.0, 0.1, 0.0], axis=-1) - 0.25
    values: dict[str, Any] = {"ball_center": (0.0, 0.1, 0.0), "ball_radius": 0.25}
    with Tensor.from_numpy(far.astype(np.float32), "far") as distances:
        inputs = {}
        if obstacle == "distances":
            inputs = {"obstacle": distances}
            values = {"obstacle_corner": tuple(corner), "obstacle_spacing": spacing}
        model = make(inputs, **alone("water", water_center=(0.0, 0.6, 0.0), count=900, **values))
        steps(model, int(0.8 / model.time_step))
        positions = model.outputs()["position"].numpy()
        model.close()
    assert (np.linalg.norm(positions - [0.0, 0.1, 0.0], axis=1) > 0.25 - 1.0 / 16.0).all()
    assert np.quantile(positions[:, 1], 0.9) < 0.3, "it did not fall next to the ball"


def test_the_drag_tool_moves_nearby_particles(make: Make) -> None:
    model = make(**alone("jelly", gravity=0.0))
    model.interact(Interaction(Gesture.DRAG, (0, 0, 1), (0, 0, -1), (0.15, 0.5, 0.0), (0.0, 0.5, 0.0), 0.12))
    model.step(1.0 / 60.0)
    speed = model.outputs()["velocity"].numpy()[:, 1]
    right = model.outputs()["position"].numpy()[:, 0] > 0.1
    assert speed[right].max() > 0.05
    model.interact(None)
    left = model.outputs()["position"].numpy()[:, 0] < -0.15
    assert np.abs(speed[left]).max() < 0.01


@pytest.mark.turns(3)
def test_a_run_is_the_same_bits_again_and_from_a_snapshot(make: Make) -> None:
    """Frames that are not multiples of physical steps; the remaining time is part of the snapshot."""
    values = {"water_center": (-0.3, 0.25, 0.0), "sand_center": (0.3, 0.3, 0.0), "sand_size": (0.3, 0.4, 0.3)}
    first, second = make(**values), make(**values)
    for _ in range(7):
        first.step(0.0117)
    saved = {name: tensor.numpy() for name, tensor in first.state().items()}
    numbers = first.scalar_state()
    assert numbers["remainder"] > 0.0
    for _ in range(5):
        first.step(0.0117)
    for _ in range(12):
        second.step(0.0117)
    ends = [tensor.numpy() for tensor in first.state().values()]
    for ours, theirs in zip(ends, second.state().values(), strict=True):
        assert np.array_equal(ours, theirs.numpy())
    for name, tensor in second.state().items():
        ops.assign(tensor, saved[name])
    second.load_scalar_state(numbers)
    for _ in range(5):
        second.step(0.0117)
    for ours, theirs in zip(ends, second.state().values(), strict=True):
        assert np.array_equal(ours, theirs.numpy())
    second.reset()
    for _ in range(12):
        second.step(0.0117)
    assert np.array_equal(second.state()["particles"].numpy(), ends[0])


def test_simulated_time_is_that_of_the_frames(make: Make) -> None:
    model = make(**alone("jelly", gravity=1.0, time_scale=0.5))
    for _ in range(10):
        model.step(1.0 / 60.0)
    time = 0.5 * 10.0 / 60.0 - model.scalar_state()["remainder"]
    assert -model.outputs()["velocity"].numpy()[:, 1].mean() == pytest.approx(time, rel=1e-3)


@pytest.mark.parametrize(("young", "poisson"), [(1.0, 0.0), (2e4, 0.2), (3.5e5, 0.31), (1e6, 0.49)])
def test_lames_constants_are_those_of_young_and_poisson(young: float, poisson: float) -> None:
    """The two moduli that tension and bulk compression measure, from the constants (Landau and Lifshitz, section 5)."""
    mu, lambda_ = lame(young, poisson)
    assert mu * (3.0 * lambda_ + 2.0 * mu) / (lambda_ + mu) == pytest.approx(young)
    assert lambda_ / (2.0 * (lambda_ + mu)) == pytest.approx(poisson)
    assert lambda_ + 2.0 / 3.0 * mu == pytest.approx(young / (3.0 * (1.0 - 2.0 * poisson)))


def test_the_step_follows_the_stiffest_matter() -> None:
    def length(**values: Any) -> float:
        with closing(Mpm("test", Params(**{**CUBE, **values}), {}, 0)) as model:
            return model.time_step

    soft = alone("jelly", jelly_youngs_modulus=1e4, poissons_ratio=0.0, time_step=1e-2)
    cell = 1.0 / 16.0
    assert length(**soft) == pytest.approx(0.5 * cell / np.sqrt(1e4 / 1000.0))
    assert length(**{**soft, "jelly_youngs_modulus": 4e4}) == pytest.approx(0.5 * length(**soft))
    assert length(**{**soft, "time_step": 1e-4}) == 1e-4
    assert length(**alone("water", bulk_modulus=1e3, viscosity=100.0, time_step=1e-2)) == pytest.approx(
        0.1 * cell**2 / 0.1
    )


CORNERS = [
    {"resolution": 8, "count": 6000, "courant": 0.6},
    {
        "courant": 0.6,
        "poissons_ratio": 0.45,
        "jelly_youngs_modulus": 100.0,
        "snow_youngs_modulus": 100.0,
        "sand_youngs_modulus": 100.0,
        "cohesion": 1e5,
        "bulk_modulus": 1e3,
    },
    {
        "courant": 0.6,
        "poissons_ratio": 0.45,
        "hardening": 20.0,
        "compression": 1e-3,
        "stretch": 1e-4,
        "friction_angle": 60.0,
    },
    {
        "courant": 0.6,
        "gravity": 100.0,
        "friction": 10.0,
        "friction_angle": 0.0,
        "poissons_ratio": 0.0,
        "hardening": 0.0,
    },
    {"viscosity": 100.0, "compression": 0.5, "stretch": 0.5, "gravity": 100.0, "friction": 0.0},
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("corner", range(len(CORNERS)))
def test_the_corners_of_the_ranges_stay_finite(make: Make, corner: int) -> None:
    """150 steps each; 2,000 were run manually."""
    positions = {"water_center": (-0.3, 0.25, 0.0), "sand_center": (0.3, 0.3, 0.0), "sand_size": (0.3, 0.4, 0.3)}
    model = make(**{"count": 800, **positions, **CORNERS[corner]})
    steps(model, 150)
    found = measured(model)
    assert all(np.isfinite(value) for value in found.values()), found
    assert found["crowding"] < 0.25, "0.18 is the most that was measured, in the second corner"
    assert found["grid_mass"] == pytest.approx(found["mass"], rel=1e-5)
    for tensor in model.state().values():
        assert np.isfinite(tensor.numpy()).all()


def test_bodies_are_filled_evenly_by_their_volumes() -> None:
    params = Params()
    found = bodies(params)
    start = filled(found, 20_000, 3, 0.025)
    assert [body.material for body in found] == [0, 1, 2, 3]
    volumes = np.array([body.volume for body in found])
    shares = np.bincount(start.materials) / 20_000
    np.testing.assert_allclose(shares, volumes / volumes.sum(), atol=1e-4)
    assert start.volume == pytest.approx(volumes.sum() / 20_000)
    for body in found:
        away = start.positions[start.materials == body.material] - body.middle
        if body.shape == "ball":
            assert np.linalg.norm(away, axis=1).max() <= body.size[0] / 2.0 + 1e-6
        eighths = np.bincount(((away > 0.0) @ [1, 2, 4]).astype(int), minlength=8) / len(away)
        assert np.abs(eighths - 0.125).max() < 0.01
    assert not np.array_equal(filled(found, 20_000, 4, 0.025).positions, start.positions)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"water_center": (0.9, 0.3, 0.0)}, "the water extends from .* to .*, the box from .* move it by water_center"),
        ({"sand_size": (0.2, 3.0, 0.2)}, "the sand extends"),
        (NOTHING, "no water, jelly, snow or sand: give one of them a shape"),
        ({"resolution": 512}, "nodes; 16,777,216 at most: lower the resolution"),
    ],
)
def test_invalid_parameters_are_rejected_with_a_reason(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mpm.output_specs(Params(**values))


def test_an_obstacle_of_another_kind_is_refused(steady) -> None:
    with Tensor.zeros((4, 4)) as flat, pytest.raises(InputError, match="obstacle is f32 of shape"):
        Mpm("test", Params(**CUBE), {"obstacle": flat}, 0)


@pytest.mark.parametrize("count", [100, 200_000])
def test_a_node_holds_the_mass_of_full_cells(count: int) -> None:
    """At least 16 full cells of the heaviest material, with the finest possible fixed-point unit."""
    params = Params(count=count, resolution=24)
    grid, volume = Grid.of(params), sum(body.volume for body in bodies(params)) / count
    full = max(grid.cell**3 / volume, 1.0)
    assert 16.0 * full <= grid.capacity(volume) < 32.0 * full
    assert grid.grain(volume) * grid.capacity(volume) == 2.0**31


def test_fast_water_is_white(make: Make) -> None:
    """Between half and one and a half of the speed of foam, a fall from half of the box's height, it turns white."""
    model = make(**alone("water"))
    speed = np.linspace(0.0, 6.0, len(model.outputs()["position"].numpy()))
    table = model.state()["particles"]
    ops.assign(table[:, 7], speed.astype(np.float32))
    model._paint.replay(**model._fields(model.time_step))
    params, shade = model._params, table.numpy()[:, 3].astype(float)
    foam = 0.5 * math.sqrt(2.0 * params.gravity * params.box[1])
    fraction = np.clip(speed / foam - 0.5, 0.0, 1.0)
    white = 0.75 * fraction**2 * (3.0 - 2.0 * fraction)
    plain = np.array(params.water_color) * (1.0 + 0.1 * (shade[:, None] - 0.5))
    expected = plain + white[:, None] * ((0.93, 0.97, 1.0) - plain)
    assert white.max() == 0.75 and (white == 0.0).any()
    np.testing.assert_allclose(model.outputs()["color"].numpy(), expected.clip(0.0, 1.0), atol=2e-6)


@pytest.mark.turns(3)
def test_the_shipped_scene_falls_and_comes_to_rest() -> None:
    gpu = vertigrad.gpu()
    sets = ["matter.count=2000", "look.count=2000", "matter.resolution=20"]
    scene = load(resources.path("scenes", "mpm.toml"), sets=sets)
    stage = Stage(scene, gpu)
    instance = stage.instances["matter"]
    start = instance.outputs["position"].numpy()[:, 1].mean()
    for _ in range(20):
        stage.step(1.0 / 60.0)
    end = instance.outputs["position"].numpy()
    assert np.isfinite(end).all()
    assert end[:, 1].mean() < start - 0.05
    sizes = {name: tensor.numpy() for name, tensor in stage.instances["look"].outputs.items()}
    drawn = np.stack([size > 0.0 for size in sizes.values()])
    assert (drawn.sum(axis=0) == 1).all(), "each particle is drawn once"
    assert (drawn[list(sizes).index("drop_size")] == (instance.outputs["material"].numpy() == 0)).all()
    colors = instance.outputs["color"].numpy()
    assert colors.min() >= 0.0
    assert colors.max() <= 1.0
    stage.close()


def test_matter_starts_as_a_mesh(steady: Gpu) -> None:
    """A half ball from a distance grid: its positions, its volume, and that it falls as a whole."""
    side = np.linspace(-1.0, 1.0, 24)
    z, y, x = np.meshgrid(side, side, side, indexing="ij")
    distance = np.maximum(np.sqrt(x * x + y * y + z * z) - 0.9, -y).astype(np.float32)
    size = dict.fromkeys(("jelly_size",), (0.4, 0.4, 0.4))
    params = Params(
        **{"count": 2000, "resolution": 16, "water": "none", "jelly": "mesh", "snow": "none", "sand": "none"},
        **{"jelly_center": (0.0, 0.5, 0.0), **size},
    )
    with Tensor.from_numpy(distance, "distance") as shape, closing(Mpm("mpm", params, {"shape": shape}, 1)) as model:
        found = (model.outputs()["position"].numpy() - (0.0, 0.5, 0.0)) / 0.2
        assert found.shape == (2000, 3)
        assert np.linalg.norm(found, axis=1).max() < 0.92 and found[:, 1].min() > -0.02
        assert found[:, 1].max() > 0.85 and np.abs(found[:, [0, 2]].mean(axis=0)).max() < 0.05
        assert model._volume * 2000 == pytest.approx(2.0 / 3.0 * math.pi * 0.18**3, rel=0.02)
        for _ in range(5):
            model.step(1 / 60)
        assert np.isfinite(model.outputs()["position"].numpy()).all()


def test_a_mesh_that_cannot_be_filled_is_reported(gpu: Gpu) -> None:
    params = Params(count=500, resolution=16, jelly="mesh")
    with pytest.raises(InputError, match="needs the input shape"):
        Mpm("mpm", params, {}, 1)
    with Tensor.full((8, 8, 8), 1.0) as shape, pytest.raises(InputError, match="no interior"):
        Mpm("mpm", params, {"shape": shape}, 1)
    with Tensor.full((8, 8), 1.0) as shape, pytest.raises(InputError, match="shape is f32 of shape"):
        Mpm("mpm", params, {"shape": shape}, 1)


def test_matter_of_too_few_particles_is_reported(make: Make) -> None:
    """With two cells per particle, water at rest sinks to half of its depth, because the grid has gaps."""
    cells = (0.4 * 16) ** 3
    dense, sparse = (
        make(**alone("water", resolution=16, box=(1.0, 1.0, 1.0), count=round(share * cells))) for share in (4.0, 0.55)
    )
    bound = dense.limits["sparsity"].bound
    assert measured(dense)["sparsity"] == pytest.approx(0.25, rel=0.01) and bound > 0.25
    assert measured(sparse)["sparsity"] == pytest.approx(1.0 / 0.55, rel=0.01) and bound < 1.0 / 0.55
