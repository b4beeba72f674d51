"""Products of matrices with what follows them in one kernel: bias, residual, activation, and factors."""

from __future__ import annotations

from ..errors import DtypeError, ShapeError
from ..tensor import Tensor, broadcast_shapes, f16, f32, promote
from . import launch
from .activation import Activation
from .differentiable import differentiable
from .functions import Operand
from .product import Epilogue, product


@differentiable
def linear(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    activation: Activation = None,
    residual: Operand | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """activation(x weightᵀ + bias + residual), by one kernel, into `out` or a new tensor.

    x (..., inputs), weight (outputs, inputs), bias (outputs,), residual anything that broadcasts to the result
    (..., outputs). f32 or f16, summed in f32; the result has the common type of x and weight. `activation` is a name of
    `ops.activation.PARAMETERS`, a name with parameters in a tuple, or None. Raises `ShapeError`, `DtypeError`,
    `LayoutError`, `InputError` for an unknown activation.
    """
    with launch.tensors(x, weight, bias, residual) as (left, right, shift, added):
        if right.ndim != 2 or not left.ndim or left.shape[-1] != right.shape[1]:
            raise ShapeError(f"linear: x {left.shape} and weight {right.shape}; they must be (..., n) and (m, n)")
        if shift is not None and shift.shape != right.shape[:1]:
            raise ShapeError(f"linear: expected a bias of shape {right.shape[:1]}, got {shift.shape}")
        row = slice(None) if left.ndim > 1 else None
        shape = (*left.shape[:-1], right.shape[0])
        if added is not None and row is None and added.ndim == 1:
            added = added[None]
        out = _prepare_output("linear", shape, (left, right), (shift, added), out)
        if out.size:
            product(left[..., row, :], right.T, out[..., row, :], Epilogue(shift, added, activation))
    return out


@differentiable
def gemm(
    a: Operand,
    b: Operand,
    c: Operand | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
    activation: Activation = None,
    out: Tensor | None = None,
) -> Tensor:
    """activation(alpha · a b + beta · c), as ONNX's Gemm: a and b are matrices, read transposed on request.

    c broadcasts to the result. f32 or f16, summed in f32; the result has their common type. Raises as `linear`.
    """
    with launch.tensors(a, b, c) as (left, right, added):
        if left.ndim != 2 or right.ndim != 2:
            raise ShapeError(f"gemm: operands of shapes {left.shape} and {right.shape}; both must be matrices")
        left, right = (left.T if trans_a else left), (right.T if trans_b else right)
        if left.shape[1] != right.shape[0]:
            raise ShapeError(f"gemm: inner sizes of {left.shape} and {right.shape} differ")
        out = _prepare_output("gemm", (left.shape[0], right.shape[1]), (left, right), (added,), out)
        scale = float(beta) if added is not None else 1.0
        if out.size:
            product(left, right, out, Epilogue(added, None, activation, float(alpha), scale))
    return out


def _prepare_output(
    name: str,
    shape: tuple[int, ...],
    factors: tuple[Tensor, Tensor],
    added: tuple[Tensor | None, ...],
    out: Tensor | None,
) -> Tensor:
    """Where the result goes, if all types are floats and what is added broadcasts to its shape."""
    for tensor in (t for t in (*factors, *added) if t is not None):
        if tensor.dtype not in (f32, f16):
            raise DtypeError(f"{name} of {tensor.dtype}; operands must be f32 or f16: cast them with .to() first")
    for tensor in (t for t in added if t is not None):
        whole = shape if len(shape) >= tensor.ndim else (1, *shape)
        if broadcast_shapes(whole, tensor.shape) != whole:
            raise ShapeError(f"{name}: what is added has shape {tensor.shape}; it does not broadcast to {shape}")
    return launch.prepare_output(name, shape, promote(factors[0].dtype, factors[1].dtype), out)
