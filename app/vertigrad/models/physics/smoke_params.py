"""The parameters of smoke, and the values that its kernels take from them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

from ... import params
from ...ops.philox import key_of, stream, stream_words
from ...params import choice, integer, number, vector
from ..interaction import Gesture, Interaction
from ..kernels import parameters
from ..quantities import amount, array_size, sphere_radius
from .smoke_pressure import Cells

BLOCK = 16  # cells come in such blocks along each axis, so that the pressure has coarse grids that fit
COARSE = 96  # cells along the height up to which a step is as long as it is said to be
MOST_COURANT = 8.0  # edges that air may go in a step
STRAY = 20  # steps from one position of a swaying source to the next
SPREAD = 1.0 / 6.0  # most of diffusivity times time over edge² in a sweep: beyond, values would swing
OPEN = {"closed": (0, 0, 0), "open top": (0, 1, 0), "open": (1, 1, 1)}


class Params(params.Params):
    """The box stands on y = 0, around x = z = 0. Width and depth are rounded to blocks of 16 cells."""

    cells: int = integer(
        64,
        min=16,
        max=512,
        slider_min=48,
        rebuild=True,
        auto=True,
        doc="cells along the height; rounded to a multiple of 16",
    )
    height: float = number(2.0, min=0.01, max=1e3, slider_max=10.0, unit="m", rebuild=True, doc="height of the box")
    width: float = number(
        1.5, min=0.01, max=1e3, slider_max=10.0, unit="m", rebuild=True, doc="size of the box along x"
    )
    depth: float = number(
        1.5, min=0.01, max=1e3, slider_max=10.0, unit="m", rebuild=True, doc="size of the box along z"
    )
    sides: Literal["closed", "open top", "open"] = choice(
        "open top", ["closed", "open top", "open"], doc="open boundaries; the floor is always closed"
    )
    time_step: float = number(
        1 / 60,
        min=1e-4,
        max=1 / 15,
        slider_min=1 / 240,
        unit="s",
        doc="time step; shorter in proportion above 96 cells",
    )
    cycles: int = integer(
        2, min=1, max=16, slider_max=6, doc="multigrid V-cycles per step; each reduces the error to a seventh"
    )
    buoyancy: float = amount(
        0.05, "buoyancy per temperature difference; 9.8 / 300 near 300 K", max=10.0, slider_max=0.2, unit="m/s²/K"
    )
    weight: float = amount(0.4, "downward acceleration of smoke of density 1", max=100.0, slider_max=4.0, unit="m/s²")
    confinement: float = amount(1.5, "vorticity confinement", max=20.0, slider_max=6.0, unit="1/s")
    diffusivity: float = amount(0.0, "diffusivity of density and temperature", max=0.01, slider_max=1e-3, unit="m²/s")
    cooling: float = amount(0.4, "rate at which temperature decays", max=100.0, slider_max=4.0, unit="1/s")
    dissipation: float = amount(0.0, "rate at which density decays", max=100.0, slider_max=4.0, unit="1/s")
    combustion_rate: float = amount(
        0.0,
        "rate at which density burns where it is hotter than ignition_temperature",
        max=1e3,
        slider_max=20.0,
        unit="1/s",
    )
    ignition_temperature: float = amount(
        400.0, "temperature above the surroundings at which density begins to burn", max=2e3, unit="K"
    )
    heat_release: float = amount(
        2000.0, "rise of the temperature where density 1 burns", max=1e4, slider_max=4e3, unit="K"
    )
    radiation: float = amount(
        0.0, "cooling by radiation at 1000 K, which grows with T⁴", max=1e5, slider_max=5e3, unit="K/s"
    )
    source: tuple[float, ...] = vector((0.0, 0.2, 0.0), unit="m", gizmo="position", doc="center of the smoke source")
    source_radius: float = amount(0.16, "radius of the source; 0: no source", max=100.0, slider_max=0.5, unit="m")
    density: float = amount(1.0, "density of emitted smoke", max=100.0, slider_max=4.0)
    temperature: float = amount(
        60.0, "temperature of emitted smoke, above the surroundings", max=3e3, slider_max=300.0, unit="K"
    )
    jet: float = amount(0.4, "minimum upward speed in the source", max=50.0, slider_max=4.0, unit="m/s")
    jitter: float = amount(0.3, "random motion of the source, relative to its radius", max=10.0, slider_max=1.0)
    gravity: float = number(
        9.81, min=0.0, max=100.0, slider_max=20.0, unit="m/s²", doc="gravity of the bodies that the air moves"
    )
    ball_center: tuple[float, ...] = vector(
        (0.0, 0.85, 0.0), unit="m", gizmo="position", doc="center of a sphere obstacle"
    )
    ball_radius: float = sphere_radius(0.22, max=100.0, slider_max=0.6)
    tracers: int = array_size(20_000, "number of tracer particles", min=1, max=1 << 22)
    lifetime: float = number(5.0, min=0.1, max=1e3, slider_max=20.0, unit="s", doc="lifetime of a tracer particle")


def cells_of(params: Params) -> Cells:
    """Cells along x, y and z: whole blocks, at least one."""
    y = BLOCK * max(round(params.cells / BLOCK), 1)
    edge = params.height / y
    x, z = (BLOCK * max(round(extent / edge / BLOCK), 1) for extent in (params.width, params.depth))
    return x, y, z


def edge_of(params: Params) -> float:
    """The edge of a cell [m]."""
    return params.height / cells_of(params)[1]


def time_step_of(params: Params) -> float:
    """The time step [s]."""
    return params.time_step * min(1.0, COARSE / params.cells)


def sweep_pairs(params: Params) -> int:
    """Twice so many sweeps of diffusion are enough for a step: an explicit one may not go too far."""
    return math.ceil(params.diffusivity * time_step_of(params) / edge_of(params) ** 2 / (2.0 * SPREAD))


def uniforms(params: Params, seed: int, turn: int, tool: Interaction) -> dict[str, Any]:
    """Fields of `Params` in shaders/models/smoke.wgsl in the step number `turn`, but for the size of an obstacle."""
    edge, time_step, (x, y, z) = edge_of(params), time_step_of(params), cells_of(params)
    opened = OPEN[params.sides]
    return {
        "size": (x, y, z),
        "edge": edge,
        "low": (-0.5 * x * edge, 0.0, -0.5 * z * edge),
        "dt": time_step,
        "open_low": (opened[0], 0, opened[2]),
        "open_high": opened,
        "turn": turn,
        "top_speed": MOST_COURANT * edge / time_step,
        "obstacle_center": params.ball_center,
        "obstacle_radius": params.ball_radius,
        "source_center": _source(params, seed, turn),
        "source_matter": (params.density, params.temperature),
        "spread": params.diffusivity * time_step / edge**2 / max(2 * sweep_pairs(params), 1),
        "retained": (math.exp(-params.dissipation * time_step), math.exp(-params.cooling * time_step)),
        "combustion": _combustion(params, time_step),
        "key": key_of(seed),
        "stream": stream_words("tracers"),
        "life": params.lifetime,
        "count": params.tracers,
        **parameters(params, "source_radius", "jet", "weight", "buoyancy", "confinement", "gravity"),
        **_tool_uniforms(tool, time_step),
    }


def _combustion(params: Params, time_step: float) -> tuple[float, ...]:
    """The fraction that burns in a step, where, with what heat, and the coefficient of dT/dt = -c T⁴, times 3 steps."""
    burnt = 1.0 - math.exp(-params.combustion_rate * time_step)
    return burnt, params.ignition_temperature, params.heat_release, 3e-12 * params.radiation * time_step


def _source(params: Params, seed: int, turn: int) -> tuple[float, ...]:
    """Where the source is: it strays smoothly from one random position to the next."""
    number, part = divmod(turn, STRAY)
    fraction = (part / STRAY) ** 2 * (3.0 - 2.0 * part / STRAY)
    away = params.jitter * params.source_radius
    ends = zip(params.source, _random_position(seed, number), _random_position(seed, number + 1), strict=True)
    return tuple(at + away * (a + fraction * (b - a)) for at, a, b in ends)


@lru_cache(16)
def _random_position(seed: int, number: int) -> tuple[float, ...]:
    """A position in the cube from -1 to 1: the one of this number."""
    words = stream(3, seed, "source", 4 * number)
    return tuple(float(word) * 2.0**-31 - 1.0 for word in words)


def _tool_uniforms(tool: Interaction, time_step: float) -> dict[str, Any]:
    """The uniforms of the tool; dragging takes the air along within a tenth of a second."""
    drags = tool.gesture is Gesture.DRAG
    coupling = 1.0 - math.exp(-10.0 * tool.strength * time_step)
    return {
        "tool_point": tool.point,
        "tool_radius": tool.radius,
        "tool_velocity": tool.velocity,
        "drag": coupling if drags else 0.0,
        "emit": 0.0 if drags else tool.strength,
    }
