"""Gradients of encodings: to the points, and to the tables of hash grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...gpu import Kernel
from ...tensor import Tensor, f32, u32
from .. import functions as f
from .. import launch
from ..differentiable import Call, rule
from ..elementwise import assign
from ..encoding import NO_ENCODING, PositionalEncoding
from ..reduce import max as max_
from .precision import narrow, wide

MOST_BITS = 30  # of a contribution, so that it is an i32
_UNUSED = {"elements": 0, "bits": 0, "low": 0}


@rule("encode", "x", "tables")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """To tables in integers, so that the order does not matter: a contribution is off by 2⁻ᵇ of the largest gradient.

    b is about 60 less two bits for each doubling of the points, 23 for 2¹⁸ of three coordinates (see `words_of`).
    """
    x, encoding = call["x"], call["encoding"]
    gradient = wide(gradient)
    with launch.operands(x) as (points,):
        if isinstance(encoding, PositionalEncoding):
            return {"x": narrow(_launch("main", points, gradient, call, points.size), points)}
        found: dict[str, Tensor] = {}
        if "x" in call.requested:
            found["x"] = narrow(_launch("points", points, gradient, call, points.shape[0]), points)
        if "tables" in call.requested:
            found["tables"] = _by_tables(points, gradient, call)
        return found


def words_of(points: int, dimensions: int) -> tuple[int, int]:
    """Bits of a contribution, and of its lower word, such that all corners of so many points may meet in one entry.

    The lower words of n points with 2ᵈ corners each then add up to less than 2³², the upper ones to less than 2³¹.
    """
    count = max(points - 1, 1).bit_length()
    low = max(32 - count - dimensions, 1)
    return min(MOST_BITS, low + max(30 - count, 1)), low


# inside -------------------------------------------------------------------------------------------------------------


def _by_tables(x: Tensor, gradient: Tensor, call: Call) -> Tensor:
    tables = call["tables"]
    if not x.shape[0]:
        return assign(Tensor.empty(tables.shape, tables.dtype, temporary=True), 0)
    bits, low = words_of(*x.shape)
    fields = {"bits": bits, "low": low, "elements": tables.size}
    with (
        max_(f.absolute(gradient)) as largest,
        assign(Tensor.empty((tables.size, 2), u32, "words", temporary=True), 0) as words,
    ):
        _launch("spread", x, gradient, call, x.shape[0] * tables.shape[0], largest=largest, words=words, **fields)
        found = _launch("finish", x, gradient, call, tables.size, largest=largest, words=words, **fields)
    return narrow(found, tables)


def _launch(entry: str, x: Tensor, gradient: Tensor, call: Call, threads: int, **inputs: Any) -> Tensor:
    """What the kernel leaves in `found`, which is of the shape of the points, or else of the tables."""
    encoding, tables = call["encoding"], call["tables"]
    shape: Sequence[int] = tables.shape if entry == "finish" else x.shape
    found = Tensor.empty(shape, f32, f"{entry}.gradient", temporary=True)
    own = {"X": x.dtype.name, "DIMENSIONS": x.shape[1]}
    kernel = Kernel.load("ops/encoding_backward.wgsl", entry, {**NO_ENCODING, **encoding.defines(), **own})
    tensors = {"x": x, "gradient": gradient, "found": found, "tables": tables, "largest": None, "words": None}
    tensors |= {name: value for name, value in inputs.items() if name not in _UNUSED}
    fields = _UNUSED | {name: value for name, value in inputs.items() if name in _UNUSED}
    if threads:
        kernel(
            threads,
            overwrites=("found",),
            count=x.shape[0],
            resolutions=encoding.arguments()["resolutions"],
            x_strides=launch.element_strides(x),
            gradient_strides=launch.element_strides(gradient),
            **fields,
            **kernel.bound(**tensors),
        )
    return found
