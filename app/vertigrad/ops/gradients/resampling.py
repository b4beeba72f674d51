"""Gradients of resize and pad, whose tables of indices and weights depend on sizes alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...tensor import Tensor
from ..differentiable import Call, rule
from ..resize import Axis, Resampling, resample, tables_of
from ..window import pairs


@rule("resize")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """The transposed filters. The fill outside of x is constant and has no gradient."""
    shape = call.shapes["x"]
    how = Resampling(*(call[name] for name in Resampling._fields))
    _, tables = tables_of(shape, call["size"], call["scale"], call["axes"], how)
    return {"x": _returned(gradient, tables, shape)}


@rule("pad")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Each element adds up its copies; one that was cut off has none."""
    shape, padding, mode = call.shapes["x"], call["padding"], call["mode"]
    sides = pairs("pad", padding, len(shape))
    if mode == "constant" and all(min(pair) >= 0 for pair in sides):
        return {"x": gradient[tuple(slice(b, b + n) for n, (b, _) in zip(shape, sides, strict=True))]}
    axes = enumerate(zip(shape, sides, strict=True))
    tables = {axis: _copies(n, pair, mode) for axis, (n, pair) in axes if any(pair)}
    return {"x": _returned(gradient, tables, shape)}


def _copies(size: int, pair: tuple[int, int], mode: str) -> Axis:
    """Which of `size` elements `pad` puts where along an axis; −1 for none of them."""
    begin, end = pair
    padded = np.arange(size)[max(-begin, 0) : size - max(-end, 0)]
    beyond = {"constant_values": -1} if mode == "constant" else {}
    indices = np.pad(padded, (max(begin, 0), max(end, 0)), mode, **beyond)[:, None]  # type: ignore[call-overload]
    return Axis(indices.astype(np.int32), np.ones(indices.shape, np.float32))


def _returned(gradient: Tensor, tables: Mapping[int, Axis], shape: tuple[int, ...]) -> Tensor:
    out = Tensor.empty(shape, gradient.dtype, "gradient", temporary=True)
    if out.size:
        resample(gradient, {axis: table.transposed(shape[axis]) for axis, table in tables.items()}, 0.0, out)
    return out
