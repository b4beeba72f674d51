"""`ShallowWater`: waves, floods and rain over a bed of its own, or over the terrain that another model gives."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...gpu import Plan
from ...params import choice, integer, number, vector
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..energy import ENERGY_DIAGNOSTICS, ENERGY_LIMITS, ENERGY_SCALARS, ENERGY_STATE, Energy, EnergyModel
from ..interaction import Gesture
from ..kernels import Kernels, parameters
from ..parts import Parts
from ..quantities import amount, array_size, log_number
from ..reference import shallow_water as reference
from .grid_inputs import grid_input

SHADER = "models/shallow_water.wgsl"
GRAVITY = 9.81
DENSITY = 1000.0  # kg/m³
SHARE = 0.25  # of a cell that waves may cross in a step: through four faces no more leaves than there is
LONGER_SIDE = 2.0  # in the scene
GRIP = 4.0  # [1/s] how fast water takes on the velocity of the drag tool


class Params(params.Params):
    """Lengths are meters and times seconds of the water's own, but for `time_scale`."""

    rows: int = array_size(128, "cells along z; the input bed has its own", min=2, max=4096)
    columns: int = array_size(192, "cells along x; the input bed has its own", min=2, max=4096)
    cell: float = log_number(1.0, "edge of a cell", min=1e-3, max=1e4, slider_min=0.1, slider_max=200.0, unit="m")
    ground: str = choice(
        "flat", ("flat", "beach", "hills"), rebuild=True, doc="shape of the bed, without the input bed"
    )
    relief: float = amount(4.0, "height of the beach or hills", max=1e4, slider_max=20.0, unit="m", rebuild=True)
    level: float = number(3.0, min=-1e4, max=1e4, slider_min=0.0, slider_max=20.0, unit="m", doc="initial water level")
    level_2: float = number(
        1.0, min=-1e4, max=1e4, slider_min=0.0, slider_max=20.0, unit="m", doc="initial water level behind the dam"
    )
    dam: float = number(0.35, min=0.0, max=1.0, doc="initial position of the dam, relative to the length; 1: no dam")
    edges: str = choice("walls", ("walls", "open"), rebuild=True, doc="boundary condition at the edges")
    manning: float = amount(
        0.02, "Manning roughness coefficient n of the bed", max=0.5, slider_max=0.1, unit="s/m^(1/3)"
    )
    rain: float = amount(0.0, "rainfall rate", max=1e6, slider_max=1e4, unit="mm/h")
    spring: float = amount(0.0, "discharge of a spring", max=1e7, slider_max=1e4, unit="m³/s")
    spring_position: tuple[float, ...] = vector(
        (0.5, 0.5), length=2, min=0.0, max=1.0, doc="position of the spring, relative to both sides"
    )
    spring_radius: float = number(3.0, min=1.0, max=200.0, slider_max=30.0, unit="cells", doc="radius of the spring")
    time_scale: float = log_number(4.0, "simulation speed: 2 is twice real time", min=0.0, max=1e5, slider_max=600.0)
    time_step: float = log_number(
        0.1, "time step; divided on the GPU into substeps that are stable", min=1e-5, max=1e3, slider_max=10.0, unit="s"
    )
    max_substeps: int = integer(4, min=1, max=64, rebuild=True, doc="largest number of substeps per time step")
    dry: float = log_number(1e-3, "depth below which water hardly moves", min=1e-6, max=1.0, unit="m")
    datum: float = number(0.0, min=-1e4, max=1e4, unit="m", doc="elevation drawn at height 0")
    exaggeration: float = number(2.0, min=0.01, max=100.0, slider_max=10.0, doc="vertical exaggeration of the drawing")
    film: float = amount(0.02, "depth above which water is drawn", max=100.0, slider_max=1.0, unit="m")
    deep: float = log_number(4.0, "depth drawn in the darkest color", min=0.01, max=1e4, slider_max=100.0, unit="m")
    foam: float = log_number(8.0, "speed drawn white", min=0.01, max=1e3, slider_max=50.0, unit="m/s")


