"""64-bit integers as pairs of 32-bit words, which WGSL has: elementwise functions of `Words`.

Each function takes and gives words that are expressions, so that an operation is one kernel for each word of its
result, and a quotient of signed integers two. They are in two's complement; results wrap at 64 bits, as NumPy's do.
`shaders/common/words.wgsl` has what needs more than a few operations of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tensor import Tensor, i32, u32
from . import functions as f
from .elementwise import cast, evaluate
from .expression import Expression

_SIGN = 0x80000000
_ONE, _TWO = "vec2u(a_, b_)", "vec2u(a_, b_), vec2u(c_, d_)"


class Words(NamedTuple):
    """The lower and the upper words of 64-bit integers: u32, tensors or expressions of one shape."""

    low: Any
    high: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the tensor of 64-bit integers."""
        return self.low.shape

    def expressions(self) -> Words:
        """For the functions of this module."""
        return Words(*(Expression.of(word) if isinstance(word, Tensor) else word for word in self))

    def evaluated(self) -> Words:
        """As tensors."""
        return Words(*(_evaluated(word) for word in self))

    def numpy(self, dtype: Any) -> np.ndarray:
        """The integers as an array of int64 or uint64; waits for the GPU."""
        return of_words(self.low.numpy(), self.high.numpy(), dtype)


def split(array: np.ndarray) -> np.ndarray:
    """The words of an array of int64 or uint64, the lower ones first; u32 of shape (2, ...)."""
    bits = np.asarray(array).astype(np.uint64)
    return np.stack([bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)])


def of_words(low: np.ndarray, high: np.ndarray, dtype: Any) -> np.ndarray:
    """An array of int64 or uint64 of its words."""
    upper = high.astype(np.uint64) << np.uint64(32)
    return (low.astype(np.uint64) | upper).astype(dtype, copy=False)


def widened(x: Any) -> Words:
    """The words of i32, u32 or bool."""
    if x.dtype is i32:
        return Words(_u32(x), _u32(f.right_shift(x, 31)))
    low = _u32(x)
    return Words(low, f.bitwise_and(low, 0))


# arithmetic ---------------------------------------------------------------------------------------------------------


def add(a: Words, b: Words) -> Words:
    """a + b."""
    low = f.add(a.low, b.low)
    return Words(low, f.add(f.add(a.high, b.high), _u32(f.less(low, a.low))))


def subtract(a: Words, b: Words) -> Words:
    """a − b."""
    borrow = _u32(f.less(a.low, b.low))
    return Words(f.subtract(a.low, b.low), f.subtract(f.subtract(a.high, b.high), borrow))


def multiply(a: Words, b: Words) -> Words:
    """a · b."""
    cross = f.add(f.multiply(a.low, b.high), f.multiply(a.high, b.low))
    return Words(f.multiply(a.low, b.low), f.add(_called("multiply_high(a_, b_)", a.low, b.low), cross))


def negative(a: Words) -> Words:
    """−a."""
    low = f.negative(a.low)
    return Words(low, f.subtract(f.negative(a.high), _u32(f.not_equal(a.low, 0))))


def absolute(a: Words) -> Words:
    """|a|, of signed integers."""
    return choose(is_negative(a), negative(a), a)


def sign(a: Words, signed: bool) -> Any:
    """−1, 0 or 1, as i32."""
    positive = cast(f.logical_not(is_zero(a)), i32)
    return f.where(is_negative(a), -1, positive) if signed else positive


def truncate_divide(a: Words, b: Words, signed: bool) -> Words:
    """a / b without its fraction; 0 where b is 0."""
    if not signed:
        return _pair(f"divide_words({_TWO}).xy", *a, *b)
    quotient = _pair(f"divide_words({_TWO}).xy", *absolute(a), *absolute(b)).evaluated().expressions()
    return choose(f.not_equal(is_negative(a), is_negative(b)), negative(quotient), quotient)


def fmod(a: Words, b: Words, signed: bool) -> Words:
    """What is left of a by truncated division, with the sign of a; 0 where b is 0."""
    if not signed:
        return _pair(f"divide_words({_TWO}).zw", *a, *b)
    rest = _pair(f"divide_words({_TWO}).zw", *absolute(a), *absolute(b)).evaluated().expressions()
    return choose(is_negative(a), negative(rest), rest)


def remainder(a: Words, b: Words, signed: bool) -> Words:
    """What is left of a by floor division, with the sign of b; 0 where b is 0."""
    rest = fmod(a, b, signed)
    if not signed:
        return rest
    differs = f.logical_and(f.not_equal(is_negative(rest), is_negative(b)), f.logical_not(is_zero(rest)))
    return choose(differs, add(rest, b), rest)


