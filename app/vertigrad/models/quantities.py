"""Parameters that several models declare alike."""

from __future__ import annotations

from typing import Any

from ..params import integer, number, vector

REACH = 100.0  # m


def amount(
    default: float, doc: str, *, max: float, slider_max: float | None = None, unit: str = "", rebuild: bool = False
) -> Any:
    """A number that is 0 or more."""
    return number(default, min=0.0, max=max, slider_max=slider_max, unit=unit, rebuild=rebuild, doc=doc)


def log_number(default: float, doc: str, *, min: float, max: float, **options: Any) -> Any:
    """A number on a logarithmic slider."""
    return number(default, min=min, max=max, scale="log", doc=doc, **options)


def array_size(default: int, doc: str, *, min: int, max: int, auto: bool = False) -> Any:
    """An integer that sets sizes of tensors, on a logarithmic slider."""
    return integer(default, min=min, max=max, scale="log", rebuild=True, auto=auto, doc=doc)


def gravity() -> Any:
    """Gravitational acceleration."""
    return amount(9.81, "gravitational acceleration, along -y", max=100.0, slider_max=20.0, unit="m/s²")


def position(default: tuple[float, float, float], doc: str, **options: Any) -> Any:
    """A position in meters."""
    return vector(default, min=-REACH, max=REACH, unit="m", doc=doc, **options)


def size(default: tuple[float, float, float], doc: str, **options: Any) -> Any:
    """The edges of a box in meters."""
    return vector(default, min=0.01, max=REACH, unit="m", doc=doc, **options)


def sphere_radius(default: float, max: float, slider_max: float) -> Any:
    """The radius of the spherical obstacle."""
    doc = "radius of the sphere obstacle; 0: none"
    return amount(default, doc, max=max, slider_max=slider_max, unit="m")


def obstacle_spacing() -> Any:
    """The distance of neighboring nodes of an obstacle's grid."""
    return number(0.05, min=1e-3, max=10.0, unit="m", scale="log", doc="grid spacing of the input obstacle")
