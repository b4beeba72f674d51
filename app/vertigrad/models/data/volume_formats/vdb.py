"""OpenVDB files: the values of a tree, in the box around those that are active."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from .grid import Grid, as_f32, require_affine, require_shape, upright
from .vdb_stream import VdbStream

MAGIC = b" BDV\0\0\0\0"
VERSIONS = range(222, 225)
TYPES = {"float": "<f4", "double": "<f8", "int32": "<i4", "int64": "<i8"}
LEVELS = (5, 4, 3)  # binary logarithms of the nodes' edges, the first below the root
HALF = "_HalfFloat"
SMALL_BOX, MOST_EMPTY = 1 << 20, 4096  # cells that a box may have, or for each active value


class Entry(NamedTuple):
    """A grid as the table of a file lists it: its position, and its tree, such as "float_5_4_3"."""

    name: str
    tree: str
    position: int
    is_half: bool

    @property
    def dtype(self) -> np.dtype | None:
        """The type of its values; None if they are not real numbers in the usual tree."""
        kind, *levels = self.tree.split("_")
        known = TYPES if levels == [str(level) for level in LEVELS] else {}
        return np.dtype(known[kind]) if kind in known else None


class Block(NamedTuple):
    """Values (n, n, n) of cubes of `edge` cells, from the cell `low` on; those in `covered` are of nodes below."""

    low: np.ndarray
    edge: int
    values: np.ndarray
    active: np.ndarray
    covered: np.ndarray


def read(path: Path, frame: int = 0) -> Grid:
    """A grid of real numbers of a file: "density" if there is one, else the first; `frame` counts from there.

    Cells beyond the active ones have the value that the file has for them, the background. Raises `InputError`.
    """
    stream = VdbStream(path, path.read_bytes())
    listed = _listed(stream)
    scalar = [entry for entry in listed if entry.dtype is not None]
    if not scalar:
        names = ", ".join(f"{entry.name or 'unnamed'} ({entry.tree})" for entry in listed) or "none"
        raise InputError(f"{path}: has no grid of real numbers; its grids are {names}")
    scalar.sort(key=lambda entry: entry.name != "density")
    return _grid(stream, scalar[min(frame, len(scalar) - 1)])


def _listed(stream: VdbStream) -> list[Entry]:
    path = stream.path
    if bytes(stream.bytes(8)) != MAGIC:
        raise InputError(f"{path}: not a VDB file")
    version, _, _, has_offsets = stream.integers("IIIb")
    if version not in VERSIONS or not has_offsets:
        problem = f"{path}: VDB version {version}" if has_offsets else f"{path}: a VDB stream without positions"
        raise InputError(f"{problem} is not supported; {VERSIONS[0]} to {VERSIONS[-1]} are")
    stream.bytes(36)  # an identifier
    stream.metadata()
    entries = []
    for _ in range(stream.integers("i")[0]):
        name, kind, parent = stream.text(), stream.text(), stream.text()
        position, _, end = stream.integers("qqq")
        tree = kind.removesuffix(HALF).removeprefix("Tree_")
        if not parent:  # else its values are those of another grid
            entries.append(Entry(name.partition("\x1e")[0], tree, position, kind.endswith(HALF)))
        stream.position = max(end, stream.position)
    return entries


def _grid(stream: VdbStream, entry: Entry) -> Grid:
    path, dtype = stream.path, entry.dtype
    assert dtype is not None
    stream.position = entry.position
    (stream.compression,) = stream.integers("I")
    stream.metadata()
    affine = stream.affine()
    stream.integers("I")  # of buffers
    tree = _Tree(stream, dtype, np.dtype("<f2") if entry.is_half else dtype)
    low, high, active = tree.extent()
    shape = tuple(int(size) for size in high - low)
    require_shape(path, shape, 1, np.inf)
    if math.prod(shape) > max(SMALL_BOX, MOST_EMPTY * active):
        raise InputError(f"{path}: only {active:,} cells of the box {shape} have values; cut out a part of it")
    affine = require_affine(path, affine)
    affine[:3, 3] += affine[:3, :3] @ low
    found, affine = upright(tree.filled(low, high), affine)
    return Grid(as_f32(path, found), affine)


class _Tree:
    """The blocks of a tree, coarse ones first."""

    def __init__(self, stream: VdbStream, dtype: np.dtype, stored: np.dtype) -> None:
        self._stream, self._dtype, self._stored = stream, dtype, stored
        self.background = self._value()
        self.blocks: list[Block] = []
        self._leaves: list[tuple[np.ndarray, np.ndarray]] = []
        tiles, children = stream.integers("II")
        edge = 1 << sum(LEVELS)
        none = np.zeros((1, 1, 1), bool)
        for _ in range(tiles):
            low, value, active = np.array(stream.integers("iii")), self._value(), stream.integers("?")[0]
            self.blocks.append(Block(low, edge, np.full((1, 1, 1), value), none | active, none))
        for _ in range(children):
            self._node(np.array(stream.integers("iii")), 0)
        for low, active in self._leaves:
            stream.mask(512)  # again
            values = stream.values(active, dtype, stored, self.background)
            cube = (8, 8, 8)
            self.blocks.append(Block(low, 1, values.reshape(cube), active.reshape(cube), np.zeros(cube, bool)))

    def extent(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The corners of the box around all active cells, and their number. Raises `InputError` if there are none."""
        lows, highs, count = [], [], 0
        for block in self.blocks:
            cells = np.argwhere(block.active & ~block.covered)
            if len(cells):
                count += len(cells) * block.edge**3
                lows.append(block.low + block.edge * cells.min(axis=0))
                highs.append(block.low + block.edge * (cells.max(axis=0) + 1))
        if not lows:
            raise InputError(f"{self._stream.path}: the grid has no active values")
        return np.min(lows, axis=0), np.max(highs, axis=0), count

    def filled(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """All values between two corners, (x, y, z)."""
        found = np.full(tuple(high - low), self.background)
        for block in self.blocks:
            if block.edge == 1:
                first, last = np.maximum(block.low, low), np.minimum(block.low + 8, high)
                if (first < last).all():
                    found[_between(first - low, last - low)] = block.values[
                        _between(first - block.low, last - block.low)
                    ]
                continue
            for cell in np.argwhere(~block.covered & (block.values != self.background)):
                first = block.low + block.edge * cell
                last = np.minimum(first + block.edge, high) - low
                first = np.maximum(first, low) - low
                if (first < last).all():
                    found[_between(first, last)] = block.values[tuple(cell)]
        return found

    def _value(self) -> np.ndarray:
        return np.frombuffer(self._stream.bytes(self._dtype.itemsize), self._dtype)[0]

    def _node(self, low: np.ndarray, level: int) -> None:
        """A node and those below it, from the cell `low` on; of leaves only where they are."""
        stream, count = self._stream, 1 << 3 * LEVELS[level]
        active = stream.mask(count)
        if level == len(LEVELS) - 1:
            self._leaves.append((low, active))
            return
        covered, active = active, stream.mask(count)  # the first mask is that of children
        values = stream.values(active, self._dtype, self._stored, self.background)
        cube, edge = (1 << LEVELS[level],) * 3, 1 << sum(LEVELS[level + 1 :])
        self.blocks.append(Block(low, edge, values.reshape(cube), active.reshape(cube), covered.reshape(cube)))
        for cell in np.argwhere(covered.reshape(cube)):
            self._node(low + edge * cell, level + 1)


def _between(low: np.ndarray, high: np.ndarray) -> tuple[slice, ...]:
    return tuple(slice(int(first), int(last)) for first, last in zip(low, high, strict=True))
