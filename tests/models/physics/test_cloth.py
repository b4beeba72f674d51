"""The cloth: its reference, analytic solutions of falling, hanging and bending, collisions, tearing, and the tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.cloth import SWEEP, Cloth, Params
from vertigrad.models.physics.cloth_long import NONE, LongThreads, divided, long_threads, reached, spans
from vertigrad.models.physics.cloth_sheet import Sheet, around, hung, woven
from vertigrad.models.reference import cloth as cloth_reference

FRAME = 1.0 / 60.0
STILL = {"drag": 0.0, "damping": 0.0, "friction": 0.0}
Make = Callable[..., Cloth]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Cloth] = []
    uploads: list[Tensor] = []

    def make_model(inputs: Mapping[str, np.ndarray] | None = None, seed: int = 0, **values: object) -> Cloth:
        tensors = {name: Tensor.from_numpy(array, name) for name, array in (inputs or {}).items()}
        uploads.extend(tensors.values())
        created.append(Cloth("test", Params(**values), tensors, seed))  # type: ignore[arg-type]
        return created[-1]

    yield make_model
    for thing in [*created, *uploads]:
        thing.close()


def run(model: Cloth, seconds: float) -> None:
    for _ in range(round(seconds / FRAME)):
        model.step(FRAME)


def out(model: Cloth, name: str) -> np.ndarray:
    return model.outputs()[name].numpy().astype(float)


def measured(model: Cloth) -> dict[str, float]:
    return {name: tensor.item() for name, tensor in model.diagnostics().items()}


def put(model: Cloth, positions: np.ndarray) -> None:
    """Move the vertices to `positions` (rows, columns, 3)."""
    with Tensor.from_numpy(positions.astype(np.float32)) as there:
        ops.assign(model.outputs()["position"], there)


def ball_grid(n: int, radius: float) -> np.ndarray:
    """Distances to a ball in the middle of a box of edge 2."""
    along = np.linspace(-1.0, 1.0, n)
    z, y, x = np.meshgrid(along, along, along, indexing="ij")
    return (np.sqrt(x**2 + y**2 + z**2) - radius).astype(np.float32)


# topology -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 9), (5, 3), (13, 17)])
def test_constraints_of_a_color_share_no_vertex_and_none_is_missing(rows: int, columns: int) -> None:
    sheet = woven(rows, columns, 1.0, 1.0)
    for kind, first, count in sheet.colors:
        named = (sheet.hinges[:, :3] if kind == 2 else sheet.edges)[first : first + count]
        assert len(np.unique(named)) == named.size
    folds = [color for color in sheet.colors if color.kind == 2]
    assert folds == folds[::-1], "they are solved forth and back"
    once = set(sheet.colors)
    solved = [sum(color.count for color in once if (color.kind == 2) is hinges) for hinges in (False, True)]
    threads = rows * (columns - 1) + columns * (rows - 1)
    diagonals = 2 * (rows - 1) * (columns - 1)
    assert solved == [threads + diagonals, rows * (columns - 2) + columns * (rows - 2)]
    assert len(np.unique(sheet.edges, axis=0)) == len(sheet.edges)
    assert sheet.stretching == threads
    assert sheet.areas.sum() == pytest.approx(1.0)
    starts, fans = around(sheet.count, sheet.triangles)
    for vertex in range(sheet.count):
        assert all(vertex in sheet.triangles[t] for t in fans[starts[vertex] : starts[vertex + 1]])
    assert starts[-1] == sheet.triangles.size
    for corners, sides in zip(sheet.triangles, sheet.sides, strict=True):
        assert {tuple(sorted(pair)) for pair in sheet.edges[sides].tolist()} == {
            tuple(sorted((int(corners[a]), int(corners[b])))) for a, b in ((0, 1), (1, 2), (2, 0))
        }


@pytest.mark.parametrize(
    ("rows", "columns", "pins"), [(9, 9, "none"), (40, 22, "corners"), (90, 3, "edge"), (5, 70, "ends")]
)
def test_threads_are_equally_stiff_everywhere(rows: int, columns: int, pins: str) -> None:
    """Of each span, the edges over an interval of a thread have its stiffness, or neighbors make up for them."""
    spacing = 0.01
    sheet = woven(rows, columns, spacing * (columns - 1), spacing * (rows - 1))
    _, pinned = hung(sheet, pins, 0.8)  # type: ignore[arg-type]
    long = long_threads(sheet, pinned, 1.0 / 1440.0)
    assert len(long.spans) == (0 if rows == columns else 2) or max(rows, columns) < 60
    neighbors = {(int(a), int(b)): n for n, (a, b) in enumerate(sheet.edges[: sheet.stretching])}
    strains = np.zeros((sheet.stretching, 2))  # energy of each interval at a strain of 1, in units of its own
    for (a, b), length, stiffness in zip(long.edges, long.lengths, long.stiffnesses, strict=True):
        step = 1 if b - a < columns else columns
        count = (b - a) // step
        assert length == pytest.approx(count * spacing)
        for start in range(a, b, step):
            strains[neighbors[start, start + step]] += stiffness * length
    own = sheet.edge_stiffnesses[: sheet.stretching, None] * sheet.lengths[: sheet.stretching, None]
    np.testing.assert_allclose((strains / own + long.shares)[:, : len(long.spans)], 1.0, atol=1e-9)
    for _, first, count in long.colors:
        moved = long.edges[first : first + count]
        moved = moved[~pinned[moved]]
        assert len(np.unique(moved)) == moved.size
    chosen = long.next[:, 2:][long.next[:, 2:] != NONE]
    assert set((np.ptp(long.edges[chosen], axis=1) % columns).tolist()) <= {0, *long.spans[:1]}


def test_spans_fit_into_the_longer_threads() -> None:
    for vertices in range(2, 40):
        for h in (1.0 / 120.0, 1.0 / 1440.0):
            sheet = woven(vertices, 2, 0.02, 0.02 * (vertices - 1))
            assert all(2 * span <= vertices - 1 for span in spans(sheet, h)), (vertices, h)
            assert spans(sheet, h) or vertices < 5


def test_threads_too_short_for_long_ones_are_as_stiff_as_neighbors_can_be() -> None:
    most = 0.2 * (0.02 * 1440.0) ** 2
    assert reached(5000.0, 0.2, 0.02, 1.0 / 1440.0, (3, 12), 100) == pytest.approx(5000.0)
    assert 0.8 * most < reached(5000.0, 0.2, 0.02, 1.0 / 1440.0, (3, 12), 3) < most
    one = reached(5000.0, 0.2, 0.02, 1.0 / 1440.0, (3, 12), 10)
    assert 1.2 * most < one < 5.5 * most


def test_the_stiffness_is_divided_among_spans() -> None:
    shares, springs = divided(5000.0, 0.2, 0.02, 1.0 / 1440.0, (3, 12))
    most = 0.2 * (0.02 * 1440.0) ** 2 * np.array([1, 9, 144])
    assert sum(shares) == pytest.approx(5000.0)
    assert all(share < part for share, part in zip(shares, most, strict=True))
    np.testing.assert_allclose(1.0 / (1.0 / np.array(springs) + 1.0 / most), shares)
    soft, _ = divided(10.0, 0.2, 0.02, 1.0 / 1440.0, (3, 12))
    assert soft == (10.0, 0.0, 0.0)
    assert sum(divided(1e9, 0.2, 0.02, 1.0 / 1440.0, (3, 12))[0]) < most.sum()


# the reference ----------------------------------------------------------------------------------------------------

WINDS = np.random.default_rng(5).normal(size=(4, 3, 5, 3)).astype(np.float32)
CASES = {
    "hanging": ({}, {"pins": "corners", "wind": (2.0, 0.3, 1.0)}),
    "a pole": ({}, {"pins": "pole", "wind": (3.0, 0.0, -1.0), "gust": 1.5, "self_collision": False}),
    "on a ball": ({}, {"pins": "none", "sphere_radius": 0.4, "floor": True, "ground": -0.7, "drag": 3.0}),
    "a strip": ({}, {"pins": "ends", "span": 0.7, "length": 0.02, "bend": 0.1}),
    "tearing": ({}, {"pins": "edge", "stretch": 20.0, "shear": 1.0, "tearing": True, "tear_strain": 0.1}),
    "a wind field": ({"wind": WINDS}, {"pins": "edge", "wind_center": (0.1, 0.2, 0.0), "wind_size": (1.0, 2.0, 1.5)}),
    "an obstacle": ({"obstacle": ball_grid(12, 0.5)}, {"pins": "none", "center": (0.1, 0.55, 0.0)}),
}


def strains(state: cloth_reference.State, sheet: Sheet) -> np.ndarray:
    """The largest strain of the edges of each vertex, with its sign."""
    span = np.linalg.norm(np.subtract(*(state.positions[sheet.edges[:, end]] for end in (0, 1))), axis=1)
    strain = np.where(state.springs[:, 0] > 0, span / np.abs(state.springs[:, 0]) - 1.0, 0.0)
    starts, found = around(sheet.count, sheet.edges)
    parts = np.split(strain[found], starts[1:-1])
    return np.array([part[np.argmax(np.abs(part))] for part in parts])


def energies(state: cloth_reference.State, sheet: Sheet, long: LongThreads, values: Mapping) -> dict[str, float]:
    """Kinetic, gravitational and elastic energy [J], and the magnitude of the momentum [kg m/s]."""
    free = state.inverse > 0
    masses = np.where(free, values["density"] / np.where(free, state.inverse, 1.0), 0.0)
    span = np.linalg.norm(np.subtract(*(state.positions[sheet.edges[:, end]] for end in (0, 1))), axis=1)
    threads = np.arange(len(span)) < sheet.stretching
    stiff = np.where(threads, state.springs[:, 1:] @ values["stretch"], values["shear"] * state.springs[:, 1])
    edges = np.where(state.springs[:, 0] > 0, 0.5 * stiff * (span - state.springs[:, 0]) ** 2, 0.0)
    longer = np.linalg.norm(np.subtract(*(state.positions[long.edges[:, end]] for end in (0, 1))), axis=1)
    longer = np.where(state.distant[:, 0] > 0, np.maximum(longer - state.distant[:, 0], 0.0), 0.0)
    pulling = 0.5 * (state.distant[:, 1:] @ values["stretch"]) @ longer**2
    a, b, c, one, two = sheet.hinges.T
    bow = np.sum((state.positions[a] - 2.0 * state.positions[b] + state.positions[c]) ** 2, axis=1)
    whole = (state.springs[one, 0] > 0) & (state.springs[two, 0] > 0)
    return {
        "kinetic": float(0.5 * masses @ np.sum(state.velocities**2, axis=1)),
        "height": float(values["gravity"] * masses @ state.positions[:, 1]),
        "elastic": float(
            edges.sum() + pulling + 0.5 * values["bend"] * np.where(whole, sheet.bend_stiffnesses * bow, 0.0).sum()
        ),
        "momentum": float(np.linalg.norm(masses @ state.velocities)),
    }


@pytest.mark.turns(4)
@pytest.mark.parametrize("case", CASES)
def test_a_sweep_equals_the_reference(make: Make, case: str) -> None:
    inputs, values = CASES[case]
    model = make(inputs, resolution=11, solver_substeps=6, **values)
    run(model, 0.5)
    measures = measured(model)
    assert (measures["torn"] > 0) == (case == "tearing"), measures
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)
    state = model.reference_state()
    expected = energies(state, model._sheet, model._fabric.long, model._surface_fields())
    measures = measured(model)
    assert measures["kinetic"] == pytest.approx(expected["kinetic"], rel=1e-4)
    assert measures["potential"] == pytest.approx(expected["height"], rel=1e-4)
    assert measures["elastic"] == pytest.approx(expected["elastic"], rel=2e-3)
    assert measures["momentum"] == pytest.approx(expected["momentum"], rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(out(model, "strain").ravel(), strains(state, model._sheet), atol=2e-5)


def test_self_collision_of_a_folded_sheet_equals_the_reference(make: Make) -> None:
    """Folded in half, with layers closer than the thickness; connected vertices are compressed, but do not collide."""
    model = make(resolution=12, pins="none", gravity=0.0, bend=0.0, solver_substeps=6, **STILL | {"friction": 0.5})
    thickness = model._fabric.thickness
    positions = out(model, "position")
    half = positions[:, :, 0] > 0
    positions[:, :, 0] = -np.abs(positions[:, :, 0])
    positions[:, :, 2] *= 0.8
    positions[:, :, 1] += np.where(half, 0.5 * thickness, 0.0) + 0.05 * thickness * np.sin(9 * positions[:, :, 2])
    put(model, positions)
    slide = np.zeros_like(positions)
    slide[:, :, 2] = np.where(half, 0.1, -0.1)
    with Tensor.from_numpy(slide.astype(np.float32)) as shift:
        ops.assign(model.outputs()["velocity"], shift)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)
    run(model, 0.3)
    now = out(model, "position").reshape(-1, 3)
    rest_positions = model._sheet.rest_positions
    far = np.linalg.norm(now[:, None] - now[None], axis=-1)
    distant = far[np.linalg.norm(rest_positions[:, None] - rest_positions[None], axis=-1) > 2.0 * thickness]
    assert distant.min() > 0.8 * thickness
    measures = measured(model)
    assert measures["momentum"] < 2e-4, "what pushes is pushed as hard"


# against analysis -------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_it_falls_freely(make: Make) -> None:
    """v = g t; the path is g t (t + h) / 2, since each small step moves with the velocity of its end."""
    model = make(resolution=9, pins="none", **STILL)
    before, seconds, h = out(model, "position"), 0.5, SWEEP / 12
    run(model, seconds)
    masses = model._sheet.areas / model._sheet.areas.sum()
    fallen = float((before - out(model, "position"))[..., 1].ravel() @ masses)
    assert fallen == pytest.approx(0.5 * 9.81 * seconds * (seconds + h), rel=1e-4)  # positions are rounded
    measures = measured(model)
    assert measures["momentum"] == pytest.approx(0.2 * 1.6 * 1.6 * 9.81 * seconds, rel=2e-4)


def catenary(span: float, length: float, x: np.ndarray) -> np.ndarray:
    """Height of a chain hung at ±span / 2: y = a (cosh(x / a) − cosh(span / 2a)), with 2a sinh(span / 2a) = length.

    J. Bernoulli, Huygens and Leibniz, 1691.
    """
    low, high = 1e-2 * span, 1e2 * span
    for _ in range(200):
        a = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            low, high = (a, high) if 2.0 * a * np.sinh(0.5 * span / a) > length else (low, a)
    return a * (np.cosh(x / a) - np.cosh(0.5 * span / a))


@pytest.mark.turns(4)
@pytest.mark.parametrize("span", [0.5, 0.8])
def test_a_strip_hangs_as_a_catenary(make: Make, span: float) -> None:
    """Stiff, without bending; within 1 % of the length."""
    model = make(
        resolution=25, width=1.0, length=0.04, pins="ends", span=span, stretch=1e5, shear=10.0, bend=0.0,
        drag=0.0, damping=6.0, self_collision=False, solver_substeps=16,
    )  # fmt: skip
    run(model, 1.2)
    positions = out(model, "position").mean(axis=0)
    expected = catenary(span, 1.0, positions[:, 0])
    assert np.abs(positions[:, 1] - expected).max() < 0.01
    assert expected.min() < -0.25, "a chain that is not straight"
    assert measured(model)["kinetic"] < 1e-4


@pytest.mark.turns(3)
def test_a_hanging_sheet_stretches_by_its_stiffness(make: Make) -> None:
    """Under its own weight a sheet of length H gets longer by ρ g H² / 2K, whatever its resolution."""
    for resolution in (6, 12):
        model = make(
            resolution=resolution, width=1.0, length=1.0, pins="edge", stretch=40.0, shear=0.0, bend=0.0,
            drag=0.0, damping=25.0, self_collision=False, solver_substeps=8,
        )  # fmt: skip
        run(model, 0.8)
        longer = -out(model, "position")[-1, :, 1].mean() - 0.5
        assert longer == pytest.approx(0.2 * 9.81 / (2.0 * 40.0), rel=0.03)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("resolution", "width", "length", "levels"), [(14, 1.0, 1.0, 1), (4, 0.05, 4.0, 2)])
def test_stiff_threads_have_the_stiffness_of_the_material(
    make: Make, resolution: int, width: float, length: float, levels: int
) -> None:
    """A solver of one iteration would let these sheets stretch 10 to 1,000 times as much as the material."""
    model = make(
        resolution=resolution, width=width, length=length, pins="edge", stretch=5000.0, bend=0.0, drag=0.0, damping=5.0,
        self_collision=False, solver_substeps=6,
    )  # fmt: skip
    assert len(model._fabric.long.spans) == levels
    run(model, 1.2)
    longer = -out(model, "position")[-1, :, 1].mean() - 0.5 * length
    assert longer == pytest.approx(0.2 * 9.81 * length**2 / (2.0 * 5000.0), rel=0.1)
    assert measured(model)["solver_strain"] < 0.1 * measured(model)["material_strain"]


def test_long_threads_part_with_the_threads_that_they_run_along(make: Make) -> None:
    """Cut through the middle: nothing below is held by what is above."""
    model = make(resolution=4, width=0.05, length=4.0, pins="edge", solver_substeps=6, self_collision=False, **STILL)
    springs = model._fabric.springs.numpy()
    middle = model._sheet.rows // 2 * model._sheet.columns
    start, end = model._sheet.edges.T
    springs[(start < middle) & (end >= middle), 0] *= -1.0
    with Tensor.from_numpy(springs) as cut:
        ops.assign(model._fabric.springs, cut)
    model.step(2.0 * SWEEP)
    a, b = model._fabric.long.edges.T
    torn = model._fabric.long_springs.numpy()[:, 0] < 0
    assert np.array_equal(torn, (a < middle) & (b >= middle))
    assert torn.any() and not torn.all()
    before = out(model, "velocity")[..., 1]
    run(model, 0.2)
    fall = (out(model, "velocity")[..., 1] - before)[model._sheet.rows // 2 :]
    np.testing.assert_allclose(fall, -9.81 * 0.2, atol=0.02)
    model.reset()
    assert (model._fabric.long_springs.numpy()[:, 0] > 0).all()


def test_elastic_energies_are_those_of_the_continuum(make: Make) -> None:
    """½ K ε², ½ G γ² and ½ B κ² for each area, whatever the resolution."""
    for resolution, length in ((7, 1.2), (23, 0.9)):
        model = make(resolution=resolution, width=1.5, length=length, pins="none", stretch=3000.0, shear=0.0, bend=0.0)
        rest_positions = model._sheet.rest_positions.reshape(model._sheet.rows, -1, 3)
        u, v = rest_positions[..., 0], rest_positions[..., 1]
        area = 1.5 * length

        def elastic(positions: np.ndarray, **stiff: float) -> float:
            for name in ("stretch", "shear", "bend"):
                model._params.change(name, stiff.get(name, 1.0 if name == "stretch" else 0.0))  # noqa: B023
            put(model, positions)  # noqa: B023
            return measured(model)["elastic"]  # noqa: B023

        stretched = elastic(np.stack([1.01 * u, v, 0 * u], -1), stretch=3000.0)
        assert stretched == pytest.approx(0.5 * 3000.0 * 0.01**2 * area, rel=1e-3)
        sheared = elastic(np.stack([u + 0.01 * v, v, 0 * u], -1), shear=5000.0)
        assert sheared == pytest.approx(0.5 * 5000.0 * 0.01**2 * area, rel=0.02)
        bent = elastic(np.stack([np.sin(u), v, 1.0 - np.cos(u)], -1), bend=1.0, stretch=1.0)
        inner = (resolution - 2) / (resolution - 1)  # no hinge is at the border
        assert bent == pytest.approx(0.5 * area * inner, rel=0.02)
        bent = elastic(np.stack([u, np.sin(v), 1.0 - np.cos(v)], -1), bend=1.0, stretch=1.0)
        inner = (model._sheet.rows - 2) / (model._sheet.rows - 1)
        assert bent == pytest.approx(0.5 * area * inner, rel=0.02)


@pytest.mark.turns(4)
def test_energy_does_not_grow_without_wind(make: Make) -> None:
    """A sheet swings about the pole that holds its edge, damped only by the solver."""
    model = make(resolution=10, pins="pole", stretch=500.0, solver_substeps=8, **STILL)
    energies = []
    for _ in range(20):
        energies.append(measured(model)["energy"])
        run(model, 0.1)
    fall = 0.2 * 1.6 * 1.6 * 9.81 * 0.8  # of its center, if it hung from the pole
    assert measured(model)["kinetic"] > 0.01 * fall, "it still moves"
    assert max(energies - np.minimum.accumulate(energies)) < 0.002 * fall


# contacts, tearing, tools -----------------------------------------------------------------------------------------


@pytest.mark.turns(4)
def test_it_stays_out_of_a_ball_and_above_the_ground(make: Make) -> None:
    model = make(resolution=24, pins="none", sphere_radius=0.4, floor=True, ground=-0.9, solver_substeps=8)
    gap = 0.5 * model._fabric.thickness
    for _ in range(4):
        run(model, 0.25)
        positions = out(model, "position")
        away = np.linalg.norm(positions - [0.0, -0.5, 0.0], axis=-1)
        assert away.min() > 0.4 + 0.9 * gap
        assert positions[..., 1].min() > -0.9 + 0.99 * gap
    assert away.min() < 0.4 + 1.1 * gap, "it is on the ball"
    radius = out(model, "ball_radius")
    np.testing.assert_allclose([*out(model, "ball")[0], radius[0]], [0.0, -0.5, 0.0, 0.4], rtol=1e-6)


@pytest.mark.turns(3)
def test_friction_holds_a_sheet_on_a_ball(make: Make) -> None:
    """On top of a ball it slides off without friction, and stays with high friction."""
    left = []
    for friction in (0.0, 1.5):
        model = make(
            resolution=12, width=0.6, length=0.6, pins="none", sphere_radius=0.5, sphere_center=(0.0, -0.55, 0.0),
            center=(0.12, 0.02, 0.0), friction=friction, solver_substeps=8,
        )  # fmt: skip
        run(model, 0.8)
        left.append(out(model, "position")[..., 1].mean())
    assert left[0] < -0.5 < -0.3 < left[1]


@pytest.mark.turns(3)
def test_a_signed_distance_grid_collides_like_the_ball(make: Make) -> None:
    values = {
        "resolution": 16,
        "width": 1.0,
        "length": 1.0,
        "pins": "none",
        "center": (0.0, 0.62, 0.0),
        "solver_substeps": 8,
    }
    grid = make({"obstacle": ball_grid(40, 0.5)}, **values)
    ball = make(sphere_center=(0.0, 0.0, 0.0), sphere_radius=0.5, **values)
    for model in (grid, ball):
        run(model, 0.4)
    distant = np.linalg.norm(out(grid, "position") - out(ball, "position"), axis=-1)
    assert np.median(distant) < 0.005
    assert distant.max() < 0.06, "folds may be slightly offset"
    assert np.linalg.norm(out(grid, "position"), axis=-1).min() > 0.49


@pytest.mark.turns(3)
def test_a_uniform_field_blows_as_the_mean_wind_does(make: Make) -> None:
    wind = (4.0, 1.0, -2.0)
    field = np.broadcast_to(np.array(wind, np.float32), (3, 4, 5, 3))
    uploads = make({"wind": np.ascontiguousarray(field)}, resolution=9, pins="pole")
    mean = make(resolution=9, pins="pole", wind=wind, gust=0.0)
    still = make(resolution=9, pins="pole")
    for model in (uploads, mean, still):
        run(model, 0.3)
    np.testing.assert_allclose(out(uploads, "position"), out(mean, "position"), atol=1e-3)
    assert np.abs(out(uploads, "position") - out(still, "position")).max() > 0.2


@pytest.mark.turns(3)
def test_torn_triangles_are_removed_and_restored_by_a_reset(make: Make) -> None:
    model = make(resolution=12, pins="corners", stretch=30.0, tearing=True, tear_strain=0.15, solver_substeps=6)
    whole = out(model, "index").astype(int)
    assert np.array_equal(whole, model._sheet.triangles)
    run(model, 1.0)
    torn = model._fabric.springs.numpy()[:, 0] < 0
    index = out(model, "index").astype(int)
    gone = torn[model._sheet.sides].any(axis=1)
    assert gone.any()
    assert not gone.all()
    assert np.array_equal(index[~gone], whole[~gone])
    assert not index[gone].any()
    assert measured(model)["torn"] == torn.sum()
    assert np.isfinite(out(model, "normal")).all()
    model.reset()
    assert np.array_equal(out(model, "index"), whole)
    assert measured(model)["torn"] == 0


def interaction(gesture: Gesture, point: object, velocity: object, radius: float) -> Interaction:
    return Interaction(gesture, (0.0, 0.0, 5.0), (0.0, 0.0, -1.0), point, velocity, radius)  # type: ignore[arg-type]


def test_a_blade_cuts_what_it_passes_through(make: Make) -> None:
    """Moved from left to right across a hanging sheet: the part below falls, the part above stays."""
    model = make(resolution=14, pins="edge", solver_substeps=6)
    run(model, 0.2)

    def cut(start: float, end: float) -> np.ndarray:
        """Cut along x; return the distances of the centers of torn edges from the left edge of the cloth [m]."""
        for x in np.arange(start, end + 1e-6, 0.1):
            model.interact(interaction(Gesture.CUT, (x, -0.005, 0.0), (0.1 / FRAME, 0.0, 0.0), 0.05))
            model.step(FRAME)
        model.interact(None)
        torn = model._fabric.springs.numpy()[:, 0] < 0
        return model._sheet.rest_positions[model._sheet.edges[torn], 0].mean(axis=1)

    half = cut(-1.0, 0.0)
    assert 0.75 < half.max() < 0.85, "the blade has come as far as the middle, and reaches 0.05 m ahead"
    assert half.min() == 0.0
    torn = len(cut(0.1, 1.0))
    assert 14 + 2 * 13 <= torn <= 2 * (14 + 2 * 13), "one row of threads and diagonals, or two where it swings"
    run(model, 0.5)
    heights = out(model, "position")[..., 1]
    assert heights[-1].max() < -1.5
    assert heights[:5].min() > 0.0


def test_a_blade_at_rest_cuts_nothing(make: Make) -> None:
    model = make(resolution=8, pins="edge", solver_substeps=4)
    model.interact(interaction(Gesture.CUT, (0.0, 0.05, 0.0), (0.0, 0.0, 0.0), 0.5))
    run(model, 0.1)
    assert measured(model)["torn"] == 0


def test_the_drag_tool_moves_nearby_vertices(make: Make) -> None:
    model = make(resolution=16, pins="edge", solver_substeps=6)
    run(model, 0.1)
    before = out(model, "position")
    model.interact(interaction(Gesture.DRAG, (0.0, -0.8, 0.0), (0.0, 0.0, 2.0), 0.3))
    model.step(FRAME)
    moved = (out(model, "position") - before)[..., 2]
    near = np.linalg.norm(before - [0.0, -0.8, 0.0], axis=-1)
    np.testing.assert_allclose(moved[near < 0.1], 2.0 * FRAME, rtol=0.2)
    assert np.abs(moved[near > 0.8]).max() < 0.004
    model.interact(None)
    model.step(FRAME)


def test_vertices_held_by_the_drag_tool_stay(make: Make) -> None:
    """Lifted from the lower edge against the sheet's weight: threads do not pull the cloth out of the tool."""
    model = make(resolution=16, pins="edge", solver_substeps=6)
    run(model, 0.1)
    before = out(model, "position")
    point, speed = before[-1, 8], np.array([0.3, 1.5, 1.0])
    near = np.linalg.norm(before - point, axis=-1) < 0.13
    steps = 24
    for step in range(1, steps + 1):
        model.interact(interaction(Gesture.DRAG, tuple(point + step * FRAME * speed), tuple(speed), 0.3))
        model.step(FRAME)
    moved = (out(model, "position") - before)[near]
    slip = np.linalg.norm(moved - steps * FRAME * speed, axis=-1)
    assert near.sum() >= 3 and slip.max() < 0.1 * steps * FRAME * np.linalg.norm(speed)


