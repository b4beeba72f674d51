"""The parameters of cloth."""

from __future__ import annotations

from ... import params
from ...params import choice, integer, number, switch, vector
from .. import quantities
from ..quantities import amount, array_size
from .cloth_sheet import Pins


class Params(params.Params):
    """A sheet in meters, kilograms and seconds, y up."""

    resolution: int = array_size(64, "vertices along the width; cells are square", min=2, max=1024, auto=True)
    width: float = number(1.6, min=0.05, max=50.0, rebuild=True, unit="m", doc="width of the sheet")
    length: float = number(1.6, min=0.02, max=50.0, rebuild=True, unit="m", doc="length of the sheet")
    pins: Pins = choice(
        "corners", ("none", "corners", "edge", "pole", "ends"), rebuild=True,
        doc="pinned vertices: none, two corners, the upper edge, the left edge (pole), or left and right edges (ends)",
    )  # fmt: skip
    span: float = number(
        0.8,
        min=0.05,
        max=1.0,
        rebuild=True,
        doc="with pins = ends: distance between the pinned edges, relative to the width",
    )
    center: tuple[float, ...] = vector((0.0, 0.0, 0.0), rebuild=True, unit="m", doc="center of the sheet at the start")
    pattern: str = choice("tartan", ("tartan", "bands", "plain"), rebuild=True, doc="woven pattern, for coloring")
    density: float = number(0.2, min=0.02, max=5.0, slider_max=1.0, scale="log", unit="kg/m²", doc="mass per area")
    stretch: float = number(
        5000.0, min=1.0, max=1e6, slider_min=50.0, scale="log", unit="N/m", doc="stretch stiffness along the threads"
    )
    shear: float = amount(500.0, "shear stiffness between the threads", max=1e6, slider_max=5000.0, unit="N/m")
    bend: float = amount(2e-5, "bending stiffness per width", max=1.0, slider_max=1e-3, unit="N m")
    damping: float = amount(0.2, "velocity damping", max=100.0, slider_max=5.0, unit="1/s")
    gravity: float = quantities.gravity()
    drag: float = amount(1.4, "drag coefficient of the air, across the sheet", max=10.0, slider_max=3.0)
    wind: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0),
        min=-60.0,
        max=60.0,
        slider_min=-10.0,
        slider_max=10.0,
        unit="m/s",
        doc="mean wind velocity; the input wind is added to it",
    )
    gust: float = number(0.5, min=0.0, max=2.0, doc="gust strength, relative to the mean wind")
    wind_center: tuple[float, ...] = vector((0.0, 0.0, 0.0), unit="m", doc="center of the grid of the input wind")
    wind_size: tuple[float, ...] = vector((4.0, 4.0, 4.0), min=1e-3, unit="m", doc="size of the grid of the input wind")
    sphere_radius: float = amount(0.0, "radius of a sphere obstacle; 0: none", max=100.0, slider_max=2.0, unit="m")
    sphere_center: tuple[float, ...] = vector(
        (0.0, -0.5, 0.0), unit="m", gizmo="position", doc="center of the sphere obstacle"
    )
    obstacle_center: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), unit="m", doc="center of the grid of the input obstacle"
    )
    obstacle_size: tuple[float, ...] = vector(
        (2.0, 2.0, 2.0), min=1e-3, unit="m", doc="size of the grid of the input obstacle"
    )
    floor: bool = switch(False, doc="collide with a ground plane")
    ground: float = number(
        -1.0, min=-1e3, max=1e3, slider_min=-5.0, slider_max=5.0, unit="m", doc="height of the ground plane"
    )
    friction: float = number(
        0.4, min=0.0, max=2.0, doc="friction coefficient, with obstacles and of the cloth with itself"
    )
    self_collision: bool = switch(True, rebuild=True, doc="collide with itself")
    tearing: bool = switch(False, doc="let threads tear that are stretched too far")
    tear_strain: float = number(0.4, min=0.02, max=10.0, slider_max=1.0, doc="strain at which threads tear")
    solver_substeps: int = integer(
        12,
        min=1,
        max=64,
        rebuild=True,
        doc="XPBD substeps per 1/120 s; more make shear and bending stiffer, and contacts firmer",
    )


def rows_of(params: Params) -> int:
    """Vertices along the length, so that cells are as square as can be."""
    return max(2, round(params.length / params.width * (params.resolution - 1)) + 1)
