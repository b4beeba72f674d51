"""The order of f64 and of 64-bit integers, by two sorts of 32-bit words: the kernel has keys of 32 bits."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ..tensor.doubles import words_of
from .elementwise import fused
from .functions import bitwise_and, bitwise_xor, equal, greater, greater_equal, invert, logical_and, logical_or, where
from .gather import take_along_axis

_SIGN, _INFINITE, _LAST = 0x80000000, 0x7FF00000, 0xFFFFFFFF


def order_of_doubles(x: Tensor, axis: int, descending: bool, argsort: Any) -> Tensor:
    """Indices (i32) along `axis` of f64 in order, stable; −0 equals 0, and NaN comes last. By `argsort` of u32."""
    last = 0 if descending else _LAST
    words = words_of(x)
    low, high = words[..., 0], words[..., 1]
    lower, upper = (fused(lambda a, b, at=at: _key((a, b)[at], a, b, last), low, high) for at in (0, 1))
    return order_of_words(lower, upper, axis, descending, argsort)


def order_of_words(low: Tensor, high: Tensor, axis: int, descending: bool, argsort: Any) -> Tensor:
    """As `order_of_doubles`, of unsigned integers of 64 bits that have these words."""
    by_low = argsort(low, axis, descending=descending)
    by_high = argsort(take_along_axis(high, by_low, axis), axis, descending=descending)
    return take_along_axis(by_low, by_high, axis)


def _key(word: Any, low: Any, high: Any, last: int) -> Any:
    """One of the words as u32 that are in the order of the numbers."""
    size, is_negative = bitwise_and(high, _SIGN - 1), greater_equal(high, _SIGN)
    is_nan = logical_or(greater(size, _INFINITE), logical_and(equal(size, _INFINITE), greater(low, 0)))
    is_zero = logical_and(equal(size, 0), equal(low, 0))
    flipped = word if word is low else bitwise_xor(word, _SIGN)
    zero = 0 if word is low else _SIGN
    return where(is_nan, last, where(is_zero, zero, where(is_negative, invert(word), flipped)))
