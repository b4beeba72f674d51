"""The n-body model with a tree: the tree, forces against all pairs, Kepler's orbits, and a Plummer sphere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.gpu import Gpu, Kernel
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics import barnes_hut_tree, nbody, nbody_barnes_hut
from vertigrad.models.physics.galaxy import Bodies, colliding_discs
from vertigrad.models.physics.nbody import NBody
from vertigrad.models.physics.nbody_barnes_hut import NBodyBarnesHut, Params
from vertigrad.models.physics.plummer import CROSSING, SCALE, plummer
from vertigrad.tensor import Tensor

from .. import gravity as gravity_reference
from ..bodies import bodies, random_bodies

Make = Callable[..., NBodyBarnesHut]
STEP = 1.0 / 60.0


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[NBodyBarnesHut] = []

    def make_model(start: Bodies, **values: float) -> NBodyBarnesHut:
        values = {"softening": 0.05, **values}
        created.append(NBodyBarnesHut("test", Params(count=max(2, len(start.masses)), **values), {}, 0, start))  # type: ignore[arg-type]
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def forces(model: NBodyBarnesHut) -> np.ndarray:
    model.step(0.0)  # computes those of the start
    return model.state()["accelerations"].numpy()[:, :3].astype(float)


def exact(start: Bodies, softening: float = 0.05) -> np.ndarray:
    return gravity_reference.accelerations(start.positions.astype(float), start.masses.astype(float), softening)


def errors(model: NBodyBarnesHut, start: Bodies) -> np.ndarray:
    """Relative errors of the forces of each body."""
    expected = exact(start)
    return np.linalg.norm(forces(model) - expected, axis=1) / np.linalg.norm(expected, axis=1)


@pytest.mark.parametrize("count", [1, 2, 16, 17, 64, 65, 257, 1000, 4097, 70_000])
def test_a_traversal_that_opens_all_nodes_visits_each_body_once(count: int) -> None:
    created = barnes_hut_tree.form(count)
    nodes = len(created.links)
    assert sorted(np.concatenate(created.levels)) == list(range(nodes))
    at, met = 0, []
    while at < nodes:
        following, first = created.links[at]
        assert at < following <= nodes
        if first == barnes_hut_tree.NOT_A_LEAF:
            at += 1
        else:
            assert following == at + 1
            met.append(first)
            at = following
    assert met == list(range(0, count, barnes_hut_tree.LEAF))
    for level, above in zip(created.levels, created.levels[1:], strict=False):
        for index, number in enumerate(above[:50]):
            children = level[index * barnes_hut_tree.FAN : (index + 1) * barnes_hut_tree.FAN]
            chain = [number + 1, *created.links[children[:-1], 0]]
            assert chain == list(children)
            assert created.links[children[-1], 0] == created.links[number, 0]


def test_the_order_is_a_curve_through_neighboring_cells(steady: Gpu) -> None:
    """Hilbert's: keys of a cube of cells follow each other, each cell adjacent to the previous one (Hilbert 1891)."""
    side = 16
    cells = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), axis=-1) + np.array([512, 256, 512 - side])
    drawn = (cells + 0.5) / 512.0 - 1.0
    points = np.column_stack([drawn / (1.0 - abs(drawn)), np.ones(len(cells))]).astype(np.float32)
    unused = {
        "softening": 0.0,
        "theta": 0.0,
        "dt": 0.0,
        "tool_point": (0.0,) * 3,
        "tool_mass": 0.0,
        "tool_softening": 1.0,
    }
    with (
        Tensor.from_numpy(points) as body_tensor,
        Tensor.zeros(3) as center,
        Tensor.full(3, 1.0) as spread,
        Tensor.empty(len(cells), "uint32") as keys,
    ):
        around = {"center": center, "spread": spread, "count": len(cells)}
        assign_keys = Kernel.load(barnes_hut_tree.SHADER, "assign_keys", barnes_hut_tree.DEFINES)
        assign_keys(len(cells), bodies=body_tensor, keys=keys, **around, **unused)
        found = keys.numpy().astype(np.int64)
    order = np.argsort(found)
    np.testing.assert_array_equal(np.diff(found[order]), 1)
    assert found.min() % side**3 == 0
    np.testing.assert_array_equal(abs(np.diff(cells[order], axis=0)).sum(axis=1), 1)


