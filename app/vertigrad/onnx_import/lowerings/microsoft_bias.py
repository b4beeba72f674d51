"""Operators of onnxruntime's own (domain com.microsoft) that give what attention adds to its scores.

Its documentation, docs/ContribOperators.md, has their formulas.
"""

from __future__ import annotations

import numpy as np

from ... import ops
from ...errors import InputError
from ...tensor import Tensor
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .microsoft_attention import DOMAIN
from .shaping import reshaped


@lowers("RelativePositionBias", domain=DOMAIN)
def relative_position_bias(node: Node) -> Value:
    """A bias for each distance of key and query, binned as in T5 (Raffel et al. 2020, 2.1); (1, heads, queries, keys).

    Half of the buckets have one distance each, the others grow with its logarithm up to `max_distance`. The table is
    stored column after column: its memory has the buckets of the first head, then those of the next.
    """
    count, heads = node.shape()
    queries, keys = node.ints(1)[0], node.ints(2)[0]
    both, most = bool(node.attribute("is_bidirectional", 0)), node.attribute("max_distance")
    distance = np.arange(keys)[None] - np.arange(queries)[:, None]
    buckets = count // 2 if both else count
    if buckets < 2 or most <= buckets // 2:
        raise InputError(f"{node}: {count} buckets for a max_distance of {most}; it must be more than {buckets // 2}")
    first = np.where(both & (distance > 0), buckets, 0)
    bucket = first + _bucket(np.abs(distance) if both else np.maximum(-distance, 0), buckets, most)
    table = reshaped(node.tensor(0), (heads, count))
    return node.result(ops.take(table, node.upload(bucket.astype(np.int32)), axis=1)[None])


def _bucket(distance: np.ndarray, buckets: int, most: int) -> np.ndarray:
    exact = buckets // 2
    ratio = np.log(np.float32(np.maximum(distance, exact)) / np.float32(exact)) / np.log(np.float32(most / exact))
    return np.where(
        distance < exact, distance, np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    )


@lowers("GatedRelativePositionBias", domain=DOMAIN)
def gated_relative_position_bias(node: Node) -> Tensor:
    """A bias that each query scales by two gates (Chi et al. 2022, XLM-E, A); (batch, heads, queries, keys)."""
    if node.has(6):
        raise Refused("tokens without padding (token_offset)")
    heads, (batch, length, width) = node.attribute("num_heads"), node.shape()
    query = ops.add(node.tensor(0), node.tensor(1)).reshape(batch, length, heads, width // heads)
    gates = ops.add(ops.matmul(query.permute(0, 2, 1, 3), node.tensor(3)), node.tensor(4))
    update, reset = (ops.sigmoid(half.sum(-1, keepdims=True)) for half in ops.split(gates, 2, axis=-1))
    scale = ops.fused(lambda u, r, a: u * (r * a - 1.0) + 2.0, update, reset, node.tensor(5))
    return ops.multiply(scale, node.tensor(2))
