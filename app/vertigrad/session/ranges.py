"""Where a parameter's slider ends, and random values between those ends."""

from __future__ import annotations

import colorsys
import random
from typing import Any

from ..params import ParamSpec
from ..scene import UiHint
from .parameters import Key

_DIGITS = 4  # of a random number: no more can be read, none more are needed


def slider_range(spec: ParamSpec, hint: UiHint | None) -> tuple[float, float] | None:
    """Where the slider ends: the scene's hint before the soft limits before the hard ones; None if one is missing."""
    low = _first(hint.min if hint else None, spec.slider_min, spec.min)
    high = _first(hint.max if hint else None, spec.slider_max, spec.max)
    return None if low is None or high is None or low >= high else (low, high)


def is_log(spec: ParamSpec, hint: UiHint | None) -> bool:
    """Whether equal ways along the slider are equal factors."""
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


def _number(chance: random.Random, spec: ParamSpec, hint: UiHint | None) -> float:
    ends = slider_range(spec, hint)
    assert ends is not None, f"{spec.name} has no range"
    low, high = ends
    share = chance.random()
    value = low * (high / low) ** share if is_log(spec, hint) and low > 0.0 else low + share * (high - low)
    return min(max(float(f"{value:.{_DIGITS}g}"), float(low)), float(high))


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
