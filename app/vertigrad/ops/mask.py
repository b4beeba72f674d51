"""`Mask`: which units, channels or heads of a tensor are set to zero while a network runs."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..closing import Closing
from ..errors import InputError
from ..tensor import DType, Tensor


class Mask(Closing):
    """Factors, 0 for the units in `units` and 1 for all others, that the tensor `name` of this shape is multiplied by.

    Setting units uploads the factors: nothing is recorded again.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: DType):
        self.name, self.shape, self._dtype = name, shape, dtype.numpy
        self.axis = unit_axis(shape)
        self.units: frozenset[int] = frozenset()
        self._row = Tensor.from_numpy(np.ones(self.count, self._dtype), f"mask of {name}")
        self.factors = self._row.reshape(*[self.count if at == self.axis else 1 for at in range(len(shape))])

    @property
    def count(self) -> int:
        """The number of units."""
        return _count(self.shape)

    def set(self, units: Iterable[int]) -> None:
        """Set these units to zero, and no others. Raises `InputError` if there are none of these numbers."""
        units = frozenset(units)
        require_units(self.name, self.shape, units)
        if units != self.units:
            factors = np.ones(self.count, self._dtype)
            factors[sorted(units)] = 0.0
            self._row[...] = factors
            self.units = units

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self.factors.close()
        self._row.close()


def unit_axis(shape: tuple[int, ...]) -> int:
    """The axis along which a tensor has its units: channels of images, heads of attention, features of vectors.

    As ONNX lays tensors out: behind the batch for (batch, channels, rows, columns) and (batch, heads, rows, columns),
    the first for (channels, rows, columns), the last for (batch, features) and (1, tokens, features).
    """
    if len(shape) >= 4:
        return 1
    if len(shape) == 3 and shape[0] > 1:
        return 0
    return max(len(shape) - 1, 0)


def units_of(shape: tuple[int, ...]) -> int:
    """How many units a tensor of this shape has."""
    return shape[unit_axis(shape)] if shape else 1


def unit_at(shape: tuple[int, ...], element: int) -> int:
    """The unit that an element, by its row-major index, belongs to."""
    if not shape:
        return 0
    axis = unit_axis(shape)
    return element // math.prod(shape[axis + 1 :]) % shape[axis]


def require_units(name: str, shape: tuple[int, ...], units: Iterable[int]) -> None:
    """Raise `InputError` if the tensor `name` of this shape has no units of these numbers."""
    if wrong := sorted(unit for unit in units if not 0 <= unit < _count(shape)):
        raise InputError(f"{name} has no unit {wrong[0]}; its units are 0 to {_count(shape) - 1}")


def _count(shape: tuple[int, ...]) -> int:
    return shape[unit_axis(shape)] if shape else 1
