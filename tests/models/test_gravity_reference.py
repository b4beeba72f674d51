"""The NumPy reference of the n-body kernels, against formulas and against explicit sums."""

from __future__ import annotations

import numpy as np
import pytest

from . import gravity as reference


def _cloud(count: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 3)), random.normal(size=(count, 3)), random.uniform(0.5, 2.0, count)


def _ellipse(eccentricity: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two bodies at apocenter of an orbit of semi-major axis 1 and total mass 1: the period is 2 pi."""
    masses = np.array([0.7, 0.3])
    distance = np.array([1.0 + eccentricity, 0.0, 0.0])
    speed = np.array([0.0, np.sqrt((1.0 - eccentricity) / (1.0 + eccentricity)), 0.0])
    shares = np.array([[-masses[1]], [masses[0]]])
    return shares * distance, shares * speed, masses


def test_accelerations_equal_the_explicit_sum_over_pairs():
    positions, _, masses = _cloud(17)
    expected = np.zeros_like(positions)
    for i in range(17):
        for j in range(17):
            if i != j:
                offset = positions[j] - positions[i]
                expected[i] += masses[j] * offset / (offset @ offset + 0.3**2) ** 1.5
    np.testing.assert_allclose(reference.accelerations(positions, masses, 0.3), expected, rtol=1e-12)


@pytest.mark.parametrize("pairs", [1, 100, 257, 10_000])
def test_size_of_the_blocks_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch, pairs: int):
    positions, _, masses = _cloud(101)
    whole = reference.accelerations(positions, masses, 0.1), reference.potential_energy(positions, masses, 0.1)
    monkeypatch.setattr("vertigrad.models.reference.gravity.PAIRS_PER_BLOCK", pairs)
    np.testing.assert_allclose(reference.accelerations(positions, masses, 0.1), whole[0], rtol=1e-12)
    assert reference.potential_energy(positions, masses, 0.1) == pytest.approx(whole[1], rel=1e-12)


def test_field_at_probes_is_that_of_all_bodies():
    positions, _, masses = _cloud(40)
    probes = np.array([[10.0, 0.0, 0.0], [0.0, -3.0, 0.5]])
    offsets = positions[None] - probes[:, None]
    expected = np.einsum("j,pj,pjk->pk", masses, ((offsets**2).sum(2) + 0.04) ** -1.5, offsets)
    np.testing.assert_allclose(reference.accelerations(positions, masses, 0.2, at=probes), expected, rtol=1e-12)


def test_force_is_the_gradient_of_the_potential():
    positions, _, masses = _cloud(12)
    forces = masses[:, None] * reference.accelerations(positions, masses, 0.4)
    step = 1e-5
    for body, axis in [(0, 0), (3, 1), (11, 2)]:
        nudge = np.zeros_like(positions)
        nudge[body, axis] = step
        ahead = reference.potential_energy(positions + nudge, masses, 0.4)
        behind = reference.potential_energy(positions - nudge, masses, 0.4)
        assert (behind - ahead) / (2 * step) == pytest.approx(forces[body, axis], rel=1e-7)


def test_float32_stays_float32_and_close_to_float64():
    positions, velocities, masses = _cloud(300)
    single = [a.astype(np.float32) for a in (positions, velocities, masses)]
    near = reference.leapfrog(*single, softening=0.2, dt=0.01, steps=5)
    exact = reference.leapfrog(*[a.astype(np.float64) for a in single], softening=0.2, dt=0.01, steps=5)
    assert near[0].dtype == near[1].dtype == np.float32
    np.testing.assert_allclose(near[0], exact[0], atol=1e-5)
    np.testing.assert_allclose(near[1], exact[1], atol=1e-3)


def test_leapfrog_does_not_change_its_arguments():
    positions, velocities, masses = _cloud(8)
    before = positions.copy(), velocities.copy()
    reference.leapfrog(positions, velocities, masses, softening=0.1, dt=0.1, steps=3)
    assert np.array_equal(positions, before[0]) and np.array_equal(velocities, before[1])


def test_kepler_orbit_closes_and_the_error_falls_with_the_square_of_the_step():
    positions, velocities, masses = _ellipse(0.5)
    misses = []
    for steps in (1000, 2000):
        end, _ = reference.leapfrog(positions, velocities, masses, softening=1e-6, dt=2.0 * np.pi / steps, steps=steps)
        misses.append(float(np.abs(end - positions).max()))
    assert misses[1] < 2e-4
    assert misses[0] / misses[1] == pytest.approx(4.0, rel=0.05)


def test_kepler_orbit_reaches_pericenter_after_half_a_period():
    positions, velocities, masses = _ellipse(0.5)
    end, _ = reference.leapfrog(positions, velocities, masses, softening=1e-6, dt=np.pi / 4000, steps=4000)
    np.testing.assert_allclose(end[1] - end[0], [-0.5, 0.0, 0.0], atol=1e-4)


def test_leapfrog_is_reversible():
    positions, velocities, masses = _cloud(30)
    ahead = reference.leapfrog(positions, velocities, masses, softening=0.2, dt=0.02, steps=50)
    back = reference.leapfrog(ahead[0], -ahead[1], masses, softening=0.2, dt=0.02, steps=50)
    np.testing.assert_allclose(back[0], positions, atol=1e-10)
    np.testing.assert_allclose(-back[1], velocities, atol=1e-10)


def test_momentum_and_angular_momentum_are_conserved_up_to_rounding():
    positions, velocities, masses = _cloud(50)
    end = reference.leapfrog(positions, velocities, masses, softening=0.3, dt=0.02, steps=40)
    np.testing.assert_allclose(reference.momentum(end[1], masses), reference.momentum(velocities, masses), atol=1e-11)
    np.testing.assert_allclose(
        reference.angular_momentum(*end, masses), reference.angular_momentum(positions, velocities, masses), atol=1e-10
    )


def test_energy_of_two_bodies():
    positions, velocities, masses = _ellipse(0.2)
    energy = reference.energy(positions, velocities, masses, 0.0)
    assert energy.total == pytest.approx(-0.7 * 0.3 / 2.0, rel=1e-12)
    assert energy.potential == pytest.approx(-0.7 * 0.3 / 1.2, rel=1e-12)


def test_circular_pair_is_in_virial_balance_and_a_slower_one_is_not():
    positions, velocities, masses = _ellipse(0.0)
    assert reference.virial_ratio(positions, velocities, masses, 1e-9) == pytest.approx(1.0, rel=1e-9)
    assert reference.virial_ratio(positions + 7.0, 0.5 * velocities, masses, 1e-9) == pytest.approx(0.25, rel=1e-9)
