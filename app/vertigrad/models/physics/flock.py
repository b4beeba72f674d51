"""`Flock`: birds that steer by those they see, a predator among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from ... import ops, params
from ...ops.philox import key_of, stream_words
from ...params import angle, choice, integer, number, vector
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import Gesture
from ..kernels import Kernels, parameters
from ..model_bases import FixedStepModel
from ..parts import Parts
from ..quantities import amount, sphere_radius
from ..reference import flock as flock_reference
from .flock_start import STARTS

SHADER = "models/flock.wgsl"
COMPARED = 256  # birds compared with the reference, whose cost grows with their number times that of all
MOST_CELLS = 96  # of the neighbor grid along the box's longest side
PATH = np.array([[0.11, 0.33, 0.0], [0.17, 0.2, 1.3], [0.13, 0.33, 0.5]])  # predator: rates, amplitudes, phases


class Params(params.Params):
    """Lengths in meters; a starling flies at about 10 m/s, about 1 m from the next."""

    count: int = integer(
        16384, min=1, max=1 << 20, slider_min=4096, scale="log", rebuild=True, auto=True, doc="number of birds"
    )
    width: float = number(
        80.0, min=1.0, max=1e4, slider_max=500.0, unit="m", rebuild=True, doc="size of the box along x and z"
    )
    height: float = number(
        44.0, min=1.0, max=1e4, slider_max=500.0, unit="m", rebuild=True, doc="size of the box along y"
    )
    bounds: Literal["turn back", "periodic"] = choice(
        "turn back",
        ["turn back", "periodic"],
        rebuild=True,
        doc="boundary condition: birds turn back, or the box is periodic",
    )
    start: Literal["ellipsoid", "murmuration"] = choice(
        "ellipsoid",
        list(STARTS),
        rebuild=True,
        doc="initial formation: evenly in an ellipsoid with headings all around, or two dense bodies that fly one way",
    )
    time_step: float = number(
        1 / 60, min=1e-4, max=1 / 15, slider_min=1 / 240, unit="s", doc="time step of the simulation"
    )
    time_scale: float = amount(1.0, "simulation speed: 2 is twice real time", max=8.0, slider_max=2.0)
    speed: float = amount(10.0, "preferred speed", max=100.0, slider_max=30.0, unit="m/s")
    speed_variation: float = number(
        0.25, min=0.0, max=1.0, doc="allowed deviation from the preferred speed, relative to it"
    )
    max_acceleration: float = amount(30.0, "largest acceleration of a bird", max=1e3, slider_max=100.0, unit="m/s²")
    perception_radius: float = number(
        2.5, min=0.1, max=100.0, slider_max=10.0, unit="m", doc="radius within which birds see each other"
    )
    separation_radius: float = number(
        1.2, min=0.01, max=100.0, slider_max=5.0, unit="m", doc="distance below which birds avoid each other"
    )
    field_of_view: float = angle(280.0, min=0.0, max=360.0, doc="field of view of a bird; 360: all around")
    separation: float = amount(
        24.0, "acceleration away from birds that are too near", max=1e3, slider_max=100.0, unit="m/s²"
    )
    alignment: float = amount(
        3.0, "rate at which a bird's velocity approaches that of its neighbors", max=1e3, slider_max=10.0, unit="1/s"
    )
    cohesion: float = amount(
        4.0, "acceleration toward the center of the neighbors, per distance", max=1e3, slider_max=20.0, unit="1/s²"
    )
    leveling: float = amount(0.6, "rate at which vertical speed decays", max=100.0, slider_max=4.0, unit="1/s")
    noise: float = amount(0.15, "random change of the heading", max=100.0, slider_max=2.0, unit="1/√s")
    flee_radius: float = amount(
        14.0, "distance at which birds flee from the predator; 0: never", max=1e3, slider_max=40.0, unit="m"
    )
    predator_speed: float = amount(
        1.0, "speed of the predator along its closed path, relative to the default", max=10.0, slider_max=3.0
    )
    obstacle_center: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), unit="m", gizmo="position", doc="center of a sphere obstacle"
    )
    obstacle_radius: float = sphere_radius(0.0, max=1e3, slider_max=20.0)


class Flock(FixedStepModel):
    """Boids (Reynolds 1987) in three dimensions; the equations are in `reference/flock.py`.

    Each step sorts the birds into a grid and searches each bird's neighbors in it. Neighbors are visited in grid order,
    so the same seed gives the same bits on one GPU. The cost grows with the number of visible neighbors: if all birds
    gather in one position, with the square of their number. The predator flies a closed path. The drag tool attracts
    birds, with a negative strength it repels them.
    """

    Params = Params
    gestures = frozenset({Gesture.DRAG})
    max_steps = 16
    saved = ("positions", "velocities", "headings", "predator", "predator_heading")
    scalars = ("turn", "predator_path")
    limits: Mapping[str, Limit] = {
        "cfl": Limit(1.0, "birds fly past each other within a step: lower time_step, or raise separation_radius")
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "polarization": DiagnosticSpec("magnitude of the mean heading: 1 if all birds fly in one direction"),
        "speed": DiagnosticSpec("mean speed", "m/s"),
        "neighbors": DiagnosticSpec("mean number of visible neighbors"),
        "cfl": DiagnosticSpec("distance the fastest bird flies per step, relative to `separation_radius`"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.count
        return {
            "position": OutputSpec((n, 3), "f32", "positions of the birds [m]", "positions", slice(3)),
            "velocity": OutputSpec((n, 3), "f32", "velocities of the birds [m/s]", "velocities", slice(3)),
            "heading": OutputSpec((n, 3), "f32", "unit vectors of flight direction", "headings", slice(3)),
            "bank": OutputSpec((n,), "f32", "roll to the right in turns [rad]", "headings", 3),
            "speed": OutputSpec((n,), "f32", "magnitude of the velocity [m/s]", "velocities", 3),
            "neighbors": OutputSpec((n,), "f32", "number of visible neighbors", "positions", 3),
            "predator": OutputSpec((1, 3), "f32", "position of the predator [m]"),
            "predator_heading": OutputSpec((1, 3), "f32", "unit vector of its flight direction"),
        }

    def step(self, dt: float) -> None:
        for _ in range(self._clock.due(dt * self._params.time_scale, self._params.time_step)):
            self._advance()

    def diagnostics(self) -> dict[str, Tensor]:
        speeds = self._velocities[:, 3]
        return {
            "polarization": ops.l2(ops.mean(self._headings[:, 0:3], axis=0)),
            "speed": ops.mean(speeds),
            "neighbors": ops.mean(self._positions[:, 3]),
            "cfl": ops.max(speeds) * (self._params.time_step / self._params.separation_radius),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A step of `COMPARED` birds spread over all, in float64."""
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        tensors = self._positions, self._velocities
        positions, velocities = (tensor.numpy()[:, :3].astype(float) for tensor in tensors)
        fields = self._fields()
        self._advance()
        after, faster, _ = flock_reference.step(positions, velocities, fields, self._periodic, pick)
        return [
            compare("position", self._positions.numpy()[pick, :3], after, 1e-5),
            compare("velocity", self._velocities.numpy()[pick, :3], faster, 1e-4),
        ]

    def reset(self) -> None:
        self._clock.remainder, self._turn, self._predator_path = 0.0, 0, 0.0
        ops.assign(self._positions, self._first_positions)
        ops.assign(self._velocities, self._first_velocities)
        ops.assign(self._headings[:, 0:3], self._first_headings)
        ops.assign(self._headings[:, 3], 0.0)
        ops.assign(self._predator, self._first_predator)
        ops.assign(self._predator_heading, self._first_predator_heading)

    def _create(self, parts: Parts) -> None:
        params = self._params
        self._count = n = params.count
        self._periodic = params.bounds == "periodic"
        self._extent = (params.width, params.height, params.width)
        self._turn, self._predator_path = 0, 0.0
        positions, headings = STARTS[params.start](np.random.default_rng(self._seed), n, self._extent)
        velocities = np.column_stack([headings * params.speed, np.full(n, params.speed)])
        self._first_positions = parts.copied("first_positions", np.column_stack([positions, np.zeros(n, np.float32)]))
        self._first_velocities = parts.copied("first_velocities", velocities)
        self._first_headings = parts.copied("first_headings", headings)
        self._first_predator = parts.copied("first_predator", np.array([self._hunter()]))
        self._positions, self._velocities = parts.zeros("positions", n, 4), parts.zeros("velocities", n, 4)
        self._first_predator_heading = parts.copied("first_predator_heading", np.array([self._hunter_heading()]))
        self._headings, self._predator = parts.zeros("headings", n, 4), parts.zeros("predator", 1, 3)
        self._predator_heading = parts.zeros("predator_heading", 1, 3)
        sorted_positions = parts.empty("sorted_positions", n, 4)
        sorted_velocities = parts.empty("sorted_velocities", n, 4)
        self._cell = max(params.perception_radius, max(self._extent) / MOST_CELLS)
        low, high = [-0.5 * side for side in self._extent], [0.5 * side for side in self._extent]
        grid = parts.enter_context(ops.NeighborGrid(n, 3, self._cell, low, high, f"{self.name}.grid"))

        self._plan = plan = parts.plan("step")
        with self._positions[:, 0:3] as position, plan.recording():
            grid.build(position, live=True)
            ops.reorder(self._positions, grid.order, sorted_positions)
            ops.reorder(self._velocities, grid.order, sorted_velocities)
        hunter = {"hunter": self._predator, "hunter_heading": self._predator_heading}
        tensors = self._tensors | {"starts": grid.starts, "order": grid.order} | hunter
        constants = {"count": n, "grid_size": grid.size}
        kernels = Kernels(SHADER, tensors, constants, grid.defines | {"PERIODIC": self._periodic})
        kernels.add(plan, "fly", n, "positions", "velocities", "headings", *hunter)

    def _advance(self) -> None:
        self._plan.replay(**self._fields())
        self._turn += 1
        self._predator_path += self._params.predator_speed * self._params.time_step

    def _hunter(self) -> tuple[float, ...]:
        """Where the predator is now, on a closed path through the box."""
        rates, amplitudes, phases = PATH.T
        swing = np.sin(2.0 * math.pi * rates * self._predator_path + phases)
        x, y, z = np.asarray(self._extent) * amplitudes * swing
        return float(x), float(y), float(z)

    def _hunter_heading(self) -> tuple[float, ...]:
        """The direction of that path there, a unit vector."""
        rates, amplitudes, phases = PATH.T
        pace = (
            np.asarray(self._extent) * amplitudes * rates * np.cos(2.0 * math.pi * rates * self._predator_path + phases)
        )
        x, y, z = pace / max(float(np.linalg.norm(pace)), 1e-12)
        return float(x), float(y), float(z)

    def _fields(self) -> dict[str, Any]:
        p, tool = self._params, self._tool()
        return {
            **parameters(p, "separation", "alignment", "cohesion", "leveling", "obstacle_radius"),
            "dt": p.time_step,
            "turn": self._turn,
            "key": key_of(self._seed),
            "stream": stream_words("flock"),
            "radius": p.perception_radius,
            "near": min(p.separation_radius, p.perception_radius),
            "sight": math.cos(math.radians(0.5 * p.field_of_view)),
            "agility": p.max_acceleration,
            "speed_range": (p.speed * (1.0 - p.speed_variation), p.speed * (1.0 + p.speed_variation)),
            "noise": p.noise * math.sqrt(p.time_step),
            "extent": self._extent,
            "predator": self._hunter(),
            "predator_heading": self._hunter_heading(),
            "fear": p.flee_radius,
            "obstacle": p.obstacle_center,
            "grid_low": tuple(-0.5 * side for side in self._extent),
            "grid_cell": max(p.perception_radius, self._cell),
            "tool_point": tool.point,
            "tool_radius": tool.radius,
            "tool_velocity": tool.velocity,
            "attraction": tool.strength,
        }
