"""64-bit integers along axes, as pairs of words: sums, products, extremes, and their order.

Each function takes words that are expressions, and records several kernels. Sums and products wrap at 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor, u32
from . import functions as f
from . import reduce, reductions
from .concat import concatenate
from .creation import full, ones, zeros
from .elementwise import cast, evaluate
from .expression import Expression
from .sorting import argsort
from .sorting_doubles import order_of_words
from .views import flip
from .words import Words, add, equal, fmod, multiply, ordered, sign, truncate_divide, widened

MOST_ADDED = (1 << 16) + 1  # digits of 16 bits whose sum fits 32


def total(added: Callable[[Tensor], Tensor], a: Words) -> Words:
    """Sums of a, where `added` gives those of u32 numbers, each of at most `MOST_ADDED`; expressions.

    Digits of 16 bits are added up, and then the sums of each digit.
    """
    digits = [f.bitwise_and(f.right_shift(word, shift), 0xFFFF) for word in a for shift in (0, 16)]
    zeroth, first, second, third = (Expression.of(added(_evaluated(digit))) for digit in digits)
    upper = f.add(f.right_shift(first, 16), f.add(second, f.left_shift(third, 16)))
    return add(Words(zeroth, f.bitwise_and(zeroth, 0)), Words(f.left_shift(first, 16), upper))


def mean(added: Callable[[Tensor], Tensor], a: Words, count: int, signed: bool) -> Words:
    """As `total`, means of `count` numbers, rounded towards 0; no sum wraps.

    With x = q n + r, the mean of n numbers is Σq + Σr / n, whose parts may have different signs.
    """
    n = widened(Expression.of(full((), count, u32)))
    quotients, rests = (part.evaluated().expressions() for part in (truncate_divide(a, n, signed), fmod(a, n, signed)))
    rest = total(added, rests).evaluated().expressions()
    found = add(total(added, quotients), truncate_divide(rest, n, signed)).evaluated().expressions()
    if not signed:
        return found
    fraction = sign(fmod(rest, n, signed), signed)
    step = f.where(f.less(f.multiply(sign(found, signed), fraction), 0), fraction, 0)
    return add(found, widened(step))


def extreme(a: Words, signed: bool, largest: bool, axes: tuple[int, ...]) -> Words:
    """The largest or the smallest along `axes`, which remain, with one element; tensors."""
    find, other = (reduce.max, 0) if largest else (reduce.min, 0xFFFFFFFF)
    upper = _evaluated(ordered(a, signed).high)
    best = find(upper, axes, keepdims=True)
    lower = f.where(f.equal(Expression.of(upper), best), a.low, other)
    return ordered(Words(find(_evaluated(lower), axes, keepdims=True), best), signed).evaluated()


def arg_extreme(a: Words, signed: bool, largest: bool, last: bool, axis: int) -> Tensor:
    """The index of the largest or the smallest along `axis`, which remains; the first one, or the `last`; i32."""
    best = extreme(a, signed, largest, (axis,)).expressions()
    found = _evaluated(cast(equal(a, best, signed), u32))
    return (reductions.last_argmax if last else reduce.argmax)(found, axis, keepdims=True)


def order(a: Words, signed: bool, axis: int, *, descending: bool = False) -> Tensor:
    """Indices along `axis` of the integers in order, i32; equal ones remain as they are."""
    return order_of_words(*ordered(a, signed).evaluated(), axis, descending, argsort)


def product(a: Words, axes: tuple[int, ...]) -> Words:
    """Products along `axes`, which remain, with one element; tensors. Halves are multiplied until one is left."""
    found = a.evaluated()
    for axis in axes:
        if not found.shape[axis]:
            found = _ones(found, axis)
        while (count := found.shape[axis]) > 1:
            half = count // 2
            halves = (_part(found, axis, start, start + half).expressions() for start in (0, half))
            found = _concatenated(multiply(*halves), _part(found, axis, 2 * half, count), axis)
    return found


def running_product(a: Words, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Words:
    """Products up to each element along `axis`, or before it if `exclusive`, from the end if `reverse`; tensors."""
    count, found = a.shape[axis], a.evaluated()
    found = Words(*(flip(word, axis) for word in found)) if reverse else found
    if exclusive and count:
        found = _concatenated(_ones(found, axis), _part(found, axis, 0, count - 1), axis)
    distance = 1
    while distance < count:
        before, after = _part(found, axis, 0, count - distance), _part(found, axis, distance, count)
        products = multiply(before.expressions(), after.expressions())
        found = _concatenated(_part(found, axis, 0, distance), products, axis)
        distance *= 2
    return Words(*(flip(word, axis) for word in found)) if reverse else found


def _part(a: Words, axis: int, start: int, stop: int) -> Words:
    at = (*[slice(None)] * axis, slice(start, stop))
    return Words(*(word[at] for word in a))


def _concatenated(first: Words, second: Words, axis: int) -> Words:
    """One after the other along `axis`, tensors; those without elements are left out."""
    parts = [part.evaluated() for part in (first, second) if part.shape[axis]]
    return parts[0] if len(parts) == 1 else Words(*(concatenate(both, axis) for both in zip(*parts, strict=True)))


def _ones(a: Words, axis: int) -> Words:
    """Ones, with one element along `axis`."""
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    return Words(ones(shape, u32), zeros(shape, u32))


def _evaluated(word: Any) -> Tensor:
    return evaluate(word) if isinstance(word, Expression) else word