def test_the_root_has_mass_center_and_moments_of_all_bodies(make: Make) -> None:
    start = random_bodies(1000)
    model = make(start)
    model.step(0.0)
    tensors = model._tensors
    node, box = tensors["nodes"].numpy()[0], tensors["boxes"].numpy()[0]
    masses, points = start.masses.astype(float), start.positions.astype(float)
    center = masses @ points / masses.sum()
    away = points - center
    moments = (masses[:, None] * away).T @ away
    np.testing.assert_allclose(node[:3], center, atol=1e-6)
    assert node[4] == pytest.approx(masses.sum(), rel=1e-6)
    np.testing.assert_allclose(node[5:8], np.diag(moments), rtol=1e-5)
    np.testing.assert_allclose(node[8:11], moments[[0, 0, 1], [1, 2, 2]], atol=1e-6)
    np.testing.assert_array_equal(box[[0, 1, 2, 4, 5, 6]], [*start.positions.min(0), *start.positions.max(0)])
    corner = np.maximum(center - box[:3], box[4:7] - center)
    assert node[3] == pytest.approx(np.linalg.norm(corner), rel=1e-5)


@pytest.mark.parametrize("count", [2, 15, 16, 17, 63, 64, 65, 300])
def test_a_step_equals_all_pairs_where_every_node_is_opened(make: Make, count: int) -> None:
    start = random_bodies(count)
    model = make(start, theta=0.05, time_scale=1.2)
    for _ in range(3):
        model.step(STEP)
    doubles = [np.asarray(a, float) for a in (start.positions, start.velocities, start.masses)]
    positions, velocities = gravity_reference.leapfrog(*doubles, softening=0.05, dt=0.02, steps=3)
    np.testing.assert_allclose(model.outputs()["position"].numpy(), positions, rtol=0, atol=2e-6)
    np.testing.assert_allclose(model.outputs()["velocity"].numpy(), velocities, rtol=0, atol=2e-5)
    np.testing.assert_allclose(model.outputs()["speed"].numpy(), np.linalg.norm(velocities, axis=1), rtol=0, atol=2e-5)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("theta", "median", "most"), [(0.3, 1e-5, 1.5e-4), (0.5, 6e-5, 9e-4), (0.7, 3.5e-4, 4e-3), (1.0, 1.3e-3, 2e-2)]
)
@pytest.mark.parametrize("start", [plummer(3000, seed=1), colliding_discs(3000, seed=1)], ids=["cluster", "galaxies"])
def test_force_errors_are_bounded_by_theta(make: Make, start: Bodies, theta: float, median: float, most: float) -> None:
    """Median and 99 % of relative errors against all pairs. Without second moments they are several times more."""
    error = errors(make(start, theta=theta), start)
    assert 1e-7 < np.median(error) < median
    assert np.quantile(error, 0.99) < most


def test_the_reference_agrees_at_each_theta(make: Make) -> None:
    for theta in (0.2, 0.7, 1.0):
        model = make(plummer(1500, seed=2), theta=theta)
        model.step(STEP)
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)


def test_distant_and_coinciding_bodies_are_handled(make: Make) -> None:
    start = plummer(500, seed=1)
    start.positions[:3] = [[1e7, 0, 0], [0, -1e5, 3], [0, 0, 1e9]]
    model = make(start, theta=0.6)
    error = errors(model, start)[3:]
    assert np.median(error) < 2e-4
    heap = bodies(np.tile([[1.0, 2.0, 3.0]], (100, 1)), np.zeros((100, 3)), np.full(100, 0.01))
    model = make(heap)
    model.step(STEP)
    np.testing.assert_allclose(model.outputs()["position"].numpy(), heap.positions, atol=1e-5)


