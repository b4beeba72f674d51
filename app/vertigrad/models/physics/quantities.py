"""Parameters that several simulations declare alike."""

from __future__ import annotations

from typing import Any

from ...params import number, vector

REACH = 100.0  # m


def gravity() -> Any:
    """Gravitational acceleration."""
    return number(9.81, min=0.0, max=100.0, slider_max=20.0, unit="m/s²", doc="gravitational acceleration, along -y")


def position(default: tuple[float, float, float], doc: str, **options: Any) -> Any:
    """A position in meters."""
    return vector(default, min=-REACH, max=REACH, unit="m", doc=doc, **options)


def size(default: tuple[float, float, float], doc: str, **options: Any) -> Any:
    """The edges of a box in meters."""
    return vector(default, min=0.01, max=REACH, unit="m", doc=doc, **options)


def sphere_radius(default: float, max: float, slider_max: float) -> Any:
    """The radius of the sphere that stands in the way."""
    doc = "radius of the sphere obstacle; 0: none"
    return number(default, min=0.0, max=max, slider_max=slider_max, unit="m", doc=doc)


def obstacle_spacing() -> Any:
    """The distance of neighboring nodes of an obstacle's grid."""
    return number(0.05, min=1e-3, max=10.0, unit="m", scale="log", doc="grid spacing of the input obstacle")
