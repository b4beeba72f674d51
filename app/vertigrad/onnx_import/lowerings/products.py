"""Products of matrices, whole and quantized."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from onnx import TensorProto

from ... import ops
from ...errors import DtypeError, InputError, ShapeError
from ...ops.linear import linear
from ...tensor import Tensor, f32, f64, i32
from ..narrow import decoded, encoded
from ..node import Node, Refused
from ..registry import lowers
from ..tail import Tail
from ..values import CODES, SIGNED, STORAGE, UNSIGNED, WIDE, Value, type_name
from .arithmetic import require_narrow, wrapped


@lowers("MatMul")
def matmul(node: Node) -> Value:
    if node.elem() in WIDE:
        a, b = node.bounds(0, 1)
        node.require_word(a * b * max(node.shape()[-1], 1))
    x, weight = node.tensor(0), node.tensor(1)
    if weight.ndim == 2 and x.ndim and x.dtype.kind == "float":
        return node.result(_linear(node, x, weight.T))
    return node.result(wrapped(ops.matmul(x, weight), node.elem()))


def with_tail(
    node: Node, function: Callable[..., Tensor], x: Tensor, weights: Tensor, bias: Tensor | None, **options: Any
) -> Tensor:
    """A product or a convolution, and what follows it as far as its kernel can do that.

    A normalization is in the weights and the bias already.
    """
    tail = node.tail if x.dtype is not f64 else Tail()  # kernels have activations in f32 only
    if tail.added is not None:
        try:
            options["residual"] = node.trace.on_gpu(tail.added)
            result = function(x, weights, bias, activation=tail.activation, **options)
        except (ShapeError, DtypeError, Refused):  # what is added makes the result larger, or another type
            options.pop("residual", None)
            node.take_tail(Tail(tail.nodes[:1]) if tail.norm else Tail())
            return function(x, weights, bias, **options)
    else:
        result = function(x, weights, bias, activation=tail.activation, **options)
    node.take_tail(tail)
    return result


def _linear(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weightᵀ + bias, and its tail: a vector that is added is the bias, if there is none."""

    def function(x: Tensor, weight: Tensor, bias: Tensor | None, residual: Tensor | None = None, **options: Any):
        vector = residual is not None and residual.shape == weight.shape[:1] and residual.dtype.kind == "float"
        bias, residual = (residual, None) if bias is None and vector else (bias, residual)
        return linear(x, weight, bias, residual=residual, **options)

    return with_tail(node, function, x, weight, bias)


@lowers("Gemm")
def gemm(node: Node) -> Value:
    """alpha · A B + beta · C."""
    a = node.tensor(0).T if node.attribute("transA", 0) else node.tensor(0)
    b = node.tensor(1).T if node.attribute("transB", 0) else node.tensor(1)
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if node.elem() in WIDE:
        largest = math.prod(node.bounds(0, 1)) * max(a.shape[1], 1)
        node.require_word(largest + (node.bounds(2)[0] if node.has(2) else 0))
    added = node.optional(2) if beta != 0.0 else None
    if a.dtype.kind == "float" and (alpha, beta) == (1.0, 1.0) and (added is None or added.shape == b.shape[1:]):
        return node.result(_linear(node, a, b.T, added))
    product = ops.matmul(a, b)
    if alpha != 1.0:
        product = _scaled(product, alpha)
    if added is not None:
        product = ops.add(product, added if beta == 1.0 else _scaled(added, beta))
    return node.result(wrapped(product, node.elem()))


def _scaled(tensor: Tensor, factor: float) -> Tensor:
    return ops.cast(ops.multiply(tensor, factor), tensor.dtype)


@lowers("Einsum")
def einsum(node: Node) -> Value:
    require_narrow(node)
    return node.result(wrapped(ops.einsum(node.attribute("equation"), *node.tensors()), node.elem()))


@lowers("MatMulInteger")
def matmul_integer(node: Node) -> Value:
    """Products of bytes, each less its zero point, summed up in 32 bits."""
    a, b = ops.cast(node.tensor(0), i32), ops.cast(node.tensor(1), i32)
    if node.has(2):
        a = ops.subtract(a, _rows(ops.cast(node.tensor(2), i32)))
    if node.has(3):
        b = ops.subtract(b, _one_or_all(ops.cast(node.tensor(3), i32)))
    return node.result(ops.matmul(a, b), TensorProto.INT32)


# quantized --------------------------------------------------------------------------------------------------------


def limits(elem: int) -> tuple[int, int]:
    """Smallest and largest number of an integer type of 8 or 16 bits."""
    if elem in SIGNED:
        return -(1 << (SIGNED[elem] - 1)), (1 << (SIGNED[elem] - 1)) - 1
    return 0, (1 << UNSIGNED[elem]) - 1


def along(tensor: Tensor, rank: int, axis: int) -> Tensor:
    """A scale or a zero point for every slice along an axis, ready to be broadcast; one number stays one."""
    if tensor.size == 1:
        return tensor.reshape()
    return tensor.reshape(*[-1 if a == axis else 1 for a in range(rank)])


def quantized(x: Tensor, scale: Tensor, zero: Tensor | None, elem: int) -> Tensor:
    """Round x / scale to even, add the zero point, and hold it to what the type holds."""
    low, high = limits(elem)
    steps = ops.round(ops.divide(ops.cast(x, f32), ops.cast(scale, f32)))
    shifted = steps if zero is None else ops.add(steps, ops.cast(zero, f32))
    return ops.cast(ops.clip(shifted, float(low), float(high)), STORAGE[elem])


