"""NumPy reference of the n-body kernels: all-pairs softened gravity, leapfrog, and what must be conserved.

Units: G = 1. Lengths, masses and times are whatever the caller's numbers mean. Arrays are positions and
velocities (n, 3) and masses (n,). Accelerations and steps are computed in the dtype of the positions, so the
same function is the float32 reference of a kernel and the float64 reference; diagnostics always add up in float64.

Sources:
    Softening   the potential of a body is -m / sqrt(r^2 + softening^2), a Plummer sphere seen from outside
                (Aarseth 1963, MNRAS 126, 223). The force below is its exact gradient, so energy is conserved.
    Leapfrog    kick-drift-kick with one force evaluation a step (Binney & Tremaine 2008, Galactic Dynamics,
                2nd ed., section 3.4.1; Quinn et al. 1997, astro-ph/9710043): second order, symplectic and
                reversible in time.
    Virial      2 T + sum(m x.a) = 0 in a steady state (Clausius 1870; Binney & Tremaine 2008, section 4.8).
                For softened forces the second term is not the potential energy, so it is summed as it stands.

Work is done in blocks of rows that hold at most `PAIRS_PER_BLOCK` pairs: memory stays at a few MB for any n.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

PAIRS_PER_BLOCK = 1 << 17


class Energy(NamedTuple):
    """Kinetic and potential energy of all bodies."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """The sum that an exact integrator would keep."""
        return self.kinetic + self.potential


def _row_blocks(rows: int, columns: int) -> Iterator[slice]:
    height = max(1, PAIRS_PER_BLOCK // max(1, columns))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def _offsets_and_squares(targets: Floats, sources: Floats, softening: float) -> tuple[Floats, Floats]:
    """Vectors from each target to each source (b, n, 3) and their softened squared lengths (b, n)."""
    offsets = sources[None, :, :] - targets[:, None, :]
    squares = np.einsum("bnk,bnk->bn", offsets, offsets)
    squares += targets.dtype.type(softening * softening)
    return offsets, squares


def accelerations(positions: Floats, masses: Floats, softening: float, *, at: Floats | None = None) -> Floats:
    """Acceleration a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + softening^2)^(3/2), shape (n, 3).

    `at`, shape (m, 3), asks for the field at other points than the bodies themselves; the result is then
    (m, 3). A body pulls itself by exactly zero, so the sum runs over all pairs and `softening` must be above
    zero.
    """
    targets = positions if at is None else at.astype(positions.dtype, copy=False)
    weights = masses.astype(positions.dtype, copy=False)
    result = np.empty_like(targets)
    for rows in _row_blocks(len(targets), len(positions)):
        offsets, squares = _offsets_and_squares(targets[rows], positions, softening)
        attraction = weights / (squares * np.sqrt(squares))
        result[rows] = np.matmul(attraction[:, None, :], offsets)[:, 0, :]
    return result


def leapfrog(
    positions: Floats, velocities: Floats, masses: Floats, *, softening: float, dt: float, steps: int = 1
) -> tuple[Floats, Floats]:
    """Positions and velocities after `steps` kick-drift-kick steps of `dt`: new arrays of the same dtype."""
    positions, velocities = positions.copy(), velocities.copy()
    step = positions.dtype.type(dt)
    half = positions.dtype.type(0.5 * dt)
    attraction = accelerations(positions, masses, softening)
    for _ in range(steps):
        velocities += half * attraction
        positions += step * velocities
        attraction = accelerations(positions, masses, softening)
        velocities += half * attraction
    return positions, velocities


def kinetic_energy(velocities: Floats, masses: Floats) -> float:
    """T = sum m v^2 / 2."""
    speeds_squared = np.square(velocities, dtype=np.float64).sum(axis=1)
    return 0.5 * float(masses.astype(np.float64) @ speeds_squared)


def potential_energy(positions: Floats, masses: Floats, softening: float) -> float:
    """W = -sum over pairs of m_i m_j / sqrt(r_ij^2 + softening^2); a body has no energy with itself."""
    points, weights = positions.astype(np.float64), masses.astype(np.float64)
    total = 0.0
    for rows in _row_blocks(len(points), len(points)):
        _, squares = _offsets_and_squares(points[rows], points, softening)
        with np.errstate(divide="ignore"):
            inverse = 1.0 / np.sqrt(squares)
        own = np.arange(rows.start, rows.stop)
        inverse[own - rows.start, own] = 0.0
        total -= 0.5 * float(weights[rows] @ inverse @ weights)
    return total


def energy(positions: Floats, velocities: Floats, masses: Floats, softening: float) -> Energy:
    """Kinetic and potential energy, summed in float64."""
    return Energy(kinetic_energy(velocities, masses), potential_energy(positions, masses, softening))


def momentum(velocities: Floats, masses: Floats) -> NDArray[np.float64]:
    """P = sum m v, shape (3,)."""
    return masses.astype(np.float64) @ velocities.astype(np.float64)


def center_of_mass(positions: Floats, masses: Floats) -> NDArray[np.float64]:
    """The mass-weighted mean position, shape (3,)."""
    weights = masses.astype(np.float64)
    return weights @ positions.astype(np.float64) / weights.sum()


def angular_momentum(positions: Floats, velocities: Floats, masses: Floats) -> NDArray[np.float64]:
    """L = sum m x cross v about the origin, shape (3,)."""
    turns = np.cross(positions.astype(np.float64), velocities.astype(np.float64))
    return masses.astype(np.float64) @ turns


def virial_ratio(positions: Floats, velocities: Floats, masses: Floats, softening: float) -> float:
    """2 T / |sum m x.a|: 1 for a system in a steady state, above when too hot, below when it will collapse.

    Positions are taken from the center of mass; the velocities should be free of a common motion.
    """
    points = positions.astype(np.float64) - center_of_mass(positions, masses)
    attraction = accelerations(points, masses, softening)
    clausius = float(masses.astype(np.float64) @ np.einsum("nk,nk->n", points, attraction))
    return 2.0 * kinetic_energy(velocities, masses) / abs(clausius)
