"""Deterministic scatter-add of rows: the order of the sums depends on the indices alone.

Atomic additions of floats happen in any order, and so round differently each time. Here rows are sorted by their
indices, stably, and summed by segment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor, u32
from ..creation import zeros
from ..gather import take
from ..scatter import linear_indices
from ..segments import reduce_by_key
from ..sorting import sort_pairs


def sum_rows(rows: Tensor, indices: Tensor, count: int) -> Tensor:
    """Row s of the result: the sum of `rows` (n, ...) whose index (n,) u32 is s < `count`; others do not count."""
    if not rows.size or not count:
        return zeros((count, *rows.shape[1:]), rows.dtype)
    order, sorted_indices = in_order(indices, count)
    return reduce_by_key("sum", take(rows, order, 0), sorted_indices, count)


def in_order(indices: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`indices` (n,) u32, `count` at most, sorted stably: their order, and the sorted indices, both u32."""
    order = Tensor.empty(indices.shape, u32, temporary=True)
    sorted_indices = Tensor.empty(indices.shape, u32, temporary=True)
    sort_pairs(indices, key_bits=max(count.bit_length(), 1), out=(sorted_indices, order))
    return order, sorted_indices


def sum_at(gradient: Tensor, indices: Tensor, shape: Sequence[int], axis: int | None = None) -> Tensor:
    """A tensor of `shape`, contiguous, the sums of `gradient` at each of `indices`.

    Without `axis` vectors along the last axis of `indices` name the first axes of `shape`, as in `gather_nd`; else each
    index is one along `axis`, as in `scatter_elements`.
    """
    depth = indices.shape[-1] if axis is None else len(shape)
    sizes, rest = tuple(shape[:depth]), tuple(shape[depth:])
    indices = linear_indices(indices, sizes, axis)
    rows = gradient.contiguous().reshape(indices.size, *rest)
    return sum_rows(rows, indices.reshape(-1), math.prod(sizes)).reshape(*sizes, *rest)


def are_distinct(indices: Any, size: int) -> bool:
    """Whether it is known that no two of `indices` into an axis of `size` are equal; of tensors it is not."""
    if isinstance(indices, Tensor):
        return indices.size <= 1
    host = np.asarray(indices)
    return np.unique(host % max(size, 1)).size == host.size
