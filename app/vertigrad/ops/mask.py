"""`Mask`: which units, channels or heads of a tensor are set to zero while a network runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..closing import Closing
from ..errors import InputError
from ..tensor import DType, Tensor


class Mask(Closing):
    """Factors, 0 for the units in `units` and 1 for all others, that the tensor `name` of this shape is multiplied by.

    Its units are along `axis`; those in `units` are zero to begin with. Setting units uploads the factors: nothing is
    recorded again. Raises `InputError` as `set`.
    """

    def __init__(
        self, name: str, shape: tuple[int, ...], dtype: DType, axis: int | None = None, units: Iterable[int] = ()
    ):
        self.name, self.shape, self._dtype = name, shape, dtype.numpy
        self.axis = unit_axis(shape) if axis is None else axis
        self.units = self._checked(units)
        self._row = Tensor.from_numpy(self._values(), f"mask of {name}")
        self.factors = self._row.reshape(*[self.count if at == self.axis else 1 for at in range(len(shape))])

    @property
    def count(self) -> int:
        """The number of units."""
        return self.shape[self.axis] if self.shape else 1

    def set(self, units: Iterable[int]) -> None:
        """Set these units to zero, and no others. Raises `InputError` if there are none of these numbers."""
        units = self._checked(units)
        if units != self.units:
            self.units = units
            self._row[...] = self._values()

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self.factors.close()
        self._row.close()

    def _checked(self, units: Iterable[int]) -> frozenset[int]:
        units = frozenset(units)
        require_units(self.name, self.count, units)
        return units

    def _values(self) -> np.ndarray:
        factors = np.ones(self.count, self._dtype)
        factors[sorted(self.units)] = 0.0
        return factors


def unit_axis(shape: tuple[int, ...], batch: int = 1) -> int:
    """The axis along which a tensor has its units: channels of images, heads of attention, features of vectors.

    As ONNX lays tensors out: behind the batch for (batch, channels, rows, columns) and (batch, heads, rows, columns),
    the first for (channels, rows, columns), the last for (batch, features) and (batch, tokens, features).
    """
    if len(shape) >= 4:
        return 1
    if len(shape) == 3 and shape[0] not in (1, batch):
        return 0
    return max(len(shape) - 1, 0)


def require_units(name: str, count: int, units: Iterable[int]) -> None:
    """Raise `InputError` if the tensor `name`, which has `count` units, has none of these numbers."""
    if wrong := sorted(unit for unit in units if not 0 <= unit < count):
        raise InputError(f"{name} has no unit {wrong[0]}; its units are 0 to {count - 1}")
