"""Reductions over segments of rows, given by where they begin or by a key for each row, in rising order.

One segment may hold all rows and others none: long ones are cut into pieces. The order of operations depends on the
offsets alone, so the same input gives the same bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, f16, f32, i32, u32
from . import launch
from .differentiable import differentiable
from .functions import Operand
from .lines import Lines
from .scans import RUNNING, WORDS, result_type, scan

WORKGROUP = 256
FOLDS = ("sum", "mean", "min", "max")
_UNUSED: dict[str, Any] = {  # what not every entry of the shader needs
    **dict.fromkeys(("rows", "segments", "columns", "pieces", "source_step", "line_axes"), 0),
    "shape": [1] * 8,
}


@differentiable
def segmented_reduce(how: str, x: Operand, offsets: Operand, *, out: Tensor | None = None) -> Tensor:
    """The "sum", "mean", "min" or "max" of each segment of rows of `x`, shape (segments, ...).

    Segment s is x[offsets[s] : offsets[s + 1]]; `offsets` (i32 or u32, one more than there are segments) rise. Of no
    rows the sum is 0, the mean NaN, and min and max the value that no other is beyond. Offsets beyond the rows count
    as the end. Sums of bool and u8 are u32, means of integers f32. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, offsets) as (source, begins):
        _check(how, source, begins)
        shape = (begins.size - 1, *source.shape[1:])
        out = launch.prepare_output(f"segmented {how}", shape, result_dtype(how, source.dtype), out)
        source, begins = launch.copy_if_aliased(source, out), launch.copy_if_aliased(begins, out)
        with begins.contiguous() as packed, launch.packed(out) as target:
            _reduce(how, source, packed, target)
    return out


def reduce_by_key(how: str, x: Operand, keys: Operand, segments: int, *, out: Tensor | None = None) -> Tensor:
    """As `segmented_reduce`, row i belonging to segment keys[i]: i32 or u32 in rising order, below `segments`."""
    with launch.tensors(x, keys, composed=True) as (source, of_rows):
        if of_rows.shape != source.shape[:1]:
            raise ShapeError(f"reduce_by_key: keys of shape {of_rows.shape} for rows of shape {source.shape}")
        with segment_starts(of_rows, segments) as offsets:
            return segmented_reduce(how, source, offsets, out=out)


@differentiable
def segment_starts(keys: Operand, segments: int, *, out: Tensor | None = None) -> Tensor:
    """Where each of `segments` begins among `keys` (i32 or u32, in rising order), and where the last ends: u32."""
    with launch.tensors(keys) as (of_rows,):
        if of_rows.ndim != 1:
            raise ShapeError(f"segments: keys have shape {of_rows.shape}; it must be (rows,)")
        if of_rows.dtype not in (i32, u32):
            raise DtypeError(f"segments: keys are {of_rows.dtype}; they must be i32 or u32")
        out = launch.prepare_output("segment_starts", (segments + 1,), u32, out)
        defines = _defines("sum", u32, u32, _Work(1, 1, 1)) | {"KEY": of_rows.dtype.name}
        fields = _UNUSED | {"rows": of_rows.size, "segments": segments}
        kernel = Kernel.load("ops/segments.wgsl", "starts", defines)
        with launch.copy_if_aliased(of_rows, out).contiguous() as packed, launch.packed(out) as found:
            kernel(out.size, overwrites=("found",), **fields | {"keys": packed, "found": found})
    return out


