"""Reductions over segments of rows, given by where they begin or by a key for each row, in rising order.

One segment may hold all rows and others none: long ones are cut into pieces. The order of operations depends on the
offsets alone, so the same input gives the same bits. `segmented_reduce`, `reduce_by_key` and `segment_starts` work now;
`record_segmented_reduce` and `record_segment_starts` add the same to a plan, which holds the scratch memory.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, Plan
from ..tensor import DType, Tensor, f16, f32, i32, u32
from . import launch
from .differentiable import differentiable
from .functions import Operand
from .lines import Launch, Lines, words
from .scans import RUNNING, result_type, running_sum

WORKGROUP = 256
FOLDS = ("sum", "mean", "min", "max")
_VALUES = {"f32": f32, "i32": i32, "u32": u32}
_OFFSETS = ("offsets_offset", "source_offset", "out_offset", "keys_offset", "found_offset")
_UNUSED: dict[str, Any] = {  # fields of the shader that not every entry needs; offsets of tensors are filled in
    **dict.fromkeys((*_OFFSETS, "rows", "segments", "columns", "pieces", "source_step", "column_axes"), 0),
    "shape": [1] * 8,
    "source_strides": [0] * 8,
}


@differentiable
def segmented_reduce(how: str, x: Operand, offsets: Operand) -> Tensor:
    """The "sum", "mean", "min" or "max" of each segment of rows of `x`, shape (segments, ...).

    Segment s is x[offsets[s] : offsets[s + 1]]; `offsets` (i32 or u32, one more than there are segments) rise. Of no
    rows the sum is 0, the mean NaN, and min and max the value that no other is beyond. Offsets beyond the rows count
    as the end. Sums of bool and u8 are u32, means of integers f32. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, offsets) as (source, begins):
        _check(how, source, begins)
        out = Tensor.empty((begins.size - 1, *source.shape[1:]), result_dtype(how, source.dtype), temporary=True)
        with begins.contiguous() as packed:
            _reduce(Kernel.__call__, how, source, packed, out)
    return out


@differentiable
def reduce_by_key(how: str, x: Operand, keys: Operand, segments: int) -> Tensor:
    """As `segmented_reduce`, row i belonging to segment keys[i]: i32 or u32 in rising order, below `segments`."""
    with launch.tensors(x, keys) as (source, packed_keys), Tensor.empty(segments + 1, u32) as offsets:
        if packed_keys.shape != source.shape[:1]:
            raise ShapeError(f"reduce_by_key: keys of shape {packed_keys.shape} for rows of shape {source.shape}")
        with packed_keys.contiguous() as packed:
            add_offsets(Kernel.__call__, packed, offsets)
        return segmented_reduce(how, source, offsets)


@differentiable
def segment_starts(keys: Operand, segments: int) -> Tensor:
    """Where each of `segments` begins among `keys` (i32 or u32, in rising order), and where the last ends: u32."""
    offsets = Tensor.empty(segments + 1, u32, temporary=True)
    with launch.tensors(keys) as (packed_keys,), packed_keys.contiguous() as packed:
        add_offsets(Kernel.__call__, packed, offsets)
    return offsets


