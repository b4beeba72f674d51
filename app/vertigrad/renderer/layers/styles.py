"""What several layers declare alike: parameters of their styles, and the attributes position and color."""

from __future__ import annotations

from typing import Any, Literal

from ...params import choice, interval, number, switch, vector
from ..colormap import COLORMAPS
from .base import AttributeSpec, Constant

Range = tuple[float, float] | Literal["auto"]
Corner = tuple[float, ...] | Literal["auto"]

BLUE_GRAY, WARM_GRAY = (0.72, 0.76, 0.82), (0.72, 0.70, 0.67)
HEIGHT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}  # the axis of contour lines of the height
POSITION = AttributeSpec(True, (3,), None, "x, y, z in world space")


def color_attribute(default: Constant) -> AttributeSpec:
    """The color of each row."""
    return AttributeSpec(False, (1, 3, 4), default, "a scalar for the colormap, or sRGB, or sRGB and alpha")


def field_color(default: Constant) -> AttributeSpec:
    """The color of a grid of samples."""
    return AttributeSpec(False, (1, 3), default, "a scalar for the colormap, or sRGB, on the same or another grid")


def colormap(default: str, doc: str = "colors of a scalar color") -> Any:
    """The name of a colormap."""
    return choice(default, COLORMAPS, doc=doc)


def colormap_flip() -> Any:
    """Whether it is reversed."""
    return switch(False, doc="reverse the colormap")


def color_range(doc: str = "values at the two ends of the colormap; auto: minimum and maximum") -> Any:
    """A `Range`: that of the colormap."""
    return interval("auto", words=("auto",), doc=doc)


def metallic() -> Any:
    """Of a lit surface."""
    return number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")


def roughness(default: float, doc: str = "0.05: polished, 1: matte") -> Any:
    """Of a lit surface."""
    return number(default, min=0.05, max=1.0, doc=doc)


def emissive() -> Any:
    """How much of the color is emitted."""
    return number(0.0, min=0.0, max=1.0, doc="0: lit by sun and sky, 1: emits light")


def brightness(default: float = 1.0, doc: str = "factor of the color") -> Any:
    """A factor."""
    return number(default, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc=doc)


def tone_mapped() -> Any:
    """Whether colors are light instead of display-referred."""
    return switch(False, doc="apply exposure, tone mapping and bloom")


def contours() -> Any:
    """The interval between contour lines."""
    doc = "interval between contour lines of a scalar color, else of the height; 0: none"
    return number(0.0, min=0.0, slider_max=1.0, doc=doc)


def contour_axis() -> Any:
    """A key of `HEIGHT`."""
    return choice("y", tuple(HEIGHT), doc="axis along which height is measured for contour lines")


def contour_strength() -> Any:
    """How dark contour lines are."""
    return number(0.45, min=0.0, max=1.0, doc="opacity of contour lines")


def contour_width() -> Any:
    """How wide contour lines are."""
    return number(1.2, min=0.5, max=8.0, unit="pixels", doc="width of contour lines")


def box_low() -> Any:
    """A `Corner`: that of the box of a grid."""
    doc = "low corner of the box in world space; auto: cubic cells around the origin"
    return vector("auto", words=("auto",), doc=doc)


def box_high() -> Any:
    """A `Corner`: the opposite one."""
    return vector("auto", words=("auto",), doc="high corner of the box")


def box_samples(default: str) -> Any:
    """Where the samples of a grid are in its box."""
    doc = "cells: samples are at cell centers; nodes: the outer samples are on the faces of the box"
    return choice(default, ("cells", "nodes"), doc=doc)


def ends(range: Range) -> tuple[float, float]:
    """The two ends of a range for a shader, which does not use them where they are "auto"."""
    return (0.0, 1.0) if range == "auto" else (float(range[0]), float(range[1]))
