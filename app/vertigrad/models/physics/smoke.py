"""`Smoke`: warm air that rises, with what it carries, around obstacles in a box."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from ... import ops
from ...errors import ShapeError
from ...gpu import Kernel, Plan
from ...tensor import Tensor, f32
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import Gesture
from ..model_bases import NoReloadModel
from ..parts import Parts
from ..reference import smoke as smoke_reference
from ..stepping import FixedStep
from .smoke_params import Params, cells_of, edge_of, sweep_pairs, time_step_of, uniforms
from .smoke_pressure import Multigrid

SHADER = "models/smoke.wgsl"
ADVECT = "models/smoke_advect.wgsl"
AIR = 1.2  # density of air [kg/m³]


class Smoke(NoReloadModel):
    """Incompressible air on a staggered grid, with smoke and temperature; see `reference/smoke.py` for the equations.

    Advection is MacCormack's with a limiter, stable for any step; density and temperature are rescaled to conserve
    their integrals. Air moves `MOST_COURANT` cells per step at most. The pressure is solved by a fixed number of
    multigrid cycles with a warm start. All kernels gather: the same seed gives the same bits on one GPU. The drag tool
    stirs the air, the emit tool adds smoke.
    """

    Params = Params
    inputs: Mapping[str, str] = {
        "obstacle": "signed distances [m] to an obstacle, negative inside, at nodes (nz, ny, nx) over the box, f32"
    }
    gestures = frozenset({Gesture.DRAG, Gesture.EMIT})
    limits: Mapping[str, Limit] = {
        "cfl": Limit(5.0, "advection crosses too many cells per step: lower time_step, or fewer cells"),
        "divergence": Limit(0.02, "the pressure has not converged: raise cycles"),
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "cfl": DiagnosticSpec("distance the fastest air moves per step, in cells"),
        "divergence": DiagnosticSpec("largest divergence: relative volume change of a cell per step"),
        "mass": DiagnosticSpec("integral of the smoke density", "m³"),
        "warmth": DiagnosticSpec("integral of the temperature above the surroundings", "K m³"),
        "energy": DiagnosticSpec("kinetic energy of air with 1.2 kg/m³", "J"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        x, y, z = cells_of(params)
        return {
            "density": OutputSpec((z, y, x), "f32", "smoke density in each cell"),
            "temperature": OutputSpec((z, y, x), "f32", "temperature above the surroundings [K]"),
            "velocity": OutputSpec((z, y, x, 3), "f32", "air velocity at cell centers [m/s]"),
            "position": OutputSpec((params.tracers, 3), "f32", "tracer positions"),
            "color": OutputSpec((params.tracers,), "f32", "temperature at each tracer [K]"),
            "age": OutputSpec((params.tracers,), "f32", "age of each tracer [s]; negative before it is emitted"),
            "ball": OutputSpec((1, 3), "f32", "center of the sphere obstacle"),
            "ball_radius": OutputSpec((1,), "f32", "radius of the sphere obstacle; 0: none"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params, self._seed = name, params, seed
        self._size, self._edge = cells_of(params), edge_of(params)
        self._obstacle = inputs.get("obstacle")
        self._clock, self._turn = FixedStep(max_steps=8), 0
        self.clocks = (self._clock,)
        if self._obstacle is not None and (self._obstacle.ndim != 3 or self._obstacle.dtype is not f32):
            shape, dtype = self._obstacle.shape, self._obstacle.dtype
            raise ShapeError(f"{name}.obstacle: {dtype} of shape {shape}; signed distances are f32 (nz, ny, nx)")
        with self._building() as parts:
            self._make(parts)
            self._record()
            self._views = parts.views(self._output_views())
            self.reset()

    @property
    def time_step(self) -> float:
        """The time step [s]."""
        return time_step_of(self._params)

    def step(self, dt: float) -> None:
        for _ in range(self._clock.due(dt, self.time_step)):
            self._advance()

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        volume, courant = self._edge**3, self.time_step / self._edge
        self._outflow.replay(**self._fields())
        with (
            ops.absolute(self._faces) as speeds,
            ops.absolute(self._pressure.rhs) as flows,
            ops.max(speeds) as speed,
            ops.max(flows) as flow,
            ops.sum(self._views["density"]) as density,
            ops.sum(self._views["temperature"]) as warmth,
            ops.sum_square(self._velocity) as squares,
        ):
            return {
                "cfl": speed * courant,
                "divergence": flow * courant,
                "mass": density * volume,
                "warmth": warmth * volume,
                "energy": squares * (0.5 * AIR * volume),
            }

    def compare_with_reference(self) -> list[Comparison]:
        """A step of all of the air, in float64."""
        faces, matter = self._faces.numpy()[..., :3].astype(float), self._matter.numpy().astype(float)
        velocity, pressure = self._velocity.numpy().astype(float), self._pressure.pressure.numpy().astype(float)
        fields, before = self._fields(), smoke_reference.Air(faces, matter, velocity, pressure)
        self._advance()
        solid = self._pressure.solid.numpy() != 0
        after = smoke_reference.step(before, fields, solid, self._params.cycles, 2 * sweep_pairs(self._params))
        return [
            compare("density", self._views["density"].numpy(), after.matter[..., 0], 1e-4),
            compare("temperature", self._views["temperature"].numpy(), after.matter[..., 1], 1e-4),
            compare("velocity", self._velocity.numpy(), after.velocity, 1e-3),
        ]

    def reset(self) -> None:
        self._clock.remainder, self._turn = 0.0, 0
        for tensor in (self._faces, self._matter, self._velocity, self._pressure.pressure, self._tracers):
            ops.assign(tensor, 0.0)
        self._walls.replay(**self._fields())
        self._drift.replay(**self._fields())
        self._turn = 1

    def state(self) -> dict[str, Tensor]:
        return {
            "faces": self._faces,
            "matter": self._matter,
            "velocity": self._velocity,
            "pressure": self._pressure.pressure,
            "tracers": self._tracers,
            "color": self._color,
            "ball": self._ball,
        }

    def numbers(self) -> dict[str, float]:
        return {"remainder": self._clock.remainder, "turn": self._turn}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._clock.remainder, self._turn = numbers["remainder"], int(numbers["turn"])

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, parts: Parts) -> None:
        x, y, z = self._size
        zeros, tracers = parts.zeros, self._params.tracers
        self._faces, self._guess_faces, self._moved_faces = (
            zeros(what, z + 1, y + 1, x + 1, 4) for what in ("faces", "guess_faces", "moved_faces")
        )
        self._matter, self._guess_matter, self._moved_matter = (
            zeros(what, z, y, x, 2) for what in ("matter", "guess_matter", "moved_matter")
        )
        self._velocity = zeros("velocity", z, y, x, 3)
        self._spin, self._swirl = zeros("spin", z, y, x, 4), zeros("swirl", z, y, x, 4)
        self._tracers, self._color = zeros("tracers", tracers, 4), zeros("color", tracers)
        self._ball, self._totals = zeros("ball", 1, 4), zeros("totals", 4)
        self._pressure = parts.enter_context(Multigrid(self._size, f"{self.name}.pressure"))
        plans = parts.plans("walls", "advect", "spread", "push", "cycle", "drift", "look")
        self._walls, self._advect, self._spread, self._push, self._cycle, self._drift, self._outflow = plans

    def _output_views(self) -> dict[str, Tensor]:
        return {
            "density": self._matter[..., 0],
            "temperature": self._matter[..., 1],
            "velocity": self._velocity[:],
            "position": self._tracers[:, 0:3],
            "color": self._color[:],
            "age": self._tracers[:, 3],
            "ball": self._ball[:, 0:3],
            "ball_radius": self._ball[:, 3],
        }

    def _record(self) -> None:
        faces, matter, solid = self._faces, self._matter, self._pressure.solid
        given = {} if self._obstacle is None else {"obstacle": self._obstacle}
        self._on_cells(self._walls, "solidify", out_solid=solid, ball=self._ball, **given)
        self._pressure.record_walls(self._walls)

        advect, guess, moved = self._advect, self._guess_matter, self._moved_matter
        wind = {"faces": faces, "velocity": self._velocity}
        self._on_cells(advect, "predict_matter", matter=matter, solid=solid, out_matter=guess, **wind)
        reading = {"matter": matter, "guess_matter": guess, "solid": solid}
        self._on_cells(advect, "correct_matter", out_matter=moved, **reading, **wind)
        self._on_cells(advect, "tally", faces=faces, matter=matter, moved_matter=moved, out_vectors=self._spin)
        with self._spin.reshape(-1, 4) as rows:
            ops.record_reduce(advect, "sum", rows, self._totals, axis=0)
        self._add(advect, "make_good", math.prod(self._size), {"out_matter": moved, "totals": self._totals})
        self._on_faces(advect, "predict_faces", out_faces=self._guess_faces, **wind)
        self._on_faces(advect, "correct_faces", guess_faces=self._guess_faces, out_faces=self._moved_faces, **wind)

        for source, target in ((moved, guess), (guess, moved)):
            self._on_cells(self._spread, "diffuse", moved_matter=source, solid=solid, out_matter=target)

        push = self._push
        self._on_cells(push, "find_spin", velocity=self._velocity, out_vectors=self._spin)
        self._on_cells(push, "find_swirl", spin=self._spin, out_vectors=self._swirl)
        self._on_cells(push, "emit_matter", moved_matter=self._moved_matter, solid=solid, out_matter=matter)
        reading = {"moved_faces": self._moved_faces, "matter": matter, "swirl": self._swirl, "solid": solid}
        self._on_faces(push, "push", out_faces=faces, **reading)
        for plan in (push, self._outflow):
            self._on_cells(plan, "diverge", faces=faces, solid=solid, out_numbers=self._pressure.rhs)
        self._pressure.record_cycle(self._cycle)

        drift = self._drift
        self._on_faces(drift, "project", pressure=self._pressure.pressure, solid=solid, out_faces=faces)
        self._on_faces(drift, "slip", solid=solid, out_faces=faces)
        self._on_cells(drift, "center", faces=faces, out_numbers=self._velocity)
        reading = {"faces": faces, "matter": matter, "solid": solid}
        drifting = {"tracers": self._tracers, "out_numbers": self._color, **reading}
        self._add(drift, "drift", self._params.tracers, drifting)

    def _on_cells(self, plan: Plan, entry: str, **tensors: Tensor) -> None:
        over = tuple(name for name in tensors if name.startswith("out_"))
        self._add(plan, entry, math.prod(self._size), tensors, over)

    def _on_faces(self, plan: Plan, entry: str, **tensors: Tensor) -> None:
        over = () if entry in ("project", "slip") else ("out_faces",)
        self._add(plan, entry, math.prod(n + 1 for n in self._size), tensors, over)

    def _add(
        self, plan: Plan, entry: str, threads: int, tensors: Mapping[str, Tensor], over: tuple[str, ...] = ()
    ) -> None:
        if plan in (self._advect, self._spread):
            kernel = Kernel.load(ADVECT, entry)
        else:
            kernel = Kernel.load(SHADER, entry, {"OBSTACLE": self._obstacle is not None})
        plan.dispatch(kernel, threads, overwrites=over, **tensors)

    def _advance(self) -> None:
        fields = self._fields()
        self._walls.replay(**fields)
        self._advect.replay(**fields)
        for _ in range(sweep_pairs(self._params)):
            self._spread.replay(**fields)
        self._push.replay(**fields)
        for _ in range(self._params.cycles):
            self._cycle.replay()
        self._drift.replay(**fields)
        self._turn += 1

    def _fields(self) -> dict[str, Any]:
        obstacle = (1, 1, 1) if self._obstacle is None else self._obstacle.shape[::-1]
        return {**uniforms(self._params, self._seed, self._turn, self._interaction), "field_size": obstacle}
