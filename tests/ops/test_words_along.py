"""64-bit integers along axes as pairs of words, against NumPy's and against Python's exact ones."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import trunc
from typing import Any

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.gpu import Gpu
from vertigrad.ops import words_along
from vertigrad.ops.words import Words

from .test_words import SIGNED, UNSIGNED, integers, on_gpu, read

KINDS = [SIGNED, UNSIGNED]


def lines(dtype: np.dtype, *shape: int) -> np.ndarray:
    """Edge values and random ones, of which many are equal and neighbors of equal ones in one word."""
    random = np.random.default_rng(7)
    few = random.choice(integers(dtype), 12)
    return np.concatenate([random.choice(few, shape[0] * 40), random.permutation(integers(dtype))])[
        : np.prod(shape)
    ].reshape(shape)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", KINDS)
def test_order_is_stable(steady: Gpu, dtype: np.dtype, axis: int, descending: bool) -> None:
    x = lines(dtype, 9, 70)
    found = words_along.order(on_gpu(x), dtype is SIGNED, axis, descending=descending).numpy()
    np.testing.assert_array_equal(found, np.argsort(~x if descending else x, axis, kind="stable"))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", KINDS)
def test_where_extremes_are(steady: Gpu, dtype: np.dtype, last: bool) -> None:
    x = lines(dtype, 5, 90)
    for largest, function in ((True, np.argmax), (False, np.argmin)):
        found = words_along.arg_extreme(on_gpu(x), dtype is SIGNED, largest, last, 1).numpy()
        expected = x.shape[1] - 1 - function(x[:, ::-1], 1) if last else function(x, 1)
        np.testing.assert_array_equal(found[:, 0], expected)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 3), (7, 1), (13, 4)])
def test_products_wrap(steady: Gpu, shape: tuple[int, ...]) -> None:
    x = (2 * np.random.default_rng(3).integers(-(2**62), 2**62, shape) + 1).astype(np.int64)  # odd: none becomes 0
    both = words_along.product(on_gpu(x), (0, 1))
    np.testing.assert_array_equal(read(both, SIGNED), np.prod(x, (0, 1), keepdims=True))
    np.testing.assert_array_equal(read(words_along.product(on_gpu(x), (0,)), SIGNED), np.prod(x, 0, keepdims=True))


@pytest.mark.parametrize("count", [0, 1, 2, 11])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_products(steady: Gpu, count: int, exclusive: bool, reverse: bool) -> None:
    x = (2 * np.random.default_rng(4).integers(-(2**62), 2**62, (3, count)) + 1).astype(np.int64)
    found = words_along.running_product(on_gpu(x), 1, exclusive=exclusive, reverse=reverse)
    ordered = x[:, ::-1] if reverse else x
    before = np.concatenate([np.ones((3, 1), np.int64), ordered], 1)[:, :count] if exclusive else ordered
    products = np.cumprod(before, 1)
    np.testing.assert_array_equal(read(found, SIGNED), products[:, ::-1] if reverse else products)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 60])
def test_means_are_exact(steady: Gpu, count: int, dtype: np.dtype) -> None:
    x = np.random.default_rng(5).permutation(integers(dtype))[:600].reshape(-1, count)
    found: Words = words_along.mean(partial(ops.sum, axis=1), on_gpu(x), count, dtype is SIGNED)
    expected: list[Any] = [trunc(Fraction(sum(row), count)) for row in x.tolist()]
    np.testing.assert_array_equal(read(found, dtype), np.array(expected, dtype))
