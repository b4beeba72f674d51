"""How many elements are in each bin. Counts are exact, so the result does not depend on the order of counting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, u32
from . import launch
from .differentiable import differentiable
from .elementwise import assign
from .functions import Operand

ELEMENTS = 4096  # of a workgroup, as in the shader
SHARED = (256, 2048)  # bins that a workgroup counts in its own memory


@differentiable
def histogram(x: Operand, bins: int, limits: tuple[float, float], *, out: Tensor | None = None) -> Tensor:
    """How many elements are in each of `bins` bins of equal width between two `limits`, as u32, shape (bins,).

    Bins are half-open but for the last; elements outside of the limits, and NaN, are left out, as in
    `numpy.histogram(x, bins, range=limits)`. The bin is computed in f32: an element within a rounding error of an
    edge may count on its other side. Raises `ShapeError`, `DtypeError`.
    """
    low, high = (float(np.float32(limit)) for limit in limits)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ShapeError(f"histogram: limits {limits} must be two finite f32 numbers, the first below the second")
    scale = float(np.float32(bins) / (np.float32(high) - np.float32(low)))
    if not math.isfinite(scale):
        raise ShapeError(f"histogram: {bins} bins between {limits} are too narrow for f32")
    with launch.tensors(x) as (source,):
        return _count("histogram", source, bins, out, low=low, high=high, scale=scale)


@differentiable
def bincount(x: Operand, bins: int, *, out: Tensor | None = None) -> Tensor:
    """How many elements of the integers `x` are 0, 1, ... `bins` − 1, as u32, shape (bins,); others are left out."""
    with launch.tensors(x) as (source,):
        if source.dtype.kind == "float":
            raise DtypeError(f"bincount: elements are {source.dtype}; they must be integers: use histogram")
        return _count("bincount", source, bins, out, low=0.0, high=0.0, scale=0.0)


def _count(name: str, source: Tensor, bins: int, out: Tensor | None, **numbers: Any) -> Tensor:
    if bins < 1:
        raise ShapeError(f"{name} needs one bin at least, not {bins}")
    out = launch.prepare_output(name, (bins,), u32, out)
    source = launch.copy_if_aliased(source, out)
    rank, fields = launch.merged(source.shape, source=launch.element_strides(source))
    shared = next((room for room in SHARED if bins <= room), 0)
    defines = {"DTYPE": source.dtype.name, "RANK": rank, "VALUES": name == "histogram", "SHARED": shared}
    with launch.packed(out) as counts:
        assign(counts, 0)
        if source.size:
            Kernel.load("ops/histogram.wgsl", defines=defines)(
                -(-source.size // ELEMENTS) * 256,
                source=source,
                counts=counts,
                count=source.size,
                bins=bins,
                **fields,
                **numbers,
            )
    return out
