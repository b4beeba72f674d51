"""`unit_peaks`: the largest magnitude of each unit of a tensor so far."""

from __future__ import annotations

from ..errors import DtypeError
from ..gpu import Kernel
from ..tensor import Tensor, f16, f32, u32
from . import launch

WORKGROUP = 256
CHUNK = 8192  # elements that a workgroup takes


def unit_peaks(a: Tensor, axis: int, out: Tensor) -> Tensor:
    """Raise `out`, (units,) u32, to the largest magnitude along `axis` of `a`, floats, by one dispatch.

    Its words are the bits of f32; a NaN is larger than infinity. Raises `DtypeError`, `ShapeError`.
    """
    axis = launch.normal_axis(axis, a.ndim)
    if a.dtype not in (f16, f32):
        raise DtypeError(f"unit_peaks: magnitudes are of f32 or f16, not of {a.dtype}")
    units = a.shape[axis]
    out = launch.prepare_output("unit_peaks", (units,), u32, out)
    if a.size:
        first = a.permute(axis, *(other for other in range(a.ndim) if other != axis))
        rank, fields = launch.merged(first.shape, source=launch.element_strides(first))
        count = a.size // units
        chunks = -(-count // CHUNK)
        kernel = Kernel.load("ops/unit_peaks.wgsl", defines={"FROM": a.dtype.name, "RANK": rank})
        sizes = {"units": units, "count": count, "chunk": CHUNK, "chunks": chunks}
        kernel(units * chunks * WORKGROUP, source=first, peaks=out, **sizes, **fields)
    return out
