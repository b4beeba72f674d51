"""The value of an animated parameter at a moment of simulated time.

Simulated and not wall time: a paused run stands still, a faster run moves faster, a reset begins again, a frame
that is stepped back to looks as it did, and a run without a window gives the same images.
"""

from __future__ import annotations

import math
from typing import Any

from ..params import ParamSpec
from ..scene import Animation

_MASK = (1 << 64) - 1


def value_at(animation: Animation, spec: ParamSpec, time: float, log: bool) -> Any:
    """What the parameter is after `time` seconds; with `log`, equal times are equal factors.

    The components of a vector or a color go between their own ends, together, but for noise: each has its own.
    """
    low, high = animation.range
    rounds, seed, shape = time * animation.frequency, animation.seed, _SHAPES[animation.shape]
    if isinstance(low, tuple):
        return tuple(
            _between(a, b, shape(rounds, seed + i), False) for i, (a, b) in enumerate(zip(low, high, strict=True))
        )
    value = _between(low, high, shape(rounds, seed), log)
    return round(value) if spec.kind == "integer" else value


def _between(low: float, high: float, share: float, log: bool) -> float:
    value = low * (high / low) ** share if log and low > 0.0 else low + share * (high - low)
    return min(max(value, min(low, high)), max(low, high))  # against rounding: beyond a limit it would be refused


def _sine(rounds: float, seed: int) -> float:
    return 0.5 - 0.5 * math.cos(math.tau * rounds)


def _ramp(rounds: float, seed: int) -> float:
    return rounds - math.floor(rounds)


def _noise(rounds: float, seed: int) -> float:
    """A random number at each whole round, and between them a polynomial without kinks (6t⁵ − 15t⁴ + 10t³)."""
    first = math.floor(rounds)
    t = rounds - first
    before, after = _random(first, seed), _random(first + 1, seed)
    return before + (after - before) * t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def _random(place: int, seed: int) -> float:
    """From 0 to 1, always the same for a place and a seed: the mixing steps of SplitMix64 (Steele et al. 2014)."""
    bits = (seed * 0x9E3779B97F4A7C15 + place * 0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((bits ^ (bits >> 31)) >> 11) / (1 << 53)


_SHAPES = {"sine": _sine, "ramp": _ramp, "noise": _noise}
