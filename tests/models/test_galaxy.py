"""The start of the n-body model: counts, balance of each part of a galaxy, and the orbit of the encounter."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.models.physics.galaxy import SOFTENING, Bodies, colliding_discs, disc, luminous_count
from vertigrad.models.physics.galaxy_field import Galaxy, Spheroid, mean_field

from . import gravity as reference

DT = 0.025  # a seventieth of the shortest orbit: energy is constant to 1e-4 during the encounter

SHAPE = Galaxy()


def _parts(bodies: Bodies) -> list[slice]:
    """Rows of disc, bulge and halo of a single galaxy, distinguished by mass."""
    edges = np.flatnonzero(np.diff(bodies.masses)) + 1
    assert len(edges) == 2
    return [slice(0, edges[0]), slice(edges[0], edges[1]), slice(edges[1], len(bodies.masses))]


def _size(positions: np.ndarray) -> tuple[float, float]:
    """Median cylindrical radius and median height of a disc."""
    centered = positions - np.median(positions, axis=0)
    return float(np.median(np.hypot(centered[:, 0], centered[:, 1]))), float(np.median(np.abs(centered[:, 2])))


@pytest.mark.parametrize("count", [2, 3, 4, 10, 11, 777, 8192, 8193])
def test_a_collision_has_exactly_the_requested_bodies_and_mass(count: int):
    bodies = colliding_discs(count, seed=1, mass_ratio=0.7)
    assert bodies.positions.shape == bodies.velocities.shape == (count, 3)
    assert bodies.masses.shape == bodies.galaxy.shape == (count,)
    assert all(a.dtype == np.float32 for a in bodies[:3]) and bodies.galaxy.dtype == np.uint32
    assert all(np.isfinite(a).all() for a in bodies[:3])
    for galaxy, ratio in ((0, 1.0), (1, 0.7)):
        of_one = bodies.masses[bodies.galaxy == galaxy].astype(np.float64)
        assert of_one.sum() == pytest.approx(SHAPE.mass * ratio, rel=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 1001])
def test_a_single_galaxy_has_exactly_the_requested_bodies(count: int):
    bodies = disc(count, seed=3)
    assert bodies.positions.shape == (count, 3)
    assert np.isfinite(bodies.positions).all() and not bodies.galaxy.any()


def test_very_many_bodies_need_no_sum_over_pairs():
    bodies = colliding_discs(400_000, seed=2)  # 1.6e11 pairs would take minutes
    assert bodies.positions.shape == (400_000, 3)
    assert np.abs(reference.momentum(bodies.velocities, bodies.masses)).max() < 1e-6


@pytest.mark.parametrize("count", [2, 10, 8192])
def test_center_of_mass_and_momentum_are_zero(count: int):
    bodies = colliding_discs(count, seed=4)
    assert np.abs(reference.momentum(bodies.velocities, bodies.masses)).max() < 3e-6
    assert np.abs(reference.center_of_mass(bodies.positions, bodies.masses)).max() < 1e-6


def test_same_seed_same_bits_other_seed_other_bits():
    first, again, other = (colliding_discs(500, seed=seed) for seed in (11, 11, 12))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.isin(first.positions, other.positions).any()


def test_the_two_galaxies_are_not_copies_of_each_other():
    bodies = colliding_discs(2000, seed=6, mass_ratio=1.0, inclinations=(0.0, 0.0), nodes=(0.0, 0.0))
    mine, yours = (bodies.positions[bodies.galaxy == g] for g in (0, 1))
    assert np.abs((mine - np.median(mine, axis=0)) - (yours - np.median(yours, axis=0))).min(axis=1).max() > 0.1


def test_stars_come_first_and_most_bodies_are_disc_stars():
    bodies = colliding_discs(8192, seed=1, mass_ratio=0.7)
    stars = luminous_count(8192, mass_ratio=0.7)
    kinds = np.flatnonzero(np.diff(bodies.masses, prepend=0.0) / bodies.masses > 0.01)
    assert len(kinds) == 3 and kinds[2] == stars  # disc, bulge, halo: each heavier than the one before
    assert kinds[1] > 0.5 * 8192
    assert set(bodies.galaxy[: kinds[1]]) == {0, 1}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"count": 1}, "count"),
        ({"mass_ratio": 0.0}, "mass_ratio"),
        ({"softening": 0.0}, "softening"),
        ({"pericenter": 20.0}, "pericenter"),
        ({"pericenter": 0.0}, "pericenter"),
    ],
)
def test_invalid_starts_are_rejected_by_name(change: dict[str, float], word: str):
    with pytest.raises(ParameterError, match=word):
        colliding_discs(**{"count": 100, "seed": 1, **change})  # type: ignore[arg-type]


def test_a_galaxy_without_bodies_is_refused():
    with pytest.raises(ParameterError, match="count"):
        disc(0, seed=1)


def test_two_bodies_follow_the_parabola_to_its_pericenter():
    bodies = colliding_discs(2, seed=1, separation=12.0, pericenter=1.8, mass_ratio=0.5)
    state = [a.astype(np.float64) for a in bodies[:3]]
    assert abs(reference.energy(*state, 1e-6).total) < 1e-5  # zero for a parabola
    grow = 12.0 / 1.8 - 1.0  # tan^2 of half the true anomaly; Barker's equation gives the time from there
    total = state[2].sum()
    until = np.sqrt(2.0 * 1.8**3 / total) * (np.sqrt(grow) + grow**1.5 / 3.0)
    end, _ = reference.leapfrog(*state, softening=1e-6, dt=until / 4000, steps=4000)
    np.testing.assert_allclose(end[1] - end[0], [0.0, 1.8, 0.0], atol=2e-3)


@pytest.mark.parametrize(("inclination", "node"), [(0.0, 0.0), (60.0, 0.0), (60.0, 90.0), (180.0, 30.0)])
def test_discs_have_the_requested_tilt(inclination: float, node: float):
    bodies = colliding_discs(4000, seed=8, inclinations=(inclination, 0.0), nodes=(node, 0.0))
    own = (bodies.galaxy == 0) & (bodies.masses < 1.01 * bodies.masses[0])
    position, motion = bodies.positions[own], bodies.velocities[own]
    spin = reference.angular_momentum(position - position.mean(0), motion - motion.mean(0), bodies.masses[own])
    tip, turn = np.radians([inclination, node + 90.0])
    expected = [np.sin(tip) * np.sin(turn), -np.sin(tip) * np.cos(turn), np.cos(tip)]
    assert spin @ expected / np.linalg.norm(spin) > np.cos(np.radians(2.0))


def test_the_smooth_field_equals_the_force_of_sampled_bodies():
    bodies = disc(60_000, seed=9)
    field = mean_field(SHAPE, SOFTENING)
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    for radius, height in [(0.6, 0.0), (1.5, 0.3), (3.0, 0.2)]:
        probes = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(24, height)], axis=1)
        pull = reference.accelerations(bodies.positions, bodies.masses, SOFTENING, at=probes)
        inward = -np.einsum("pk,pk->p", pull[:, :2], probes[:, :2]).mean() / radius
        smooth_in, smooth_down = field.forces(np.array([radius]), np.array([height]))
        assert inward == pytest.approx(smooth_in[0], rel=0.03)
        assert -pull[:, 2].mean() == pytest.approx(smooth_down[0], abs=0.03 * smooth_in[0])


def test_distant_shells_have_the_mass_of_the_galaxy():
    potential, slope = mean_field(SHAPE, SOFTENING).spherical_potential(np.array([200.0]))
    assert potential[0] == pytest.approx(-SHAPE.mass / 200.0, rel=1e-3)
    assert slope[0] == pytest.approx(SHAPE.mass / 200.0**2, rel=3e-3)


def test_the_rotation_curve_is_above_the_bar_bound_and_asymmetric_drift_slows_the_stars():
    motion = mean_field(SHAPE, SOFTENING).disc_motion
    assert 1.1 < motion.circular.max() < 1.2
    outside = motion.radii > 0.2
    assert (motion.rotation[outside] < motion.circular[outside]).all()
    assert (motion.rotation[outside] > 0.9 * motion.circular[outside]).all()


def test_toomre_q_measured_from_the_bodies():
    bodies = disc(200_000, seed=10)
    motion = mean_field(SHAPE, SOFTENING).disc_motion
    stars = _parts(bodies)[0]
    position, speed = bodies.positions[stars], bodies.velocities[stars]
    radii = np.hypot(position[:, 0], position[:, 1])
    outward = np.einsum("nk,nk->n", position[:, :2], speed[:, :2]) / radii
    lowest = np.inf
    for inner in np.arange(0.5, 4.0, 0.25):
        ring = (radii >= inner) & (radii < inner + 0.25)
        density = bodies.masses[0] * ring.sum() / (np.pi * ((inner + 0.25) ** 2 - inner**2))
        near = np.array([inner, inner + 0.125, inner + 0.25])
        turns = (np.interp(near, motion.radii, motion.circular) / near) ** 2
        kappa = np.sqrt(near[1] * (turns[2] - turns[0]) / 0.25 + 4.0 * turns[1])
        lowest = min(lowest, float(outward[ring].std() * kappa / (3.36 * density)))
    assert lowest == pytest.approx(SHAPE.toomre_q, rel=0.06)


@pytest.mark.parametrize("part", [SHAPE.bulge, SHAPE.halo])
def test_speeds_of_a_round_part_obey_the_jeans_equation(part: Spheroid):
    """Eddington's inversion against the pressure integral (Binney & Tremaine 2008, eq. 4.215 with beta = 0)."""
    field = mean_field(SHAPE, SOFTENING)
    radii = part.length * np.array([0.3, 1.0, 3.0])
    quantiles = (np.arange(4000) + 0.5) / 4000
    speeds = field.speeds(part, np.repeat(radii, 4000), np.tile(quantiles, 3)).reshape(3, 4000)
    for radius, found in zip(radii, np.square(speeds).mean(axis=1), strict=True):
        r = np.geomspace(radius, part.edge, 1000)
        pressure = np.trapezoid(part.density(r) * field.spherical_potential(r)[1], r)
        assert found == pytest.approx(3.0 * pressure / part.density(r[:1])[0], rel=0.01)


