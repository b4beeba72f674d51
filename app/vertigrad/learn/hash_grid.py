"""`HashGrid`: a layer that encodes positions by trainable features in grids of several resolutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from .. import ops
from ..errors import ShapeError
from ..tensor import Tensor
from .layers import Arrays, Layer, Shape, Vjp

PRIMES = 1, 2654435761, 805459861, 3674653429
SMALL = 1e-4  # features start evenly spread from minus this to this (Müller et al. 2022, section 4)


@dataclass(frozen=True)
class HashGrid(Layer):
    """Trainable features of positions from -1 to 1 along each axis; see `ops.HashEncoding`.

    `levels` grids of `coarsest` to `finest` cells along an axis, each with a table of `entries` × `features`.
    """

    dimensions: int
    levels: int
    entries: int
    features: int
    coarsest: int
    finest: int

    def output_shape(self, shape: Shape) -> Shape:
        if shape != (self.dimensions,):
            raise ShapeError(f"a hash grid takes positions of {self.dimensions} coordinates, not {shape}")
        return (self.levels * self.features,)

    def init(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        shape = self.levels, self.entries, self.features
        return {"tables": random.uniform(-SMALL, SMALL, shape).astype(np.float32)}

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        encoding = ops.HashEncoding(weights["tables"], self.coarsest, self.finest)
        return ops.encode(x * 0.5 + 0.5, encoding)

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        tables = weights["tables"]
        corners = [list(self._corners(x, cells)) for cells in self._resolutions()]
        interpolated = [
            sum(weight[:, None] * table[entry] for entry, weight in level)
            for table, level in zip(tables, corners, strict=True)
        ]

        def vjp(gradient: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            spread = np.zeros_like(tables)
            parts = gradient.reshape(len(x), self.levels, self.features)
            for number, level in enumerate(corners):
                for entry, weight in level:
                    np.add.at(spread[number], entry, weight[:, None] * parts[:, number])
            return np.zeros_like(x), {"tables": spread}  # no layer before the grid is trained

        return np.concatenate(interpolated, axis=1), vjp

    def _resolutions(self) -> list[int]:
        growth = np.log(self.finest / self.coarsest) / max(self.levels - 1, 1)
        return [int(np.floor(self.coarsest * np.exp(growth * level) + 1e-6)) for level in range(self.levels)]

    def _corners(self, x: np.ndarray, cells: int):  # type: ignore[no-untyped-def]
        """The table entry of each corner of the cell around each position, and its interpolation weight."""
        positions = np.clip(0.5 * x + 0.5, 0.0, 1.0) * cells
        low = np.minimum(positions.astype(np.int64), cells - 1)
        fraction = positions - low
        dense = (cells + 1) ** self.dimensions <= self.entries
        for corner in product((0, 1), repeat=self.dimensions):
            at = low + np.array(corner)
            if dense:
                entry = (at * (cells + 1) ** np.arange(self.dimensions)).sum(1)
            else:
                mixed = (at.astype(np.uint64) * np.array(PRIMES[: self.dimensions], np.uint64)) & np.uint64(0xFFFFFFFF)
                entry = (np.bitwise_xor.reduce(mixed, axis=1) % np.uint64(self.entries)).astype(np.int64)
            yield entry, np.where(np.array(corner) == 1, fraction, 1.0 - fraction).prod(axis=1)
