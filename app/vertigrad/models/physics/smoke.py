"""`Smoke`: warm air that rises, with what it carries, around obstacles in a box."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import Gesture
from ..kernels import Kernels, parameters
from ..model_bases import FixedStepModel
from ..parts import Parts
from ..reference import smoke as smoke_reference
from ..reference.obstacle import Obstacles
from ..reference.smoke_bodies import loads
from .grid_inputs import obstacle_input
from .rigid_bodies import BODY_STATE, RigidBodies, groups_of, pose_outputs, with_bodies
from .smoke_budget import BUDGET_DIAGNOSTICS, BUDGET_LIMITS, advection_error
from .smoke_params import Params, cells_of, edge_of, sweep_pairs, time_step_of, uniforms
from .smoke_pressure import Multigrid

SHADER = "models/smoke.wgsl"
ADVECT = "models/smoke_advect.wgsl"
AIR = 1.2  # density of air [kg/m³]
LIGHTEST = 0.5  # mass of the air that a body displaces, relative to its own: added masses are less, but for thin plates
LOADS = 4  # of each workgroup: on faces along three axes, and on cells
FLOOR = 1.5  # half the width of the floor, in lengths of the box


class Smoke(FixedStepModel):
    """Incompressible air on a staggered grid, with smoke and temperature; see `reference/smoke.py` for the equations.

    Advection is MacCormack's with a limiter, stable for any step; density and temperature are rescaled to conserve
    their integrals. Air moves `MOST_COURANT` cells per step at most. The pressure is solved by a fixed number of
    multigrid cycles with a warm start. All kernels gather: the same seed gives the same bits on one GPU. The drag tool
    stirs the air, the emit tool adds smoke. With `combustion_rate` the density is fuel that burns where it is hot.

    Obstacles with a density are bodies that the pressure of air of 1.2 kg/m³ moves, with `gravity` and the lift of the
    air that they displace, within the box. They meet the air with the velocity of the step before: bodies that are not
    several times denser than air, or thin plates, shake or worse, as `displaced` reports.

    Energy is not judged: buoyancy, the jet and vorticity confinement add some in each step, by amounts that are not
    measured. What advection does not conserve of smoke and heat is, by `advection_error`.
    """

    Params = Params
    inputs: Mapping[str, str] = {
        "obstacle": "output obstacle of a model of type obstacle; or signed distances [m], negative inside, at nodes "
        "(nz, ny, nx) over the box, f32"
    }
    gestures = frozenset({Gesture.DRAG, Gesture.EMIT})
    max_steps = 8
    saved = ("faces", "matter", "velocity", "pressure", "tracers", "color", "ball", "totals", *BODY_STATE)
    scalars = ("turn",)
    limits: Mapping[str, Limit] = {
        "cfl": Limit(5.0, "advection crosses too many cells per step: lower time_step, or fewer cells"),
        "divergence": Limit(0.02, "the pressure has not converged: raise cycles"),
        **BUDGET_LIMITS,
        "displaced": Limit(LIGHTEST, "a body is too light for the air around it, and may shake: raise its density"),
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "cfl": DiagnosticSpec("distance the fastest air moves per step, in cells"),
        "divergence": DiagnosticSpec("largest divergence: relative volume change of a cell per step"),
        "mass": DiagnosticSpec("integral of the smoke density", "m³"),
        "warmth": DiagnosticSpec("integral of the temperature above the surroundings", "K m³"),
        "energy": DiagnosticSpec("kinetic energy of air with 1.2 kg/m³", "J"),
        **BUDGET_DIAGNOSTICS,
        "displaced": DiagnosticSpec("mass of the air that the lightest body displaces, relative to its own"),
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        unburnt = ("ignition_temperature", "heat_release") if params.combustion_rate == 0.0 else ()
        still = {} if "obstacle" in inputs else {"gravity": "the input obstacle is not connected"}
        return dict.fromkeys(unburnt, "combustion_rate = 0: nothing burns") | still

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        (x, y, z), n = cells_of(params), params.tracers
        return {
            "density": OutputSpec((z, y, x), "f32", "smoke density in each cell", "matter", 0),
            "temperature": OutputSpec((z, y, x), "f32", "temperature above the surroundings [K]", "matter", 1),
            "velocity": OutputSpec((z, y, x, 3), "f32", "air velocity at cell centers [m/s]"),
            "position": OutputSpec((n, 3), "f32", "tracer positions", "tracers", slice(3)),
            "color": OutputSpec((n,), "f32", "temperature at each tracer [K]"),
            "age": OutputSpec((n,), "f32", "age of each tracer [s]; negative before it is emitted", "tracers", 3),
            "ball": OutputSpec((1, 3), "f32", "center of the sphere obstacle", "ball", slice(3)),
            "ball_radius": OutputSpec((1,), "f32", "radius of the sphere obstacle; 0: none", "ball", 3),
            "floor": OutputSpec((2, 2, 3), "f32", "corners of the floor, which goes on around the box [m]"),
            "floor_center": OutputSpec((1, 3), "f32", "middle of the floor [m]: the place of a larger one"),
            **pose_outputs(),
        }

    @property
    def time_step(self) -> float:
        """The time step [s]."""
        return time_step_of(self._params)

    def step(self, dt: float) -> None:
        due = self._clock.due(dt, self.time_step)
        self._bodies.update()
        for k in range(due):
            self._fall.replay(**self._body_fields("gravity"))
            self._advance(dt * (due - 1 - k) / due)
        self._bodies.show()

    def diagnostics(self) -> dict[str, Tensor]:
        volume, courant = self._edge**3, self.time_step / self._edge
        self._outflow.replay(**self._fields())
        return {
            "cfl": ops.max(ops.absolute(self._faces)) * courant,
            "divergence": ops.max(ops.absolute(self._pressure.rhs)) * courant,
            "mass": ops.sum(self._views["density"]) * volume,
            "warmth": ops.sum(self._views["temperature"]) * volume,
            "energy": ops.sum_square(self._velocity) * (0.5 * AIR * volume),
            "advection_error": advection_error(self._totals, math.prod(self._size), self._params),
            "displaced": ops.max(self._bodies.bindings["answers"][:, 0, 3]) if self._bodies.count else Tensor.zeros(1),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A step of all of the air, and what it does to bodies, in float64."""
        self._fall.replay(**self._body_fields("gravity"))
        faces, matter = self._faces.numpy()[..., :3].astype(float), self._matter.numpy().astype(float)
        velocity, pressure = self._velocity.numpy().astype(float), self._pressure.pressure.numpy().astype(float)
        met = self._bodies.tensor if self._bodies.count else self._obstacle
        obstacle = Obstacles.of(met.numpy()) if met is not None and met.ndim == 1 else None
        fields, before = (
            {**self._fields(), "obstacle": obstacle},
            smoke_reference.Air(faces, matter, velocity, pressure),
        )
        self._advance()
        solid = self._pressure.solid.numpy() != 0
        after = smoke_reference.step(before, fields, solid, self._params.cycles, 2 * sweep_pairs(self._params))
        return [
            compare("density", self._views["density"].numpy(), after.matter[..., 0], 1e-4),
            compare("temperature", self._views["temperature"].numpy(), after.matter[..., 1], 1e-4),
            compare("velocity", self._velocity.numpy(), after.velocity, 1e-3),
            *self._compared_loads(after.pressure, solid, fields),
        ]

    def _compared_loads(self, pressure: np.ndarray, solid: np.ndarray, fields: Mapping[str, Any]) -> list[Comparison]:
        if not self._bodies.count:
            return []
        expected = loads(pressure, solid, fields, fields["obstacle"], AIR)
        answers = self._bodies.bindings["answers"].numpy()
        return [compare("loads", answers[:, :2, :3].reshape(-1, 6), expected, 1e-3)]

    def reset(self) -> None:
        self._clock.remainder, self._turn = 0.0, 0
        for tensor in (self._faces, self._matter, self._velocity, self._pressure.pressure, self._tracers, self._totals):
            ops.assign(tensor, 0.0)
        self._bodies.reset()
        self._walls.replay(**self._fields())
        self._drift.replay(**self._fields())
        self._turn = 1

    def _create(self, parts: Parts) -> None:
        self._size, self._edge, self._turn = cells_of(self._params), edge_of(self._params), 0
        self._obstacle, self._obstacle_kind = obstacle_input(parts, self._inputs)
        (x, y, z), zeros, tracers = self._size, parts.zeros, self._params.tracers
        self._faces, self._guess_faces, self._moved_faces = (
            zeros(what, z + 1, y + 1, x + 1, 4) for what in ("faces", "guess_faces", "moved_faces")
        )
        self._matter, self._guess_matter, self._moved_matter = (
            zeros(what, z, y, x, 2) for what in ("matter", "guess_matter", "moved_matter")
        )
        self._velocity = zeros("velocity", z, y, x, 3)
        self._spin, self._swirl = zeros("spin", z, y, x, 4), zeros("swirl", z, y, x, 4)
        self._tracers, self._color = zeros("tracers", tracers, 4), zeros("color", tracers)
        self._totals = zeros("totals", 4)
        zeros("ball", 1, 4)
        parts.copied("floor", self._floor())
        parts.copied("floor_center", self._floor().reshape(4, 3).mean(axis=0, keepdims=True))
        self._bodies = self._create_bodies(parts)
        self._pressure = Multigrid(self._size, parts)
        self._tensors["pressure"] = self._pressure.pressure  # the finest level's
        plans = parts.plans("walls", "advect", "spread", "push", "cycle", "drift", "look")
        self._walls, self._advect, self._spread, self._push, self._cycle, self._drift, self._outflow = plans
        self._record()

    def _create_bodies(self, parts: Parts) -> RigidBodies:
        """Bodies in the box, if an obstacle has a density."""
        moving = with_bodies(self._obstacle if self._obstacle_kind == "placed" else None)
        groups = LOADS * groups_of(math.prod(n + 1 for n in self._size), 128)
        x, y, z = (n * self._edge for n in self._size)
        low, high = (-0.5 * x, 0.0, -0.5 * z), (0.5 * x, y, 0.5 * z)
        bodies = RigidBodies(parts, moving, self.name, groups, low=low, high=high, obstacle_pace=1.0)
        self._fall, self._load, self._move = parts.plans("fall", "load", "move")
        bodies.add(self._fall, "predict")
        bodies.add(self._move, "advance")
        return bodies

    def _floor(self) -> np.ndarray:
        reach = FLOOR * max(self._size) * self._edge
        return np.array([[[x, 0.0, z] for x in (-reach, reach)] for z in (-reach, reach)], np.float32)

    def _record(self) -> None:
        met = self._bodies.tensor if self._bodies.count else self._obstacle
        inputs = {**({} if met is None else {"obstacle": met}), **self._bodies.bindings}
        defines = {"OBSTACLE": self._obstacle_kind, "AIR": AIR, **self._bodies.defines}
        air = Kernels(SHADER, self._tensors | inputs, defines=defines).add
        advection = Kernels(ADVECT, self._tensors).add
        cells, faces = math.prod(self._size), math.prod(n + 1 for n in self._size)
        guess, moved = self._guess_matter, self._moved_matter

        air(self._walls, "solidify", cells, "out_solid", out_solid=self._pressure.solid)
        self._pressure.record_walls(self._walls)

        advect = self._advect
        advection(advect, "predict_matter", cells, "out_matter", out_matter=guess)
        advection(advect, "correct_matter", cells, "out_matter", out_matter=moved)
        advection(advect, "tally", cells, "out_vectors", out_vectors=self._spin)
        with self._spin.reshape(-1, 4) as rows, advect.recording():
            ops.sum(rows, axis=0, out=self._totals)
        advection(advect, "make_good", cells, out_matter=moved)
        advection(advect, "predict_faces", faces, "out_faces", out_faces=self._guess_faces)
        advection(advect, "correct_faces", faces, "out_faces", out_faces=self._moved_faces)

        for source, target in ((moved, guess), (guess, moved)):
            advection(self._spread, "diffuse", cells, "out_matter", moved_matter=source, out_matter=target)

        push = self._push
        air(push, "find_spin", cells, "out_vectors", out_vectors=self._spin)
        air(push, "find_swirl", cells, "out_vectors", out_vectors=self._swirl)
        air(push, "emit_matter", cells, "out_matter", out_matter=self._matter)
        air(push, "push", faces, "out_faces", out_faces=self._faces)
        for plan in (push, self._outflow):
            air(plan, "diverge", cells, "out_scalars", out_scalars=self._pressure.rhs)
        self._pressure.record_cycle(self._cycle)

        if self._bodies.count:
            air(self._load, "load", faces)
            self._bodies.add(self._load, "answer")

        drift = self._drift
        air(drift, "project", faces, out_faces=self._faces)
        air(drift, "slip", faces, out_faces=self._faces)
        air(drift, "center", cells, "out_scalars", out_scalars=self._velocity)
        air(drift, "drift", self._params.tracers, out_scalars=self._color)

    def _advance(self, obstacle_lag: float = 0.0) -> None:
        fields = self._fields() | {"obstacle_lag": obstacle_lag}
        self._walls.replay(**fields)
        self._advect.replay(**fields)
        for _ in range(sweep_pairs(self._params)):
            self._spread.replay(**fields)
        self._push.replay(**fields)
        for _ in range(self._params.cycles):
            self._cycle.replay()
        if self._bodies.count:
            self._load.replay(**fields)
        self._drift.replay(**fields)
        self._move.replay(**self._body_fields())
        self._turn += 1

    def _body_fields(self, *names: str) -> dict[str, Any]:
        """What their plans are replayed with; nothing if there are none."""
        return {"dt": self.time_step, **parameters(self._params, *names)} if self._bodies.count else {}

    def _fields(self) -> dict[str, Any]:
        grid = self._obstacle.shape[::-1] if self._obstacle is not None and self._obstacle.ndim == 3 else (1, 1, 1)
        values = uniforms(self._params, self._seed, self._turn, self._tool())
        return {**values, "field_size": grid, "obstacle_lag": 0.0}
