"""Narrow element types: bfloat16 is an f32 that is rounded at each node, floats of 8 and 4 bits are codes.

A code is a u32 with the bits that the float has in a file. ONNX calculates with none: it moves them, and converts them
here, both ways by tables that hold what ONNX's own conversions give.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.helper import tensor_dtype_to_np_dtype

from .. import ops
from ..tensor import Tensor, bool_, f32, u32
from .node import Node
from .values import BFLOAT16, CODES, UNSIGNED, Value

_CLAMPED = (
    TensorProto.FLOAT8E4M3FN,
    TensorProto.FLOAT8E4M3FNUZ,
    TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ,
)


def rounded_to_bfloat16(x: Tensor) -> Tensor:
    """f32 numbers, each the nearest that bfloat16 has, ties to even; NaN stays NaN."""
    x = x.contiguous()

    def upper_half(bits: Tensor, real: Tensor) -> Tensor:
        odd = ops.bitwise_and(ops.right_shift(bits, 16), 1)
        nearest = ops.bitwise_and(ops.add(ops.add(bits, 0x7FFF), odd), 0xFFFF0000)
        return ops.where(ops.isnan(real), 0x7FC00000, nearest)

    return ops.fused(upper_half, x.bitcast(u32), x).bitcast(f32)


def decoded(node: Node, codes: Tensor, elem: int) -> Tensor:
    """The f32 numbers of `codes`."""
    return ops.take(node.upload(_numbers(elem)), codes, axis=0)


def encoded(node: Node, x: Tensor, elem: int, saturate: bool = True, round_mode: str = "up") -> Tensor:
    """The codes of the nearest numbers to `x`. Beyond the largest they are that one if `saturate`, else inf or NaN.

    `round_mode` ("up", "down", "nearest") is that of float8e8m0. The table is indexed by the upper 16 bits of an f32,
    the last of which also says whether a lower one is set: enough for every type with a mantissa of up to 4 bits.
    """
    x = ops.cast(x, f32).contiguous()

    def index(bits: Tensor) -> Tensor:
        sticky = ops.cast(ops.not_equal(ops.bitwise_and(bits, 0xFFFF), 0), u32)
        return ops.bitwise_or(ops.right_shift(bits, 16), sticky)

    table = node.upload(_codes(elem, saturate, round_mode))
    return ops.take(table, ops.fused(index, x.bitcast(u32)), axis=0)


@cache
def _numbers(elem: int) -> np.ndarray:
    """The number of each code."""
    count = 1 << CODES[elem]
    return np.arange(count, dtype=np.uint8).view(tensor_dtype_to_np_dtype(elem)).astype(np.float32)


@cache
def _codes(elem: int, saturate: bool, round_mode: str) -> np.ndarray:
    """The code of each f32 whose lower 16 bits are 0."""
    reals = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    dtype = tensor_dtype_to_np_dtype(elem)
    with np.errstate(all="ignore"):
        if elem == TensorProto.FLOAT8E8M0:
            found = numpy_helper.to_float8e8m0(reals, saturate, round_mode).astype(dtype)
        elif elem in _CLAMPED and saturate:
            found = numpy_helper.saturate_cast(reals, dtype)
        else:
            found = reals.astype(dtype)
    return found.view(np.uint8).astype(np.uint32)


def rounded(node: Node, value: Value) -> Value:
    """`value` as its element type can hold it, where a result in f32 may have more digits; views stay what they are."""
    if value.elem not in BFLOAT16 or (value.tensor is None and value.expression is None):
        return value
    tensor = node.trace.on_gpu(value)
    inputs = [v.tensor for v in node.inputs if v is not None and v.elem == value.elem and v.tensor is not None]
    if not tensor.size or any(tensor.owner is other.owner for other in inputs):
        return value
    value.tensor = rounded_to_bfloat16(tensor)
    return value


def bits_of(tensor: Tensor, elem: int) -> Tensor:
    """The bits of each number, as many as `elem` has, in a u32."""
    if tensor.dtype is bool_:
        return ops.cast(tensor, u32)
    if elem in BFLOAT16:
        return ops.right_shift(tensor.contiguous().bitcast(u32), 16)
    return tensor if tensor.dtype is u32 else tensor.contiguous().bitcast(u32)


def of_bits(bits: Tensor, elem: int) -> Tensor:
    """As `bits_of`, back, for types that are not wrapped by others."""
    if elem in BFLOAT16:
        return ops.left_shift(bits, 16).bitcast(f32)
    if elem in UNSIGNED:
        return ops.bitwise_and(bits, (1 << UNSIGNED[elem]) - 1)
    return bits
