"""`Levels`: points of a large file in the order of an octree's leaves, at random within each, in a file of their own.

So the first points of a leaf are a sample of it, and more of them are a finer one. The order is computed on the GPU a
piece at a time; neither the file nor its order has to fit into memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Kernel, Traffic
from ...progress import Job, on_gpu, report
from ...tensor import Tensor, u32
from .file_cache import cached
from .point_file import FARTHEST, stacked
from .point_formats import PointTable, Roles, open_table

SHADER = "models/point_levels.wgsl"
SIDE = 128  # cells of the grid along each axis
PIECE = 1 << 20  # points that are sorted at a time
LEAF, MOST_LEAVES = 1 << 15, 2048  # points of a leaf: so many, or more if there would be more leaves
RECORD = np.dtype([("position", "<f4", (3,)), ("row", "<u4")])


class Levels(NamedTuple):
    """Points as `records`: relative to `middle`, in the file's axes and units, with their rows in the file.

    Those of leaf i are `records[starts[i]:starts[i + 1]]`, within `low[i]` and `high[i]`. `edge` is the longest edge of
    the box of all points, `dropped` rows of the file have no finite position. `folder` holds the file of the records.
    """

    records: np.ndarray
    starts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    middle: np.ndarray
    edge: float
    dropped: int
    folder: tempfile.TemporaryDirectory[str]


@cached(1)
def levels(path: Path) -> Levels:
    """The levels of a file. Takes 32 bytes a point in the system's folder for temporary files while it is built.

    Raises `InputError` for a file without points, and if there is not enough room.
    """
    table = open_table(path)
    table.require_count()
    folder = tempfile.TemporaryDirectory(prefix="vertigrad-")
    room, required = shutil.disk_usage(folder.name).free, 2 * RECORD.itemsize * table.count
    if required > room:
        raise InputError(
            f"{path}: {table.count:,} points need {required:,} bytes for temporary files; {folder.name} has {room:,}; "
            "set TMPDIR to a larger disk"
        )
    raw_path = Path(folder.name) / "raw"
    origin, low, high, dropped = _write_raw(table, raw_path)
    raw = np.memmap(raw_path, RECORD, "r")
    grid = _Grid(raw, low.astype(np.float32), float((high - low).max()))
    counts = grid.counts()
    leaf_of, number = leaves(counts, max(LEAF, len(raw) // MOST_LEAVES))
    per_leaf = np.bincount(leaf_of.reshape(-1), counts.reshape(-1), number).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(per_leaf)])
    records = np.memmap(Path(folder.name) / "levels", RECORD, "w+", shape=raw.shape)
    grid.distribute(leaf_of, starts, records)
    del raw, grid
    raw_path.unlink()
    shift = (origin - (origin + 0.5 * (low + high))).astype(np.float32)
    bounds = _shuffled(table.path.name, records, starts, shift)
    return Levels(records, starts, *bounds, origin + 0.5 * (low + high), float((high - low).max()), dropped, folder)


def leaves(counts: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """The leaf of each cell of a grid of counts, and how many there are.

    Cells are merged eight to one while they have `most` points or fewer; empty ones belong to leaf 0.
    """
    pyramid = [counts.astype(np.int64)]
    while pyramid[-1].shape[0] > 1:
        half = pyramid[-1].shape[0] // 2
        pyramid.append(pyramid[-1].reshape(half, 2, half, 2, half, 2).sum((1, 3, 5)))
    side, found, number = counts.shape[0], np.zeros(counts.shape, np.uint32), 0
    unsettled = np.ones((1, 1, 1), bool)
    for cells in reversed(pyramid):
        finest = cells.shape[0] == side
        settled = unsettled & (cells > 0) & (finest | (cells <= most))
        numbers = np.zeros(cells.shape, np.uint32)
        numbers[settled] = number + np.arange(settled.sum())
        number += int(settled.sum())
        found += _finer(numbers, side // cells.shape[0])
        unsettled = _finer(unsettled & (cells > 0) & ~settled, 1 if finest else 2)
    return found, number


def _finer(cells: np.ndarray, times: int) -> np.ndarray:
    return cells.repeat(times, 0).repeat(times, 1).repeat(times, 2) if times > 1 else cells


def _write_raw(table: PointTable, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Write all finite points relative to the first one; that one, the bounds relative to it, and what was dropped."""
    axes = Roles.of(table).axes
    origin, low, high = None, np.full(3, np.inf), np.full(3, -np.inf)
    read = dropped = 0
    with path.open("wb") as file:
        for piece in table.pieces(axes):
            xyz = stacked(piece, axes, np.float64)
            records = np.empty(len(xyz), RECORD)
            records["row"] = np.arange(read, read + len(xyz))
            read += len(xyz)
            report(f"reading {table.path.name}", 0.4 * read, max(table.count, read))
            with np.errstate(invalid="ignore"):
                sound = (np.abs(xyz) < FARTHEST).all(axis=1)
            dropped += len(xyz) - int(sound.sum())
            if not sound.any():
                continue
            origin = xyz[sound][0].copy() if origin is None else origin
            xyz -= origin
            records["position"] = xyz
            low, high = np.minimum(low, xyz[sound].min(axis=0)), np.maximum(high, xyz[sound].max(axis=0))
            file.write((records if sound.all() else records[sound]).tobytes())
    if origin is None:
        raise InputError(f"{table.path}: no point with a finite position, of {read:,}")
    return origin, low, high, dropped


