"""How many elements are in each bin. Counting is exact, so the result does not depend on the order in which it is done.

`histogram` and `bincount` work now; `record_histogram` and `record_bincount` add the same to a plan.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, u32
from . import launch
from .differentiable import differentiable
from .functions import Operand
from .lines import Launch
from .scans import clear

ELEMENTS = 4096  # of a workgroup, as in the shader
SHARED = (256, 2048)  # bins that a workgroup counts in its own memory


@differentiable
def histogram(x: Operand, bins: int, limits: tuple[float, float]) -> Tensor:
    """How many elements lie in each of `bins` bins of equal width between two `limits`, as u32, shape (bins,).

    Bins are half-open but for the last; elements outside of the limits, and NaN, are left out, as in
    `numpy.histogram(x, bins, range=limits)`. The bin is computed in f32: an element within a rounding error of an
    edge may count on its other side. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x) as (source,):
        counts = Tensor.empty(max(bins, 0), u32, temporary=True)
        _histogram(Kernel.__call__, source, counts, limits)
    return counts


@differentiable
def bincount(x: Operand, bins: int) -> Tensor:
    """How many elements of the integers `x` are 0, 1, ... `bins` − 1, as u32, shape (bins,); others are left out."""
    with launch.tensors(x) as (source,):
        counts = Tensor.empty(max(bins, 0), u32, temporary=True)
        _bincount(Kernel.__call__, source, counts)
    return counts


def record_histogram(plan: Plan, x: Tensor, counts: Tensor, limits: tuple[float, float]) -> None:
    """Add to `plan` the histogram of `x` into `counts`, one u32 for each bin; as `histogram`."""
    _histogram(plan.dispatch, x, counts, limits)


def record_bincount(plan: Plan, x: Tensor, counts: Tensor) -> None:
    """Add to `plan` the counts of the integers `x` into `counts`, one u32 for each; as `bincount`."""
    _bincount(plan.dispatch, x, counts)


def _histogram(launch_: Launch, source: Tensor, counts: Tensor, limits: tuple[float, float]) -> None:
    low, high = (float(np.float32(limit)) for limit in limits)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ShapeError(f"histogram: limits {limits} must be two finite f32 numbers, the first below the second")
    scale = float(np.float32(counts.size) / (np.float32(high) - np.float32(low))) if counts.size else 0.0
    if not math.isfinite(scale):
        raise ShapeError(f"histogram: {counts.size} bins between {limits} are too narrow for f32")
    _count(launch_, source, counts, values=True, low=low, high=high, scale=scale)


def _bincount(launch_: Launch, source: Tensor, counts: Tensor) -> None:
    if source.dtype.kind == "float":
        raise DtypeError(f"bincount: elements are {source.dtype}; they must be integers: use histogram")
    _count(launch_, source, counts, values=False, low=0.0, high=0.0, scale=0.0)


def _count(launch_: Launch, source: Tensor, counts: Tensor, values: bool, **range_: float) -> None:
    if counts.ndim != 1 or not counts.size:
        raise ShapeError(f"a histogram needs one bin at least; counts have shape {counts.shape}")
    if counts.dtype is not u32:
        raise DtypeError(f"a histogram counts in u32, not in {counts.dtype}")
    clear(launch_, counts)
    if not source.size:
        return
    shape, (strides,) = launch.merge_axes(source.shape, [launch.element_strides(source)])
    shared = next((room for room in SHARED if counts.size <= room), 0)
    kernel = Kernel.load(
        "ops/histogram.wgsl",
        defines={"DTYPE": source.dtype.name, "RANK": len(shape), "VALUES": values, "SHARED": shared},
    )
    launch_(
        kernel,
        -(-source.size // ELEMENTS) * 256,
        source=source,
        counts=counts,
        count=source.size,
        bins=counts.size,
        shape=launch.padded(shape, 1),
        source_strides=launch.padded(strides, 0),
        **range_,
    )
