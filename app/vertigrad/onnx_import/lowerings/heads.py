"""What attention operators share: heads split and merged, rotations by position, rows written into a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import ops
from ...errors import InputError
from ...tensor import Tensor
from ..node import Node
from .shaping import reshaped

NEVER = -math.inf  # what is added to the score of a key that may not be attended


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(n, length, heads · width) as (n, heads, length, width)."""
    n, length, whole = x.shape
    return reshaped(x, (n, length, heads, whole // heads)).permute(0, 2, 1, 3)


def merge_heads(x: Tensor) -> Tensor:
    """(n, heads, length, width) as (n, length, heads · width)."""
    n, heads, length, width = x.shape
    return reshaped(x.permute(0, 2, 1, 3), (n, length, heads * width))


def rotated(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Pairs of the last axis of x (n, heads, length, width) rotated; cos and sin of the angles are (n, length, pairs).

    A pair is two neighbors if `interleaved`, else one of each half of the first 2 · pairs numbers; the others stay.
    (Su et al., RoFormer, eq. 34.)
    """
    pairs = cos.shape[-1]
    turning, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    cos, sin = (table.reshape(table.shape[0], 1, *table.shape[1:]) for table in (cos, sin))
    first, second = (
        (turning[..., 0::2], turning[..., 1::2]) if interleaved else (turning[..., :pairs], turning[..., pairs:])
    )
    turned = [
        ops.fused(lambda a, b, c, s: a * c - b * s, first, second, cos, sin),
        ops.fused(lambda a, b, c, s: a * s + b * c, first, second, cos, sin),
    ]
    if interleaved:
        turned = [reshaped(ops.stack(turned, -1), turning.shape)]
    return ops.concatenate([*turned, rest] if rest.shape[-1] else turned, -1)


def angles(node: Node, table: Tensor, positions: Tensor, shape: Sequence[int]) -> Tensor:
    """The rows of a table of cosines or sines at positions, which are broadcast to `shape` (n, length)."""
    if table.ndim != 2:
        raise InputError(f"{node}: a table of angles of shape {table.shape}; it must be (positions, pairs)")
    return ops.take(table, positions.expand(*shape).contiguous(), axis=0)


def steps(node: Node, length: int, starts: Tensor | int) -> Tensor:
    """Positions (n, length) that count from `starts` (n,), or from one number: (1, length)."""
    if isinstance(starts, int):
        return node.upload(np.arange(starts, starts + length, dtype=np.int32)[None])
    return ops.add(starts.reshape(-1, 1), np.arange(length, dtype=np.int32)[None])


def with_rows(cache: Tensor, new: Tensor, starts: Tensor | int, length: int) -> Tensor:
    """A cache (n, heads, rows, width) of `length` rows, with those of `new` from `starts` on, one for each of n."""
    n, room = cache.shape[0], cache.shape[2]
    if isinstance(starts, int):
        parts = [cache[:, :, :starts], new, cache[:, :, starts + new.shape[2] :]]
        whole = ops.concatenate([part for part in parts if part.shape[2]], 2)
        missing = length - whole.shape[2]
        return ops.pad(whole, [(0, 0), (0, 0), (0, missing), (0, 0)]) if missing > 0 else whole
    if length > room:
        cache = ops.pad(cache, [(0, 0), (0, 0), (0, length - room), (0, 0)])
    rows = ops.add(starts.reshape(n, 1, 1, 1), np.arange(new.shape[2], dtype=np.int32).reshape(1, 1, -1, 1))
    return ops.scatter_elements(cache, rows.expand(*new.shape).contiguous(), new, 2)


def mask_for(mask: Tensor | None, keys: int) -> Tensor | None:
    """A mask as long as the keys; keys that it does not reach may not be attended."""
    if mask is None or mask.shape[-1] in (1, keys):
        return mask
    pads = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
    return ops.pad(mask, pads, value=0.0 if mask.dtype.kind == "bool" else NEVER)
