"""Smoke: its reference, the pressure solve, advection, diffusion, rest, mass, obstacles and gestures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import InputError
from vertigrad.gpu import Plan
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.parts import Parts
from vertigrad.models.physics.smoke import Smoke
from vertigrad.models.physics.smoke_params import MOST_COURANT, Params, cells_of
from vertigrad.models.physics.smoke_pressure import Multigrid
from vertigrad.models.reference import smoke_pressure as pressure_reference
from vertigrad.models.reference.smoke import centered, outflow

from ..snapshots import assert_a_snapshot_holds

STEP = 1.0 / 60.0
SMALL = {"cells": 32, "width": 1.0, "depth": 1.0, "tracers": 64}  # 16 x 32 x 16
QUIET = {"source_radius": 0.0, "ball_radius": 0.0, "jet": 0.0, "cooling": 0.0, "jitter": 0.0}
Make = Callable[..., Smoke]


@pytest.fixture
def make() -> Iterator[Make]:
    created: list[Smoke] = []

    def make_model(seed: int = 1, obstacle: Tensor | None = None, **values: object) -> Smoke:
        inputs = {} if obstacle is None else {"obstacle": obstacle}
        created.append(Smoke("smoke", Params.parse({**SMALL, **values}), inputs, seed))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def measured(model: Smoke) -> dict[str, float]:
    found = {}
    for name, tensor in model.diagnostics().items():
        found[name] = tensor.item()
        tensor.close()
    return found


def run(model: Smoke, steps: int) -> None:
    for _ in range(steps):
        model.step(STEP)


def fill(model: Smoke, density: np.ndarray, temperature: np.ndarray | float = 0.0) -> None:
    matter = np.stack(np.broadcast_arrays(density, temperature), -1).astype(np.float32)
    with Tensor.from_numpy(matter) as source:
        ops.assign(model.state()["matter"], source)


def middles(model: Smoke) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y, z of the centers of cells [m]."""
    nz, ny, nx = model.outputs()["density"].shape
    z, y, x = np.indices((nz, ny, nx)) + 0.5
    edge = 2.0 / ny
    return edge * (x - 0.5 * nx), edge * y, edge * (z - 0.5 * nz)


# The reference --------------------------------------------------------------------------------------------------------

DRAG = Interaction(Gesture.DRAG, (0, 0, 5), (0, 0, -1), (0.1, 0.6, 0.0), (0.8, 0.1, -0.3), 0.3)
EMIT = Interaction(Gesture.EMIT, (0, 0, 5), (0, 0, -1), (-0.2, 0.9, 0.1), radius=0.2, strength=1.5)
CASES = {
    "as it is": ({}, None),
    "closed": ({"sides": "closed", "diffusivity": 5e-3, "dissipation": 0.3}, DRAG),
    "open": ({"sides": "open", "ball_center": (0.3, 0.7, -0.2), "ball_radius": 0.35, "confinement": 6.0}, EMIT),
    "fire": (
        {"combustion_rate": 8.0, "radiation": 3e3, "temperature": 900.0, "buoyancy": 0.01, "ball_radius": 0.0},
        None,
    ),
    "fast": ({"jet": 30.0, "time_step": 1 / 15, "cycles": 4, "width": 1.6}, None),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("case", CASES)
def test_a_step_equals_the_reference(make: Make, case: str) -> None:
    values, interaction = CASES[case]
    model = make(**values)
    model.interact(interaction)
    for _ in range(6):
        model.step(model._params.time_step)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)
        assert comparison.error < 2e-5
    assert measured(model)["energy"] > 1e-4


