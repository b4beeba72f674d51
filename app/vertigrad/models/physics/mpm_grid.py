"""The grid of a material point simulation: cells between the walls, and a rim for what is pressed against them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError

WALL = 3  # cells between the grid's rim and the walls, as in the shader
BLOCK = 4  # cells along an edge of a block
MOST_NODES = 1 << 24
CROWD = 16.0  # cells full of particles that a node can hold the mass of, at least


class Grid(NamedTuple):
    """Cells of edge `cell` [m], `cells` of them between the walls along x, y and z; `low` is the first node."""

    cell: float
    cells: tuple[int, int, int]
    low: tuple[float, float, float]

    @staticmethod
    def of(params: Any) -> Grid:
        """The grid for a box; edges are rounded to whole cells. Raises `InputError` if it had too many nodes."""
        cell = max(params.box) / params.resolution
        x, y, z = (max(1, round(edge / cell)) for edge in params.box)
        low = (-x * cell / 2.0 - WALL * cell, -WALL * cell, -z * cell / 2.0 - WALL * cell)
        grid = Grid(cell, (x, y, z), low)
        if grid.nodes > MOST_NODES:
            raise InputError(
                f"a box of {x} x {y} x {z} cells has {grid.nodes:,} nodes; {MOST_NODES:,} at most: lower the resolution"
            )
        return grid

    @property
    def size(self) -> tuple[int, int, int]:
        """Nodes along each axis, a multiple of `BLOCK`."""
        x, y, z = (-(-(n + 2 * WALL + 1) // BLOCK) * BLOCK for n in self.cells)
        return x, y, z

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Blocks along each axis."""
        x, y, z = (n // BLOCK for n in self.size)
        return x, y, z

    @property
    def nodes(self) -> int:
        """How many there are."""
        return math.prod(self.size)

    def capacity(self, volume: float) -> float:
        """Units of mass that a node can hold, a power of two, if particles have `volume` [m³] at rest."""
        return 2.0 ** math.ceil(math.log2(CROWD * max(self.cell**3 / volume, 1.0)))

    def grain(self, volume: float) -> float:
        """Grains in a unit: 2^31 in all that a node can hold."""
        return 2.0**31 / self.capacity(volume)

    @property
    def floor(self) -> np.ndarray:
        """Corners (2, 2, 3) of a slab under the box and a little beyond it, f32 [m]."""
        x, _, z = (n * self.cell / 2.0 + 2.0 * self.cell for n in self.cells)
        y = -0.5 * self.cell
        return np.array([[[-x, y, -z], [x, y, -z]], [[-x, y, z], [x, y, z]]], np.float32)

    @property
    def box(self) -> dict[str, Any]:
        """Its lowest and highest corner between the walls [m]."""
        x, y, z = (n * self.cell for n in self.cells)
        return {"low": (-0.5 * x, 0.0, -0.5 * z), "high": (0.5 * x, y, 0.5 * z)}

    @property
    def fields(self) -> dict[str, Any]:
        """Its uniforms in the shader."""
        return {"cell": self.cell, "size": self.size, "blocks": self.blocks, "low": self.low, "cells": self.cells}