@pytest.mark.turns(3)
def test_bodies_without_mass_follow_kepler(make: Make) -> None:
    """150 ellipses of one semi-major axis around one mass: all close after 2π a^(3/2), each at its own energy −1/2a
    (Kepler's third law; Binney & Tremaine 2008, section 3.1), although massless nodes surround them."""
    random = np.random.default_rng(5)
    count, steps = 150, 800
    eccentricity = random.uniform(0.0, 0.4, count)
    turns = np.linalg.qr(random.normal(size=(count, 3, 3)))[0]
    points = np.einsum("nxk,nk->nx", turns[:, :, :1], (1.0 + eccentricity)[:, None])
    speeds = np.einsum("nxk,nk->nx", turns[:, :, 1:2], np.sqrt((1.0 - eccentricity) / (1.0 + eccentricity))[:, None])
    masses = np.concatenate([[1.0], np.zeros(count)])
    start = bodies(np.vstack([np.zeros(3), points]), np.vstack([np.zeros(3), speeds]), masses)
    model = make(start, softening=1e-4, time_scale=2.0 * np.pi / steps / STEP)
    for _ in range(steps):
        model.step(STEP)
    position, velocity = (model.outputs()[name].numpy().astype(float) for name in ("position", "velocity"))
    np.testing.assert_array_equal(position[0], 0.0)
    assert np.linalg.norm(position[1:] - points, axis=1).max() < 2e-3
    energy = 0.5 * (velocity[1:] ** 2).sum(axis=1) - 1.0 / np.linalg.norm(position[1:], axis=1)
    np.testing.assert_allclose(energy, -0.5, atol=2e-4)


def enclosed(radius: float) -> float:
    """The fraction of the mass within a radius."""
    return float((1.0 + (SCALE / radius) ** 2) ** -1.5)


def test_a_sampled_plummer_sphere_has_the_analytic_radius_and_energy() -> None:
    """Half of the mass within 0.77 and an energy of −1/4 (Heggie & Mathieu 1986); virial ratio 1."""
    start = plummer(4000, seed=4)
    radii = np.sort(np.linalg.norm(start.positions, axis=1))
    for share in (0.1, 0.5, 0.9):
        assert enclosed(radii[int(share * 4000)]) == pytest.approx(share, abs=0.01)
    assert enclosed(1.305 * SCALE) == pytest.approx(0.5, abs=1e-3)
    energy = gravity_reference.energy(start.positions, start.velocities, start.masses, 1e-3)
    assert energy.total == pytest.approx(-0.25, abs=0.006)
    assert -2.0 * energy.kinetic / energy.potential == pytest.approx(1.0, abs=0.03)
    np.testing.assert_allclose(gravity_reference.momentum(start.velocities, start.masses), 0.0, atol=1e-6)
    with pytest.raises(ParameterError, match="at least 1"):
        plummer(0, seed=1)


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", [NBody, NBodyBarnesHut])
def test_a_plummer_sphere_stays_in_equilibrium(steady: Gpu, kind: type[NBody] | type[NBodyBarnesHut]) -> None:
    """Lagrangian radii over three crossing times (Aarseth, Hénon & Wielen 1974) and energy are constant.

    800 bodies: the number within a radius has its root as uncertainty, 11 % of the innermost tenth, 4 % in its radius.
    """
    start, dt = plummer(800, seed=7), 0.05
    module = nbody if kind is NBody else nbody_barnes_hut
    model = kind("test", module.Params(count=800, softening=0.05, time_scale=dt / STEP), {}, 0, start)  # type: ignore[arg-type]

    def energy() -> float:
        measured = {name: tensor.item() for name, tensor in model.diagnostics().items()}
        assert measured["momentum"] < 3e-3  # at speeds of 0.7: forces from a tree are not exactly symmetric
        return measured["energy"]

    radii, first = [], energy()
    for step in range(round(3 * CROSSING / dt)):
        model.step(STEP)
        if step % 14 == 0:
            away = np.sort(np.linalg.norm(model.outputs()["position"].numpy(), axis=1))
            radii.append(away[[80, 200, 400, 600]])
    moved = np.array(radii) / radii[0]
    assert abs(energy() / first - 1.0) < 2e-3
    model.close()
    assert abs(moved - 1.0).max() < 0.16
    np.testing.assert_allclose(moved.mean(axis=0), 1.0, atol=0.08)


