"""Numbers in equal steps: `arange` and `linspace`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..tensor import Tensor, dtype_of, f16
from ..tensor.dtype import check_value
from . import launch
from .define import Operand
from .elementwise import assign, fused

Number = int | float


def arange(start: Number, stop: Number | None = None, step: Number = 1, dtype: Any = None) -> Tensor:
    """start, start + step, … before `stop`, (n,); `arange(stop)` begins with 0.

    i32 if all three are integers, else f32, unless `dtype` is given. Each is computed from its index, so that rounding
    errors do not add up. Raises `ShapeError` for a step of 0 and what is not finite, `DtypeError` if a number does not
    fit.
    """
    first, last = (0, start) if stop is None else (start, stop)
    if not step or not all(map(math.isfinite, (first, last, step))):
        message = f"arange: from {first} to {last} in steps of {step}"
        raise ShapeError(f"{message}: finite numbers are needed, and a step that is not 0")
    are_integers = all(isinstance(value, int | np.integer) for value in (first, last, step))
    kind = dtype_of(("i32" if are_integers else "f32") if dtype is None else dtype)
    if kind.kind == "bool":
        raise DtypeError("arange: expected a type of numbers, got bool")
    count = max(math.ceil((last - first) / step), 0)
    for end in (first, first + (count - 1) * step) if count else ():
        check_value(int(end) if kind.kind != "float" else end, kind)
    out = Tensor.empty((count,), kind, temporary=True)
    exact = all(isinstance(value, int | np.integer) for value in (first, step))
    steps = np.arange(count, dtype=np.int64 if exact else np.float64)
    return assign(out, (first + steps * step).astype(kind.numpy)) if count else out


def linspace(start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Tensor:
    """`num` numbers in equal steps from `start` to `stop`, which is the last one if `endpoint`, along a new first axis.

    f32, or the type of `start` and `stop` if these are tensors of floats, unless `dtype` is given; integers are
    rounded down. Raises `ShapeError` if `num` is below 0, `DtypeError` for integers of tensors.
    """
    if num < 0:
        raise ShapeError(f"linspace: {num} numbers")
    if launch.is_number(start) and launch.is_number(stop):
        kind = dtype_of("f32" if dtype is None else dtype)
        out = Tensor.empty((num,), kind, temporary=True)
        values = np.linspace(float(start), float(stop), num, endpoint)  # type: ignore[arg-type]
        values = np.floor(values) if kind.kind != "float" else values
        for end in values[[0, -1]] if num else ():
            check_value(end.item() if kind.kind == "float" else int(end), kind)
        return assign(out, values.astype(kind.numpy)) if num else out
    with launch.operands(start, stop) as (begin, end):
        return _spaced(begin, end, num, endpoint, dtype)


def _spaced(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any) -> Tensor:
    fraction = np.linspace(0.0, 1.0, num, endpoint, dtype=np.float32)
    fraction = fraction.reshape(-1, *[1] * max(getattr(start, "ndim", 0), getattr(stop, "ndim", 0)))
    halves = all(value.dtype is f16 for value in (start, stop) if isinstance(value, Tensor))
    with Tensor.from_numpy(fraction) as fractions:
        found = fused(lambda a, b, t: a * (1.0 - t) + b * t, start, stop, fractions.to(f16) if halves else fractions)
    kind = found.dtype if dtype is None else dtype_of(dtype)
    if kind.kind != "float":  # a rounding error in the last digit would be an integer's
        raise DtypeError(f"linspace: of tensors floats are made, not {kind}")
    return found if kind is found.dtype else found.to(kind)