# The pressure ----------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize("size", [(16, 48, 32), (32, 80, 16)])
@pytest.mark.parametrize("sides", [((0, 0, 0), (0, 0, 0)), ((0, 0, 0), (0, 1, 0)), ((1, 0, 1), (1, 1, 1))])
def test_each_cycle_leaves_a_quarter_of_the_residual_at_most(size, sides) -> None:
    """V-cycles with red-black Gauss-Seidel gain about a digit each (Trottenberg et al. 2001, section 4.3)."""
    random = np.random.default_rng(2)
    z, y, x = np.indices(size[::-1]) + 0.5
    solid = (x - 7.3) ** 2 + (y - 20.0) ** 2 + (z - 8.0) ** 2 < 25.0
    rhs = np.where(solid, 0.0, random.normal(size=solid.shape))
    rhs -= np.where(solid, 0.0, rhs.sum() / (~solid).sum())  # required by closed walls
    level = pressure_reference.finest(solid, *sides)
    with Parts("test") as parts, Plan("walls") as walls, Plan("cycle") as cycle:
        solver = Multigrid(size, parts)
        for tensor, values in ((solver.solid, solid.astype(np.uint32)), (solver.rhs, rhs.astype(np.float32))):
            with Tensor.from_numpy(values) as source:
                ops.assign(tensor, source)
        solver.record_walls(walls)
        solver.record_cycle(cycle)
        walls.replay(open_low=sides[0], open_high=sides[1])
        left = [np.linalg.norm(rhs)]
        for _ in range(4):
            cycle.replay()
            left.append(np.linalg.norm(pressure_reference.residual(level, solver.pressure.numpy().astype(float), rhs)))
    factors = np.divide(left[1:], left[:-1])
    assert factors.max() < 0.25
    assert left[-1] < 3e-4 * left[0]


def test_the_pressure_is_that_of_the_equation() -> None:
    """cos(pi x) cos(2 pi y) cos(pi z) has zero normal derivative on all walls; its discrete eigenvalue is known."""
    size = (16, 32, 16)
    z, y, x = (np.indices(size[::-1]) + 0.5) / np.array(size[::-1]).reshape(3, 1, 1, 1)
    waves = np.cos(np.pi * x) * np.cos(2 * np.pi * y) * np.cos(np.pi * z)
    eigenvalue = sum(2.0 * np.cos(turns * np.pi / n) - 2.0 for turns, n in zip((1, 2, 1), size, strict=True))
    with Parts("test") as parts, Plan("walls") as walls, Plan("cycle") as cycle:
        solver = Multigrid(size, parts)
        with Tensor.from_numpy((eigenvalue * waves).astype(np.float32)) as source:
            ops.assign(solver.rhs, source)
        solver.record_walls(walls)
        solver.record_cycle(cycle)
        walls.replay(open_low=(0, 0, 0), open_high=(0, 0, 0))
        for _ in range(6):
            cycle.replay()
        found = solver.pressure.numpy()
    assert np.abs(found - found.mean() - waves).max() < 5e-5


@pytest.mark.turns(4)
@pytest.mark.parametrize("sides", ["closed", "open top", "open"])
def test_the_velocity_is_divergence_free(make: Make, sides: str) -> None:
    model = make(sides=sides, ball_radius=0.3)
    run(model, 15)
    found = measured(model)
    faces = model.state()["faces"].numpy().astype(float)
    solid = model._pressure.solid.numpy() != 0
    flow = np.where(solid, 0.0, outflow(faces[..., :3]))
    edge = 2.0 / 32
    assert found["divergence"] == pytest.approx(np.abs(flow).max() * STEP / edge, rel=1e-3)
    assert found["divergence"] < 2e-3
    assert found["divergence"] < 0.02 * found["cfl"], "little against what flows"
    assert found["cfl"] == pytest.approx(np.abs(faces).max() * STEP / edge, rel=1e-5)
    assert found["cfl"] > 0.1


@pytest.mark.turns(3)
def test_more_cycles_leave_a_smaller_residual(make: Make) -> None:
    left = []
    for cycles in (1, 2, 4):
        model = make(cycles=cycles)
        run(model, 8)
        left.append(measured(model)["divergence"])
    assert left[1] < 0.4 * left[0] and left[2] < 0.3 * left[1]


# Advection and diffusion -----------------------------------------------------------------------------------------