def requantized(total: Tensor, scale: Tensor, result_scale: Tensor, zero: Tensor | None, elem: int) -> Tensor:
    """A sum of products of bytes with this scale, as bytes with another: multiplied by their ratio and rounded once."""
    low, high = limits(elem)
    steps = ops.round(ops.multiply(ops.cast(total, f32), ops.divide(scale, result_scale)))
    shifted = steps if zero is None else ops.add(steps, ops.cast(zero, f32))
    return ops.cast(ops.clip(shifted, float(low), float(high)), STORAGE[elem])


def dequantized(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """(x − zero point) · scale, in f32."""
    real = ops.cast(x, f32)
    shifted = real if zero is None else ops.subtract(real, ops.cast(zero, f32))
    return ops.multiply(shifted, ops.cast(scale, f32))


def _spread(node: Node, index: int) -> Tensor | None:
    """Scale or zero point of QuantizeLinear and DequantizeLinear, as wide as the input."""
    if not node.has(index):
        return None
    tensor, sizes = node.tensor(index), node.shape()
    tensor = decoded(node, tensor, node.elem(index)) if node.elem(index) in CODES else tensor
    axis, block = node.attribute("axis", 1), node.attribute("block_size", 0)
    if tensor.size == 1:
        return along(tensor, len(sizes), 0)
    if not -len(sizes) <= axis < len(sizes):
        raise InputError(f"{node}: axis {axis} of a tensor with {len(sizes)} axes")
    axis %= len(sizes)
    if not block:
        return along(tensor, len(sizes), axis)
    shape, blocks = list(tensor.shape), -(-sizes[axis] // block)
    if len(shape) != len(sizes) or shape[axis] != blocks:
        raise InputError(f"{node}: scales of shape {tuple(shape)}; axis {axis} of {sizes[axis]} has {blocks} blocks")
    wide = tensor.reshape(*shape[: axis + 1], 1, *shape[axis + 1 :])
    wide = wide.expand(*shape[: axis + 1], block, *shape[axis + 1 :]).contiguous()
    whole = wide.reshape(*shape[:axis], shape[axis] * block, *shape[axis + 1 :])
    return whole[(*[slice(None)] * axis, slice(0, sizes[axis]))]


@lowers("QuantizeLinear")
def quantize_linear(node: Node) -> Value:
    elem = node.elem(2) if node.has(2) else node.attribute("output_dtype", 0) or TensorProto.UINT8
    saturate = bool(node.attribute("saturate", 1))  # it is about floats of 8 bits alone
    if elem not in CODES:
        _require_bytes(elem)
    if node.attribute("precision", 0) not in (0, TensorProto.FLOAT):
        raise Refused(f"a precision of {type_name(node.attribute('precision'))}")
    scale = _spread(node, 1)
    assert scale is not None
    if elem in CODES:
        steps, zero = ops.divide(ops.cast(node.tensor(0), f32), ops.cast(scale, f32)), _spread(node, 2)
        return node.result(encoded(node, steps if zero is None else ops.add(steps, zero), elem, saturate), elem)
    return node.result(quantized(node.tensor(0), scale, _spread(node, 2), elem), elem)


@lowers("DequantizeLinear")
def dequantize_linear(node: Node) -> Value:
    scale = _spread(node, 1)
    assert scale is not None
    x = decoded(node, node.tensor(0), node.elem()) if node.elem() in CODES else node.tensor(0)
    result = dequantized(x, scale, _spread(node, 2))
    elem = node.attribute("output_dtype", 0) or node.elem(1)
    return node.result(ops.cast(result, STORAGE[elem]), elem)


@lowers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[Value]:
    """Scale and zero point from the range of the input, which 0 belongs to."""
    y, scale, zero = dynamically_quantized(node.tensor(0))
    return [
        node.result(y, TensorProto.UINT8),
        node.result(scale, TensorProto.FLOAT),
        node.result(zero, TensorProto.UINT8),
    ]


def dynamically_quantized(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x as bytes by its own range, which 0 belongs to; their scale, and their zero point."""
    low, high = ops.minimum(ops.min(x), 0.0), ops.maximum(ops.max(x), 0.0)
    scale = ops.divide(ops.subtract(high, low), 255.0)
    safe = ops.where(ops.equal(scale, 0.0), 1.0, scale)
    zero = ops.cast(ops.clip(ops.round(ops.divide(ops.negative(low), safe)), 0.0, 255.0), STORAGE[TensorProto.UINT8])
    return quantized(x, safe, zero, TensorProto.UINT8), scale, zero


@lowers("QLinearMatMul")
def qlinear_matmul(node: Node) -> Value:
    """Exact in 32 bits, then scaled and rounded once."""
    a = ops.subtract(ops.cast(node.tensor(0), i32), _rows(ops.cast(node.tensor(2), i32)))
    b = ops.subtract(ops.cast(node.tensor(3), i32), _one_or_all(ops.cast(node.tensor(5), i32)))
    scale = ops.multiply(_rows(ops.cast(node.tensor(1), f32)), _one_or_all(ops.cast(node.tensor(4), f32)))
    elem = node.elem(7)
    _require_bytes(elem)
    result = requantized(ops.matmul(a, b), scale, _one_or_all(node.tensor(6)), _one_or_all(node.tensor(7)), elem)
    return node.result(result, elem)


def _rows(tensor: Tensor) -> Tensor:
    return tensor.reshape() if tensor.size == 1 else tensor.reshape(*tensor.shape, 1) if tensor.ndim == 1 else tensor


def _one_or_all(tensor: Tensor) -> Tensor:
    return tensor.reshape() if tensor.size == 1 else tensor


def _require_bytes(elem: int) -> None:
    if elem not in SIGNED and elem not in UNSIGNED:
        raise Refused(f"quantizing to {type_name(elem)}")
