"""`Foam`: spray, foam and bubbles where a fluid of particles breaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...errors import InputError
from ...ops.philox import key_of, stream_words
from ...tensor import Tensor, f32, i32, u32
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..kernels import Kernels, parameters
from ..model_bases import FixedStepModel
from ..parts import Parts
from ..reference import foam as foam_reference
from .foam_params import Params
from .grid_inputs import obstacle_input

SHADER = "models/foam.wgsl"
COMPARED = 256  # particles compared with the reference, whose cost grows with their number times that of the fluid's
KINDS = ("spray", "foam", "bubbles")  # numbers 1, 2, 3


class Foam(FixedStepModel):
    """Diffuse particles of a fluid (Ihmsen et al. 2012): spray flies, foam moves along, bubbles rise.

    They are generated where fast fluid traps air, and at wave crests; `reference/foam.py` has the equations. The kind
    of a particle follows from how many of the fluid's are within two spacings: few around spray, many around bubbles.
    The pool has a fixed capacity: while it is full, nothing is generated. A place of the pool with nothing in it has
    radius 0. The fluid is that of the end of a frame, in all steps of the frame.

    The same seed gives the same bits on one GPU: new particles take free places in order.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "position": "positions of the fluid's particles (n, 3), f32 [m]",
        "velocity": "their velocities (n, 3), f32 [m/s]",
        "radius": "half their spacing at rest (n), f32 [m]; replaces spacing",
        "floor": "corners of the tank's floor (2, 2, 3), f32 [m], within whose walls particles stay",
        "obstacle": "output obstacle of a model of type obstacle, outside of which particles stay",
    }
    required_inputs = frozenset({"position", "velocity"})
    saved = ("positions", "velocities", "radii")
    scalars = ("turn",)
    limits: ClassVar[Mapping[str, Limit]] = {
        "occupancy": Limit(0.99, "the pool is full: raise capacity, or lower rates or lifetimes")
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "spray": DiagnosticSpec("number of particles of spray"),
        "foam": DiagnosticSpec("number of particles of foam"),
        "bubbles": DiagnosticSpec("number of bubbles"),
        "occupancy": DiagnosticSpec("fraction of the pool in use"),
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        return {"spacing": "the input radius is connected"} if "radius" in inputs else {}

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.capacity
        return {
            "position": OutputSpec((n, 3), "f32", "positions [m]", "positions", slice(3)),
            "velocity": OutputSpec((n, 3), "f32", "velocities [m/s]", "velocities", slice(3)),
            "radius": OutputSpec((n,), "f32", "radii, for drawing [m]; 0 if there is no particle", "radii"),
            "kind": OutputSpec((n,), "f32", "0 none, 1 spray, 2 foam, 3 bubble", "velocities", 3),
            "life": OutputSpec((n,), "f32", "fraction of the lifetime that is left", "positions", 3),
        }

    @property
    def spacing(self) -> float:
        """Distance of the fluid's particles at rest [m]."""
        return self._spacing

    def step(self, dt: float) -> None:
        for _ in range(self._clock.due(dt * self._params.time_scale, self._params.time_step)):
            self._advance()

    def diagnostics(self) -> dict[str, Tensor]:
        kinds = self._velocities[:, 3]
        counts = {name: ops.sum(ops.equal(kinds, float(k)).to(f32)) for k, name in enumerate(KINDS, 1)}
        return {**counts, "occupancy": ops.mean(ops.greater(self._positions[:, 3], 0.0).to(f32))}

    def compare_with_reference(self) -> list[Comparison]:
        """A step in float64, of particles spread over all: potentials of the fluid, and what was in the pool."""
        fields = self._fields()
        before = self._positions.numpy().astype(float), self._velocities.numpy().astype(float)
        self._advance()
        fluid = foam_reference.Fluid(
            *(
                self._tensors[name].numpy().astype(float).reshape(-1, 3)
                for name in ("fluid_positions", "fluid_velocities")
            )
        )
        pick = np.unique(np.linspace(0, len(fluid.positions) - 1, COMPARED).astype(int))
        constants = fields | {"reach": 2.0 * self._spacing}
        potentials = foam_reference.potentials(fluid, constants, pick)
        found = [compare("potentials", self._tensors["potentials"].numpy()[pick], potentials, 1e-4)]
        there = np.flatnonzero(
            before[0][:, 3] > fields["dt"] / min(fields["lifetimes"])
        )  # what does not end in the step
        there = there[np.unique(np.linspace(0, len(there) - 1, COMPARED).astype(int))] if len(there) else there
        floor = None if self._floor is None else self._floor.numpy()
        obstacle = None if self._obstacle is None else self._obstacle.numpy()
        positions, velocities = foam_reference.advance(
            fluid, constants, before[0][there], before[1][there], floor, obstacle
        )
        return [
            *found,
            compare("positions", self._positions.numpy()[there], positions, 1e-4),
            compare("velocities", self._velocities.numpy()[there], velocities, 1e-3),
        ]

    def reset(self) -> None:
        self._clock.remainder, self._turn = 0.0, 0
        ops.assign(self._positions, 0.0)
        ops.assign(self._velocities, 0.0)
        ops.assign(self._radii, 0.0)
        if self._floor is not None:  # nothing is drawn there, but images are framed by it
            with self._floor.reshape(4, 3) as corners:
                ops.assign(self._positions[:, 0:3], corners[0:1, :])

    def _create(self, parts: Parts) -> None:
        self._turn, n = 0, self._params.capacity
        position, velocity = (self._rows(parts, name) for name in ("position", "velocity"))
        if position.shape != velocity.shape or not position.shape[0]:
            problem = f"{self.name}: {position.shape[0]} positions and {velocity.shape[0]} velocities"
            raise InputError(f"{problem}; both are of all particles of one fluid")
        count = position.shape[0]
        self._spacing = self._spacing_of_input()
        self._floor = self._floor_input(parts)
        self._obstacle, kind = obstacle_input(parts, self._inputs)
        if kind == "grid":
            raise InputError(
                f"{self.name}: obstacle is a grid; it must be the output obstacle of a model of type obstacle"
            )
        self._positions, self._velocities = parts.empty("positions", n, 4), parts.empty("velocities", n, 4)
        self._radii = parts.empty("radii", n)
        vacant, emitted = parts.empty("vacant", n, dtype=u32), parts.empty("emitted", count, dtype=u32)
        free, free_count = parts.empty("free", n, 1, dtype=i32), parts.empty("free_count", 1, dtype=u32)
        fluid = [parts.empty(name, count, 3) for name in ("fluid_positions", "fluid_velocities")]
        normals, firsts = parts.empty("normals", count, 4), parts.empty("firsts", count, dtype=u32)
        parts.zeros("potentials", count, 4)
        grid = parts.enter_context(ops.NeighborGrid(count, 3, 2.0 * self._spacing, name=f"{self.name}.grid"))

        self._plan = plan = parts.plan("step")
        tensors = {**self._tensors, "starts": grid.starts, "new_normals": normals}
        tensors |= {"corners": self._floor} if self._floor is not None else {}
        tensors |= {"field": self._obstacle} if self._obstacle is not None else {}
        defines = grid.defines | {"FLOOR": self._floor is not None, "FIELD": kind}
        constants = {"count": count, "capacity": n, "reach": 2.0 * self._spacing, **grid.fields}
        kernels = Kernels(SHADER, tensors, constants, defines)
        with plan.recording():
            grid.build(position)
            for source, target in zip((position, velocity), fluid, strict=True):
                ops.reorder(source, grid.order, target)
            kernels.add(plan, "advance", n)
            ops.nonzero(vacant, out=(free, free_count))
            kernels.add(plan, "survey", count, "new_normals")
            kernels.add(plan, "count_emitted", count, "potentials", "emitted")
            ops.scan("sum", emitted, exclusive=True, out=firsts)
            kernels.add(plan, "spawn", count)

    def _advance(self) -> None:
        self._plan.replay(**self._fields())
        self._turn += 1

    def _fields(self) -> dict[str, Any]:
        p = self._params
        names = (
            "gravity",
            "trapped_air_rate",
            "wave_crest_rate",
            "trapped_air",
            "wave_crest",
            "buoyancy",
            "drag",
            "radius",
        )
        return {
            **parameters(p, *names),
            "dt": p.time_step,
            "obstacle_pace": 1.0 / max(p.time_scale, 1e-6),
            "turn": self._turn,
            "key": key_of(self._seed),
            "stream": stream_words("foam"),
            "energy": tuple(0.5 * speed * speed for speed in p.speed),
            "spray_neighbors": float(p.spray_neighbors),
            "bubble_neighbors": float(p.bubble_neighbors),
            "lifetimes": (p.spray_lifetime, p.foam_lifetime, p.bubble_lifetime),
        }

    def _rows(self, parts: Parts, name: str) -> Tensor:
        tensor = self._inputs[name]
        if tensor.dtype is not f32 or tensor.ndim != 2 or tensor.shape[1] != 3:
            raise InputError(
                f"{self.name}: {name} is {tensor.dtype} of shape {tensor.shape}; it must be f32 of shape (n, 3)"
            )
        return parts.enter_context(tensor[...])

    def _spacing_of_input(self) -> float:
        radius = self._inputs.get("radius")
        if radius is None:
            return self._params.spacing
        spacing = 2.0 * float(radius.numpy().max()) if radius.size else 0.0
        if not 0.0 < spacing < float("inf"):
            raise InputError(f"{self.name}: radius is {0.5 * spacing}; it must be half the fluid's spacing, above 0")
        return spacing

    def _floor_input(self, parts: Parts) -> Tensor | None:
        tensor = self._inputs.get("floor")
        if tensor is None:
            return None
        if tensor.dtype is not f32 or tensor.shape != (2, 2, 3) or not tensor.is_contiguous:
            problem = f"{self.name}: floor is {tensor.dtype} of shape {tensor.shape}"
            raise InputError(f"{problem}; it must be f32 of shape (2, 2, 3), such as the output floor of a fluid")
        return parts.enter_context(tensor[...])
