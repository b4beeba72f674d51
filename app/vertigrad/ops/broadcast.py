"""What undoes broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor import Tensor
from .reduce import sum as sum_


def sum_to(a: Tensor, shape: Sequence[int]) -> Tensor:
    """`a` summed over the axes along which a tensor of `shape` was repeated to the shape of `a`."""
    shape = tuple(shape)
    if a.shape == shape:
        return a
    ahead = a.ndim - len(shape)
    repeated = [axis for axis, size in enumerate(shape, ahead) if size == 1 and a.shape[axis] != 1]
    axes = (*range(ahead), *repeated)
    return (sum_(a, axes, keepdims=True) if axes else a).reshape(*shape)
