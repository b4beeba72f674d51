"""64-bit integers as pairs of words against NumPy's: all pairs of edge values, and random ones of every magnitude."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.gpu import Gpu
from vertigrad.ops import words
from vertigrad.ops.words import Words
from vertigrad.tensor import Tensor, u32

Binary = tuple[Callable[[Words, Words, bool], Any], Callable[[np.ndarray, np.ndarray], np.ndarray]]
SIGNED, UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)
EDGES = [0, 1, 2, 3, 31, 32, 33, 63, 64, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**62, 2**63 - 1]
OF_BITS = [2**24 + 1, 2**40 + 2**16, 2**40 + 3 * 2**16, 2**40 + 2**16 + 1, 2**63 - 2**38, 2**64 - 2**40, 2**64 - 2**39]


def integers(dtype: np.dtype, count: int = 300) -> np.ndarray:
    random = np.random.default_rng(64)
    drawn = random.integers(0, 2**64, count, dtype=np.uint64) >> random.integers(0, 64, count, dtype=np.uint64)
    negated = np.array([(2**64 - edge) % 2**64 for edge in EDGES], np.uint64)
    edges = np.concatenate([np.array([*EDGES, *OF_BITS, 2**63], np.uint64), negated])
    return np.concatenate([edges, drawn, ~drawn]).view(dtype)


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Every two edge values, and random ones."""
    x = integers(dtype)
    edges, drawn = x[:60], np.random.default_rng(65).permutation(x)
    return np.concatenate([np.repeat(edges, 60), x]), np.concatenate([np.tile(edges, 60), drawn])


def on_gpu(x: np.ndarray) -> Words:
    low, high = words.split(x)
    return Words(Tensor.from_numpy(low), Tensor.from_numpy(high)).expressions()


def read(result: Any, dtype: np.dtype) -> np.ndarray:
    return result.evaluated().numpy(dtype) if isinstance(result, Words) else ops.evaluate(result).numpy()


def truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By Python's integers, which are exact; 0 where b is 0."""
    exact = [0 if y == 0 else abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1) for x, y in zip_ints(a, b)]
    return wrapped(exact, a.dtype)


def powers(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    exact = [pow(x, y, 2**64) if y >= 0 else {1: 1, -1: 1 - 2 * (y % 2)}.get(x, 0) for x, y in zip_ints(a, b)]
    return wrapped(exact, a.dtype)


def zip_ints(a: np.ndarray, b: np.ndarray) -> zip[tuple[int, int]]:
    return zip(a.tolist(), b.tolist(), strict=True)


def wrapped(numbers: list[int], dtype: np.dtype) -> np.ndarray:
    return np.array([number % 2**64 for number in numbers], np.uint64).view(dtype)


BINARY: dict[str, Binary] = {
    "add": (lambda a, b, _: words.add(a, b), np.add),
    "subtract": (lambda a, b, _: words.subtract(a, b), np.subtract),
    "multiply": (lambda a, b, _: words.multiply(a, b), np.multiply),
    "truncate_divide": (words.truncate_divide, truncated),
    "fmod": (words.fmod, np.fmod),
    "remainder": (words.remainder, np.remainder),
    "power": (words.power, powers),
    "equal": (words.equal, np.equal),
    "less": (words.less, np.less),
    "minimum": (words.minimum, np.minimum),
    "maximum": (words.maximum, np.maximum),
    "xor": (lambda a, b, _: words.bitwise(ops.bitwise_xor, a, b), np.bitwise_xor),
    "choose": (lambda a, b, signed: words.choose(words.less(b, a, signed), a, b), np.maximum),
}


@pytest.mark.parametrize("dtype", [SIGNED, UNSIGNED], ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_of_two(steady: Gpu, name: str, dtype: np.dtype) -> None:
    function, reference = BINARY[name]
    a, b = pairs(dtype)
    found = read(function(on_gpu(a), on_gpu(b), dtype is SIGNED), dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, reference(a, b))


def test_shifts(steady: Gpu) -> None:
    a, b = pairs(UNSIGNED)
    exact = [[x << min(y, 64) for x, y in zip_ints(a, b)], [x >> min(y, 64) for x, y in zip_ints(a, b)]]
    for function, expected in zip((words.left_shift, words.right_shift), exact, strict=True):
        np.testing.assert_array_equal(read(function(on_gpu(a), on_gpu(b)), UNSIGNED), wrapped(expected, UNSIGNED))


def test_of_one(steady: Gpu) -> None:
    x = integers(SIGNED)
    a = on_gpu(x)
    np.testing.assert_array_equal(read(words.negative(a), SIGNED), -x)
    np.testing.assert_array_equal(read(words.absolute(a), SIGNED), abs(x))
    np.testing.assert_array_equal(read(words.sign(a, True), SIGNED), np.sign(x))
    np.testing.assert_array_equal(read(words.sign(a, False), SIGNED), x != 0)
    np.testing.assert_array_equal(read(words.bitwise(ops.invert, a), SIGNED), ~x)
    np.testing.assert_array_equal(read(words.saturated(a), SIGNED), x.clip(-(2**31), 2**31 - 1))


@pytest.mark.parametrize("dtype", [SIGNED, UNSIGNED], ids=str)
def test_to_floats_by_the_nearest(steady: Gpu, dtype: np.dtype) -> None:
    x = integers(dtype)
    found = read(words.float_bits(on_gpu(x), dtype is SIGNED), dtype).view(np.float32)
    np.testing.assert_array_equal(found, x.astype(np.float32))


def test_of_floats_without_their_fraction(steady: Gpu) -> None:
    random = np.random.default_rng(66)
    x = np.ldexp(random.uniform(-1, 1, 500), random.integers(-3, 64, 500)).astype(np.float32)
    x = np.concatenate([x, np.array([0, -0.0, 0.99, -0.99, 1, -1, 2**24, 2**31, 2**32, -(2**63), np.nan], np.float32)])
    found = read(words.of_float_bits(ops.Expression.of(Tensor.from_numpy(x).bitcast(u32))), SIGNED)
    np.testing.assert_array_equal(found, np.trunc(np.nan_to_num(x)).astype(np.int64))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_of_32_bits(steady: Gpu, dtype: type) -> None:
    x = integers(UNSIGNED).astype(np.uint32).view(dtype)
    found = read(words.widened(ops.Expression.of(Tensor.from_numpy(x))), SIGNED)
    np.testing.assert_array_equal(found, x.astype(np.int64))
