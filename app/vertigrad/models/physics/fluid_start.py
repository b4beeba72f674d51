"""How a fluid begins: a column of particles on a lattice, in a tank."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .fluid_params import Params

Vector = tuple[float, float, float]
UNEVEN = 0.01  # spacings by which particles are off the lattice, so that no symmetry holds by chance
FINEST = 1e-3  # m
ROOM = 1e-3  # spacings by which a column may miss the next layer


class Start(NamedTuple):
    """Particles `spacing` [m] apart, `layers` along x, y, z from `first` on, in the tank from `low` to `high`."""

    spacing: float
    low: Vector
    high: Vector
    first: Vector
    layers: tuple[int, int, int]

    @staticmethod
    def of(params: Params) -> Start:
        """As many layers as there is room for in the column, at least one, and two in the tank's shortest edge.

        The column is moved to where it is within the tank.
        """
        low, tank = _vector(params.corner), _vector(params.tank)
        column = [min(c, t) for c, t in zip(params.column, tank, strict=True)]
        at = [min(a, t - c) for a, t, c in zip(params.column_offset, tank, column, strict=True)]
        spacing = params.spacing
        if params.count:
            spacing = max((math.prod(column) / params.count) ** (1.0 / 3.0), FINEST)
        spacing = min(spacing, 0.5 * min(tank))
        layers = [max(1, math.floor(c / spacing + ROOM)) for c in column]
        first = [a + 0.5 * spacing for a in at]
        high = tuple(a + t for a, t in zip(low, tank, strict=True))
        return Start(
            spacing,
            low,
            _vector(high),
            _vector(tuple(a + f for a, f in zip(low, first, strict=True))),
            (layers[0], layers[1], layers[2]),
        )

    @property
    def count(self) -> int:
        """How many particles there are."""
        return math.prod(self.layers)

    @property
    def top(self) -> float:
        """Height of the column's top above the floor [m]."""
        return self.first[1] - self.low[1] + (self.layers[1] - 0.5) * self.spacing

    def mass(self, density: float) -> float:
        """Of one particle [kg], for a density at rest [kg/m³]."""
        return density * self.spacing**3

    def floor(self) -> np.ndarray:
        """Corners of the tank's floor, (2, 2, 3) f32 [m], rows along z and columns along x."""
        (x0, y, z0), (x1, _, z1) = self.low, self.high
        return np.array([[[x0, y, z0], [x1, y, z0]], [[x0, y, z1], [x1, y, z1]]], np.float32)

    def positions(self, seed: int) -> np.ndarray:
        """Where the particles begin, (count, 3) f32 [m], row by row along x."""
        z, y, x = (a.ravel() for a in np.meshgrid(*(np.arange(n) for n in self.layers[::-1]), indexing="ij"))
        off = np.random.default_rng(seed).uniform(-UNEVEN, UNEVEN, (self.count, 3))
        return (np.array(self.first) + self.spacing * (np.stack([x, y, z], 1) + off)).astype(np.float32)


def _vector(values: tuple[float, ...]) -> Vector:
    x, y, z = values
    return float(x), float(y), float(z)