# bits, time, input ------------------------------------------------------------------------------------------------


@pytest.mark.turns(4)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(make: Make) -> None:
    values = {"resolution": 12, "pins": "none", "sphere_radius": 0.4, "solver_substeps": 6, "wind": (1.0, 0.0, 0.0)}
    one, two, other = (make(seed=seed, **values) for seed in (3, 3, 4))
    for model in (one, two, other):
        run(model, 0.6)
    assert np.array_equal(out(one, "position"), out(two, "position"))
    assert not np.array_equal(out(one, "position"), out(other, "position"))
    one.reset()
    run(one, 0.6)
    assert np.array_equal(out(one, "position"), out(two, "position"))


def test_a_snapshot_continues_with_the_same_bits(make: Make) -> None:
    """Wind, gusts, tearing, and a frame that ends shortly before the next sweep is due."""
    values = {"stretch": 60.0, "tearing": True, "tear_strain": 0.15, "wind": (3.0, 0.0, 5.0)}
    model = make(resolution=10, pins="corners", solver_substeps=5, **values)

    def go_on() -> dict[str, np.ndarray]:
        for _ in range(13):
            model.step(0.7 * FRAME)
        return {name: tensor.numpy() for name, tensor in model.outputs().items()}

    run(model, 0.1)
    model.step(0.95 * FRAME)
    saved = {name: tensor.numpy() for name, tensor in model.state().items()}
    numbers, torn = model.scalar_state(), measured(model)["torn"]
    then = go_on()
    assert measured(model)["torn"] > torn
    for name, tensor in model.state().items():
        with Tensor.from_numpy(saved[name]) as was:
            ops.assign(tensor, was)
    model.load_scalar_state(numbers)
    for name, array in go_on().items():
        assert np.array_equal(array, then[name]), name


