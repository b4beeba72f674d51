"""Products of matrices with NumPy's meaning: the last two axes are matrices, axes before them are broadcast."""

from __future__ import annotations

from ..errors import DtypeError, ShapeError
from ..tensor import DType, Tensor, broadcast_shapes, f16, f32, f64, i32, promote, u32
from . import launch
from .differentiable import differentiable
from .elementwise import assign
from .functions import Operand
from .product import product


@differentiable
def matmul(a: Operand, b: Operand, *, out: Tensor | None = None) -> Tensor:
    """a @ b for f32, f16 (summed in f32), f64, i32 and u32 (which wrap), and mixtures; transposes are read in place.

    An operand of one axis is a row on the left and a column on the right; that axis is not in the result.
    Raises `ShapeError` if the inner sizes differ or the other axes do not broadcast, and `DtypeError` for u8 and bool.
    """
    with launch.tensors(a, b) as (left, right):
        dtype = _result(left, right)
        shape = _shape(left, right)
        out = launch.prepare_output("matmul", shape, dtype, out)
        if out.size and left.size:
            whole = slice(None)
            row, column = (None if left.ndim == 1 else whole), (None if right.ndim == 1 else whole)
            product(left[..., row, whole], right[..., whole, column], out[..., row, column])
        elif out.size:
            assign(out, 0)
    return out


def _result(left: Tensor, right: Tensor) -> DType:
    dtype = promote(left.dtype, right.dtype)
    if dtype not in (f32, f16, f64, i32, u32):
        raise DtypeError(f"matmul of {left.dtype} and {right.dtype} would be {dtype}; cast one with .to() first")
    return dtype


def _shape(left: Tensor, right: Tensor) -> tuple[int, ...]:
    if not left.ndim or not right.ndim:
        raise ShapeError("matmul needs at least one axis on either side; use multiply")
    if left.shape[-1] != right.shape[-2:][0]:
        raise ShapeError(f"matmul: inner sizes of {left.shape} and {right.shape} differ")
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if right.ndim > 1 else ()
    return (*broadcast_shapes(left.shape[:-2], right.shape[:-2]), *rows, *columns)
