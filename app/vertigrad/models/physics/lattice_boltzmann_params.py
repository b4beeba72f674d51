"""The parameters of a flow on a lattice, and the values that its kernels take from them."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ... import params
from ...errors import InputError
from ...params import angle, choice, number, text
from ..interaction import Gesture, Interaction
from ..kernels import parameters
from ..quantities import amount, array_size, log_number

MAGIC = 3.0 / 16.0  # puts walls exactly half a cell beyond the last one (Ginzburg & d'Humières 2003)
# [cells²/step] over the speed: stabilizes a lattice that is too coarse for the flow.
LEAST_VISCOSITY = {"regularized": 0.02, "trt": 0.15}
MOST_MACH = 0.45  # of the fastest cell
GAP_SPEED = 2.0  # speed next to an obstacle over what continuity asks for in the gap that it leaves
SPONGE = 0.12  # of the columns, before the outlet
LONGER_SIDE = 3.0  # in the scene
NO_TOOL = {"tool_from": (0.0, 0.0), "tool_to": (0.0, 0.0), "tool_radius": 0.0, "painted_as": 0.0}


class Params(params.Params):
    """Lengths are cells and times steps, but for what is drawn; velocities are drawn over that of the inflow."""

    columns: int = array_size(400, "cells along the flow", min=4, max=8192)
    rows: int = array_size(144, "cells across the flow: the width of the channel", min=2, max=4096)
    reynolds: float = log_number(
        150.0,
        "Reynolds number by the obstacle's size, or by the channel's width if there is none",
        min=0.01,
        max=1e5,
        slider_min=1.0,
        slider_max=1000.0,
    )
    speed: float = number(
        0.08,
        min=0.001,
        max=0.12,
        slider_min=0.02,
        unit="cells/step",
        doc="inflow speed in lattice units; lower next to a large obstacle, to keep the Mach number small",
    )
    density: float = number(
        1000.0, min=1e-3, max=2e4, scale="log", unit="kg/m³", doc="density of the fluid, for the bodies that it moves"
    )
    steps_per_second: float = amount(900.0, "lattice steps per second", max=1e5, slider_max=4000.0, unit="steps/s")
    ends: str = choice(
        "open",
        ("open", "periodic"),
        rebuild=True,
        doc="boundaries along the flow: inflow and outflow, or periodic and driven by a force",
    )
    sides: str = choice("slip", ("slip", "no slip", "periodic"), rebuild=True, doc="boundaries across the flow")
    collision: str = choice(
        "regularized",
        ("regularized", "trt"),
        rebuild=True,
        doc="collision operator; regularized: most stable; trt: two relaxation times, exact wall positions",
    )
    obstacle: str = choice("circle", ("circle", "square", "airfoil", "none"), rebuild=True, doc="shape of the obstacle")
    size: float = number(
        0.125,
        min=0.01,
        max=0.8,
        slider_max=0.4,
        doc="size of the obstacle (diameter, side or chord), relative to the channel's width",
    )
    x: float = number(
        0.22, min=0.0, max=1.0, doc="center of the obstacle along the flow, relative to the channel's length"
    )
    y: float = number(
        0.5, min=0.0, max=1.0, doc="center of the obstacle across the flow, relative to the channel's width"
    )
    angle_of_attack: float = angle(0.0, min=-90.0, max=90.0, doc="angle of attack of the obstacle")
    naca: str = text("2412", doc="NACA four-digit code of the airfoil")
    height: float = number(
        0.01, min=-1.0, max=1.0, slider_min=-0.05, slider_max=0.05, doc="displacement of the surface by vorticity"
    )
    pedestal: float = amount(0.12, "drawn height of the obstacle", max=2.0, slider_max=0.5)


def uniforms(params: Params, masked: bool) -> dict[str, Any]:
    """Fields of `Params` in shaders/models/lattice_boltzmann.wgsl, in cells and steps; without interaction.

    `masked`: a mask is the obstacle, instead of the shape; lengths are still over `size`.
    """
    across = params.obstacle == "none" and not masked
    length = float(params.rows) if across else params.size * params.rows
    inflow = (
        params.speed if masked else min(params.speed, MOST_MACH / math.sqrt(3.0) * (1.0 - blockage(params)) / GAP_SPEED)
    )
    viscosity = max(inflow * length / params.reynolds, LEAST_VISCOSITY[params.collision] * inflow)
    driven = params.ends == "periodic"
    camber, camber_at, thickness = section_of(params.naca)
    turned = math.radians(params.angle_of_attack)
    step_time = 1.0 / max(params.steps_per_second, 1e-6)
    return {
        "inflow": inflow,
        "viscosity": viscosity,
        "odd_rate": 1.0 / (MAGIC / (3.0 * viscosity) + 0.5),
        "force": 8.0 * viscosity * inflow / params.rows**2 if driven else 0.0,
        "sponge": 0.0 if driven else SPONGE * params.columns,
        "start": 0.0 if driven else inflow,
        "obstacle_center": (params.x * params.columns - 0.5, params.y * params.rows - 0.5),
        "turn": (math.cos(turned), math.sin(turned)),
        "size": params.size * params.rows,
        "thickness": thickness,
        "camber": camber,
        "camber_at": camber_at,
        "edge": LONGER_SIDE / max(params.rows, params.columns),
        "length": length,
        "obstacle_lag": 0.0,
        "step_time": step_time,
        "dt": step_time,
        "fluid_density": params.density,
        **parameters(params, "rows", "columns", "height", "pedestal"),
        **NO_TOOL,
    }


def blockage(params: Params) -> float:
    """How much of the channel's width the obstacle takes; at most all but a tenth."""
    sine, cosine = abs(math.sin(math.radians(params.angle_of_attack))), math.cos(math.radians(params.angle_of_attack))
    height = {"none": 0.0, "circle": 1.0, "square": sine + cosine}.get(params.obstacle)
    if height is None:
        camber, _, thickness = section_of(params.naca)
        height = sine + (thickness + camber) * cosine
    return min(params.size * height, 0.9)


def stroke(params: Params, interaction: Interaction, dt: float) -> dict[str, Any]:
    """The stroke of the tool in `dt`, in cells."""
    edge = LONGER_SIDE / max(params.rows, params.columns)
    middle = np.array([params.columns - 1, params.rows - 1]) / 2.0
    to, since = (np.array(at.at_height(0.0))[[0, 2]] for at in (interaction, interaction.later(-dt)))
    return {
        "tool_from": tuple(since / edge + middle),
        "tool_to": tuple(to / edge + middle),
        "tool_radius": max(interaction.radius / edge, 0.75),
        "painted_as": 1.0 if interaction.gesture is Gesture.PAINT else 0.0,
    }


def section_of(digits: str) -> tuple[float, float, float]:
    """Camber, where it is largest, and thickness, over the chord. Raises `InputError` if there is no such section."""
    if not re.fullmatch(r"\d{4}", digits) or digits[2:] == "00" or (digits[0] == "0") != (digits[1] == "0"):
        raise InputError(
            f'naca {digits!r} is not a NACA four-digit code such as "2412": camber in hundredths of the chord, '
            "its position in tenths, thickness in hundredths; without camber the first two are 00"
        )
    return int(digits[0]) / 100.0, max(int(digits[1]), 1) / 10.0, int(digits[2:]) / 100.0