def test_the_frame_time_does_not_matter(make: Make) -> None:
    one, two = (make(resolution=8, solver_substeps=4) for _ in range(2))
    for _ in range(12):
        one.step(FRAME)
    for _ in range(36):
        two.step(FRAME / 3.0)
    assert np.array_equal(out(one, "position"), out(two, "position"))


@pytest.mark.turns(3)
def test_numbers_stay_finite_at_the_ends_of_the_ranges(make: Make) -> None:
    extremes = [
        {"stretch": 1e6, "shear": 1e6, "bend": 1.0, "density": 0.02, "wind": (60.0, 60.0, -60.0), "gust": 2.0},
        {"stretch": 1.0, "shear": 0.0, "bend": 0.0, "density": 5.0, "gravity": 100.0, "drag": 0.0, "tearing": True},
        {"pins": "none", "sphere_radius": 0.6, "floor": True, "friction": 2.0, "gravity": 100.0, "drag": 10.0},
    ]
    for values in extremes:
        model = make(resolution=7, solver_substeps=1, **values)
        run(model, 2.0)
        measures = measured(model)
        assert np.isfinite(list(measures.values())).all(), (values, measures)
        assert np.isfinite(out(model, "position")).all(), values


def test_pinned_vertices_and_patterns(make: Make) -> None:
    bands = out(make(resolution=9, length=0.8, pattern="bands"), "pattern")
    assert bands.shape == (5, 9)
    assert np.array_equal(bands[:, 0], [0.0, 0.0, 0.5, 0.5, 1.0])
    assert np.array_equal(bands, np.repeat(bands[:, :1], 9, axis=1))
    tartan = out(make(resolution=33, pattern="tartan"), "pattern")
    assert np.array_equal(tartan, tartan.T)
    assert set(tartan.ravel()) == {0.0, 0.5, 1.0}
    assert not out(make(resolution=5, pattern="plain"), "pattern").any()


