"""Quantized networks as onnxruntime has them (domain com.microsoft): products summed exactly in 32 bits.

Their attributes and inputs are those of onnxruntime's documentation, docs/ContribOperators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from onnx import TensorProto

from ... import ops
from ...tensor import Tensor, f32, i32
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .convolutions import window
from .heads import merge_heads, split_heads
from .microsoft_attention import DOMAIN, attended, key_mask
from .products import along, dequantized, dynamically_quantized, quantized, requantized
from .recurrent import activations_of
from .shaping import reshaped


def _real(node: Node, index: int) -> Tensor:
    """An input in f32, whose scale and zero point are the two inputs after it."""
    return dequantized(node.tensor(index), node.tensor(index + 1).reshape(), _one(node, index + 2))


def _one(node: Node, index: int) -> Tensor | None:
    return node.tensor(index).reshape() if node.has(index) else None


def _stored(node: Node, real: Tensor, scale: int, elem: int) -> Value:
    """A result with the scale and the zero point of these inputs."""
    return node.result(quantized(real, node.tensor(scale).reshape(), _one(node, scale + 1), elem), elem)


@lowers("QLinearAdd", "QLinearMul", domain=DOMAIN)
def qlinear_binary(node: Node) -> Value:
    function = ops.add if node.op == "QLinearAdd" else ops.multiply
    return _stored(node, function(_real(node, 0), _real(node, 3)), 6, node.elem())


@lowers("QLinearWhere", domain=DOMAIN)
def qlinear_where(node: Node) -> Value:
    return _stored(node, ops.where(node.tensor(0), _real(node, 1), _real(node, 4)), 7, node.elem(1))


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {"QLinearSigmoid": ops.sigmoid, "QLinearLeakyRelu": ops.leaky_relu}


@lowers(*_FUNCTIONS, domain=DOMAIN)
def qlinear_function(node: Node) -> Value:
    options = [node.attribute("alpha", 0.01)] if node.op == "QLinearLeakyRelu" else []
    return _stored(node, _FUNCTIONS[node.op](_real(node, 0), *options), 3, node.elem())


@lowers("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(node: Node) -> Value:
    x, axis = _real(node, 0), node.axis(-1)
    if node.attribute("opset", 13) < 13:  # all axes from it on, as if they were one
        flat = reshaped(x, (math.prod(x.shape[:axis]), -1))
        return _stored(node, ops.softmax(flat, 1).reshape(*x.shape), 3, node.elem())
    return _stored(node, ops.softmax(x, axis), 3, node.elem())


@lowers("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average(node: Node) -> Value:
    x, last = _real(node, 0), bool(node.attribute("channels_last", 0))
    axes = tuple(range(1, x.ndim - 1)) if last else tuple(range(2, x.ndim))
    return _stored(node, ops.mean(x, axes, keepdims=True), 3, node.elem())


@lowers("QLinearAveragePool", domain=DOMAIN)
def qlinear_average(node: Node) -> Value:
    x, size = _real(node, 0), node.attribute("kernel_shape")
    if node.attribute("channels_last", 0):
        raise Refused("channels last")
    options = {"kernel_size": size, "ceil_mode": bool(node.attribute("ceil_mode", 0)), **window(node, len(size))}
    counts = bool(node.attribute("count_include_pad", 0))
    return _stored(node, ops.average_pool(x, count_include_pad=counts, **options), 3, node.elem())


@lowers("QLinearConcat", domain=DOMAIN)
def qlinear_concat(node: Node) -> Value:
    """Scale and zero point of the result, then each tensor with its own."""
    parts = [_real(node, index) for index in range(2, len(node), 3)]
    return _stored(node, ops.concatenate(parts, node.attribute("axis")), 0, node.elem(1))


@lowers("QGemm", domain=DOMAIN)
def qgemm(node: Node) -> Value:
    """alpha · A B + C; bytes with the scale and zero point that follow, or f32 without them."""
    total = _product(node, 0, 3, 2, 5, bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0)))
    if node.has(6):
        total = ops.add(total, node.tensor(6))
    scale = ops.multiply(ops.multiply(node.tensor(1).reshape(), _columns(node, 4)), node.attribute("alpha", 1.0))
    if not node.has(7):
        return node.result(ops.multiply(ops.cast(total, f32), scale), TensorProto.FLOAT)
    elem = node.elem(8)
    return node.result(requantized(total, scale, node.tensor(7).reshape(), _one(node, 8), elem), elem)


def _columns(node: Node, index: int) -> Tensor:
    tensor = node.tensor(index)
    return tensor.reshape() if tensor.size == 1 else tensor


def _product(
    node: Node, a_at: int, b_at: int, a_zero: int, b_zero: int, trans_a: bool = False, trans_b: bool = False
) -> Tensor:
    """The product of bytes, each less its zero point, in i32."""
    a, b = (ops.cast(node.tensor(index), i32) for index in (a_at, b_at))
    if node.has(a_zero):
        a = ops.subtract(a, ops.cast(_columns(node, a_zero), i32))
    a, b = a.T if trans_a else a, b.T if trans_b else b
    if node.has(b_zero):
        b = ops.subtract(b, ops.cast(_columns(node, b_zero), i32))
    return ops.matmul(a, b)


@lowers("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(node: Node) -> Value:
    total = _product(node, 0, 1, 4, 5)
    real = ops.multiply(ops.cast(total, f32), ops.multiply(node.tensor(2).reshape(), _columns(node, 3)))
    return node.result(ops.add(real, node.tensor(6)) if node.has(6) else real, TensorProto.FLOAT)


@lowers("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(node: Node) -> Value:
    """The input as bytes by its own range, times bytes."""
    x, scale, zero = dynamically_quantized(node.tensor(0))
    left = ops.subtract(ops.cast(x, i32), ops.cast(zero, i32))
    right = ops.cast(node.tensor(1), i32)
    if node.has(3):
        right = ops.subtract(right, ops.cast(_columns(node, 3), i32))
    real = ops.multiply(ops.cast(ops.matmul(left, right), f32), ops.multiply(scale, _columns(node, 2)))
    return node.result(ops.add(real, node.tensor(4)) if node.has(4) else real, TensorProto.FLOAT)


@lowers("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(node: Node) -> list[Tensor]:
    """An LSTM of bytes: x is rounded by its range, the state in each step by its own."""
    x = _rounded(node.tensor(0))
    options: dict[str, Any] = {
        "direction": node.attribute("direction", "forward"),
        "activations": activations_of(node),
        "clip": node.attribute("clip"),
        "lengths": node.optional(4),
        "initial": node.optional(5),
        "initial_cell": node.optional(6),
        "peepholes": node.optional(7),
        "coupled": bool(node.attribute("input_forget", 0)),
        "round_state": _rounded,
    }
    node.require_size("hidden_size", node.shape(2)[1])
    weights = [_recurrent_weights(node, *at) for at in ((1, 8, 9), (2, 10, 11))]
    return list(ops.lstm(x, weights[0], weights[1], node.optional(3), **options))


def _rounded(x: Tensor) -> Tensor:
    """x as `dynamically_quantized` and dequantized, by one kernel after its range is known."""

    def nearest(x: Tensor, least: Tensor, largest: Tensor) -> Tensor:
        low = ops.minimum(least, 0.0)
        scale = (ops.maximum(largest, 0.0) - low) * (1.0 / 255.0)
        safe = ops.where(ops.equal(scale, 0.0), 1.0, scale)
        zero = ops.clip(ops.round(ops.negative(low) / safe), 0.0, 255.0)
        return (ops.clip(ops.round(x / safe) + zero, 0.0, 255.0) - zero) * scale

    return ops.fused(nearest, x, ops.min(x), ops.max(x))


def _recurrent_weights(node: Node, index: int, scale: int, zero: int) -> Tensor:
    """(directions, inputs, 4 · hidden) bytes as f32 (directions, 4 · hidden, inputs)."""
    weights = node.tensor(index)

    def spread(parameter: Tensor) -> Tensor:
        directions = weights.shape[0]
        return reshaped(parameter, (directions, 1, parameter.size // directions))

    shift = spread(node.tensor(zero)) if node.has(zero) else None
    return dequantized(weights, spread(node.tensor(scale)), shift).permute(0, 2, 1).contiguous()


@lowers("QAttention", domain=DOMAIN)
def qattention(node: Node) -> list[Value | None]:
    """Self-attention whose product for queries, keys and values is one of bytes."""
    heads = node.attribute("num_heads")
    if node.attribute("do_rotary", 0) or node.attribute("past_present_share_buffer", 0):
        raise Refused("rotations, or a cache that is written in place")
    total = _product(node, 0, 1, 6, 7)
    scale = ops.multiply(node.tensor(3).reshape(), _columns(node, 4))
    whole = ops.add(ops.multiply(ops.cast(total, f32), scale), node.tensor(2))
    width = whole.shape[2] // 3
    q, k, v = (split_heads(whole[:, :, part * width : (part + 1) * width], heads) for part in range(3))
    if node.has(8):
        past = node.tensor(8)
        k, v = ops.concatenate([past[0], k], 2), ops.concatenate([past[1], v], 2)
    result = attended(node, q, k, v, key_mask(node, 5, None, k.shape[2]))
    present = node.result(ops.stack([k, v], 0), TensorProto.FLOAT) if node.is_used(1) else None
    return [node.result(merge_heads(result), TensorProto.FLOAT), present]


@lowers("QuantizeLinear", "DequantizeLinear", domain=DOMAIN)
def linear(node: Node) -> Value:
    """As ONNX's operators of the name."""
    rank = len(node.shape())
    axis = node.axis(1)
    scale = along(node.tensor(1), rank, axis)
    zero = along(node.tensor(2), rank, axis) if node.has(2) else None
    if node.op == "DequantizeLinear":
        return node.result(dequantized(node.tensor(0), scale, zero), node.elem(1))
    elem = node.elem(2) if node.has(2) else TensorProto.UINT8
    return node.result(quantized(node.tensor(0), scale, zero, elem), elem)
