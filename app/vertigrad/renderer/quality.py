"""`Level`: the rendering quality of an image. The view has what is drawn, the level what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

AUTO = "auto"  # no level of its own: in a window it depends on the frame time, in a file it is "high"


class Level(NamedTuple):
    """What each part of an image may cost. Those of "high" are what the shaders were made for."""

    name: str
    scale: float  # pixels drawn to each one shown, along each side
    sun_maps: int  # the shadow maps that are drawn: the largest of three, or all
    sun_texels: float  # across each of them, to a row of pixels that is drawn
    sun_taps: int  # samples of it for each fragment
    sky_planes: int  # planes in which ambient occlusion is searched for; 0: none
    sky_steps: int  # and samples to either side in each
    opacity_texels: int  # along each side of the map of what volumes let through
    march: float  # factor of the number of steps through a volume

    @property
    def fine(self) -> int:
        """Whole pixels drawn for each one shown, along each side."""
        return max(1, round(self.scale))

    def supersampled(self, times: int) -> Level:
        """The same with `factor` times the pixels along each side, which are averaged."""
        return self if times == 1 else self._replace(scale=float(times))


LOW = Level("low", 0.5, 2, 1.4, 4, 0, 0, 96, 0.5)
MEDIUM = Level("medium", 0.75, 3, 1.4, 12, 2, 3, 160, 0.75)
HIGH = Level("high", 1.0, 3, 1.4, 16, 3, 4, 192, 1.0)
ULTRA = Level("ultra", 1.0, 3, 2.8, 32, 6, 6, 384, 2.0)

LEVELS: Mapping[str, Level] = MappingProxyType({level.name: level for level in (LOW, MEDIUM, HIGH, ULTRA)})
CHOSEN = (LOW, MEDIUM, HIGH)  # between which "auto" chooses, the cheapest first
NAMES = (AUTO, *LEVELS)


def level_of(quality: str) -> Level:
    """The level of that name; of "auto" the one that files get."""
    return LEVELS.get(quality, HIGH)


def drawn_size(size: tuple[int, int], level: Level) -> tuple[int, int]:
    """The number of pixels that are drawn of an image that is shown with `size`; at least one."""
    width, height = size
    if level.scale == 1.0:
        return max(1, width), max(1, height)
    return max(1, round(width * level.scale)), max(1, round(height * level.scale))