class ShallowWater(EnergyModel):
    """Shallow water (Saint-Venant) equations by finite volumes.

    Linear reconstruction of depth, level and velocity (minmod), hydrostatic reconstruction at the faces (Audusse et al.
    2004), the HLL flux (Harten, Lax & van Leer), Heun's method, and Manning friction. A lake at rest stays at rest,
    depths stay positive, and with walls and no rain the volume is conserved.

    The GPU finds the stable time step and divides `time_step` into that many substeps, up to `max_substeps`; if those
    do not suffice the simulation lags behind, and `cfl` is above 1. The emit tool pours water, the drag tool moves it.
    The same seed gives the same bits on one GPU.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {"bed": "bed elevations [m], (rows, columns) f32, used without a copy"}
    interacts_on_surface = True
    gestures = frozenset({Gesture.EMIT, Gesture.DRAG})
    saved = ("water", "clock", "depth_speed", "color", "position", "normal", "ground", "ground_normal", *ENERGY_STATE)
    scalars = ENERGY_SCALARS
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(1.0, "too few substeps, and the water lags behind: raise max_substeps, or lower time_step"),
        **ENERGY_LIMITS,
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "volume": DiagnosticSpec("volume of all water", "m³"),
        "fastest": DiagnosticSpec("speed of the fastest water", "m/s"),
        "cfl": DiagnosticSpec("substeps needed, relative to max_substeps"),
        "lag": DiagnosticSpec("simulated time that the last step left out", "s"),
        "energy": DiagnosticSpec("kinetic and potential energy, from `datum` on", "J"),
        **ENERGY_DIAGNOSTICS,
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        if "bed" in inputs:
            return dict.fromkeys(("rows", "columns", "ground", "relief"), "the input bed replaces it")
        return {"relief": 'ground = "flat" has no relief'} if params.ground == "flat" else {}

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        grid = (None, None)
        return {
            "position": OutputSpec((*grid, 3), "f32", "water surface, y up; below the bed where it is dry"),
            "normal": OutputSpec((*grid, 3), "f32", "unit normals of the water surface"),
            "color": OutputSpec(
                (*grid, 4), "f32", "color and opacity: clear, dark and white where water is shallow, deep and fast"
            ),
            "depth": OutputSpec(grid, "f32", "water depth [m]", "depth_speed", 0),
            "speed": OutputSpec(grid, "f32", "water speed [m/s]", "depth_speed", 1),
            "ground": OutputSpec((*grid, 3), "f32", "bed surface"),
            "ground_normal": OutputSpec((*grid, 3), "f32", "unit normals of the bed"),
        }

    def step(self, dt: float) -> None:
        steps = self._clock.due(dt * self._params.time_scale, self._params.time_step)
        values = self._values() | self._tool_uniforms(dt)
        for _ in range(steps):
            self._step.replay(**values)
        self._show.replay(**values)
        self._judge_energy()

    def diagnostics(self) -> dict[str, Tensor]:
        params = self._params
        self._pace.replay(**self._values())
        energy = self._mechanical_energy()
        return {
            "volume": ops.sum(self._water[:, 0]) * params.cell**2,
            "fastest": ops.max(self._views["speed"]),
            "cfl": self._fastest * (params.time_step / (SHARE * params.max_substeps)),
            "lag": self._timing[1:2].contiguous(),
            "energy": energy.total,
            **self._energy_gain(energy),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """One physical step of all the water in float64, in the same parts as the GPU would choose."""
        params, values = self._params, self._values()
        before, bed = self._water.numpy().astype(float), self._bed.numpy().astype(float)
        self._step.replay(**values)
        self._show.replay(**values)
        water = before.reshape(self._rows, self._columns, 4)[..., :3]
        after = reference.step(water, bed - params.datum, values, params.edges, params.max_substeps)
        ours = self._water.numpy().reshape(self._rows, self._columns, 4)
        drawn = reference.drawn(after[..., 0], bed - params.datum, values)
        return [
            compare("depth", ours[..., 0], after[..., 0], 1e-5),
            compare("discharge", _discharge(ours), _discharge(after), 1e-5),
            compare("surface", self._position.numpy()[..., 1], drawn, 1e-4),
        ]

    def reset(self) -> None:
        self._clock.remainder = 0.0
        values = self._values()
        ops.assign(self._timing, 0.0)
        self._begin.replay(**values)
        self._show.replay(**values)
        self._forget_energy()

    def _mechanical_energy(self) -> Energy:
        """∫ ρ (h v² / 2 + g h (h / 2 + z)): z is the bed's elevation above `datum`."""
        depth, speed, elevation = self._views["depth"], self._views["speed"], self._bed - self._params.datum
        weight, area = DENSITY * GRAVITY * depth, self._params.cell**2
        moving = ops.sum(depth * speed * speed) * (0.5 * DENSITY) + ops.sum(weight * depth) * 0.5
        scale = moving + ops.sum(weight * ops.absolute(elevation))
        return Energy((moving + ops.sum(weight * elevation)) * area, ops.maximum(scale * area, 1e-6))

    def _adds_energy(self) -> bool:
        params = self._params
        return params.rain > 0.0 or params.spring > 0.0 or params.edges == "open"

    def _create(self, parts: Parts) -> None:
        bed = grid_input(parts, self._inputs, "bed", "rows", "columns")
        self._bed = parts.copied("bed", _own_bed(self._params)) if bed is None else bed
        self._rows, self._columns = rows, columns = self._bed.shape
        if min(rows, columns) < 2:
            raise InputError(f"bed has the shape {self._bed.shape}; it must have 2 rows and columns at least")
        cells = rows * columns
        water, between = parts.empty("water", cells, 4), parts.empty("between", cells, 4)
        timing, rate, self._fastest = parts.empty("clock", 2), parts.empty("rate", cells), parts.empty("fastest", 1)
        parts.empty("depth_speed", rows, columns, 2)
        self._create_energy(parts, bed)
        parts.empty("color", rows, columns, 4)
        surfaces = ("position", "normal", "ground", "ground_normal")
        position, normal, ground, ground_normal = (parts.empty(what, rows, columns, 3) for what in surfaces)
        self._water, self._timing, self._position = water, timing, position

        self._step, self._pace, self._begin, self._show = parts.plans("step", "pace", "begin", "show")
        tensors, edges = self._tensors | {"bed": self._bed}, self._params.edges
        first, second = (Kernels(SHADER, tensors, {}, {"EDGES": edges, "SECOND": stage}).add for stage in (False, True))

        def pace(plan: Plan) -> None:
            first(plan, "pace", cells, "rate", before=water)
            with plan.recording():
                ops.max(rate, keepdims=True, out=self._fastest)

        first(self._step, "wind", 1)
        for _ in range(self._params.max_substeps):
            pace(self._step)
            first(self._step, "tick", 1)
            first(self._step, "advance", cells, "after", before=water, after=between, timing=timing)
            second(self._step, "advance", cells, before=between, after=water, timing=timing)
        pace(self._pace)
        first(self._begin, "begin", cells, "after", after=water)
        first(self._show, "show", cells, "depth_speed", "color", "position", "ground", before=water)
        with self._show.recording():
            ops.grid_normals(position, out=normal)
            ops.grid_normals(ground, out=ground_normal)

    def _values(self) -> dict[str, Any]:
        """Uniforms of every kernel, in meters, seconds and cells; without interaction."""
        params, rows, columns = self._params, self._rows, self._columns
        edge = LONGER_SIDE / max(rows, columns)
        at = (params.spring_position[0] * (columns - 1), params.spring_position[1] * (rows - 1))
        rise = params.spring / params.cell**2 / _spot_sum(*at, params.spring_radius, rows, columns)
        return {
            "rows": rows,
            "columns": columns,
            **parameters(params, "cell", "datum", "dry", "manning", "film", "deep", "foam"),
            "gravity": GRAVITY,
            "rain": params.rain / 3.6e6,
            "spring": (*at, params.spring_radius, rise),
            "cfl": SHARE,
            "time": params.time_step,
            "level": (params.level, params.level_2),
            "dam": params.dam * columns,
            "edge": edge,
            "height": params.exaggeration * edge / params.cell,
            "tool": (0.0, 0.0, 1.0, 0.0),
            "drag": (0.0, 0.0, 0.0),
        }

    def _tool_uniforms(self, dt: float) -> dict[str, Any]:
        """The uniforms of the tool: per second it pours water to the depth `deep`, or drags it along."""
        interaction, params = self._interaction, self._params
        if interaction is None or params.time_scale <= 0.0:
            return {}
        edge = LONGER_SIDE / max(self._rows, self._columns)
        x = interaction.point[0] / edge + (self._columns - 1) / 2.0
        z = interaction.point[2] / edge + (self._rows - 1) / 2.0
        spot = (x, z, max(interaction.radius / edge, 1.0))
        if interaction.gesture is Gesture.EMIT:
            return {"tool": (*spot, interaction.strength * params.deep / params.time_scale)}
        meters = params.cell / edge / params.time_scale
        velocity = np.array([interaction.velocity[0], interaction.velocity[2]]) * meters
        most = 3.0 * math.sqrt(GRAVITY * params.deep)  # faster than any wave, and no faster: steps would be too short
        velocity *= min(1.0, most / max(float(np.hypot(*velocity)), 1e-30))
        return {
            "tool": (*spot, 0.0),
            "drag": (velocity[0], velocity[1], GRIP * interaction.strength / params.time_scale),
        }