@pytest.mark.turns(4)
def test_a_blob_in_a_rotating_flow_returns(make: Make) -> None:
    """A turn of solid-body rotation, with about a cell a step. MacCormack's scheme preserves what steps of the
    semi-Lagrangian scheme diffuse (Selle et al. 2008, section 6, where Zalesak's disc is turned)."""
    model = make(cells=16, height=1.0, width=2.0, depth=2.0, sides="closed", **QUIET)
    nx, ny, nz, steps = 32, 16, 32, 48
    faces = np.zeros((nz + 1, ny + 1, nx + 1, 4), np.float32)
    z, _, x = np.indices(faces.shape[:3])
    turn = 2.0 * np.pi / (steps * STEP) / 16.0  # [m/s] for each cell from the middle
    faces[..., 0], faces[..., 2] = -turn * (z + 0.5 - 16.0), turn * (x + 0.5 - 16.0)
    faces[:, :, [0, -1], 0] = faces[[0, -1], :, :, 2] = 0.0
    for name, values in (("faces", faces), ("velocity", centered(faces[..., :3]))):
        with Tensor.from_numpy(values) as source:
            ops.assign(model.state()[name], source)
    z, y, x = np.indices((nz, ny, nx)) + 0.5
    blob = np.exp(-((x - 23.0) ** 2 + (y - 8.0) ** 2 + (z - 16.0) ** 2) / (2.0 * 3.0**2))
    matter, errors = model.state()["matter"], []
    for field in (model._moved_matter, model._guess_matter):
        fill(model, blob)
        for step in range(steps):
            model._advect.replay(**model._fields())
            ops.assign(matter, field)
            if step == steps // 4 - 1:
                quarter = matter.numpy()[..., 0]
                middle = [(quarter * axis).sum() / quarter.sum() for axis in (x, y, z)]
                assert middle == pytest.approx([16.0, 8.0, 23.0], abs=0.15)
        after = matter.numpy()[..., 0]
        errors.append(np.linalg.norm(after - blob) / np.linalg.norm(blob))
        assert after.min() >= 0.0 and after.max() <= 1.0
        assert [(after * axis).sum() / after.sum() for axis in (x, y, z)] == pytest.approx([23.0, 8.0, 16.0], abs=0.4)
    print(f"\nafter a turn: MacCormack {errors[0]:.3f}, semi-Lagrangian {errors[1]:.3f}")
    assert errors[0] < 0.3
    assert errors[1] > 1.8 * errors[0]


@pytest.mark.turns(4)
@pytest.mark.parametrize("diffusivity", [2e-3, 1e-2])
def test_density_diffuses_as_the_heat_kernel(make: Make, diffusivity: float) -> None:
    """A Gaussian of variance s² becomes one of s² + 2 D t (Crank 1975, "The Mathematics of Diffusion", section 2.2)."""
    still = {"weight": 0.0, "buoyancy": 0.0, **QUIET}
    model = make(sides="closed", diffusivity=diffusivity, cells=32, width=2.0, depth=2.0, **still)
    x, y, z = middles(model)
    squares = x**2 + (y - 1.0) ** 2 + z**2
    first, steps = 0.2**2, 16
    start = np.exp(-squares / (2.0 * first))
    fill(model, start)
    before = measured(model)["mass"]
    run(model, steps)
    later = first + 2.0 * diffusivity * steps * STEP
    expected = (first / later) ** 1.5 * np.exp(-squares / (2.0 * later))
    error, change = (np.linalg.norm(expected - one) for one in (model.outputs()["density"].numpy(), start))
    print(f"\nof a change of {change:.3f} {error:.4f} is wrong")
    assert error < 0.05 * change
    assert measured(model)["mass"] == pytest.approx(before, rel=2e-5)


def test_fast_diffusion_stays_within_the_initial_range(make: Make) -> None:
    """The maximum principle of the heat equation, which explicit steps satisfy only if they are short enough."""
    model = make(
        cells=64, width=0.5, depth=0.5, time_step=1 / 15, diffusivity=0.01, weight=0.0, sides="closed", **QUIET
    )
    start = np.random.default_rng(3).uniform(1.0, 2.0, model.outputs()["density"].shape)
    fill(model, start)
    model.step(1 / 15)
    found = model.outputs()["density"].numpy()
    assert found.min() > 1.0 and found.max() < 2.0
    assert found.std() < 0.3 * start.std()
    assert found.mean() == pytest.approx(start.mean(), rel=1e-5)


