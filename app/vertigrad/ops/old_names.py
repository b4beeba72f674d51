"""Functions under names that they had up to version 0.1; each warns with its present name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..deprecation import recorded
from ..tensor import Tensor
from . import reduce
from .compaction import compact, nonzero
from .grid import grid_normals
from .histograms import bincount, histogram
from .neighbors import reorder
from .pool import max_pool_with_places
from .scans import scan
from .segments import segment_starts, segmented_reduce
from .sizes import dispatch_size, draw_size
from .sorting import argsort, sort, sort_pairs


def _sort(keys: Any, values: Any = None, *, sorted_keys: Any = None, sorted_values: Any = None, **options: Any) -> None:
    if sorted_values is None:
        sort(keys, out=sorted_keys, **{name: value for name, value in options.items() if name != "key_bits"})
    elif sorted_keys is None and values is None:
        argsort(keys, out=sorted_values, **options)
    else:
        sorted_keys = Tensor.empty(keys.shape, keys.dtype, temporary=True) if sorted_keys is None else sorted_keys
        sort_pairs(keys, values, out=(sorted_keys, sorted_values), **options)


_RECORDED: dict[str, Callable[..., Any]] = {
    "bincount": lambda x, counts: bincount(x, counts.size, out=counts),
    "compact": lambda x, mask, values, count: compact(x, mask, out=(values, count)),
    "dispatch_size": lambda number, kernel, size, **options: dispatch_size(number, kernel, out=size, **options),
    "draw_size": lambda number, size, **options: draw_size(number, out=size, **options),
    "grid_normals": lambda positions, normals: grid_normals(positions, normals),
    "histogram": lambda x, counts, limits: histogram(x, counts.size, limits, out=counts),
    "mlp": lambda network, x, out: network(x, out=out),
    "nonzero": lambda x, indices, count: nonzero(x, out=(indices, count)),
    "reduce": lambda name, a, out, *axes, **options: getattr(reduce, name)(a, *axes, out=out, **options),
    "reorder": reorder,
    "scan": lambda how, x, out, *axis, **options: scan(how, x, *axis, out=out, **options),
    "segment_starts": lambda keys, offsets: segment_starts(keys, offsets.size - 1, out=offsets),
    "segmented_reduce": lambda how, x, offsets, out: segmented_reduce(how, x, offsets, out=out),
    "sort": _sort,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max_pool_with_places": max_pool_with_places,
    **{f"record_{name}": recorded(f"record_{name}", name, function) for name, function in _RECORDED.items()},
}