def _discharge(water: np.ndarray) -> np.ndarray:
    """Discharge relative to that of waves, so that water at rest, whose discharge is rounding, can be compared too."""
    return np.concatenate([water[..., 1:3], np.sqrt(GRAVITY * water[..., :1]) * water[..., :1]], axis=-1)


@lru_cache(maxsize=8)
def _spot_sum(x: float, z: float, radius: float, rows: int, columns: int) -> float:
    """How many cells' worth of water comes out where one unit comes out in the middle; more than 0.1."""
    away = (np.arange(columns) - x) ** 2 + ((np.arange(rows) - z) ** 2)[:, None]
    near = np.maximum(1.0 - away / radius**2, 0.0)
    return max(float((near**2).sum()), 0.1)


def _own_bed(params: Params) -> np.ndarray:
    z, x = np.meshgrid(*(np.linspace(0.0, 1.0, n) for n in (params.rows, params.columns)), indexing="ij")
    shapes = {
        "flat": 0.0 * x,
        "beach": np.maximum(x - 0.4, 0.0) / 0.6 + 0.06 * np.cos(3.0 * np.pi * z) * x**2,
        "hills": 0.5 - 0.25 * np.cos(4.0 * np.pi * x) - 0.25 * np.cos(4.0 * np.pi * z),
    }
    return np.ascontiguousarray(params.relief * shapes[params.ground], np.float32)