@pytest.mark.turns(4)
@pytest.mark.parametrize("sides", ["closed", "open top"])
def test_mass_is_conserved_except_for_outflow(make: Make, sides: str) -> None:
    ball = {"ball_center": (0.1, 1.5, 0.0), "ball_radius": 0.15}
    model = make(sides=sides, source=(0.0, 1.75, 0.0), jet=2.0, **ball)
    run(model, 10)
    model._params.take(Params.parse({**SMALL, "sides": sides, **ball, **QUIET, "ball_radius": 0.15}))
    before = measured(model)
    run(model, 30)
    after = measured(model)
    assert before["energy"] > 0.01 and before["mass"] > 0.01
    for name in ("mass", "warmth"):
        if sides == "closed":
            assert after[name] == pytest.approx(before[name], rel=1e-4), "as sums of f32"
        else:
            assert after[name] < 0.9 * before[name], "it leaves through the top"


# Forces ----------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_layers_at_rest_stay_at_rest(make: Make) -> None:
    """Air whose smoke and warmth depend on the height alone is in hydrostatic equilibrium."""
    model = make(sides="closed", cycles=3, **QUIET)
    _, y, _ = middles(model)
    density, temperature = 1.0 - 0.4 * y, 20.0 * y
    fill(model, density, temperature)
    run(model, 30)
    speed = np.abs(model.outputs()["velocity"].numpy()).max()
    assert speed < 2e-3, "half a second of falling freely would be 0.5 m/s"
    assert np.abs(model.outputs()["density"].numpy() - density).max() < 1e-3
    assert np.abs(model.outputs()["temperature"].numpy() - temperature).max() < 2e-2


@pytest.mark.turns(4)
def test_warm_smoke_rises_and_heavy_smoke_sinks(make: Make) -> None:
    heights = []
    for warm in (60.0, 0.0):
        model = make(sides="closed", **QUIET)
        x, y, z = middles(model)
        blob = np.exp(-(x**2 + (y - 1.0) ** 2 + z**2) / (2 * 0.15**2))
        fill(model, blob, warm * blob)
        run(model, 30)
        density = model.outputs()["density"].numpy()
        heights.append(float((density * y).sum() / density.sum()))
        assert abs((density * x).sum() / density.sum()) < 1e-3, "straight up or down"
    assert heights[0] > 1.03 and heights[1] < 0.995


# Obstacles -------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_fuel_burns_where_it_is_hot_and_cools_as_t_to_the_fourth(make: Make) -> None:
    """Air at rest in a closed box: density falls exponentially, and heats; then T^-3 grows linearly in time."""
    rate, heat, radiation = 2.0, 300.0, 2e3
    still = QUIET | {"sides": "closed", "buoyancy": 0.0, "weight": 0.0, "jet": 0.0}
    burning = {"combustion_rate": rate, "heat_release": heat, "ignition_temperature": 400.0, "radiation": 0.0}
    model = make(**still, **burning)
    cold = np.zeros_like(middles(model)[1])
    fill(model, np.full_like(cold, 0.5), np.where(np.arange(cold.shape[2]) < 8, 800.0, 100.0))
    run(model, 30)
    density, temperature = (model.outputs()[name].numpy() for name in ("density", "temperature"))
    left = 0.5 * np.exp(-rate * 30 * STEP)
    assert density[..., 2] == pytest.approx(left, rel=1e-3) and density[..., -2] == pytest.approx(0.5, rel=1e-3)
    assert temperature[..., 2] == pytest.approx(800.0 + heat * (0.5 - left), rel=1e-3)
    model._params.take(Params.parse({**SMALL, **still, "radiation": radiation}))
    fill(model, cold, 1000.0)
    run(model, 30)
    cooled = (1000.0**-3 + 3.0 * radiation / 1e12 * 30 * STEP) ** (-1 / 3)
    assert model.outputs()["temperature"].numpy() == pytest.approx(cooled, rel=1e-3) and cooled < 800.0


