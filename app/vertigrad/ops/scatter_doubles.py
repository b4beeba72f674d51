"""Updates of f64 that have one target, reduced before they are written: atomic operations are on 32 bits."""

from __future__ import annotations

from ..tensor import Tensor
from .concat import concatenate
from .elementwise import fused
from .functions import add, equal, maximum, minimum, multiply, where
from .gather import take
from .sorting import argsort

_JOINS = {"add": add, "mul": multiply, "min": minimum, "max": maximum}


def reduced_updates(reduction: str, rows: Tensor, targets: Tensor, updates: Tensor) -> tuple[Tensor, Tensor]:
    """The `targets` (n,), u32, in order, and for each what its row becomes by all updates (n, width) up to this one.

    `rows` (count, width) are what is there before. The last one of equal targets has all of its updates.
    """
    join, order = _JOINS[reduction], argsort(targets)
    target, summed = take(targets, order), take(updates, order, 0)
    step = 1
    while step < target.size:  # those 1, 2, 4, ... before, if they have the same target
        is_same = equal(target[step:], target[:-step])[:, None]
        both = fused(lambda s, a, b: where(s, join(a, b), b), is_same, summed[:-step], summed[step:])
        summed = concatenate([summed[:step], both])
        step *= 2
    return target, join(take(rows, target, 0), summed)
