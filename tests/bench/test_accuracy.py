"""The checks of the benchmarks' results detect inaccurate results."""

from __future__ import annotations

import numpy as np
import pytest

from .accuracy import assert_close_in_norm, assert_f32_product


def rounded(array: np.ndarray, mantissa: int) -> np.ndarray:
    """The f32 array with `bits` bits of mantissa, rounded to nearest: 7 are bf16's, 10 TF32's and f16's."""
    cut = 23 - mantissa
    bits = array.view(np.uint32)
    return ((bits + (1 << (cut - 1)) - 1 + ((bits >> cut) & 1)) >> cut << cut).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("length", [64, 1024, 4096])
def test_products_of_rounded_operands_fail_the_f32_check(length: int) -> None:
    random = np.random.default_rng(1)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in ((64, length), (length, 64)))
    exact, magnitude = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    one_by_one = np.zeros((64, 64), np.float32)
    for k in range(length):
        one_by_one += a[:, k, None] * b[k]
    assert_f32_product(a @ b, exact, magnitude)
    assert_f32_product(one_by_one, exact, magnitude)
    for mantissa in (7, 10):
        low = rounded(a, mantissa).astype(np.float64) @ rounded(b, mantissa)
        with pytest.raises(AssertionError, match="roundings"):
            assert_f32_product(low, exact, magnitude)


def test_one_wrong_element_is_detected() -> None:
    exact = np.random.default_rng(2).normal(size=1_000_000)
    found = exact.astype(np.float32)
    assert_close_in_norm(found, exact, 1e-6)
    found[17] += 0.05
    with pytest.raises(AssertionError, match="one element"):
        assert_close_in_norm(found, exact, 1e-4)
    with pytest.raises(AssertionError, match="relative error"):
        assert_close_in_norm(found, exact, 1e-5)
