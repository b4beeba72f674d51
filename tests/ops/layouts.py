"""Arrays and tensors with the same layout: the same values at the same offsets, strides and order of axes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from vertigrad import Tensor

T = TypeVar("T")
DTYPES = ("f32", "f16", "i32", "u32", "bool", "u8")
NUMPY = {"f32": "f4", "f16": "f2", "i32": "i4", "u32": "u4", "bool": "?", "u8": "u1"}

# VERTIGRAD_EXPLORE=1: many more. No deadline, since kernels compile at first use.
EXPLORE = "VERTIGRAD_EXPLORE" in os.environ
examples = settings(
    deadline=None,
    max_examples=1000 if EXPLORE else 30,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same where nearly every example is another kernel, which takes a second to compile.
compiled_examples = settings(examples, max_examples=examples.max_examples // 3)
seeds = st.integers(0, 2**32 - 1)


def some(variants: Iterable[T]) -> list[T]:
    """Every third of a kernel's variants, each of which takes a second to compile; with VERTIGRAD_EXPLORE all of them.

    `vertigrad tune` skips variants with wrong results on the adapter.
    """
    return list(variants)[:: 1 if EXPLORE else 3]


@dataclass(frozen=True)
class Layout:
    """The layout of a view of a larger contiguous array: `key` slices it, `axes` permutes it."""

    whole: tuple[int, ...]
    key: tuple[Any, ...]
    axes: tuple[int, ...]

    def array(self, whole: np.ndarray) -> np.ndarray:
        return whole[(*self.key, ...)].transpose(self.axes)

    def tensor(self, whole: Tensor) -> Tensor:
        return whole[self.key].permute(*self.axes)

    def both(self, whole: np.ndarray) -> tuple[np.ndarray, Tensor]:
        return self.array(whole), self.tensor(Tensor.from_numpy(whole))


@st.composite
def shapes(draw: st.DrawFn, min_rank: int = 0, max_rank: int = 5, largest: int = 3000) -> tuple[int, ...]:
    """Random shapes, also with axes of 0 and 1."""
    rank = draw(st.integers(min_rank, max_rank))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 0, 11, 40]), min_size=rank, max_size=rank))
    while math.prod(sizes) > largest:
        sizes[sizes.index(max(sizes))] = 2
    return tuple(sizes)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    """A random layout of a view of `shape`: contiguous, or sliced (also with negative steps) and transposed."""
    rank = len(shape)
    if draw(st.integers(0, 3)) == 0:
        return Layout(shape, (), tuple(range(rank)))
    axes = tuple(draw(st.permutations(range(rank))))
    whole: list[int] = []
    key: list[Any] = []
    if draw(st.booleans()):  # an axis removed by an integer index: only its offset remains
        whole.append(3)
        key.append(draw(st.integers(-3, 2)))
    for axis in sorted(range(rank), key=lambda i: axes[i]):
        n, step = shape[axis], draw(st.sampled_from([1, 1, 1, -1, 2, -2, 3]))
        before, after = draw(st.sampled_from([(0, 0), (0, 0), (1, 0), (0, 1), (2, 3)]))
        reach = max(n - 1, 0) * abs(step) + (n > 0)
        whole.append(before + reach + after)
        first = before if step > 0 else before + reach - 1
        last = first + n * step
        key.append(slice(first, last if last >= 0 else None, step) if n else slice(0, 0))
    inverse = tuple(sorted(range(rank), key=lambda i: axes[i]).index(axis) for axis in range(rank))
    return Layout(tuple(whole), tuple(key), inverse)


@st.composite
def broadcastable(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: fewer axes, or some of 1."""
    trailing = shape[draw(st.integers(0, len(shape))) :] if draw(st.booleans()) else shape
    return tuple(draw(st.sampled_from([n, n, 1])) for n in trailing)


def values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Random values of moderate size, also small and negative ones."""
    random = np.random.default_rng(seed)
    if dtype in ("f32", "f16"):
        drawn = random.normal(size=shape) * random.choice([0.1, 1.0, 10.0], shape)
    else:
        low, high = {"i32": (-50, 50), "u32": (0, 100), "u8": (0, 256), "bool": (0, 2)}[dtype]
        drawn = random.integers(low, high, shape)
    return np.array(drawn, NUMPY[dtype])
