"""A tensor as lines along one axis: what scans, sorts and their like have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..tensor import Tensor
from . import launch


class Lines(NamedTuple):
    """The layout of tensors of one shape along an axis: the elements of a line, and for each tensor the step along it.

    `shape` and `strides` are those of all other axes, merged where the strides of every tensor allow it. Steps and
    strides are in elements.
    """

    count: int
    steps: tuple[int, ...]
    shape: list[int]
    strides: list[list[int]]

    @staticmethod
    def along(axis: int, tensors: Sequence[Tensor], ordered: bool = True) -> Lines:
        """Lines along `axis`, counted from 0; numbered as the tensors' axes are or, unless `ordered`, by strides."""
        rows = [launch.element_strides(tensor) for tensor in tensors]
        others = [i for i in range(tensors[0].ndim) if i != axis]
        if not ordered:
            others.sort(key=lambda i: -abs(rows[0][i]))
        sizes = [tensors[0].shape[i] for i in others]
        shape, strides = launch.merge_axes(sizes, [[row[i] for i in others] for row in rows])
        return Lines(tensors[0].shape[axis], tuple(row[axis] for row in rows), shape, strides)

    def fields(self, *names: str) -> dict[str, Any]:
        """The uniform fields of this layout; `names` are those of the tensors in the shader."""
        found: dict[str, Any] = {"line_axes": len(self.shape), "shape": launch.padded(self.shape, 1)}
        for name, step, strides in zip(names, self.steps, self.strides, strict=True):
            found |= {f"{name}_step": step, f"{name}_strides": launch.padded(strides, 0)}
        return found

    @property
    def number(self) -> int:
        """How many lines there are."""
        return math.prod(self.shape)

    @property
    def column_major(self) -> bool:
        """Whether lines of the first tensor are closer to each other than the elements of one."""
        return bool(self.shape) and abs(self.strides[0][-1]) < abs(self.steps[0])
