"""Where a parameter's slider ends, and values between two ends: random ones, and those of an animation.

An animation goes by simulated and not wall time: a paused run pauses it, a faster run moves faster, a reset restarts
it, a frame after rewinding is the same as before, and a run without a window gives the same images.
"""

from __future__ import annotations

import colorsys
import math
import random
from typing import Any

from ..params import ParamSpec
from ..scene import Animation, UiHint
from .parameters import Key

_DIGITS = 4  # of a random number: no more can be read, none more are needed
_MASK = (1 << 64) - 1


def slider_range(spec: ParamSpec, hint: UiHint | None) -> tuple[float, float] | None:
    """Where the slider ends: the scene's hint before the soft limits before the hard ones; None if one is missing."""
    low = _first(hint.min if hint else None, spec.slider_min, spec.min)
    high = _first(hint.max if hint else None, spec.slider_max, spec.max)
    return None if low is None or high is None or low >= high else (low, high)


def limited(spec: ParamSpec, value: float) -> float:
    """A number in six digits, within the limits of a parameter."""
    value = float(f"{value:.6g}")
    value = value if spec.min is None else max(value, spec.min)
    return value if spec.max is None else min(value, spec.max)


def is_log(spec: ParamSpec, hint: UiHint | None) -> bool:
    """Whether equal distances along the slider are equal factors."""
    return ((hint.scale if hint else None) or spec.scale) == "log"


def can_be_random(spec: ParamSpec, hint: UiHint | None) -> bool:
    """Whether there is a range, or a list, to choose from."""
    return spec.kind in ("switch", "choice", "color") or (
        spec.kind not in ("text", "file") and slider_range(spec, hint) is not None
    )


def random_value(key: Key, spec: ParamSpec, hint: UiHint | None, seed: int) -> Any:
    """A value within the slider's range: always the same for a parameter and a seed, whatever else is randomized."""
    chance = random.Random(f"{seed} {key.owner} {key.name}")
    match spec.kind:
        case "switch":
            return chance.random() < 0.5
        case "choice":
            return chance.choice(spec.choices)
        case "color":
            shade = colorsys.hsv_to_rgb(chance.random(), chance.uniform(0.2, 0.9), chance.uniform(0.2, 1.0))
            return tuple(round(part * 255) / 255 for part in shade)
        case "integer":
            return round(_number(chance, spec, hint))
        case "vector":
            return tuple(_number(chance, spec, hint) for _ in range(spec.length))
        case "interval":
            low, high = sorted(_number(chance, spec, hint) for _ in range(2))
            return (low, high) if low < high else slider_range(spec, hint)
    return _number(chance, spec, hint)


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


def _number(chance: random.Random, spec: ParamSpec, hint: UiHint | None) -> float:
    ends = slider_range(spec, hint)
    assert ends is not None, f"{spec.name} has no range"
    low, high = ends
    value = _between(low, high, chance.random(), is_log(spec, hint))
    return min(max(float(f"{value:.{_DIGITS}g}"), float(low)), float(high))


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _between(low: float, high: float, fraction: float, log: bool) -> float:
    value = low * (high / low) ** fraction if log and low > 0.0 else low + fraction * (high - low)
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


def _random(index: int, seed: int) -> float:
    """From 0 to 1, always the same for an index and a seed: the mixing steps of SplitMix64 (Steele et al. 2014)."""
    bits = (seed * 0x9E3779B97F4A7C15 + index * 0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((bits ^ (bits >> 31)) >> 11) / (1 << 53)


_SHAPES = {"sine": _sine, "ramp": _ramp, "noise": _noise}