def spread_segments(values: Tensor, offsets: Tensor, rows: int, mean: bool = False) -> Tensor:
    """For the gradient: row s of `values` for each row of segment s, (rows, ...) f32; by `mean` a share of it.

    Rows of no segment are 0.
    """
    out = Tensor.empty((rows, *values.shape[1:]), f32, "gradient", temporary=True)
    if out.size:
        kernel = Kernel.load(
            "ops/segments.wgsl", "spread", _defines("mean" if mean else "sum", values.dtype, f32, _Work(1, 1, 1))
        )
        fields = {"rows": rows, "segments": len(offsets) - 1, "columns": out.size // rows}
        fields = _UNUSED | Lines.along(0, (values,)).fields("source") | fields
        with offsets.contiguous() as begins:
            tensors = {"offsets": begins.bitcast(u32), "source": values, "out": out}
            kernel(out.size, overwrites=("out",), **fields | tensors)
    return out


def result_dtype(how: str, dtype: DType) -> DType:
    """The element type of a reduction of `dtype`."""
    if how not in FOLDS:
        raise DtypeError(f"no reduction of segments is called {how!r}; there are {', '.join(FOLDS)}")
    if how == "mean":
        return dtype if dtype.kind == "float" else f32
    return result_type(how, dtype)


def _check(how: str, source: Tensor, offsets: Tensor) -> None:
    result_dtype(how, source.dtype)
    if not source.ndim or offsets.ndim != 1 or not offsets.size:
        raise ShapeError(
            f"segments: offsets of shape {offsets.shape} for {source.shape}; (segments + 1,) for (rows, ...)"
        )
    if offsets.dtype not in (i32, u32):
        raise DtypeError(f"segments: offsets are {offsets.dtype}; they must be i32 or u32")


class _Work(NamedTuple):
    """Invocations for each piece, rows of a piece, and how many pieces there can be."""

    lanes: int
    piece: int
    pieces: int

    @staticmethod
    def of(rows: int, segments: int) -> _Work:
        """By what a segment has on average; one that holds all rows costs some thousand rows in turn at most."""
        average = rows / max(segments, 1)
        lanes, piece = (1, 4096) if average <= 16 else (16, 4096) if average <= 1024 else (WORKGROUP, 1 << 14)
        return _Work(lanes, piece, segments + rows // piece)

    def threads(self, totals: int) -> int:
        """Invocations for so many totals."""
        return -(-totals // (WORKGROUP // self.lanes)) * WORKGROUP


def _reduce(how: str, source: Tensor, offsets: Tensor, out: Tensor) -> None:
    """Pieces of each segment counted and numbered, their totals, and the totals of the segments."""
    if not out.size:
        return
    segments, columns = out.shape[0], math.prod(out.shape[1:])
    work = _Work.of(source.shape[0], segments)
    sizes = {"rows": source.shape[0], "segments": segments, "columns": columns, "pieces": work.pieces}
    fields = _UNUSED | Lines.along(0, (source,)).fields("source") | sizes
    defines = _defines(how, source.dtype, out.dtype, work)
    pieces, fold, combine = (
        Kernel.load("ops/segments.wgsl", entry, defines) for entry in ("pieces", "fold", "combine_pieces")
    )
    with (
        Tensor.empty(segments, u32, temporary=True) as counted,
        Tensor.empty(segments, u32, temporary=True) as ends,
        Tensor.empty(work.pieces * columns, WORDS[defines["VALUE"]], temporary=True) as partial,
    ):
        fields |= {"offsets": offsets.bitcast(u32)}
        pieces(segments, overwrites=("counted",), counted=counted, **fields)
        scan("sum", counted, out=ends)
        fields |= {"ends": ends}
        threads = work.threads(work.pieces * columns)
        fold(threads, overwrites=("partial",), partial=partial, **fields | {"source": source})
        threads = work.threads(segments * columns)
        combine(threads, overwrites=("out",), combined=partial, **fields | {"out": out})


def _defines(how: str, dtype: DType, result: DType, work: _Work) -> dict[str, Any]:
    value = "f32" if how == "mean" else launch.word_type(dtype)
    running = RUNNING["sum" if how == "mean" else how].defines(value)
    total = "total / f32(rows)" if how == "mean" else "total"
    return running | {
        "FROM": dtype.name,
        "TO": result.name,
        "LIFT": f"{value}(x)",
        "IDENTITY": "0" if how in ("sum", "mean") else running["IDENTITY"],
        "FINISH": f"f16({total})" if result is f16 else total,
        "LANES": work.lanes,
        "PIECE": work.piece,
        "KEY": "u32",
    }