def test_radii_of_a_round_part_follow_its_density():
    part = SHAPE.bulge
    radii = part.radii((np.arange(20_000) + 0.5) / 20_000)
    assert radii.max() <= part.edge
    counted, edges = np.histogram(radii, np.geomspace(0.05, 2.0, 9))
    for count, low, high in zip(counted, edges, edges[1:], strict=False):
        r = np.linspace(low, high, 200)
        whole = np.geomspace(1e-5, part.edge, 20_000)
        mass = np.trapezoid(part.density(r) * r**2, r) / np.trapezoid(part.density(whole) * whole**2, whole)
        assert count / 20_000 == pytest.approx(mass, rel=0.02)


@pytest.mark.turns(4)
def test_each_part_is_in_virial_equilibrium_with_all_bodies():
    """Mean v^2 against mean -x.a of every part: the virial theorem holds for each part of a steady galaxy."""
    bodies = disc(8_000, seed=21)
    state = [a.astype(np.float64) for a in bodies[:3]]
    assert reference.virial_ratio(*state, SOFTENING) == pytest.approx(1.0, abs=0.03)
    for part, bound in zip(_parts(bodies), (0.03, 0.1, 0.05), strict=True):
        chosen = np.arange(part.start, part.stop)[:1500]
        pull = reference.accelerations(state[0], state[2], SOFTENING, at=state[0][chosen])
        heat = np.square(state[1][chosen]).sum()
        assert -heat / (state[0][chosen] * pull).sum() == pytest.approx(1.0, abs=bound)


