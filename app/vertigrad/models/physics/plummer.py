"""A Plummer sphere in equilibrium: the cluster of stars with which n-body codes are compared.

Units: G = 1, the mass is 1 and the energy −1/4 (Heggie & Mathieu 1986), so the scale length is 3π/16, half of the mass
is within 0.77, and the crossing time is 2√2. Sampling: Aarseth, Hénon & Wielen 1974, A&A 37, 183.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from .galaxy import Bodies

Doubles = NDArray[np.float64]

SCALE = 3.0 * np.pi / 16.0
CROSSING = 2.0 * np.sqrt(2.0)  # time
WITHIN = 0.999  # of the mass is sampled: the rest would be up to thousands of lengths away


def plummer(count: int, *, seed: int) -> Bodies:
    """Bodies of equal mass, drawn from the sphere's distribution function, as a whole at rest at the origin.

    Raises `ParameterError` for a count below 1.
    """
    if count < 1:
        raise ParameterError(f"count is {count}; a sphere needs at least 1 body")
    random = np.random.default_rng(seed)
    mass_fractions = WITHIN * (random.permutation(count) + random.random(count)) / count  # one in each equal part
    radii = SCALE / np.sqrt(mass_fractions ** (-2.0 / 3.0) - 1.0)
    escape = np.sqrt(2.0 / np.sqrt(SCALE**2 + radii**2))
    positions = radii[:, None] * _directions(count, random)
    velocities = (escape * _speeds(count, random))[:, None] * _directions(count, random)
    return Bodies(
        (positions - positions.mean(axis=0)).astype(np.float32),
        (velocities - velocities.mean(axis=0)).astype(np.float32),
        np.full(count, 1.0 / count, np.float32),
        np.zeros(count, np.uint32),
    )


def _speeds(count: int, random: np.random.Generator) -> Doubles:
    """Shares q of the escape speed, with density q² (1 − q²)^(7/2), by rejection: it stays below 0.1."""
    speeds = np.empty(0)
    while len(speeds) < count:
        q, level = random.random(count + 64), 0.1 * random.random(count + 64)
        speeds = np.concatenate([speeds, q[level < q**2 * (1.0 - q**2) ** 3.5]])
    return speeds[:count]


def _directions(count: int, random: np.random.Generator) -> Doubles:
    """Unit vectors (count, 3), spread evenly."""
    up, turn = random.uniform(-1.0, 1.0, count), random.uniform(0.0, 2.0 * np.pi, count)
    flat = np.sqrt(1.0 - up**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), up], axis=-1)
