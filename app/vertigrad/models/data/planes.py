"""Inputs that are drawn as rows and columns."""

from __future__ import annotations

from ...errors import InputError
from ...tensor import Tensor, f16, f32


def without_leading_ones(values: Tensor, axes: int, name: str, user: str) -> Tensor:
    """A view without leading axes of size 1, as long as `axes` are left. Raises `InputError` if it is not of floats."""
    if values.dtype not in (f32, f16):
        raise InputError(f"{name} are {values.dtype}; {user} f32 or f16")
    ones = 0
    while values.ndim - ones > axes and values.shape[ones] == 1:
        ones += 1
    return values[(0,) * ones] if ones else values[...]
