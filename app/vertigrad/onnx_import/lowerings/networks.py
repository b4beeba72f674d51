"""Layers of networks: pooling, normalizations, softmax, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto

from ... import ops
from ...tensor import Tensor, f64
from ..node import Node, Refused
from ..registry import lowers, lowers_to
from ..values import Value
from .convolutions import window
from .shaping import reshaped


def _pool_options(node: Node) -> dict[str, Any]:
    size = node.attribute("kernel_shape")
    return {"kernel_size": size, "ceil_mode": bool(node.attribute("ceil_mode", 0)), **window(node, len(size))}


@lowers("MaxPool")
def max_pool(node: Node) -> Sequence[Tensor | Value]:
    x, options = node.tensor(0), _pool_options(node)
    if not node.is_used(1):
        return [ops.max_pool(x, **options)]
    column_major = bool(node.attribute("storage_order", 0))
    largest, indices = ops.max_pool(x, return_indices=True, column_major=column_major, **options)
    return [largest, node.result(indices, TensorProto.INT64, math.prod(x.shape))]


@lowers("AveragePool")
def average_pool(node: Node) -> Tensor:
    counts = bool(node.attribute("count_include_pad", 0))
    return ops.average_pool(node.tensor(0), count_include_pad=counts, **_pool_options(node))


@lowers("LpPool")
def lp_pool(node: Node) -> Tensor:
    return ops.lp_pool(node.tensor(0), p=node.attribute("p", 2), **_pool_options(node))


lowers_to("GlobalAveragePool", ops.global_average_pool)
lowers_to("GlobalMaxPool", ops.global_max_pool)
lowers_to("GlobalLpPool", ops.global_lp_pool, p="p")


@lowers("BatchNormalization")
def batch_norm(node: Node) -> Tensor:
    if node.attribute("training_mode", 0) or node.is_used(1):
        raise Refused("training: the statistics would change")
    if not node.attribute("spatial", 1):
        raise Refused("statistics for each position (spatial = 0)")
    x, *parameters = node.tensors()
    node.ignore("momentum")  # of training
    return ops.batch_norm(x, *parameters, node.attribute_or_default("epsilon"))  # type: ignore[arg-type]


lowers_to("InstanceNormalization", ops.instance_norm, epsilon="epsilon")
lowers_to("LpNormalization", ops.lp_normalize, axis="axis", p="p")
lowers_to("LRN", ops.local_response_norm, size="size", alpha="alpha", beta="beta", k="bias")


@lowers("GroupNormalization")
def group_norm(node: Node) -> Tensor:
    x, scale, bias = node.tensors()
    return ops.group_norm(x, node.attribute("num_groups"), scale, bias, epsilon=node.attribute_or_default("epsilon"))


@lowers("LayerNormalization")
def layer_norm(node: Node) -> list[Tensor | Value | None]:
    x = node.tensor(0)
    axes = x.ndim - node.axis(-1)
    options = {"axes": axes, "epsilon": node.attribute_or_default("epsilon")}
    if not (node.is_used(1) or node.is_used(2)):
        return [ops.layer_norm(x, node.tensor(1), node.optional(2), **options)]
    result, mean, inverse_std = ops.layer_norm_with_statistics(x, node.tensor(1), node.optional(2), **options)
    assert mean is not None and inverse_std is not None
    return [result, node.result(mean, TensorProto.FLOAT), node.result(inverse_std, TensorProto.FLOAT)]


@lowers("RMSNormalization")
def rms_norm(node: Node) -> Tensor:
    x = node.tensor(0)
    return ops.rms_norm(x, node.tensor(1), axes=x.ndim - node.axis(-1), epsilon=node.attribute_or_default("epsilon"))


@lowers("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: Node) -> Tensor:
    """Along one axis since opset 13; before, along all axes from it on as if they were one."""
    function = {"Softmax": ops.softmax, "LogSoftmax": ops.log_softmax, "Hardmax": ops.hardmax}[node.op]
    x = node.tensor(0)
    if node.version >= 13:
        return function(x, node.axis(-1))
    axis = node.axis(1)
    flat = reshaped(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return function(flat, 1).reshape(*x.shape)


def _mask(node: Node, keys: int) -> Tensor | None:
    """The mask; keys that it does not reach may not be attended."""
    mask = node.optional(3)
    if mask is None or mask.shape[-1] in (1, keys):
        return mask
    pads = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
    return ops.pad(mask, pads, value=0.0 if mask.dtype.kind == "bool" else -math.inf)


def _window_side(node: Node, name: str) -> int | None:
    size = node.attribute(name, -1)
    return None if size < 0 else size


def _attends_simply(proto: onnx.NodeProto) -> bool:
    """Without a cache, and only the result is asked for; other forms are written out as ONNX defines them."""
    return not any(proto.output[1:]) and not any(proto.input[4:6])


@lowers("Attention", only_if=_attends_simply)
def attention(node: Node) -> Value:
    q, k, v = (node.tensor(index) for index in range(3))
    heads_merged = q.ndim == 3
    node.ignore(
        "q_num_heads", "kv_num_heads", "qk_matmul_output_mode"
    )  # of other ranks, and of an output not asked for
    precisions = (TensorProto.FLOAT, TensorProto.FLOAT16, *([TensorProto.DOUBLE] if q.dtype is f64 else []))
    if node.attribute("softmax_precision", TensorProto.FLOAT) not in precisions:
        raise Refused("a softmax in other than f32")
    if heads_merged:
        heads, shared = node.attribute("q_num_heads"), node.attribute("kv_num_heads")
        q, k, v = (
            x.reshape(*x.shape[:2], count, x.shape[2] // count).permute(0, 2, 1, 3)
            for x, count in ((q, heads), (k, shared), (v, shared))
        )
    result = ops.attention(
        q,
        k,
        v,
        _mask(node, k.shape[2]),
        scale=node.attribute("scale"),
        causal=bool(node.attribute("is_causal", 0)),
        left=_window_side(node, "left_window_size"),
        right=_window_side(node, "right_window_size"),
        offset=None if node.has(6) else 0,
        lengths=node.optional(6),
        softcap=node.attribute("softcap", 0.0),
    )
    if heads_merged:
        n, heads, rows, width = result.shape
        result = reshaped(result.permute(0, 2, 1, 3), (n, rows, heads * width))
    return node.result(result)


@lowers("MaxUnpool")
def max_unpool(node: Node) -> Tensor:
    """What was pooled put back to where it came from, zeros around it."""
    x, indices = node.tensor(0), node.tensor(1)
    size, stride = node.attribute("kernel_shape"), node.attribute("strides") or [1] * (x.ndim - 2)
    pads = node.attribute("pads", [0] * (2 * len(size)))
    inner = [
        (n - 1) * s + k - pads[i] - pads[i + len(size)]
        for i, (n, s, k) in enumerate(zip(x.shape[2:], stride, size, strict=True))
    ]
    if node.has(2) and list(node.ints(2)[2:]) != inner:
        raise Refused("an output shape other than the one that the pool came from")
    shape = (*x.shape[:2], *inner)
    empty = ops.zeros(math.prod(shape), x.dtype)
    unpooled = ops.scatter_elements(empty, reshaped(indices, (indices.size,)), reshaped(x, (x.size,)), 0)
    return unpooled.reshape(*shape)
