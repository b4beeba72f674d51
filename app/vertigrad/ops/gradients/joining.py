"""Rows added up where they go to one place, in an order that the places alone decide: the same bits each time.

Floats that are added by atomic operations are added in any order, and so rounded in any way. Here rows are sorted by
their places, stably, and each place adds up its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...gpu import Kernel
from ...tensor import Tensor, u32
from ..elementwise import assign
from ..gather import take
from ..scatter import numbered_places
from ..segments import reduce_by_key
from ..sorting import add_sort


def zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """A tensor of zeros of the type of `like`, made by a kernel, so that it can be recorded."""
    return assign(Tensor.empty(shape, like.dtype, "gradient", temporary=True), 0)


def sum_rows(rows: Tensor, places: Tensor, count: int) -> Tensor:
    """Row s of the result: the sum of `rows` (n, ...) whose place (n,) u32 is s < `count`; others do not count."""
    if not rows.size or not count:
        return zeros((count, *rows.shape[1:]), rows)
    order, sorted_places = in_order(places, count)
    return reduce_by_key("sum", take(rows, order, 0), sorted_places, count)


def in_order(places: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`places` (n,) u32, `count` at most, sorted stably: which of them comes where, and the places then, both u32."""
    order = Tensor.empty(places.shape, u32, temporary=True)
    sorted_places = Tensor.empty(places.shape, u32, temporary=True)
    add_sort(Kernel.__call__, places, None, sorted_places, order, False, max(count.bit_length(), 1))
    return order, sorted_places


def sum_at(gradient: Tensor, indices: Tensor, shape: Sequence[int], axis: int | None = None) -> Tensor:
    """A tensor of `shape`, contiguous, of what `gradient` brings to the places that `indices` name.

    Without `axis` vectors along the last axis of `indices` name the first axes of `shape`, as in `gather_nd`; else each
    index names a place along `axis`, as in `scatter_elements`.
    """
    depth = indices.shape[-1] if axis is None else len(shape)
    sizes, rest = tuple(shape[:depth]), tuple(shape[depth:])
    places = numbered_places(indices, sizes, axis)
    rows = gradient.contiguous().reshape(places.size, *rest)
    return sum_rows(rows, places.reshape(-1), math.prod(sizes)).reshape(*sizes, *rest)


def are_distinct(indices: Any, size: int) -> bool:
    """Whether it is known that no two of `indices` into an axis of `size` name one place; of tensors it is not."""
    if isinstance(indices, Tensor):
        return indices.size <= 1
    host = np.asarray(indices)
    return np.unique(host % max(size, 1)).size == host.size
