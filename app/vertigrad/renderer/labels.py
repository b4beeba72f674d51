"""Labels at points of the world, parsed from a text such as "summit 0 1.2 0; lake 0.5 0 0.2"."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple


class Label(NamedTuple):
    """A text and its position in world space."""

    words: str
    position: tuple[float, float, float]


@lru_cache(maxsize=64)
def labels(text: str) -> tuple[Label, ...]:
    """Parse the labels of a text. Raises `ValueError` for a part that is not a name and three coordinates."""
    return tuple(_label(part) for part in text.split(";") if part.strip())


def _label(part: str) -> Label:
    words = part.split()
    try:
        x, y, z = (float(number) for number in words[-3:])
    except ValueError:
        x = y = z = math.nan
    if len(words) < 4 or not all(map(math.isfinite, (x, y, z))):
        raise ValueError(f'"{part.strip()}" is not a name with its x, y and z; write "summit 0 1.2 0; lake 0.5 0 0.2"')
    return Label(" ".join(words[:-3]), (x, y, z))