class _Grid:
    """A grid over all points: what the GPU computes of them."""

    def __init__(self, raw: np.ndarray, low: np.ndarray, edge: float):
        self._raw = raw
        x, y, z = (float(part) for part in low)
        self._fields = {"low": (x, y, z), "per_unit": SIDE / max(edge, 1e-30), "side": SIDE}

    def counts(self) -> np.ndarray:
        """The points in each cell (SIDE, SIDE, SIDE), z first."""
        totals: list[Tensor] = []

        def start() -> list:
            totals.append(Tensor.zeros(SIDE**3, u32, "counts"))
            return []

        on_gpu(start).wait()
        for _, piece in self._pieces():

            def count(piece: np.ndarray = piece) -> list:
                with Tensor.from_numpy(np.ascontiguousarray(piece["position"])) as positions:
                    kernel, number = Kernel.load(SHADER, "count_cells"), len(piece)
                    kernel(number, positions=positions, counts=totals[0], count=number, **self._fields)
                return []

            on_gpu(count).wait()

        def read() -> list:
            with totals[0] as counts:
                return [counts.read_async(Traffic.DIAGNOSTICS)]

        return on_gpu(read).wait()[0].reshape(SIDE, SIDE, SIDE)

    def distribute(self, leaf_of: np.ndarray, starts: np.ndarray, records: np.ndarray) -> None:
        """Write each point to its leaf. While the GPU sorts a piece, the one before it is written."""
        filled, before = starts[:-1].copy(), None
        flat, bits = np.ascontiguousarray(leaf_of.reshape(-1)), max(int(len(starts) - 1).bit_length(), 1)
        for first, piece in self._pieces():
            report("sorting points", 0.4 + 0.4 * first / len(self._raw), 1.0)
            job = on_gpu(lambda piece=piece: self._sorted(piece, flat, bits))
            if before is not None:
                _scatter(*before, filled, records)
            before = piece, job
        if before is not None:
            _scatter(*before, filled, records)

    def _sorted(self, piece: np.ndarray, leaf_of: np.ndarray, bits: int) -> list:
        with (
            Tensor.from_numpy(np.ascontiguousarray(piece["position"])) as positions,
            Tensor.from_numpy(leaf_of) as table,
            Tensor.empty(len(piece), u32) as keys,
        ):
            kernel, number = Kernel.load(SHADER, "assign"), len(piece)
            kernel(
                number, overwrites=("keys",), positions=positions, leaves=table, keys=keys, count=number, **self._fields
            )
            ordered, order = ops.sort_pairs(keys, key_bits=bits)
            with ordered, order:
                return [ordered.read_async(Traffic.DIAGNOSTICS), order.read_async(Traffic.DIAGNOSTICS)]

    def _pieces(self) -> Iterator[tuple[int, np.ndarray]]:
        for first in range(0, len(self._raw), PIECE):
            yield first, np.asarray(self._raw[first : first + PIECE])


def _scatter(piece: np.ndarray, job: Job, filled: np.ndarray, records: np.ndarray) -> None:
    keys, order = job.wait()
    found, first, count = np.unique(keys, return_index=True, return_counts=True)
    targets = np.arange(len(keys)) + np.repeat(filled[found] - first, count)
    records[targets] = piece[order]
    filled[found] += count


def _shuffled(name: str, records: np.ndarray, starts: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle each leaf, and move it by `shift`; the corners of all leaves (leaves, 3)."""
    chance, number = np.random.default_rng(1), len(starts) - 1
    low, high = np.empty((number, 3), np.float32), np.empty((number, 3), np.float32)
    for leaf in range(number):
        report(f"sorting {name}", 0.8 + 0.2 * leaf / number, 1.0)
        part = records[starts[leaf] : starts[leaf + 1]]
        mixed = part[chance.permutation(len(part))]
        mixed["position"] += shift
        low[leaf], high[leaf] = mixed["position"].min(axis=0), mixed["position"].max(axis=0)
        part[:] = mixed
    return low, high