def spread_segments(values: Tensor, offsets: Tensor, rows: int, mean: bool = False) -> Tensor:
    """For the gradient: row s of `values` for each row of segment s, (rows, ...) f32; by `mean` a share of it.

    Rows of no segment are 0.
    """
    out = Tensor.empty((rows, *values.shape[1:]), f32, "gradient", temporary=True)
    if out.size:
        kernel = Kernel.load(
            "ops/segments.wgsl", "spread", _defines("mean" if mean else "sum", values.dtype, f32, _Work(1, 1, 1))
        )
        fields = (
            _UNUSED | _stride_fields(values) | {"rows": rows, "segments": len(offsets) - 1, "columns": out.size // rows}
        )
        bound = {f"{name}_offset" for name in ("offsets", "source", "out")}
        with offsets.contiguous() as packed, words(packed) as begins:
            kernel(
                out.size,
                overwrites=("out",),
                offsets=begins,
                source=values,
                out=out,
                **{name: value for name, value in fields.items() if name not in bound},
            )
    return out


def record_segmented_reduce(plan: Plan, how: str, x: Tensor, offsets: Tensor, out: Tensor) -> None:
    """Add to `plan` what `segmented_reduce` does, into contiguous `out`. Raises also `LayoutError`."""
    _check(how, x, offsets)
    launch.prepare_output(f"segmented {how}", (offsets.size - 1, *x.shape[1:]), result_dtype(how, x.dtype), out)
    _reduce(plan.dispatch, how, x, offsets, out)


def record_segment_starts(plan: Plan, keys: Tensor, offsets: Tensor) -> None:
    """Add to `plan` what `segment_starts` does, into contiguous `offsets`, one more than there are segments."""
    add_offsets(plan.dispatch, keys, offsets)


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


def _reduce(launch_: Launch, how: str, source: Tensor, offsets: Tensor, out: Tensor) -> None:
    """Pieces of each segment counted and numbered, their totals, and the totals of the segments."""
    if not out.size:
        return
    segments, columns = out.shape[0], math.prod(out.shape[1:])
    work = _Work.of(source.shape[0], segments)
    fields = _UNUSED | _stride_fields(source) | {"rows": source.shape[0], "segments": segments, "columns": columns}
    fields["pieces"] = work.pieces
    defines = _defines(how, source.dtype, out.dtype, work)
    pieces, fold, combine = (
        Kernel.load("ops/segments.wgsl", entry, defines) for entry in ("pieces", "fold", "combine_pieces")
    )
    with (
        words(offsets) as begins,
        Tensor.empty(segments, u32) as counted,
        Tensor.empty(segments, u32) as ends,
        Tensor.empty(work.pieces * columns, _VALUES[defines["VALUE"]]) as partial,
    ):
        arguments = {"offsets": begins, **fields}
        launch_(pieces, segments, overwrites=("counted",), counted=counted, **arguments)
        running_sum(launch_, counted, ends, exclusive=False)
        threads = work.threads(work.pieces * columns)
        launch_(fold, threads, overwrites=("partial",), source=source, ends=ends, partial=partial, **arguments)
        launch_(
            combine,
            work.threads(segments * columns),
            overwrites=("out",),
            ends=ends,
            combined=partial,
            out=out,
            **arguments,
        )


def _stride_fields(source: Tensor) -> dict[str, Any]:
    """Strides of rows and columns."""
    lines = Lines.along(0, (source,))
    return {
        "source_step": lines.steps[0],
        "column_axes": len(lines.shape),
        "shape": launch.padded(lines.shape, 1),
        "source_strides": launch.padded(lines.strides[0], 0),
    }


def _defines(how: str, dtype: DType, result: DType, work: _Work) -> dict[str, Any]:
    value = "f32" if how == "mean" else {"float": "f32", "int": "i32"}.get(dtype.kind, "u32")
    running = RUNNING["sum" if how == "mean" else how]
    total = "total / f32(rows)" if how == "mean" else "total"
    identity = "0" if how in ("sum", "mean") else running.identity.get(value) or running.identity[""]
    return {
        "FROM": dtype.name,
        "TO": result.name,
        "VALUE": value,
        "LIFT": f"{value}(x)",
        "COMBINE": running.combine.get(value) or running.combine[""],
        "IDENTITY": identity,
        "FINISH": f"f16({total})" if result is f16 else total,
        "LANES": work.lanes,
        "PIECE": work.piece,
        "KEY": "u32",
    }


def add_offsets(launch_: Launch, keys: Tensor, offsets: Tensor) -> None:
    """For kernels that come after it: where segments begin among contiguous `keys`, into `offsets`."""
    if keys.ndim != 1 or offsets.ndim != 1 or not offsets.size:
        raise ShapeError(
            f"segments: keys have shape {keys.shape}, offsets {offsets.shape}; (rows,) and (segments + 1,)"
        )
    if keys.dtype not in (i32, u32) or offsets.dtype is not u32:
        raise DtypeError(f"segments: keys are {keys.dtype}, offsets {offsets.dtype}; i32 or u32, and u32, are needed")
    defines = _defines("sum", u32, u32, _Work(1, 1, 1)) | {"KEY": keys.dtype.name}
    launch_(
        Kernel.load("ops/segments.wgsl", "starts", defines),
        offsets.size,
        overwrites=("found",),
        keys=keys,
        found=offsets,
        **_UNUSED | {"rows": keys.size, "segments": offsets.size - 1},
    )
