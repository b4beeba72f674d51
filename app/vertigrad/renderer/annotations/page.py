"""`Page`: where on a picture color bars, texts and the scale bar stand, in what size and what color."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ...params import Params, text
from ...params.color_space import linear
from ..camera import OrbitCamera
from ..labels import labels
from ..layers.base import Layer
from ..view import View
from .font import Font

UNIT_HEIGHT = 800.0  # pixels of a picture in which lines are one unit wide; they grow with larger ones
MOST_BARS = 4  # of `Page` in shaders/common/page.wgsl
PAGE = struct.Struct("<4f4f4f4f4f4f4f4f")
BAR = struct.Struct("<8f")
PAGE_SIZE = PAGE.size + MOST_BARS * BAR.size
MARGIN = 22.0  # to the edges of the picture; all in units
BAR_WIDTH, BAR_SHARE, BAR_LEAST, BAR_MOST = 12.0, 0.34, 90.0, 300.0  # the share is one of the picture's height
USUAL_SIZE, MOST_COVERED = (320, 240), 0.25  # in smaller pictures, the share that bars may hide
NUMBERS = 3.4  # room for the numbers beside a bar, in ems
SCALE_MOST = 180.0  # length of the scale bar
INK, DARK_INK = (0.93, 0.94, 0.96, 1.0), (0.10, 0.11, 0.13, 1.0)
HALO, LIGHT_HALO = (0.03, 0.04, 0.06, 0.55), (1.0, 1.0, 1.0, 0.6)
PLATE = 0.6  # how much of a picture the plate behind a bar hides
LIGHT, DARK = 0.8, 0.02  # of lines in the scene, as light before exposure
AXIS_NAMES = ("x", "y", "z")
AXIS, UNIT, PLACE = 1.0, 2.0, 3.0  # kinds of text; mirrored by shaders/draw/rulers.wgsl

Range = tuple[float, float] | Literal["auto"]


class ColorBar(Params):
    """The legend of a layer whose color is a scalar."""

    title: str = text("", doc="what is measured")
    unit: str = text("", doc="of the numbers")

    def heading(self, layer: str) -> str:
        """What stands above it."""
        title = self.title or layer.replace("_", " ")
        return f"{title} [{self.unit}]" if self.unit else title


@dataclass(frozen=True)
class Text:
    """A text with its kind and its place: pixels of its first letter, a place in the world, or an axis (fourth)."""

    words: str
    kind: float
    place: tuple[float, float, float, float]


def unit_of(size: tuple[int, int]) -> float:
    """Pixels to a unit in a picture of this size."""
    return max(size[1] / UNIT_HEIGHT, 1.0)


def em_of(view: View, size: tuple[int, int]) -> int:
    """Size of letters in pixels."""
    return max(round(view.text_size * unit_of(size)), 5)


def barred(layers: Sequence[Layer], view: View) -> list[Layer]:
    """The layers that have a color bar, at most `MOST_BARS`."""
    if view.color_bars == "none":
        return []
    wanted = [layer for layer in layers if layer.colorbar is not None or view.color_bars == "all"]
    return [layer for layer in wanted if "extent" in layer.attributes.tensors][:MOST_BARS]


def headings(bars: Sequence[Layer]) -> list[str]:
    """What stands above each bar."""
    return [(layer.colorbar or ColorBar()).heading(layer.name) for layer in bars]


class BarPlace(NamedTuple):
    """Where a bar stands, in whole pixels; `block` is its width with title and numbers."""

    left: float
    top: float
    width: float
    height: float
    block: float


def bar_places(size: tuple[int, int], titles: Sequence[str], font: Font) -> list[BarPlace]:
    """Where each bar stands: side by side in the lower right, the first leftmost."""
    unit, (width, height) = unit_of(size), size
    tall = round(min(max(BAR_SHARE * height, BAR_LEAST * unit), BAR_MOST * unit, 0.8 * height))
    thick, right = round(BAR_WIDTH * unit), width - MARGIN * unit
    places = []
    for title in reversed(titles):
        block = round(max(thick + 8.0 * unit + NUMBERS * font.size, font.width(title)))
        left = round(right - block)
        places.append(BarPlace(left, round(height - MARGIN * unit - tall), thick, tall, block))
        right = left - 1.6 * font.size
    return places[::-1]


def fitting(bars: Sequence[Layer], size: tuple[int, int], font: Font) -> list[Layer]:
    """As many bars, the first ones, as leave a picture smaller than `USUAL_SIZE` to be seen; in larger ones all."""
    shown = list(bars)
    if size[0] < USUAL_SIZE[0] or size[1] < USUAL_SIZE[1]:
        while shown and _covered(bar_places(size, headings(shown), font), size, font) > MOST_COVERED:
            shown.pop()
    return shown


def _covered(places: Sequence[BarPlace], size: tuple[int, int], font: Font) -> float:
    """The share of a picture from the upper left of the bars with their titles to the picture's lower right corner."""
    width, height = size
    wide = width - min(place.left for place in places)
    tall = height - min(place.top for place in places) + 1.05 * font.size
    return wide * tall / (width * height)


