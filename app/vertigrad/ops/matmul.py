"""Products of matrices with NumPy's meaning: the last two axes are matrices, axes before them are broadcast."""

from __future__ import annotations

import math

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, broadcast_shapes, f16, f32, i32, promote, u32
from . import launch
from .elementwise import assign
from .functions import Operand

SIDE = 64  # rows and columns of the tile that one workgroup makes, as in the shader
WORKGROUP = 256


def matmul(a: Operand, b: Operand, *, out: Tensor | None = None) -> Tensor:
    """a @ b for f32, f16 (summed in f32), i32 and u32 (which wrap), and mixtures of them; transposes are read in place.

    An operand of one axis is a row on the left and a column on the right; that axis is not in the result.
    Raises `ShapeError` if the inner sizes differ or the other axes do not broadcast, and `DtypeError` for u8 and bool.
    """
    with launch.tensors(a, b) as (left, right):
        dtype = _result(left, right)
        shape = _shape(left, right)
        out = launch.destination("matmul", shape, dtype, out)
        if out.size and left.size:
            _launch(launch.apart(left, out), launch.apart(right, out), out)
        elif out.size:
            assign(out, 0)
    return out


def _result(left: Tensor, right: Tensor) -> DType:
    dtype = promote(left.dtype, right.dtype)
    if dtype not in (f32, f16, i32, u32):
        raise DtypeError(f"matmul of {left.dtype} and {right.dtype} would be {dtype}; cast one with .to() first")
    return dtype


def _shape(left: Tensor, right: Tensor) -> tuple[int, ...]:
    """The shape of the result. Raises `ShapeError`."""
    if not left.ndim or not right.ndim:
        raise ShapeError("matmul needs at least one axis on either side; use multiply")
    if left.shape[-1] != right.shape[-2:][0]:
        raise ShapeError(f"matmul: inner sizes of {left.shape} and {right.shape} differ")
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if right.ndim > 1 else ()
    return (*broadcast_shapes(left.shape[:-2], right.shape[:-2]), *rows, *columns)


def _launch(left: Tensor, right: Tensor, out: Tensor) -> None:
    whole = slice(None)
    row, column = (None if left.ndim == 1 else whole), (None if right.ndim == 1 else whole)
    out, a, b = out[..., row, column], left[..., row, whole], right[..., whole, column]
    batch, (rows, columns), inner = out.shape[:-2], out.shape[-2:], a.shape[-1]
    a, b = a.expand(*batch, rows, inner), b.expand(*batch, inner, columns)
    strides = {name: launch.element_strides(t) for name, t in (("a", a), ("b", b), ("out", out))}
    axes, steps = launch.merge_axes(batch, [row[:-2] for row in strides.values()])
    tiles = -(-rows // SIDE) * -(-columns // SIDE)
    kernel = Kernel.load(
        "ops/matmul.wgsl",
        defines={
            "A": a.dtype.name,
            "B": b.dtype.name,
            "OUT": out.dtype.name,
            "VALUE": "f32" if out.dtype.kind == "float" else out.dtype.name,
            "A_DOWN": _down(strides["a"]),
            "B_DOWN": _down(strides["b"]),
        },
    )
    kernel(
        tiles * math.prod(axes) * WORKGROUP,
        overwrites=("out",),
        a=a,
        b=b,
        out=out,
        rows=rows,
        columns=columns,
        inner=inner,
        batches=math.prod(axes),
        batch_axes=len(axes),
        batch=launch.padded(axes, 1),
        **{f"{name}_strides": row[-2:] for name, row in strides.items()},
        **{f"{name}_steps": launch.padded(row, 0) for name, row in zip(strides, steps, strict=True)},
    )


def _down(strides: tuple[int, ...]) -> bool:
    """Whether a matrix lies column by column."""
    return abs(strides[-2]) < abs(strides[-1])
