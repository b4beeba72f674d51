"""Themes: sets of values of `View` by name, each of which makes a finished image of any scene."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

CUSTOM = "custom"  # no theme: a scene's own values, and the defaults

_NO_EDGES_NO_TINT = {
    "edges": 0.0,
    "edge_color": "#000000",
    "edge_width": 1.2,
    "tint": 0.0,
    "tint_dark": "#000000",
    "tint_light": "#ffffff",
}

# Where the sun stands is left to the scene: it belongs to what is shown, not to the way.
THEMES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "studio": {
            "background": "#dfe3e8",
            "exposure": 1.0,
            "sun": 2.1,
            "sun_color": "#fff4e6",
            "sun_angle": 7.0,
            "shadows": 0.92,
            "sky": 0.95,
            "sky_color": "#e2e9f4",
            "horizon_color": "#eef0f2",
            "ground_color": "#8d8883",
            "occlusion": 0.9,
            "occlusion_radius": 0.16,
            **_NO_EDGES_NO_TINT,
            "bloom": 0.03,
            "vignette": 0.18,
            "floor": "under",
        },
        "night": {
            "background": "#080d18",
            "exposure": 1.15,
            "sun": 2.0,
            "sun_color": "#cfdcff",
            "sun_angle": 2.0,
            "shadows": 0.95,
            "sky": 0.9,
            "sky_color": "#445f96",
            "horizon_color": "#3d5480",
            "ground_color": "#262a3a",
            "occlusion": 0.85,
            "occlusion_radius": 0.2,
            **_NO_EDGES_NO_TINT,
            "bloom": 0.14,
            "vignette": 0.42,
            "floor": "none",
        },
        "paper": {
            "background": "#ece6d9",
            "exposure": 1.3,
            "sun": 1.9,
            "sun_color": "#ffffff",
            "sun_angle": 6.0,
            "shadows": 0.6,
            "sky": 1.35,
            "sky_color": "#f4f4f2",
            "horizon_color": "#f6f4f0",
            "ground_color": "#c9c2b8",
            "occlusion": 0.95,
            "occlusion_radius": 0.12,
            "edges": 0.9,
            "edge_color": "#2e2822",
            "edge_width": 1.2,
            "tint": 0.4,
            "tint_dark": "#2a231d",
            "tint_light": "#fdf8ec",
            "bloom": 0.0,
            "vignette": 0.08,
            "floor": "under",
        },
        "blueprint": {
            "background": "#123668",
            "exposure": 1.0,
            "sun": 1.6,
            "sun_color": "#ffffff",
            "sun_angle": 4.0,
            "shadows": 0.7,
            "sky": 0.8,
            "sky_color": "#f2f2f2",
            "horizon_color": "#f0f0f0",
            "ground_color": "#808080",
            "occlusion": 0.9,
            "occlusion_radius": 0.14,
            "edges": 0.9,
            "edge_color": "#e8f3ff",
            "edge_width": 1.0,
            "tint": 0.95,
            "tint_dark": "#0a2550",
            "tint_light": "#b9d8fa",
            "bloom": 0.0,
            "vignette": 0.3,
            "floor": "under",
        },
    }
)
NAMES = (CUSTOM, *THEMES)
THEMED = tuple(THEMES["studio"])  # names of what a theme sets; the same in each


def themed_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a view over those of the theme that they name."""
    theme = values.get("theme")
    return {**THEMES.get(theme, {}), **values} if isinstance(theme, str) else dict(values)