def texts(view: View, size: tuple[int, int], titles: Sequence[str], font: Font) -> list[Text]:
    """All that is written in words."""
    places = bar_places(size, titles, font)
    found = [
        Text(title, 0.0, (place.left, place.top - 1.05 * font.size, 0.0, 0.0))
        for title, place in zip(titles, places, strict=True)
    ]
    if view.scale_bar and view.unit:
        found.append(Text(f" {view.unit}", UNIT, (0.0, 0.0, 0.0, 0.0)))
    found += [Text(words, PLACE, (*place, 0.0)) for words, place in labels(view.labels)]
    if view.axes:
        found += [Text(name, AXIS, (0.0, 0.0, 0.0, float(axis))) for axis, name in enumerate(axis_names(view))]
    return found


def axis_names(view: View) -> list[str]:
    """What the three axes are called; a unit follows each name that has none of its own."""
    given = [name.strip() for name in view.axis_names.split(",")] if view.axis_names else []
    names = [*given, *AXIS_NAMES[len(given) :]][:3]
    return [f"{name} [{view.unit}]" if view.unit and name and "[" not in name else name for name in names]


def letters(written: Sequence[Text], font: Font) -> np.ndarray:
    """Instances of `Letters` in shaders/draw/rulers.wgsl, f32 (n, 8)."""
    rows = []
    for one in written:
        width, pens = font.width(one.words), font.pens(one.words)
        for letter, pen in zip(one.words, pens, strict=True):
            if not letter.isspace():
                rows.append((font.row(letter), round(pen), width, one.kind, *one.place))
    return np.array(rows, np.float32).reshape(-1, 8)


def page_uniform(
    view: View, camera: OrbitCamera, size: tuple[int, int], bars: Sequence[tuple[BarPlace, Range]], font: Font
) -> bytes:
    """The bytes of `Page` in shaders/common/page.wgsl; `bars` are the place and the range of each."""
    unit, (width, height) = unit_of(size), size
    light_background = _is_light(view)
    own_low, own_high = view.axes_low != "auto", view.axes_high != "auto"
    room = font.width(f" {view.unit}") if view.unit else 0.0
    page = PAGE.pack(
        *(width, height, unit, font.size),
        *(DARK_INK if light_background else INK),
        *(LIGHT_HALO if light_background else HALO),
        *view.background,
        PLATE,
        *(view.axes_low if own_low else (0.0, 0.0, 0.0)),
        float(own_low),
        *(view.axes_high if own_high else (0.0, 0.0, 0.0)),
        float(own_high),
        *(round(MARGIN * unit), round(height - MARGIN * unit), SCALE_MOST * unit, room),
        *(camera.distance, view.floor_height, float(view.floor == "height")),
        (DARK if light_background else LIGHT) / view.exposure,
    )
    packed = [BAR.pack(*place[:4], *_ends(range_), float(range_ == "auto"), place.block) for place, range_ in bars]
    return (page + b"".join(packed)).ljust(PAGE_SIZE, b"\0")


def _ends(range_: Range) -> tuple[float, float]:
    return (0.0, 1.0) if range_ == "auto" else range_


def _is_light(view: View) -> bool:
    red, green, blue = linear(view.background)[:3]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.25
