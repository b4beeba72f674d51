"""`Overlay`: layout, size and color of color bars, texts and the scale bar in the viewport."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...params import Params, text
from ...params.color_space import linear
from ..camera import OrbitCamera
from ..labels import labels
from ..layers.base import Layer
from ..layers.styles import Range, ends
from ..view import UNIT_HEIGHT, View
from .font import Font

MOST_BARS = 4  # of `Overlay` in shaders/common/overlay.wgsl
OVERLAY = struct.Struct("<4f4f4f4f4f4f4f4f")
BAR = struct.Struct("<8f")
OVERLAY_SIZE = OVERLAY.size + MOST_BARS * BAR.size
MARGIN = 22.0  # to the edges of the viewport; all in units
BAR_WIDTH, BAR_LEAST, BAR_MOST = 12.0, 90.0, 300.0
BAR_FRACTION = 0.34  # of the height of the viewport
USUAL_SIZE, MOST_COVERED = (320, 240), 0.25  # in smaller viewports, the fraction that bars may cover
NUMBERS = 3.4  # width of the numbers next to a bar, in ems
SCALE_MOST = 180.0  # length of the scale bar
INK, DARK_INK = (0.93, 0.94, 0.96, 1.0), (0.10, 0.11, 0.13, 1.0)
HALO, LIGHT_HALO = (0.03, 0.04, 0.06, 0.55), (1.0, 1.0, 1.0, 0.6)
PLATE = 0.6  # opacity of the plate behind a bar
LIGHT, DARK = 0.8, 0.02  # of lines in the scene, as light before exposure
AXIS_NAMES = ("x", "y", "z")
AXIS, UNIT, POINT = 1.0, 2.0, 3.0  # kinds of text; mirrored by shaders/draw/axes.wgsl


class ColorBar(Params):
    """The color bar of a layer whose color is a scalar."""

    title: str = text("", doc="title above the color bar; empty: the name of the layer")
    unit: str = text("", doc="unit of the numbers")

    def heading(self, layer: str) -> str:
        """The title above the color bar."""
        title = self.title or layer.replace("_", " ")
        return f"{title} [{self.unit}]" if self.unit else title


@dataclass(frozen=True)
class Text:
    """A text, its kind, and its position: pixels of its first glyph, a point in the world, or an axis (fourth)."""

    words: str
    kind: float
    position: tuple[float, float, float, float]


def unit_of(size: tuple[int, int]) -> float:
    """Pixels to a unit in an image of this size."""
    return max(size[1] / UNIT_HEIGHT, 1.0)


def em_size(view: View, size: tuple[int, int]) -> int:
    """Font size in pixels."""
    return max(round(view.text_size * unit_of(size)), 5)


def layers_with_bar(layers: Sequence[Layer], view: View) -> list[Layer]:
    """The layers that have a color bar, at most `MOST_BARS`."""
    if view.color_bars == "none":
        return []
    chosen = [layer for layer in layers if layer.colorbar is not None or view.color_bars == "all"]
    return [layer for layer in chosen if "extent" in layer.attributes.tensors][:MOST_BARS]


def headings(bars: Sequence[Layer]) -> list[str]:
    """The title of each bar."""
    return [(layer.colorbar or ColorBar()).heading(layer.name) for layer in bars]


class BarLayout(NamedTuple):
    """Position and size of a color bar in pixels; `total_width` includes title and numbers."""

    left: float
    top: float
    width: float
    height: float
    total_width: float


def bar_layouts(size: tuple[int, int], titles: Sequence[str], font: Font) -> list[BarLayout]:
    """The layout of each color bar: side by side in the lower right, the first leftmost."""
    unit, (width, height) = unit_of(size), size
    tall = round(min(max(BAR_FRACTION * height, BAR_LEAST * unit), BAR_MOST * unit, 0.8 * height))
    thick, right = round(BAR_WIDTH * unit), width - MARGIN * unit
    layouts = []
    for title in reversed(titles):
        total = round(max(thick + 8.0 * unit + NUMBERS * font.size, font.width(title)))
        left = round(right - total)
        layouts.append(BarLayout(left, round(height - MARGIN * unit - tall), thick, tall, total))
        right = left - 1.6 * font.size
    return layouts[::-1]


def fitting_bars(bars: Sequence[Layer], size: tuple[int, int], font: Font) -> list[Layer]:
    """All bars; in a viewport smaller than `USUAL_SIZE`, the first that cover at most `MOST_COVERED` of it."""
    shown = list(bars)
    if size[0] < USUAL_SIZE[0] or size[1] < USUAL_SIZE[1]:
        while shown and _covered(bar_layouts(size, headings(shown), font), size, font) > MOST_COVERED:
            shown.pop()
    return shown


def _covered(layouts: Sequence[BarLayout], size: tuple[int, int], font: Font) -> float:
    """The covered fraction: from the upper left of the bars with their titles to the image's lower right corner."""
    width, height = size
    wide = width - min(layout.left for layout in layouts)
    tall = height - min(layout.top for layout in layouts) + 1.05 * font.size
    return wide * tall / (width * height)


