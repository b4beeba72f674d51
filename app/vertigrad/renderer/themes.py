"""Themes: named sets of values of `View`, each complete for any scene."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

CUSTOM = "custom"  # no theme: a scene's own values, and the defaults

_NAMES = ("studio", "night", "paper", "blueprint")
_VALUES: Mapping[str, tuple[Any, ...]] = {  # of each theme in turn; where the sun stands is left to the scene
    "background": ("#dfe3e8", "#080d18", "#ece6d9", "#123668"),
    "exposure": (1.0, 1.15, 1.3, 1.0),
    "sun": (2.1, 2.0, 1.9, 1.6),
    "sun_color": ("#fff4e6", "#cfdcff", "#ffffff", "#ffffff"),
    "sun_angle": (7.0, 2.0, 6.0, 4.0),
    "shadows": (0.92, 0.95, 0.6, 0.7),
    "sky": (0.95, 0.9, 1.35, 0.8),
    "sky_color": ("#e2e9f4", "#445f96", "#f4f4f2", "#f2f2f2"),
    "horizon_color": ("#eef0f2", "#3d5480", "#f6f4f0", "#f0f0f0"),
    "ground_color": ("#8d8883", "#262a3a", "#c9c2b8", "#808080"),
    "occlusion": (0.9, 0.85, 0.95, 0.9),
    "occlusion_radius": (0.16, 0.2, 0.12, 0.14),
    "edges": (0.0, 0.0, 0.9, 0.9),
    "edge_color": ("#000000", "#000000", "#2e2822", "#e8f3ff"),
    "edge_width": (1.2, 1.2, 1.2, 1.0),
    "tint": (0.0, 0.0, 0.4, 0.95),
    "tint_dark": ("#000000", "#000000", "#2a231d", "#0a2550"),
    "tint_light": ("#ffffff", "#ffffff", "#fdf8ec", "#b9d8fa"),
    "bloom": (0.03, 0.14, 0.0, 0.0),
    "vignette": (0.18, 0.42, 0.08, 0.3),
    "floor": ("under", "none", "under", "under"),
}
THEMES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {theme: {name: values[column] for name, values in _VALUES.items()} for column, theme in enumerate(_NAMES)}
)
NAMES = (CUSTOM, *THEMES)
THEMED = tuple(_VALUES)  # names of what a theme sets


def themed_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a view over those of the theme that they name."""
    theme = values.get("theme")
    return {**THEMES.get(theme, {}), **values} if isinstance(theme, str) else dict(values)
