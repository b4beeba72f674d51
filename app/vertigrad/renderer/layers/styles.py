"""Declarations that several layers share: parameters of their styles, and the attributes position and color."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...params import Params, choice, interval, number, switch
from ..colormap import COLORMAPS
from .base import AttributeSpec, Constant

Range = tuple[float, float] | Literal["auto", "symmetric"]
SYMMETRIC = "symmetric"  # about zero

BLUE_GRAY, WARM_GRAY = (0.72, 0.76, 0.82), (0.72, 0.70, 0.67)
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


def color_range(
    doc: str = "values at the two ends of the colormap; auto: minimum and maximum; symmetric: about 0",
) -> Any:
    """A `Range`: that of the colormap."""
    return interval("auto", words=("auto", SYMMETRIC), doc=doc)


def roughness(default: float, doc: str = "0.05: polished, 1: matte") -> Any:
    """Of a lit surface."""
    return number(default, min=0.05, max=1.0, doc=doc)


def brightness(default: float = 1.0, doc: str = "factor of the color") -> Any:
    """A factor."""
    return number(default, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc=doc)


def length(default: float, slider_min: float, slider_max: float, doc: str, min: float = 1e-12) -> Any:
    """A length of any order of magnitude."""
    return number(default, min=min, max=1e12, slider_min=slider_min, slider_max=slider_max, scale="log", doc=doc)


COLORMAP_FLIP: Any = switch(False, doc="reverse the colormap")
METALLIC: Any = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
EMISSIVE: Any = number(0.0, min=0.0, max=1.0, doc="0: lit by sun and sky, 1: emits light")
CASTS_SHADOW: Any = switch(True, doc="draw it into shadow maps; path tracing does not use them")
NONE, VIEW = "none", "view"
_TONE_MAPS = (NONE, "film", "agx", "neutral")
_OWN = "none: colors as they are; film, agx, neutral: they are light, mapped so with the view's exposure, without bloom"
TONE_MAP: Any = choice(
    NONE, (*_TONE_MAPS, VIEW), doc=f"{_OWN}; view: light, with exposure, tone map and bloom of the view"
)
OWN_TONE_MAP: Any = choice(NONE, _TONE_MAPS, doc=_OWN)


class LitStyle(Params):
    """A color and the material of lit surfaces."""

    colormap: str = colormap("batlow")
    colormap_flip: bool = COLORMAP_FLIP
    range: Range = color_range()
    metallic: float = METALLIC
    roughness: float = roughness(0.5)
    casts_shadow: bool = CASTS_SHADOW


def ends(range: Range) -> tuple[float, float]:
    """The two ends of a range for a shader, which ignores them if the GPU finds them."""
    return (0.0, 1.0) if isinstance(range, str) else (float(range[0]), float(range[1]))


def ends_among(range: Range, values: np.ndarray) -> tuple[float, float]:
    """The two ends of a range for these values, as the shaders find them; NaN and infinities do not count."""
    if not isinstance(range, str):
        return float(range[0]), float(range[1])
    finite = values[np.isfinite(values)]
    if range == SYMMETRIC:
        largest = float(np.abs(finite).max()) if finite.size else 1.0
        return -largest, largest
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