def power(a: Words, b: Words, signed: bool) -> Words:
    """a to the power b; 0 where b is negative, unless a is 1 or −1."""
    found = _pair(f"power_words({_TWO})", *a, *b)
    if not signed:
        return found
    magnitude = absolute(a)
    is_one = f.logical_and(f.equal(magnitude.low, 1), f.equal(magnitude.high, 0))
    vanishes = f.logical_and(is_negative(b), f.logical_not(is_one))
    return Words(*(f.where(vanishes, 0, word) for word in found))


def saturated(a: Words) -> Any:
    """Signed integers as i32, those beyond it as its least or its greatest."""
    low = cast(a.low, i32)
    fits = f.equal(a.high, _u32(f.right_shift(low, 31)))
    return f.where(fits, low, f.where(is_negative(a), -(1 << 31), (1 << 31) - 1))


# comparison and choice ----------------------------------------------------------------------------------------------


def is_negative(a: Words) -> Any:
    """Whether a < 0, of signed integers."""
    return f.greater_equal(a.high, _SIGN)


def is_zero(a: Words) -> Any:
    """Whether a = 0."""
    return f.equal(f.bitwise_or(a.low, a.high), 0)


def ordered(a: Words, signed: bool) -> Words:
    """Unsigned integers in the same order as a; of those again a, if it is `signed`."""
    return Words(a.low, f.bitwise_xor(a.high, _SIGN)) if signed else a


def equal(a: Words, b: Words, signed: bool) -> Any:
    """Whether a = b."""
    return f.logical_and(f.equal(a.low, b.low), f.equal(a.high, b.high))


def less(a: Words, b: Words, signed: bool) -> Any:
    """Whether a < b."""
    lower = f.logical_and(f.equal(a.high, b.high), f.less(a.low, b.low))
    return f.logical_or(f.less(ordered(a, signed).high, ordered(b, signed).high), lower)


def choose(condition: Any, a: Words, b: Words) -> Words:
    """a where `condition` is true, else b."""
    return Words(f.where(condition, a.low, b.low), f.where(condition, a.high, b.high))


def minimum(a: Words, b: Words, signed: bool) -> Words:
    """The smaller of a and b."""
    return choose(less(a, b, signed), a, b)


def maximum(a: Words, b: Words, signed: bool) -> Words:
    """The larger of a and b."""
    return choose(less(a, b, signed), b, a)


# bits ---------------------------------------------------------------------------------------------------------------


def bitwise(function: Callable[..., Any], *operands: Words) -> Words:
    """`function` of the lower words, and of the upper ones."""
    return Words(*(function(*words) for words in zip(*operands, strict=True)))


def left_shift(a: Words, b: Words) -> Words:
    """a · 2ᵇ; 0 where b is more than 63, or negative."""
    n = _count(b)
    from_low = f.bitwise_or(f.right_shift(a.low, f.subtract(32, n)), f.left_shift(a.low, f.subtract(n, 32)))
    return Words(f.left_shift(a.low, n), f.bitwise_or(f.left_shift(a.high, n), from_low))


def right_shift(a: Words, b: Words) -> Words:
    """a / 2ᵇ, rounded down, of unsigned integers; 0 where b is more than 63."""
    n = _count(b)
    from_high = f.bitwise_or(f.left_shift(a.high, f.subtract(32, n)), f.right_shift(a.high, f.subtract(n, 32)))
    return Words(f.bitwise_or(f.right_shift(a.low, n), from_high), f.right_shift(a.high, n))


def _count(b: Words) -> Any:
    """The bits to shift by: 64 for more. A 32-bit shift by a count that is wrapped or more than 31 gives 0."""
    return f.where(f.equal(b.high, 0), f.minimum(b.low, 64), 64)


# floats -------------------------------------------------------------------------------------------------------------


def float_bits(a: Words, signed: bool) -> Any:
    """The bits of the nearest f32, ties to even, as u32."""
    if not signed:
        return _called(f"real_of_words({_ONE})", *a)
    bits = _called(f"real_of_words({_ONE})", *absolute(a))
    return f.bitwise_or(bits, f.bitwise_and(a.high, _SIGN))


def of_float_bits(bits: Any) -> Words:
    """The integers that f32 with these bits are without their fraction; below 0 in two's complement, NaN as 0."""
    magnitude = _pair("words_of_real(a_)", bits)
    return choose(f.greater_equal(bits, _SIGN), negative(magnitude), magnitude)


def _called(text: str, *operands: Any) -> Expression:
    """A call of WGSL's or of common/words.wgsl's, of u32 words, which gives one."""
    return Expression(text, operands, text, u32, u32)


def _pair(text: str, *operands: Any) -> Words:
    """As `_called`, of a call that gives a vec2u."""
    return Words(_called(f"{text}.x", *operands), _called(f"{text}.y", *operands))


def _evaluated(word: Any) -> Tensor:
    return evaluate(word) if isinstance(word, Expression) else word


def _u32(x: Any) -> Any:
    return cast(x, u32)