@pytest.mark.turns(3)
def test_an_isolated_disc_keeps_its_height():
    """Over half a vertical oscillation the height of a sheet that is too hot or too cold changes the most."""
    bodies = disc(2000, seed=4)
    stars = _parts(bodies)[0]
    positions, _ = reference.leapfrog(*bodies[:3], softening=SOFTENING, dt=0.1, steps=24)
    before, after = _size(bodies.positions[stars]), _size(positions[stars])
    assert 0.93 < after[0] / before[0] < 1.07
    assert 0.9 < after[1] / before[1] < 1.25


@pytest.mark.turns(4)
def test_an_isolated_disc_keeps_its_size_for_a_rotation():
    """With few bodies, those of the halo have a mass of 0.0125 each and heat the disc, so its height may grow."""
    bodies = disc(1000, seed=4)
    stars = _parts(bodies)[0]
    rotation = 2.0 * np.pi * 1.6 / 1.05  # period at the half-mass radius
    start = reference.energy(*bodies[:3], SOFTENING).total
    positions, velocities = reference.leapfrog(*bodies[:3], softening=SOFTENING, dt=rotation / 100, steps=100)
    before, after = _size(bodies.positions[stars]), _size(positions[stars])
    assert 0.88 < after[0] / before[0] < 1.14
    assert 0.9 < after[1] / before[1] < 2.2
    assert reference.energy(positions, velocities, bodies.masses, SOFTENING).total == pytest.approx(start, rel=4e-3)
    assert reference.virial_ratio(positions, velocities, bodies.masses, SOFTENING) == pytest.approx(1.0, abs=0.08)


def test_cold_disc_shows_that_the_size_test_can_fail():
    """Without its rotation the same disc collapses: the test above measures the equilibrium."""
    bodies = disc(600, seed=2)
    stars = _parts(bodies)[0]
    positions, _ = reference.leapfrog(
        bodies.positions, 0.3 * bodies.velocities, bodies.masses, softening=SOFTENING, dt=0.08, steps=25
    )
    assert _size(positions[stars])[0] < 0.8 * _size(bodies.positions[stars])[0]


@pytest.mark.turns(3)
def test_the_encounter_conserves_energy_and_momentum_through_the_first_passage():
    bodies = colliding_discs(384, seed=7)
    before = reference.energy(*bodies[:3], SOFTENING).total
    positions, velocities, drifts, closest = bodies.positions, bodies.velocities, [], np.inf
    for _ in range(10):
        positions, velocities = reference.leapfrog(
            positions, velocities, bodies.masses, softening=SOFTENING, dt=DT, steps=40
        )
        drifts.append(abs(reference.energy(positions, velocities, bodies.masses, SOFTENING).total / before - 1.0))
        middles = [np.median(positions[bodies.galaxy == g], axis=0) for g in (0, 1)]
        closest = min(closest, float(np.linalg.norm(middles[0] - middles[1])))
    assert closest < 3.5  # 12 at the start: the passage is inside these 400 steps
    assert max(drifts) < 1e-3
    assert np.abs(reference.momentum(velocities, bodies.masses)).max() < 2e-6
