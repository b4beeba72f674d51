"""Schedules: the learning rate of each step, as a factor of the one that is set."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from ..errors import ParameterError

Schedule: TypeAlias = Callable[[int], float]  # of the number of the step, from 0


def constant() -> Schedule:
    """1 throughout."""
    return lambda step: 1.0


def exponential(half: int) -> Schedule:
    """Exponential decay, which halves the learning rate every `half` steps."""
    _require_steps("half", half)
    return lambda step: 0.5 ** (step / half)


def cosine(steps: int, last: float = 0.0) -> Schedule:
    """Cosine decay from 1 to `last` over so many steps, then `last` (Loshchilov & Hutter 2017, SGDR, eq. 5)."""
    _require_steps("steps", steps)
    return lambda step: last + (1.0 - last) * 0.5 * (1.0 + math.cos(math.pi * min(step / steps, 1.0)))


def warm_up(steps: int, then: Schedule) -> Schedule:
    """Rise linearly to the first value of the schedule `then` over so many steps, then follow it."""
    _require_steps("steps", steps)
    return lambda step: (step + 1) / steps * then(0) if step < steps else then(step - steps)


def _require_steps(name: str, steps: int) -> None:
    if steps < 1:
        raise ParameterError(f"{name} is {steps}; a schedule takes 1 step or more")