def test_nothing_passes_through_walls(make: Make) -> None:
    model = make(ball_radius=0.3, sides="open top")
    run(model, 20)
    solid = np.pad(model._pressure.solid.numpy() != 0, 1)
    faces = model.state()["faces"].numpy()
    solid[0], solid[-1], solid[:, 0], solid[:, :, 0], solid[:, :, -1] = True, True, True, True, True
    inner = slice(1, None)
    for axis, lower in enumerate((solid[inner, inner, :-1], solid[inner, :-1, inner], solid[:-1, inner, inner])):
        assert np.all(faces[..., axis][lower ^ solid[inner, inner, inner]] == 0.0)
    assert np.abs(faces).max() > 0.3
    assert np.all(model.outputs()["density"].numpy()[solid[1:-1, 1:-1, 1:-1]] == 0.0)


def test_a_distance_grid_is_the_obstacle_that_it_describes(make: Make) -> None:
    sphere = make(obstacle=None, ball_radius=0.3)
    nz, ny, nx = sphere.outputs()["density"].shape
    z, y, x = np.indices((2 * nz + 1, 2 * ny + 1, 2 * nx + 1)) / ny  # from face to face, including the centers of cells
    distances = np.sqrt((x - nx / ny) ** 2 + (y - 0.85) ** 2 + (z - nz / ny) ** 2) - 0.3
    distances = distances.astype(np.float32)
    with Tensor.from_numpy(distances) as source:
        grid = make(obstacle=source, ball_radius=0.0)
        for model in (sphere, grid):
            run(model, 3)
        solid = sphere._pressure.solid.numpy()
        assert 50 < solid.sum() < 1000
        assert np.array_equal(solid, grid._pressure.solid.numpy())
        assert np.array_equal(sphere.outputs()["velocity"].numpy(), grid.outputs()["velocity"].numpy())


def test_a_coarser_grid_of_distances_is_stretched_over_the_box(make: Make) -> None:
    y = np.linspace(0.0, 2.0, 8)
    slab = np.broadcast_to((y - 0.5).reshape(1, 8, 1), (4, 8, 4)).astype(np.float32)
    with Tensor.from_numpy(np.ascontiguousarray(slab)) as source:
        model = make(obstacle=source, ball_radius=0.0)
        model.step(STEP)
        assert np.array_equal(model._pressure.solid.numpy()[3, :, 5], (np.arange(32) < 8).astype(np.uint32))


def test_an_obstacle_of_another_kind_is_refused(make: Make) -> None:
    with Tensor.zeros((8, 8)) as flat, pytest.raises(InputError, match=r"obstacle is f32 of shape \(8, 8\)"):
        make(obstacle=flat)


# Gestures, tracers, bits -----------------------------------------------------------------------------------------


def test_dragging_moves_the_air_and_emitting_adds_smoke(make: Make) -> None:
    model = make(**QUIET)
    model.step(STEP)
    assert measured(model)["mass"] == 0.0 and measured(model)["energy"] == 0.0
    model.interact(DRAG._replace(point=(0.0, 1.0, 0.0), velocity=(1.0, 0.0, 0.0)))
    run(model, 6)
    velocity = model.outputs()["velocity"].numpy()
    assert 0.05 < velocity[8, 16, 8, 0] < 1.0
    assert measured(model)["mass"] == 0.0
    model.interact(EMIT)
    model.step(STEP)
    emitted = measured(model)["mass"]
    model.interact(None)
    run(model, 3)
    assert emitted > 1e-4 and measured(model)["mass"] == pytest.approx(emitted, rel=0.2)


