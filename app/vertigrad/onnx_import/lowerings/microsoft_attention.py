"""Attention as onnxruntime's own operators have it (domain com.microsoft): with caches, rotations and masks.

Their attributes and inputs are those of onnxruntime's documentation, docs/ContribOperators.md.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from onnx import TensorProto

from ... import ops
from ...errors import InputError
from ...tensor import Tensor, f32, i32
from ..node import Node, Refused
from ..reader import ONNXRUNTIME
from ..registry import lowers
from ..values import Value
from .heads import NEVER, angles, mask_for, merge_heads, rotated, split_heads, steps, with_rows
from .shaping import reshaped

DOMAIN = ONNXRUNTIME


@lowers("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(node: Node) -> Value:
    """Positions are one offset for all, or a number for each token."""
    x, cos, sin = node.tensor(0), node.tensor(2), node.tensor(3)
    width = 2 * cos.shape[-1]
    heads, turning = node.attribute("num_heads", 0), node.attribute("rotary_embedding_dim", 0)
    if node.attribute("is_packed_batching", 0):
        raise Refused("packed batches")
    if node.attribute("scale", 1.0) != 1.0:
        raise Refused("a scale")
    if turning and not heads and x.ndim == 3:
        raise InputError(f"{node}: rotary_embedding_dim needs num_heads")
    split = x if x.ndim == 4 else split_heads(x, heads or x.shape[2] // width)
    n, _, length, _ = split.shape
    positions = node.tensor(1)
    if positions.size == 1:
        positions = ops.add(positions.reshape(1, 1), np.arange(length, dtype=np.int32)[None])
    tables = (angles(node, table, positions, (n, length)) for table in (cos, sin))
    result = rotated(split, *tables, interleaved=bool(node.attribute("interleaved", 0)))
    return node.result(result if x.ndim == 4 else merge_heads(result))


@lowers("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(node: Node) -> list[Value]:
    """Causal attention over a cache whose rows each member of the batch has its own number of."""
    heads, shared = node.attribute("num_heads"), node.attribute("kv_num_heads")
    q, k, v = _group_heads(node, heads, shared)
    n, _, length, _ = q.shape
    total = node.ints(6)[0]
    _require_plain(node)
    lengths = ops.add(reshaped(node.tensor(5), (n,)), 1)  # keys that each member has, the new ones included
    first = total == length
    starts: Tensor | int = 0 if first else ops.subtract(lengths, length)
    if node.attribute("do_rotary", 0):
        positions = node.tensor(9) if node.has(9) else steps(node, length, starts)
        if node.shape(7)[0] < total:
            raise InputError(f"{node}: the tables of angles have {node.shape(7)[0]} positions, of {total} tokens")
        tables = [angles(node, node.tensor(index), positions, (n, length)) for index in (7, 8)]
        interleaved = bool(node.attribute("rotary_interleaved", 0))
        q, k = (rotated(x, *tables, interleaved=interleaved) for x in (q, k))
    elif node.has(7) or node.has(9):
        node.ignore(7, 8, 9)
    room = node.shape(3)[2] if node.has(3) else 0
    keys, values = (
        with_rows(node.tensor(index), new, starts, max(total, room)) if room else _empty_cache(node, index, new)
        for index, new in ((3, k), (4, v))
    )
    window, bias = node.attribute("local_window_size", -1), mask_for(node.optional(10), keys.shape[2])
    options: dict[str, Any] = {
        "scale": node.attribute("scale", 0.0) or None,
        "causal": True,
        "left": window - 1 if window > 0 else None,
        "softcap": node.attribute("softcap", 0.0),
        "lengths": lengths,
        "offset": 0 if first else None,
    }
    result = _with_sink(node, q, keys, values, bias, options)
    return [node.result(merge_heads(result)), node.result(keys), node.result(values)]


def _group_heads(node: Node, heads: int, shared: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v with their heads split; without key and value the query holds all three."""
    x = node.tensor(0)
    if node.has(1):
        return split_heads(x, heads), split_heads(node.tensor(1), shared), split_heads(node.tensor(2), shared)
    width = x.shape[2] // (heads + 2 * shared)
    ends = [0, heads * width, (heads + shared) * width, x.shape[2]]
    parts = [x[:, :, a:b] for a, b in pairwise(ends)]
    return tuple(split_heads(part, count) for part, count in zip(parts, (heads, shared, shared), strict=True))  # type: ignore[return-value]


