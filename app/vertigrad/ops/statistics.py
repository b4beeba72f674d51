"""Variance and standard deviation, dropout, and comparisons of whole tensors."""

from __future__ import annotations

import math

from ..errors import ParameterError
from ..tensor import Tensor
from . import launch, random
from .define import Operand
from .functions import absolute, equal, isnan, less_equal, logical_and, logical_or, multiply, sqrt, square
from .reduce import Axes, mean
from .reduce import all as all_
from .reduce import sum as total


def var(a: Operand, axis: Axes = None, keepdims: bool = False, *, ddof: float = 0) -> Tensor:
    """Variance over `axis`, divided by n − `ddof`, as `numpy.var`; PyTorch's default is `ddof` 1."""
    with launch.operands(a) as (source,):
        axes = launch.normal_axes(axis, source.ndim)
        count = math.prod(source.shape[i] for i in axes)
        squares = square(source - mean(source, axis, True))
        return total(squares, axis, keepdims) / (count - ddof)


def std(a: Operand, axis: Axes = None, keepdims: bool = False, *, ddof: float = 0) -> Tensor:
    """Standard deviation over `axis`: the root of `var`."""
    return sqrt(var(a, axis, keepdims, ddof=ddof))


def outer(a: Operand, b: Operand) -> Tensor:
    """The products of all elements of `a` with all of `b`, (a.size, b.size)."""
    with launch.operands(a, b) as (left, right):
        return multiply(left.contiguous().reshape(-1, 1), right.contiguous().reshape(1, -1))


def dropout(x: Operand, p: float = 0.5, *, seed: int, stream: str = "dropout", offset: int = 0) -> Tensor:
    """x with each element set to 0 with probability `p`, the others divided by 1 − `p`.

    The mask is that of `ops.random.uniform` with this seed: in a plan the same one at each replay. Leave it out in
    inference. Raises `ParameterError`.
    """
    if not 0.0 <= p < 1.0:
        raise ParameterError(f"dropout: p is {p}; it must be at least 0, and below 1")
    with launch.operands(x) as (source,), random.uniform(source.shape, seed, stream, offset) as draws:
        return multiply(source, (draws >= p).to(source.dtype) * (1.0 / (1.0 - p)))


def allclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether |a − b| ≤ atol + rtol · |b| everywhere, as `numpy.allclose`; waits for the GPU."""
    with launch.operands(a, b) as (left, right):
        close = logical_or(equal(left, right), less_equal(absolute(left - right), absolute(right) * rtol + atol))
        if equal_nan:
            close = logical_or(close, logical_and(isnan(left), isnan(right)))
        return bool(all_(close).item())
