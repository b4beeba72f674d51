"""The value of an animated parameter at a moment of simulated time.

Simulated and not wall time: a paused picture stands still, a faster run moves faster, a reset begins again, a frame
that is stepped back to looks as it did, and a run without a window gives the same pictures.
"""

from __future__ import annotations

import math

from ..params import ParamSpec
from ..scene import Animation

_MASK = (1 << 64) - 1


def value_at(animation: Animation, spec: ParamSpec, time: float, log: bool) -> float | int:
    """What the parameter is after `time` seconds; with `log`, equal times are equal factors."""
    low, high = animation.range
    share = _SHAPES[animation.shape](time * animation.rate, animation.seed)
    value = low * (high / low) ** share if log and low > 0.0 else low + share * (high - low)
    value = min(max(value, low), high)  # against rounding: beyond a limit it would be refused
    return round(value) if spec.kind == "integer" else value


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