def _require_plain(node: Node) -> None:
    if node.attribute("qk_output", 0):
        raise Refused("the scores as an output")
    if any(str(node.attribute(name, "NONE")) != "NONE" for name in ("k_quant_type", "v_quant_type")):
        raise Refused("a quantized cache")
    node.ignore("kv_cache_bit_width", "qk_norm_epsilon")


def _empty_cache(node: Node, index: int, new: Tensor) -> Tensor:
    node.ignore(index)
    return new


def _with_sink(node: Node, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, options: dict[str, Any]) -> Tensor:
    """Attention; with sinks, the softmax of a head has one more score, that of a key whose value is 0."""
    smooth = bool(node.attribute("smooth_softmax", 0))
    if not node.has(11) and not smooth:
        return ops.attention(q, k, v, bias, **options)
    n, heads, length, _ = q.shape
    keys = k.shape[2]
    positions = ops.add(steps(node, length, 0), _offsets(options, length, n))  # (n, length): where each query stands
    behind = ops.subtract(reshaped(positions, (-1, 1, length, 1)), np.arange(keys, dtype=np.int32))
    left = options.pop("left")
    allowed = ops.greater_equal(behind, 0)
    if left is not None:
        allowed = ops.logical_and(allowed, ops.less_equal(behind, left))
    scores = ops.where(allowed, 0.0 if bias is None else bias, NEVER)
    scores = ops.cast(scores, f32).expand(n, heads, length, keys)
    sink = node.tensor(11) if node.has(11) else ops.zeros(heads, f32)
    column = ops.cast(sink, f32).reshape(1, heads, 1, 1).expand(n, heads, length, 1)
    bias = ops.concatenate([scores, column], 3)
    k, v = (ops.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)]) for x in (k, v))
    return ops.attention(q, k, v, bias, scale=options["scale"], softcap=options["softcap"])


def _offsets(options: dict[str, Any], length: int, n: int) -> Tensor:
    if options["offset"] is not None:
        return ops.zeros((n, 1), i32)
    return ops.subtract(options["lengths"], length).reshape(n, 1)