def test_inputs_of_the_wrong_shape_are_refused(make: Make) -> None:
    with pytest.raises(InputError, match=r"wind is f32 of shape \(3, 3, 3\); .*\(nz, ny, nx, 3\)"):
        make({"wind": np.zeros((3, 3, 3), np.float32)})
    with pytest.raises(InputError, match=r"obstacle is u32 .*\(nz, ny, nx\)"):
        make({"obstacle": np.zeros((3, 3, 3), np.uint32)})


@pytest.mark.turns(3)
def test_the_strain_of_the_solver_error_is_measured_and_reported(make: Make) -> None:
    """Too stiff for the substeps even with long threads: the strain is the solver's, and is reported as such."""
    hung_up = {"pins": "edge", "width": 0.1, "length": 4.0, "stretch": 1e6, "damping": 5.0, "self_collision": False}
    model = make(resolution=5, solver_substeps=1, gravity=100.0, **hung_up | {"density": 1.0})
    run(model, 1.5)
    measures = measured(model)
    found = (
        -2.0 * (out(model, "position")[-1, :, 1].mean() + 2.0) / 4.0
    )  # the mean strain is half of the upper threads'
    assert found == pytest.approx(measures["solver_strain"] + measures["material_strain"], rel=0.2)
    assert measures["solver_strain"] > 3.0 * measures["material_strain"]
    assert measures["solver_strain"] < model.limits["solver_strain"].bound
    wide = {**hung_up, "length": 50.0, "gravity": 100.0}
    assert (
        measured(make(resolution=2, solver_substeps=1, **wide))["solver_strain"] > model.limits["solver_strain"].bound
    )
    finer = measured(make(resolution=17, solver_substeps=4, **hung_up))
    assert finer["material_strain"] == pytest.approx(0.2 * 9.81 * 4.0 / 1e6, rel=1e-5)
    longer = measured(make(resolution=17, **hung_up | {"length": 2.0, "gravity": 3.0, "density": 0.5, "stretch": 1e4}))
    assert longer["material_strain"] == pytest.approx(0.5 * 3.0 * 2.0 / 1e4, rel=1e-5), "its weight over its stiffness"
    lying = measured(make(resolution=17, solver_substeps=2, **hung_up | {"pins": "none"}))
    assert lying["solver_strain"] == 0.0 and lying["missing_stiffness"] > model.limits["missing_stiffness"].bound


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_fine_threads_that_bend_come_to_rest(make: Make, gravity: float) -> None:
    """At 3 mm hinges move vertices by nearly all that they are bent: solved in one order only, energy grows."""
    fine = {"resolution": 17, "width": 0.05, "solver_substeps": 6, "bend": 8e-5, "pins": "edge"}
    model = make(**STILL | fine | {"damping": 4.0, "gravity": gravity, "self_collision": False})
    run(model, 0.2)
    first = measured(model)
    run(model, 0.2)
    last = measured(model)
    assert last["kinetic"] < 0.5 * first["kinetic"]
    assert last["energy_gain"] < 1e-3
