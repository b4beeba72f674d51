"""Leapfrog steps of a few bodies in NumPy, and what gravity must conserve.

Diagnostics are summed in float64. Sources:
    Leapfrog    kick-drift-kick with one force evaluation a step (Binney & Tremaine 2008, Galactic Dynamics,
                2nd ed., section 3.4.1; Quinn et al. 1997, astro-ph/9710043): second order, symplectic and
                reversible in time.
    Virial      2 T + sum(m x.a) = 0 in a steady state (Clausius 1870; Binney & Tremaine 2008, section 4.8).
                For softened forces the second term is not the potential energy, so it is summed directly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vertigrad.models.reference.gravity import Floats, accelerations, offsets_and_squares, row_blocks

__all__ = ["accelerations", "angular_momentum", "center_of_mass", "energy", "leapfrog", "momentum", "virial_ratio"]


class Energy(NamedTuple):
    """Kinetic and potential energy of all bodies."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """The sum that an exact integrator conserves."""
        return self.kinetic + self.potential


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
    for rows in row_blocks(len(points), len(points)):
        _, squares = offsets_and_squares(points[rows], points, softening)
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