@lowers("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(node: Node) -> list[Value]:
    """Queries, keys and values of all heads, also packed into one input, with a cache and masks."""
    heads = node.attribute("num_heads")
    q, k, v = _multi_heads(node, heads)
    if node.has(8) or node.has(9):
        raise Refused("a cache that is written in place")
    if node.has(6):
        k, v = (ops.concatenate([node.tensor(index), new], 2) for index, new in ((6, k), (7, v)))
    mask = key_mask(node, 4, 5, k.shape[2])
    result = attended(node, q, k, v, mask)
    return [node.result(merge_heads(result)), node.result(k), node.result(v)]


def _multi_heads(node: Node, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    x = node.tensor(0)
    if x.ndim == 5:  # (n, length, heads, 3, width)
        q, k, v = (x[:, :, :, i].permute(0, 2, 1, 3) for i in range(3))
    elif node.shape(1).__len__() == 5:  # key and value together
        packed = node.tensor(1)
        q, k, v = split_heads(x, heads), *(packed[:, :, :, i].permute(0, 2, 1, 3) for i in range(2))
    else:
        k, v = (node.tensor(index) for index in (1, 2))
        q, k, v = split_heads(x, heads), *(t if t.ndim == 4 else split_heads(t, heads) for t in (k, v))
    if node.has(3):
        sizes = [t.shape[1] * t.shape[3] for t in (q, k, v)]
        bias = node.tensor(3)
        ends = [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
        parts = [bias[a:b] for a, b in pairwise(ends)]
        q, k, v = (
            ops.add(t, part.reshape(1, t.shape[1], 1, t.shape[3])) for t, part in zip((q, k, v), parts, strict=True)
        )
    return q, k, v


def attended(node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    causal = bool(node.attribute("unidirectional", 0))
    scale, offset = node.attribute("scale", 0.0) or None, k.shape[2] - q.shape[2] if causal else 0
    return ops.attention(q, k, v, mask, scale=scale, causal=causal, offset=offset)


def key_mask(node: Node, index: int, bias_index: int | None, keys: int) -> Tensor | None:
    """What is added to the scores: the filter value where a mask is 0, and the bias."""
    bias = node.optional(bias_index) if bias_index is not None else None
    filtered = node.attribute("mask_filter_value", -10000.0)
    if not node.has(index):
        return bias
    mask, n = node.tensor(index), node.shape()[0]
    if mask.ndim == 1:  # how many keys each has; or also where they begin
        positions = np.arange(keys, dtype=np.int32)[None]
        allowed = ops.less(positions, mask[:n].reshape(n, 1))
        if mask.size == 2 * n:
            allowed = ops.logical_and(allowed, ops.greater_equal(positions, mask[n:].reshape(n, 1)))
        elif mask.size != n:
            raise Refused(f"a mask of shape {mask.shape}")
    else:
        allowed = ops.not_equal(mask, 0)
        if mask.ndim == 4:  # (n, 1, most, most)
            raise Refused("a mask of four axes")
    wide = allowed.reshape(allowed.shape[0], 1, *([1] if allowed.ndim == 2 else []), *allowed.shape[1:])
    if bias is None:
        return ops.where(wide, 0.0, filtered)
    return ops.add(ops.where(wide, 0.0, filtered), bias)


@lowers("Attention", domain=DOMAIN)
def attention(node: Node) -> list[Value]:
    """Self-attention with the product that makes queries, keys and values."""
    heads, x = node.attribute("num_heads"), node.tensor(0)
    if node.attribute("do_rotary", 0) or node.attribute("past_present_share_buffer", 0) or node.has(6):
        raise Refused("rotations, or a cache that is written in place")
    node.ignore("rotary_embedding_dim")
    weights = node.tensor(1)
    sizes = node.attribute("qkv_hidden_sizes") or [weights.shape[1] // 3] * 3
    whole = ops.linear(x, weights.T, node.optional(2))  # type: ignore[operator]
    ends = [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
    q, k, v = (split_heads(whole[:, :, a:b], heads) for a, b in pairwise(ends))
    if node.has(4):
        past = node.tensor(4)
        k, v = ops.concatenate([past[0], k], 2), ops.concatenate([past[1], v], 2)
    result = attended(node, q, k, v, key_mask(node, 3, 5, k.shape[2]))
    present = node.result(ops.stack([k, v], 0)) if node.is_used(1) else None
    return [node.result(merge_heads(result)), present]  # type: ignore[list-item]


@lowers("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_norm(node: Node) -> list[Value | None]:
    """Embeddings of words, positions and segments, added and normalized."""
    ids, words, places = node.tensor(0), node.tensor(2), node.tensor(3)
    length = ids.shape[1]
    total = ops.take(words, ids, axis=0)
    positions = ops.take(places, node.tensor(8), axis=0) if node.has(8) else places[:length][None]
    total = ops.add(total, positions)
    if node.has(1) and node.has(4):
        total = ops.add(total, ops.take(node.tensor(4), node.tensor(1), axis=0))
    result = ops.layer_norm(total, node.tensor(5), node.tensor(6), axes=1, epsilon=node.attribute("epsilon", 1e-12))
    node.attribute("mask_index_type", 0)
    counts = None
    if node.is_used(1):
        mask = node.tensor(7) if node.has(7) else None
        counts = ops.zeros(ids.shape[0], i32) if mask is None else ops.sum(ops.cast(ops.not_equal(mask, 0), i32), 1)
    elif node.has(7):
        node.ignore(7)
    float_elem = node.elem(2)
    return [
        node.result(result, float_elem),
        None if counts is None else node.result(counts, TensorProto.INT32),
        node.result(total, float_elem),
    ]
