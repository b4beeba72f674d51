"""The parameters of a fluid, and the values that its kernels take from them."""

from __future__ import annotations

from typing import Any

from ... import params
from ...params import choice, integer, number, vector
from .. import quantities
from ..interaction import PULL, Interaction
from ..kernels import parameters
from ..quantities import log_number

BODIES = ("none", "box", "ball", "pillar")
WARM = 0.9  # fraction of the last step's pressure that a step begins with


class Params(params.Params):
    """The tank, what is in it, and how the fluid is to behave; lengths in meters."""

    spacing: float = log_number(
        0.06, "particle spacing at rest", min=0.002, max=1.0, slider_min=0.01, slider_max=0.2, unit="m", rebuild=True
    )
    count: int = integer(
        0,
        min=0,
        max=1 << 22,
        rebuild=True,
        auto=True,
        doc="approximate number of particles, which sets the spacing; 0: use spacing",
    )
    tank: tuple[float, ...] = vector(
        (3.2, 2.0, 1.2), min=0.05, max=100.0, unit="m", rebuild=True, doc="inner size of the tank"
    )
    corner: tuple[float, ...] = quantities.position(
        (0.0, 0.0, 0.0), "corner of the tank with the lowest coordinates", rebuild=True
    )
    column: tuple[float, ...] = quantities.size(
        (1.0, 1.0, 1.2), "initial size of the fluid column, at most that of the tank", rebuild=True
    )
    column_offset: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0),
        min=0.0,
        max=100.0,
        unit="m",
        rebuild=True,
        doc="position of the column relative to the corner of the tank",
    )
    gravity: float = quantities.gravity()
    viscosity: float = log_number(
        1e-6, "kinematic viscosity; water 1e-6, honey 0.01", min=0.0, max=0.1, slider_min=1e-6, unit="m²/s"
    )
    artificial_viscosity: float = number(
        0.01, min=0.0, max=0.2, doc="artificial viscosity for stability, relative to spacing times fall speed"
    )
    density: float = number(1000.0, min=1.0, max=2e4, unit="kg/m³", doc="rest density")
    iterations: int = integer(64, min=1, max=256, rebuild=True, doc="largest number of pressure iterations per step")
    tolerance: float = log_number(
        0.01,
        "mean error of the density at which a pressure solve ends, relative to what a step of gravity adds to a layer",
        min=0.0,
        max=1.0,
        slider_min=1e-3,
    )
    courant: float = number(
        0.4, min=0.05, max=1.0, doc="Courant number: spacings per step at the speed of a fall from the column's top"
    )
    time_scale: float = number(1.0, min=0.0, max=10.0, slider_max=2.0, doc="simulation speed: 2 is twice real time")
    body: str = choice("none", BODIES, doc="obstacle in the tank")
    body_center: tuple[float, ...] = quantities.position((2.2, 0.3, 0.6), "center of the body", gizmo="position")
    body_size: tuple[float, ...] = quantities.size(
        (0.3, 0.6, 0.3), "size of the body; balls and pillars use the first component as diameter"
    )
    obstacle_center: tuple[float, ...] = quantities.position(
        (0.0, 0.0, 0.0), "center of the grid of the input obstacle"
    )
    obstacle_spacing: float = quantities.obstacle_spacing()


def uniforms(params: Params, tool: Interaction) -> dict[str, Any]:
    """Fields of `Params` in shaders/common/fluid.wgsl that follow from these alone, and from the drag tool."""
    return {
        **parameters(params, "gravity", "density", "body_center"),
        "warm": WARM,
        "obstacle_lag": 0.0,
        "obstacle_pace": 1.0 / max(params.time_scale, 1e-6),
        "density_correction": params.courant,  # so that it takes as long as what has fallen takes for a spacing
        "shape": BODIES.index(params.body),
        "body_half": tuple(0.5 * edge for edge in params.body_size),
        "tool_point": tool.point,
        "tool_velocity": tool.velocity,
        "tool_reach": tool.radius,
        "tool_drag_rate": PULL * tool.strength,
    }
