"""Windows that slide over the spatial axes of a tensor (N, C, ...): what convolution and pooling have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import ShapeError

Sizes: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | str | Sequence[int] | Sequence[tuple[int, int]]

MOST_AXES = 3


class Window(NamedTuple):
    """One entry for each spatial axis; `begin` and `end` are the padding."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]

    @staticmethod
    def of(
        name: str, spatial: Sequence[int], size: Sequence[int], stride: Sizes, padding: Padding, dilation: Sizes
    ) -> Window:
        """The window over axes of the sizes `spatial`.

        `padding` is a number, one for each axis, a pair (begin, end) for each, "valid" (none), or "same_upper" and
        "same_lower": as much as makes ceil(size / stride) results, an odd one at the end or at the beginning. Raises
        `ShapeError`, naming the operation `name`.
        """
        rank = len(spatial)
        if not 1 <= rank <= MOST_AXES:
            raise ShapeError(f"{name}: {rank} spatial axes; one to {MOST_AXES} can be worked on")
        if len(size) != rank or any(n < 1 for n in size):
            raise ShapeError(f"{name}: a window of {tuple(size)} does not slide over axes of {tuple(spatial)}")
        steps, spread = per_axis(name, "stride", stride, rank), per_axis(name, "dilation", dilation, rank)
        if isinstance(padding, str):
            begin, end = _same(name, padding, spatial, size, steps, spread)
        else:
            sides = pairs(name, padding, rank)
            begin, end = tuple(p[0] for p in sides), tuple(p[1] for p in sides)
        return Window(tuple(size), steps, spread, begin, end)

    @property
    def extent(self) -> tuple[int, ...]:
        """Elements from the first to the last one that a window sees."""
        return tuple((n - 1) * d + 1 for n, d in zip(self.size, self.dilation, strict=True))

    def output_shape(self, spatial: Sequence[int], ceil: bool = False) -> tuple[int, ...]:
        """The number of windows along each axis. With `ceil` the last one may reach beyond the padding, but not begin
        there.
        """
        counts = []
        for n, reach, step, begin, end in zip(spatial, self.extent, self.stride, self.begin, self.end, strict=True):
            room = n + begin + end - reach
            count = (-(-room // step) if ceil else room // step) + 1
            if ceil and (count - 1) * step >= n + begin:
                count -= 1
            counts.append(max(count, 0))
        return tuple(counts)


def per_axis(name: str, what: str, value: Sizes, rank: int, least: int = 1) -> tuple[int, ...]:
    """`value` for each of `rank` axes. Raises `ShapeError` if it is too small or there are not as many."""
    values = (value,) * rank if isinstance(value, int | np.integer) else tuple(value)
    if len(values) != rank or any(v < least for v in values):
        raise ShapeError(f"{name}: {what} {value} must be {rank} integers of at least {least}, or one for all")
    return tuple(map(int, values))


def pairs(name: str, padding: Any, rank: int) -> list[tuple[int, int]]:
    """(begin, end) for each of `rank` axes, of a number or a pair for each, or one for all. Raises `ShapeError`."""
    each = [padding] * rank if isinstance(padding, int | np.integer) else list(padding)
    found = [(p, p) if isinstance(p, int | np.integer) else tuple(p) for p in each]
    if len(found) != rank or any(len(p) != 2 for p in found):
        raise ShapeError(f"{name}: padding {padding} must have a number or a pair for each of {rank} axes")
    return [(int(begin), int(end)) for begin, end in found]


def _same(
    name: str, rule: str, spatial: Sequence[int], size: Sequence[int], steps: Sequence[int], spread: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    if rule not in ("valid", "same_upper", "same_lower"):
        raise ShapeError(f'{name}: padding {rule!r}; it is "valid", "same_upper", "same_lower" or numbers')
    totals = [
        0 if rule == "valid" else max((-(-n // step) - 1) * step + (k - 1) * d + 1 - n, 0)
        for n, k, step, d in zip(spatial, size, steps, spread, strict=True)
    ]
    less = tuple(total // 2 for total in totals)
    more = tuple(total - total // 2 for total in totals)
    return (more, less) if rule == "same_lower" else (less, more)
