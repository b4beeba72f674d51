"""Views of parts of a tensor, and in other orders: no bytes move."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from ..errors import ShapeError
from ..tensor import Tensor
from . import launch


def split(a: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Views of `a` along `axis`, as `numpy.split`: so many equal parts, or parts that end at these indices.

    Raises `ShapeError` if `a` does not divide into equal parts.
    """
    at = launch.normal_axis(axis, a.ndim)
    size = a.shape[at]
    if isinstance(indices_or_sections, int | np.integer):
        sections = operator.index(indices_or_sections)
        if sections < 1 or size % sections:
            raise ShapeError(f"split: axis {axis} of size {size} does not divide into {sections} equal parts")
        cuts = list(range(0, size, size // sections))[1:] if size else [0] * (sections - 1)
    else:
        cuts = [operator.index(n) for n in indices_or_sections]
    bounds = zip([None, *cuts], [*cuts, None], strict=True)
    return [a[(*[slice(None)] * at, slice(first, last))] for first, last in bounds]


def flip(a: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """A view with the elements in reverse order along `axis`, or along all axes."""
    axes = launch.normal_axes(axis, a.ndim)
    return a[tuple(slice(None, None, -1 if i in axes else 1) for i in range(a.ndim))]