@pytest.mark.turns(4)
def test_tracers_stay_in_the_air(make: Make) -> None:
    model = make(tracers=4000, lifetime=0.5, sides="closed", ball_center=(0.0, 0.5, 0.0), ball_radius=0.2)
    run(model, 45)
    position, age = model.outputs()["position"].numpy(), model.outputs()["age"].numpy()
    assert np.all(age <= 0.5 + 1e-6) and (age > 0.0).mean() > 0.5
    assert position[:, 1].min() >= 0.0 and position[:, 1].max() > 0.37, "higher than the source"
    moving = position[age > 0.05]
    assert np.all(np.linalg.norm(moving - [0.0, 0.5, 0.0], axis=1) > 0.2 - 0.0625)
    assert model.outputs()["color"].numpy().max() > 5.0


def test_tracers_start_uniformly_in_the_ball_of_the_source(make: Make) -> None:
    """Uniformly in its volume: the third power of the distance over the radius is uniform."""
    model = make(tracers=4000, source=(0.1, 0.3, -0.1), source_radius=0.15, jitter=0.0, ball_radius=0.0)
    away = (model.outputs()["position"].numpy()[model.outputs()["age"].numpy() <= 0.0] - [0.1, 0.3, -0.1]) / 0.15
    share = np.sort(np.linalg.norm(away, axis=1) ** 3)
    assert len(share) > 3000 and share[-1] < 1.0 + 1e-5
    np.testing.assert_allclose(share, (np.arange(len(share)) + 0.5) / len(share), atol=0.03)
    np.testing.assert_allclose(away.mean(axis=0), 0.0, atol=0.03)


@pytest.mark.turns(3)
def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    def bits(model: Smoke) -> list[np.ndarray]:
        return [tensor.numpy() for tensor in model.outputs().values()]

    model, other = make(seed=7), make(seed=8)
    run(model, 8)
    run(other, 8)
    first = bits(model)
    assert not np.array_equal(first[0], bits(other)[0]), "another seed sways otherwise"
    model.reset()
    for _ in range(4):
        model.step(2 * STEP)  # two physical steps in a frame
    assert all(np.array_equal(a, b) for a, b in zip(first, bits(model), strict=True))


@pytest.mark.turns(3)
def test_a_snapshot_continues_with_the_same_bits(make: Make) -> None:
    model = make(time_step=0.01)
    assert_a_snapshot_holds(model, lambda steps: run(model, steps))


def test_a_closed_model_leaks_nothing(steady) -> None:
    model = Smoke("smoke", Params.parse(SMALL), {}, 0)
    model.step(STEP)
    measured(model)
    model.close()
    model.close()


# Parameters ------------------------------------------------------------------------------------------------------


def test_cells_are_multiples_of_blocks() -> None:
    assert cells_of(Params(cells=64, height=2.0, width=1.5, depth=1.0)) == (48, 64, 32)
    assert cells_of(Params(cells=23, height=1.0, width=0.1, depth=3.0)) == (16, 16, 48)
    specs = Smoke.output_specs(Params(cells=32, width=1.0, depth=2.0))
    assert specs["density"].shape == (32, 32, 16)


CORNERS = {
    "wild": {
        "buoyancy": 10.0,
        "temperature": 2e3,
        "jet": 50.0,
        "confinement": 20.0,
        "jitter": 10.0,
        "time_step": 1 / 15,
    },
    "heavy": {"weight": 100.0, "density": 100.0, "sides": "closed", "diffusivity": 0.01, "cycles": 1},
    "filled": {"ball_radius": 100.0, "source_radius": 100.0},
    "burning": {
        "combustion_rate": 1e3,
        "heat_release": 1e4,
        "density": 100.0,
        "radiation": 1e5,
        "ignition_temperature": 0.0,
    },
    "short": {"time_step": 1e-4, "dissipation": 100.0, "cooling": 100.0, "sides": "open"},
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("corner", CORNERS)
def test_corners_stay_finite(make: Make, corner: str) -> None:
    model = make(cells=16, **CORNERS[corner])
    for _ in range(30):
        model.step(min(model._params.time_step, STEP) if corner == "short" else model._params.time_step)
    found = measured(model)
    assert np.isfinite(list(found.values())).all()
    assert found["cfl"] < 3.0 * MOST_COURANT
    for name, tensor in model.outputs().items():
        assert np.isfinite(tensor.numpy()).all(), name