def test_diagnostics_are_those_of_the_reference(make: Make) -> None:
    start = random_bodies(700)
    measured = {name: tensor.item() for name, tensor in make(start, theta=0.5).diagnostics().items()}
    energy = gravity_reference.energy(start.positions, start.velocities, start.masses, 0.05)
    assert measured["kinetic"] == pytest.approx(energy.kinetic, rel=1e-5)
    assert measured["potential"] == pytest.approx(energy.potential, rel=1e-4)
    assert measured["energy"] == pytest.approx(measured["kinetic"] + measured["potential"], rel=1e-6)
    momentum = np.linalg.norm(gravity_reference.momentum(start.velocities, start.masses))
    assert measured["momentum"] == pytest.approx(momentum, rel=1e-4)


@pytest.mark.turns(4)
@pytest.mark.parametrize("softening", [0.01, 1e-4])
def test_the_energy_error_of_close_pairs_is_reported(make: Make, softening: float) -> None:
    """In ten seconds of few bodies, with the asymmetric forces of the tree."""
    start = colliding_discs(64, seed=7)
    model = make(start, softening=softening, time_scale=0.5)
    before = gravity_reference.energy(start.positions, start.velocities, start.masses, softening).total
    for _ in range(600):
        model.step(STEP)
        assert model.clocks[0].dropped == 0.0
    now = [model.outputs()[name].numpy() for name in ("position", "velocity", "mass")]
    lost = abs(gravity_reference.energy(*now, softening).total / before - 1.0)
    assert model.diagnostics()["energy_drift"].item() == pytest.approx(lost, rel=0.02, abs=1e-4)


def test_reset_and_snapshots_give_the_same_bits(make: Make) -> None:
    model = make(random_bodies(300), theta=0.8)
    first = model.outputs()["position"].numpy()
    for _ in range(5):
        model.step(STEP)
    moved = model.outputs()["position"].numpy()
    assert not np.array_equal(first, moved)
    model.reset()
    np.testing.assert_array_equal(model.outputs()["position"].numpy(), first)
    for _ in range(3):
        model.step(STEP)
    saved = {name: tensor.numpy() for name, tensor in model.state().items()}
    other = make(random_bodies(300, seed=9), theta=0.8)
    other.step(STEP)
    for name, tensor in other.state().items():
        tensor[...] = saved[name]
    other.load_scalar_state(model.scalar_state())
    for one in (model, other):
        for _ in range(2):
            one.step(STEP)
        np.testing.assert_array_equal(one.outputs()["position"].numpy(), moved)


def test_the_drag_tool_pulls_like_a_body(make: Make) -> None:
    start = random_bodies(100)
    model = make(start, time_scale=1.0)
    before = forces(model)
    model.interact(Interaction(Gesture.DRAG, (0, 0, 9), (0, 0, -1), (2.0, 1.0, 0.0), radius=0.3, strength=5.0))
    model.step(STEP)
    moved = start._replace(positions=model.outputs()["position"].numpy())
    pull = gravity_reference.accelerations(
        np.array([[2.0, 1.0, 0.0]]), np.array([5.0]), 0.3, at=moved.positions.astype(float)
    )
    np.testing.assert_allclose(forces(model), exact(moved) + pull, atol=5e-3 * abs(pull).max())
    assert abs(forces(model) - before).max() > 0.1


def test_both_starts_can_be_built(make: Make) -> None:
    for start, stars in (("cluster", 200), ("galaxies", 136)):
        specs = NBodyBarnesHut.output_specs(params := Params(count=200, start=start))
        model = NBodyBarnesHut("test", params, {}, 1)
        at, origin = (model.outputs()[name].numpy() for name in ("star_position", "star_galaxy"))
        centers = {one: at[origin == one].mean(axis=0) for one in np.unique(origin)}
        away = [math.dist(row, centers[one]) for row, one in zip(at, origin, strict=True)]
        assert model.outputs()["star_radius"].numpy() == pytest.approx(away, rel=1e-4)
        model.step(STEP)
        assert {name: spec.shape for name, spec in specs.items()} == {
            name: tensor.shape for name, tensor in model.outputs().items()
        }
        assert model.outputs()["star_position"].shape == (stars, 3)
        assert np.isfinite(model.outputs()["position"].numpy()).all()
        model.close()
