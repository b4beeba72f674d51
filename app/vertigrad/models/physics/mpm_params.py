"""The parameters of a material point simulation, and what of them does not depend on the kinds of matter."""

from __future__ import annotations

import math
from typing import Any

from ... import params
from ...params import angle, choice, color, integer, number, vector
from .. import quantities
from ..interaction import PULL, Interaction
from ..kernels import parameters
from ..quantities import amount, array_size, log_number
from .mpm_bodies import SHAPES


def _body_center(default: tuple[float, float, float], matter: str) -> Any:
    return quantities.position(default, f"center of the {matter}", rebuild=True, gizmo="position")


def _body_size(default: tuple[float, float, float]) -> Any:
    return quantities.size(default, "initial size; a ball uses the first component as diameter", rebuild=True)


class Params(params.Params):
    """The box, what falls into it, and what that is made of. Lengths in meters; the floor's middle is the origin."""

    count: int = array_size(40_000, "number of particles, of one size", min=64, max=1 << 23, auto=True)
    resolution: int = integer(
        48,
        min=8,
        max=512,
        slider_max=192,
        scale="log",
        rebuild=True,
        doc="cells along the box's longest edge",
    )
    box: tuple[float, ...] = vector(
        (1.2, 0.9, 0.8), min=0.1, max=100.0, slider_max=3.0, unit="m", rebuild=True, doc="inner size of the box"
    )
    gravity: float = quantities.gravity()
    time_step: float = log_number(
        2e-3, "longest time step; shorter where fast waves require it", min=1e-5, max=1e-2, unit="s"
    )
    courant: float = number(0.5, min=0.05, max=0.6, doc="Courant number: cells the fastest wave crosses per step")
    time_scale: float = amount(1.0, "simulation speed: 2 is twice real time", max=10.0, slider_max=2.0)
    friction: float = amount(
        0.5, "Coulomb friction coefficient at walls, floor and obstacles", max=10.0, slider_max=1.0
    )

    water: str = choice("box", SHAPES, rebuild=True, doc="initial shape of the water")
    water_center: tuple[float, ...] = _body_center((-0.44, 0.25, 0.0), "water")
    water_size: tuple[float, ...] = _body_size((0.28, 0.46, 0.7))
    bulk_modulus: float = log_number(5e4, "bulk modulus of the water", min=1e3, max=1e7, unit="Pa")
    viscosity: float = amount(0.05, "dynamic viscosity of the water; honey 10", max=100.0, slider_max=10.0, unit="Pa s")
    jelly: str = choice("box", SHAPES, rebuild=True, doc="initial shape of the jelly")
    jelly_center: tuple[float, ...] = _body_center((0.02, 0.62, 0.2), "jelly")
    jelly_size: tuple[float, ...] = _body_size((0.22, 0.22, 0.22))
    jelly_youngs_modulus: float = log_number(1.5e4, "Young's modulus of the jelly", min=100.0, max=1e7, unit="Pa")
    snow: str = choice("ball", SHAPES, rebuild=True, doc="initial shape of the snow")
    snow_center: tuple[float, ...] = _body_center((0.02, 0.6, -0.2), "snow")
    snow_size: tuple[float, ...] = _body_size((0.28, 0.28, 0.28))
    # Stomakhin et al. 2013 have 140 kPa, whose waves require steps a quarter as long for all that is in the box.
    snow_youngs_modulus: float = log_number(
        8e3,
        "Young's modulus of fresh snow; 8 kPa: soft, it collapses; 140 kPa: that of real snow, in 4 times the steps",
        min=100.0,
        max=1e7,
        unit="Pa",
    )
    hardening: float = number(10.0, min=0.0, max=20.0, doc="hardening exponent of compacted snow")
    compression: float = log_number(0.025, "critical compression of snow: strain at which it yields", min=1e-3, max=0.5)
    stretch: float = log_number(0.0075, "critical stretch of snow: strain at which it yields", min=1e-4, max=0.5)
    sand: str = choice("box", SHAPES, rebuild=True, doc="initial shape of the sand")
    sand_center: tuple[float, ...] = _body_center((0.4, 0.35, 0.0), "sand")
    sand_size: tuple[float, ...] = _body_size((0.22, 0.5, 0.3))
    sand_youngs_modulus: float = log_number(5e4, "Young's modulus of the sand", min=100.0, max=1e7, unit="Pa")
    friction_angle: float = angle(35.0, min=0.0, max=60.0, doc="friction angle of the sand")
    cohesion: float = amount(
        0.0,
        "tension that wet sand withstands, until it has been loosened; 0: dry sand",
        max=1e5,
        slider_max=1e4,
        unit="Pa",
    )
    poissons_ratio: float = number(0.25, min=0.0, max=0.45, doc="Poisson's ratio of jelly, snow and sand")

    ball_center: tuple[float, ...] = quantities.position(
        (0.0, 0.0, 0.0), "center of a sphere obstacle", gizmo="position"
    )
    ball_radius: float = quantities.sphere_radius(0.0, max=100.0, slider_max=0.5)
    obstacle_corner: tuple[float, ...] = quantities.position(
        (0.0, 0.0, 0.0), "position of the first node of the input obstacle"
    )
    obstacle_spacing: float = quantities.obstacle_spacing()

    water_color: tuple[float, float, float] = color("#2f8fd0", doc="color of water; fast water is white")
    jelly_color: tuple[float, float, float] = color("#e2567a", doc="color of jelly")
    snow_color: tuple[float, float, float] = color("#f2f6fa", doc="color of fresh snow")
    sand_color: tuple[float, float, float] = color("#d9a860", doc="color of sand")


def step_constants(params: Params, time_step: float, tool: Interaction) -> dict[str, Any]:
    """The `Params` of shaders/models/mpm.wgsl for a step of `time_step` seconds, except those of `mpm_matter`."""
    return {
        "dt": time_step,
        **parameters(params, "gravity", "friction"),
        "ball": (*params.ball_center, params.ball_radius),
        "obstacle_low": tuple(params.obstacle_corner),
        "obstacle_cell": params.obstacle_spacing,
        "obstacle_lag": 0.0,
        "obstacle_pace": 1.0 / max(params.time_scale, 1e-6),
        "tool_point": tool.point,
        "tool_velocity": tool.velocity,
        "tool_radius": max(tool.radius, 1e-6),
        "tool_coupling": 1.0 - math.exp(-PULL * tool.strength * time_step),
        "foam": 0.5 * math.sqrt(2.0 * params.gravity * params.box[1]) + 1e-6,
        "water": tuple(params.water_color),
        "jelly": tuple(params.jelly_color),
        "snow": tuple(params.snow_color),
        "sand": tuple(params.sand_color),
    }