def texts(view: View, size: tuple[int, int], titles: Sequence[str], font: Font) -> list[Text]:
    """All texts except numbers."""
    layouts = bar_layouts(size, titles, font)
    found = [
        Text(title, 0.0, (layout.left, layout.top - 1.05 * font.size, 0.0, 0.0))
        for title, layout in zip(titles, layouts, strict=True)
    ]
    if view.scale_bar and view.unit:
        found.append(Text(f" {view.unit}", UNIT, (0.0, 0.0, 0.0, 0.0)))
    found += [Text(words, POINT, (*position, 0.0)) for words, position in labels(view.labels)]
    if view.axes:
        found += [Text(name, AXIS, (0.0, 0.0, 0.0, float(axis))) for axis, name in enumerate(axis_names(view))]
    return found


def axis_names(view: View) -> list[str]:
    """The titles of the three axes; the unit is appended to each that has none."""
    own_names = [name.strip() for name in view.axis_names.split(",")] if view.axis_names else []
    names = [*own_names, *AXIS_NAMES[len(own_names) :]][:3]
    return [f"{name} [{view.unit}]" if view.unit and name and "[" not in name else name for name in names]


def glyph_instances(written: Sequence[Text], font: Font) -> np.ndarray:
    """Instances of `GlyphInstance` in shaders/draw/axes.wgsl, f32 (n, 8)."""
    rows = []
    for one in written:
        width, pens = font.width(one.words), font.pens(one.words)
        for letter, pen in zip(one.words, pens, strict=True):
            if not letter.isspace():
                rows.append((font.row(letter), round(pen), width, one.kind, *one.position))
    return np.array(rows, np.float32).reshape(-1, 8)


def overlay_uniform(
    view: View, camera: OrbitCamera, size: tuple[int, int], bars: Sequence[tuple[BarLayout, Range]], font: Font
) -> bytes:
    """The bytes of `Overlay` in shaders/common/overlay.wgsl; `bars` are the layout and the range of each."""
    unit, (width, height) = unit_of(size), size
    light_background = _is_light(view)
    own_low, own_high = view.axes_low != "auto", view.axes_high != "auto"
    unit_width = font.width(f" {view.unit}") if view.unit else 0.0
    overlay = OVERLAY.pack(
        *(width, height, unit, font.size),
        *(DARK_INK if light_background else INK),
        *(LIGHT_HALO if light_background else HALO),
        *view.background,
        PLATE,
        *(view.axes_low if own_low else (0.0, 0.0, 0.0)),
        float(own_low),
        *(view.axes_high if own_high else (0.0, 0.0, 0.0)),
        float(own_high),
        *(round(MARGIN * unit), round(height - MARGIN * unit), SCALE_MOST * unit, unit_width),
        *(camera.distance, view.floor_height, float(view.floor == "height")),
        line_light(view),
    )
    packed = [
        BAR.pack(*layout[:4], *ends(range_), float(isinstance(range_, str)), layout.total_width)
        for layout, range_ in bars
    ]
    return (overlay + b"".join(packed)).ljust(OVERLAY_SIZE, b"\0")


def line_light(view: View) -> float:
    """The light of lines in the scene, before exposure."""
    return (DARK if _is_light(view) else LIGHT) / view.exposure


def _is_light(view: View) -> bool:
    red, green, blue = linear(view.background)[:3]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.25
