"""Bodies that a medium moves: they float, sink, rest on floors and on each other, and no momentum is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import InputError
from vertigrad.models.physics.obstacle_mass import rigid
from vertigrad.models.reference import obstacle as reference
from vertigrad.scripting.scene import Scene

FRAME = 1.0 / 60.0
RADIUS = 0.2
POOL: dict[str, Any] = {
    "tank": (0.8, 1.0, 0.8),
    "column": (0.8, 0.36, 0.8),
    "spacing": 0.06,
    "artificial_viscosity": 0.1,
}


def outputs(model: Any, name: str) -> np.ndarray:
    return model.outputs()[name].numpy().astype(float)


def run(obstacle: Any, medium: Any, frames: int) -> None:
    for _ in range(frames):
        obstacle.step(FRAME)
        medium.step(FRAME)


def immersed(height: float, radius: float, volume: float, area: float) -> float:
    """Fraction of a sphere with its center at this height that is below the level of so much volume in a box."""

    def below(level: float) -> float:
        deep = np.clip(level - (height - radius), 0.0, 2.0 * radius)
        return np.pi * deep**2 * (radius - deep / 3.0)

    levels = np.linspace(0.0, 1.0, 2001)
    surplus = [level * area - below(level) - volume for level in levels]
    return below(levels[int(np.abs(surplus).argmin())]) / (4.0 / 3.0 * np.pi * radius**3)


@pytest.fixture(scope="module")
def pool(make_for_all: Callable[..., Any]) -> tuple[Any, Any]:
    """Two spheres in water, one of half its density and a heavy one on the floor."""
    heavy = make_for_all("obstacle", size=(0.24, 0.24, 0.24), position=(0.14, 0.5, 0.14), density=2500.0)
    light = make_for_all(
        *("obstacle", {"others": heavy.outputs()["obstacle"]}),
        **{"size": (2 * RADIUS,) * 3, "position": (0.46, 0.54, 0.46), "density": 500.0},
    )
    return light, make_for_all("fluid", {"obstacle": light.outputs()["obstacle"]}, **POOL)


@pytest.mark.turns(4)
def test_a_light_body_floats_and_a_heavy_one_sinks(pool: tuple[Any, Any]) -> None:
    obstacle, fluid = pool
    run(obstacle, fluid, 55)
    heights, forces = [], []
    for _ in range(10):
        run(obstacle, fluid, 2)
        heights.append(outputs(fluid, "obstacle_position")[:, 1])
        forces.append(outputs(fluid, "obstacle_force"))
    height, force = np.mean(heights, axis=0), np.mean(forces, axis=0)
    weight = 500.0 * 4.0 / 3.0 * np.pi * RADIUS**3 * 9.81
    water = fluid._start.count * fluid.spacing**3 + 4.0 / 3.0 * np.pi * 0.12**3  # and the other sphere
    assert immersed(height[0], RADIUS, water, 0.64) == pytest.approx(0.5, abs=0.06)
    assert height[1] == pytest.approx(0.12, abs=0.01), "it rests on the floor"
    assert force[0, 1] == pytest.approx(weight, rel=0.1)
    values = {name: tensor.numpy().item() for name, tensor in fluid.diagnostics().items()}
    assert values["obstacle_height"] == pytest.approx(outputs(fluid, "obstacle_position")[0, 1], rel=1e-5)
    assert values["residual"] < 0.2 and values["compression"] < 0.02


def test_a_step_with_bodies_agrees_with_the_reference(pool: tuple[Any, Any]) -> None:
    for model in pool:
        model.reset()
    run(*pool, 8)  # both are in the water, and touch nothing else
    for comparison in pool[1].compare_with_reference():
        assert comparison.holds, str(comparison)


def test_a_placement_that_changes_is_taken_over_and_reset_goes_back(pool: tuple[Any, Any]) -> None:
    obstacle, fluid = pool
    for model in pool:
        model.reset()
    run(obstacle, fluid, 16)
    obstacle._params.position = (0.5, 0.6, 0.5)
    run(obstacle, fluid, 1)
    there = outputs(fluid, "obstacle_position")
    np.testing.assert_allclose(there[0], (0.5, 0.6, 0.5), atol=0.08)  # with the velocity of the change
    assert there[1, 1] < 0.4, "the other one stays where it sank"
    obstacle.reset()
    fluid.reset()
    np.testing.assert_allclose(outputs(fluid, "obstacle_position"), [[0.5, 0.6, 0.5], [0.14, 0.5, 0.14]], atol=1e-6)


HIT: dict[str, dict[str, Any]] = {  # matter left of a box, a little above its center, and the name of its velocities
    "fluid": {
        **{"tank": (2.0, 1.0, 1.0), "corner": (-1.0, 0.0, -0.5), "column": (0.3, 0.3, 0.3), "spacing": 0.075},
        "column_offset": (0.2, 0.42, 0.3),
    },
    "mpm": {
        **{"box": (2.0, 1.0, 1.0), "resolution": 30, "count": 1500, "jelly": "none", "snow": "none", "sand": "none"},
        **{"water_center": (-0.65, 0.57, -0.05), "water_size": (0.3, 0.3, 0.3), "bulk_modulus": 1e4},
    },
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", HIT)
def test_no_momentum_is_lost(make: Callable[..., Any], name: str) -> None:
    """Water that hits a box off its center, without gravity: what the water loses, the box gains; it turns."""
    box = make("obstacle", shape="box", size=(0.3, 0.2, 0.4), position=(-0.25, 0.5, 0.0), density=300.0)
    water = make(name, {"obstacle": box.outputs()["obstacle"]}, gravity=0.0, **HIT[name])
    count = len(outputs(water, "position"))
    moving = water._velocities[:, 0:1] if name == "fluid" else water._particles[:, 4:5]
    with moving, Tensor.from_numpy(np.full((count, 1), 1.5, np.float32)) as thrown:
        ops.assign(moving, thrown)
    mass = 1000.0 * (0.075**3 if name == "fluid" else water._volume)
    momenta, angular = [], []
    for _ in range(12):
        run(box, water, 1)
        at, velocity = outputs(water, "position"), outputs(water, "velocity")
        body = reference.Obstacle.of(outputs(water, "obstacle"))
        assert body.rigid is not None
        turning = body.axes.T @ np.diag(body.rigid.inertia[:3]) @ body.axes @ body.spin
        momenta.append(mass * velocity.sum(axis=0) + body.rigid.mass * body.velocity)
        own = body.rigid.mass * np.cross(body.position, body.velocity) + turning
        angular.append(mass * np.cross(at, velocity).sum(axis=0) + own)
    before = 1.5 * mass * count
    assert body.velocity[0] > 0.3 and np.abs(body.spin[2]) > 0.3, "it was hit"
    np.testing.assert_allclose(momenta[-1], [before, 0.0, 0.0], atol=2e-4 * before)
    assert np.abs(angular[-1] - angular[0]).max() < 0.02 * before, "positions that are held outside turn it a little"


@pytest.mark.turns(4)
def test_a_body_floats_in_material_points(make: Callable[..., Any]) -> None:
    ball = make("obstacle", size=(0.36, 0.36, 0.36), position=(0.0, 0.58, 0.0), density=500.0)
    values: dict[str, Any] = {"box": (0.8, 0.9, 0.8), "resolution": 14, "count": 2400, "friction": 0.0}
    values |= {"jelly": "none", "snow": "none", "sand": "none", "viscosity": 1.0}
    values |= {"water_center": (0.0, 0.2, 0.0), "water_size": (0.8, 0.4, 0.8)}
    water = make("mpm", {"obstacle": ball.outputs()["obstacle"]}, **values)
    run(ball, water, 40)
    heights = []
    for _ in range(8):
        run(ball, water, 4)
        heights.append(outputs(water, "obstacle_position")[0, 1])
    assert immersed(float(np.mean(heights)), 0.18, 0.4 * 0.64, 0.64) == pytest.approx(0.5, abs=0.1), heights
    for comparison in water.compare_with_reference():
        assert comparison.holds, str(comparison)


@pytest.mark.parametrize("kind", ["box", "sphere", "cylinder"])
def test_a_grid_of_distances_has_the_mass_and_inertia_of_its_shape(kind: str) -> None:
    number, half = ("none", "box", "sphere", "cylinder").index(kind), np.array([0.2, 0.3, 0.2])
    exact = rigid(number, half, 1.0, np.zeros(0), 800.0, 0.0)
    axes = [np.linspace(-0.35, 0.35, 57)] * 3
    z, y, x = np.meshgrid(*axes, indexing="ij")
    shape = reference.Obstacle(number, np.zeros(3), 1.0, half, np.eye(3), np.zeros(3), np.zeros(3), np.zeros((0, 0, 0)))
    at = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    sampled = rigid(4, np.full(3, 0.35), 1.0, shape.distance(at).reshape(x.shape), 800.0, 0.0)
    assert exact is not None and sampled is not None
    assert sampled.mass == pytest.approx(exact.mass, rel=0.02)
    np.testing.assert_allclose(sampled.inertia, exact.inertia, atol=0.03 * exact.inertia.max())
    np.testing.assert_allclose(sampled.center, 0.0, atol=1e-6)
    assert np.abs(shape.distance(sampled.points)).max() < 0.02


def test_heights_and_nothing_cannot_be_bodies(make: Callable[..., Any]) -> None:
    with Tensor.zeros((4, 4)) as heights, pytest.raises(InputError, match="set density = 0"):
        make("obstacle", {"heights": heights}, density=100.0)
    with pytest.raises(InputError, match="it has no shape"):
        make("obstacle", shape="none", density=100.0)


@pytest.mark.turns(3)
def test_a_wave_of_the_storm_tank_plunges_and_crates_ride_it():
    """A lip hangs over air, longer than any that the wave has before, then falls; the crates stay at the surface."""
    spacing = 0.05
    with Scene.load("storm_tank", sets=[f"water.spacing={spacing}"]) as scene:
        lips = list[float]()
        for frames in (48, 12, 12, 6):
            scene.step(frames)
            lips.append(overhang(scene.outputs["water.position"].numpy(), spacing))
        assert lips[0] <= spacing and lips[2] >= 2 * spacing and lips[3] >= 3 * spacing
        position = scene.outputs["water.position"].numpy()
        for crate in scene.outputs["water.obstacle_position"].numpy()[:2]:
            around = np.linalg.norm(position[:, [0, 2]] - crate[[0, 2]], axis=1) < 0.25
            assert 0.1 < crate[1] < position[around, 1].max() + 0.12
        assert (scene.outputs["foam.radius"].numpy() > 0.0).sum() > 1000
        scene.step(24)
        assert overhang(scene.outputs["water.position"].numpy(), spacing) <= spacing


def overhang(position: np.ndarray, spacing: float) -> float:
    """The length [m] before the reef along which six particles or more hang over three spacings of air."""
    found = 0
    for x in np.arange(position[:, 0].min(), 3.4, spacing):
        heights = np.sort(position[np.abs(position[:, 0] - x) < 0.75 * spacing, 1])
        gaps = np.diff(heights)
        found += len(heights) > 7 and gaps.max() > 3.0 * spacing and len(gaps) - gaps.argmax() >= 6
    return found * spacing
