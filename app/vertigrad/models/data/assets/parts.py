"""`PartsBuilder`: the parts of an asset, collected into one set of arrays."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....errors import InputError
from .content import PART, VERTEX, Part, rows

MOST_VERTICES = 1 << 25  # of all parts, and of all morph targets


class PartArrays(NamedTuple):
    """A primitive: vertices (n, VERTEX), texcoords (n, 4), linear colors (n, 4) or None, triangles (m, 3), material.

    `joints` and `weights` are (n, 4 * sets), `deltas` (targets, n, 9).
    """

    vertices: np.ndarray
    texcoords: np.ndarray
    colors: np.ndarray | None
    index: np.ndarray
    material: int
    joints: np.ndarray
    weights: np.ndarray
    deltas: np.ndarray

    @property
    def sets(self) -> int:
        """Sets of four influences."""
        return self.joints.shape[1] // 4

    @property
    def highest_joint(self) -> int:
        """The highest index of a joint."""
        return int(self.joints.max(initial=0))

    def with_flat_normals(self) -> PartArrays:
        """The same with vertices of its own for each triangle, and its normal, as glTF has it where there are none."""
        flat = self.index.reshape(-1)
        found = self.taken(flat, np.arange(len(flat), dtype=np.uint32).reshape(-1, 3))
        corners = found.vertices[:, :3].reshape(-1, 3, 3).astype(np.float64)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(across, axis=1, keepdims=True)
        found.vertices[:, 3:6] = np.repeat(across / np.where(length > 0.0, length, 1.0), 3, axis=0)
        found.deltas[..., 3:] = 0.0
        return found

    def taken(self, rows: np.ndarray, index: np.ndarray) -> PartArrays:
        """The vertices of these rows (n,), with these triangles (m, 3): a copy."""
        colors = None if self.colors is None else self.colors[rows]
        return PartArrays(
            *(self.vertices[rows], self.texcoords[rows], colors, index, self.material),
            *(self.joints[rows], self.weights[rows], self.deltas[:, rows]),
        )


class PartsBuilder:
    """Add parts, then take the `arrays` of all. Raises `InputError` for too many vertices."""

    def __init__(self, path: Path):
        self._path = path
        self._parts: list[tuple[Part, PartArrays]] = []
        self._sources: dict[Hashable, tuple[int, int]] = {}  # where influences and deltas of a primitive begin
        self._influences: list[np.ndarray] = []
        self._deltas: list[np.ndarray] = []
        self._sizes = [0, 0, 0]  # vertices, words of influences, rows of deltas

    def add(self, key: Hashable, arrays: PartArrays, part: Part) -> None:
        """Add a part; primitives with the same `key` share influences and deltas."""
        first, words, deltas = self._sizes
        count = len(arrays.vertices)
        if first + count > MOST_VERTICES:
            raise InputError(f"{self._path}: its nodes have more than {MOST_VERTICES:,} vertices in all")
        if key not in self._sources:
            self._sources[key] = words, deltas
            if arrays.sets:
                self._influences.append(_words(arrays))
                words += self._influences[-1].size
            self._deltas.append(arrays.deltas.reshape(-1, 9))
            deltas += len(self._deltas[-1])
            if deltas > MOST_VERTICES:
                raise InputError(f"{self._path}: its morph targets have more than {MOST_VERTICES:,} vertices in all")
        influences, morphs = self._sources[key]
        placed = part._replace(first=first, count=count, influences=influences, deltas=morphs)
        self._parts.append((placed, arrays))
        self._sizes = [first + count, words, deltas]

    def arrays(self) -> dict[str, Any]:
        """Those of `Asset`."""
        if not self._parts:
            raise InputError(f"{self._path}: has no triangles in its scene")
        parts = [arrays for _, arrays in self._parts]
        counts = [len(one.vertices) for one in parts]
        colors = None
        if any(one.colors is not None for one in parts):
            colors = np.concatenate([_colors(one) for one in parts])
        index = [one.index + np.uint32(part.first) for part, one in self._parts]
        return {
            "vertices": np.concatenate([one.vertices for one in parts]).reshape(-1, VERTEX),
            "texcoords": np.concatenate([one.texcoords for one in parts]),
            "colors": colors,
            "part": np.repeat(np.arange(len(parts), dtype=np.uint32), counts),
            "material": np.repeat(np.array([one.material for one in parts], np.uint32), counts),
            "index": np.concatenate(index),
            "parts": rows([part for part, _ in self._parts], PART, np.uint32),
            "influences": np.concatenate([np.zeros(0, np.uint32), *self._influences]) if self._influences else _NONE,
            "deltas": np.concatenate(self._deltas) if self._sizes[2] else np.zeros((1, 9), np.float32),
        }


_NONE = np.zeros(1, np.uint32)


def _colors(part: PartArrays) -> np.ndarray:
    return np.ones((len(part.vertices), 4), np.float32) if part.colors is None else part.colors


def _words(part: PartArrays) -> np.ndarray:
    """Of each vertex and set: four joints, and the bits of four weights."""
    count = len(part.vertices)
    joints = part.joints.reshape(count, part.sets, 4)
    weights = np.ascontiguousarray(part.weights, np.float32).view(np.uint32).reshape(count, part.sets, 4)
    return np.concatenate([joints, weights], axis=2).reshape(-1)
