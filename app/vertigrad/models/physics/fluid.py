"""`Fluid`: water with a free surface, as particles, incompressible by an implicit pressure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...tensor import Tensor, f32, u32
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec
from ..energy import ENERGY_DIAGNOSTICS, ENERGY_LIMITS, ENERGY_SCALARS, ENERGY_STATE, LEAST_GRAVITY, Energy, EnergyModel
from ..interaction import Gesture
from ..kernels import Kernels
from ..parts import Parts
from ..reference import fluid as fluid_reference
from ..reference.obstacle import falling
from .fluid_params import Params, uniforms
from .fluid_pour import Nozzle
from .fluid_start import Start
from .grid_inputs import OBSTACLE, obstacle_input
from .rigid_bodies import BODY_DIAGNOSTICS, BODY_STATE, RigidBodies, body_outputs, groups_of

SHADER = "models/fluid.wgsl"
PRESSURE = "models/fluid_pressure.wgsl"
BODY = "models/fluid_body.wgsl"
MOST = 56  # neighbors that are stored for each particle; at rest there are 32
CHECKED = 4  # iterations of the pressure solve from one look at its error to the next
LEAST_VISCOSITY = 1e-9  # m²/s, to which Reynolds numbers of a fluid without any are relative
LONGEST = 1.0 / 60.0  # s
UPRIGHT = {"body_x": (1.0, 0.0, 0.0), "body_y": (0.0, 1.0, 0.0), "body_z": (0.0, 0.0, 1.0)}
FACETS = (48, 64)  # rows and columns of the body's surface; multiples of four


class Fluid(EnergyModel):
    """Incompressible SPH with an implicit pressure (Ihmsen et al. 2014); shaders/models/fluid.wgsl has the equations.

    Walls are free-slip. Particles are sorted by cell at each step, so an index does not name the same particle for
    long. The time step follows from `courant` and the speed of a fall from the column's top, and is shorter for a
    viscous fluid. At most 64 steps are taken per frame; time beyond that is dropped. The drag tool moves the fluid; the
    emit tool pumps particles from all over the fluid to the tool, so mass is conserved.

    The same seed gives the same bits on one GPU: sums go over neighbors in the order of their indices.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "obstacle": OBSTACLE,
    }
    gestures = frozenset({Gesture.DRAG, Gesture.EMIT})
    saved = ("positions", "velocities", "pressures", "body", "body_normal", *BODY_STATE, *ENERGY_STATE)
    scalars = ENERGY_SCALARS
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(1.0, "particles move more than one spacing per step: lower courant"),
        "residual": Limit(0.2, "the pressure solve has not converged: more iterations, or a lower courant"),
        "compression": Limit(0.05, "the fluid is compressed: more iterations, or a lower courant"),
        "neighbors": Limit(MOST, "too many neighbors: the fluid is compressed; more iterations"),
        "cell_reynolds": Limit(
            201.0, "the fluid does not come to rest: raise artificial_viscosity to 0.005 or more, or viscosity"
        ),
        **ENERGY_LIMITS,
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "kinetic": DiagnosticSpec("kinetic energy", "J"),
        "potential": DiagnosticSpec("potential energy above the bottom of the tank", "J"),
        "energy": DiagnosticSpec("`kinetic` and `potential` together", "J"),
        "mass": DiagnosticSpec("mass of the particles within the tank", "kg"),
        "momentum": DiagnosticSpec("magnitude of the total momentum", "kg m/s"),
        "compression": DiagnosticSpec("mean excess of density over the rest density, relative to it"),
        "cfl": DiagnosticSpec("distance the fastest particle moves per step, in spacings"),
        "residual": DiagnosticSpec(
            "mean error of the density after a pressure solve, relative to what a step of gravity adds to a layer"
        ),
        "iterations": DiagnosticSpec("iterations that the last pressure solve took"),
        "neighbors": DiagnosticSpec("largest number of neighbors of a particle"),
        "cell_reynolds": DiagnosticSpec(
            "Reynolds number of a spacing at the speed of a fall from the column's top, with both viscosities"
        ),
        **ENERGY_DIAGNOSTICS,
        **BODY_DIAGNOSTICS,
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        grid = () if "obstacle" in inputs else ("obstacle_center", "obstacle_spacing")
        body = ("body_center", "body_size") if params.body == "none" else ()
        return {
            **dict.fromkeys(grid, "the input obstacle is not connected"),
            **dict.fromkeys(body, 'body = "none": nothing stands in the tank'),
        }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = Start.of(params).count
        return {
            "position": OutputSpec((n, 3), "f32", "particle positions [m]", "positions", slice(3)),
            "velocity": OutputSpec((n, 3), "f32", "particle velocities [m/s]", "velocities", slice(3)),
            "speed": OutputSpec((n,), "f32", "magnitude of the velocity [m/s]", "velocities", 3),
            "density": OutputSpec(
                (n,), "f32", "fluid density at each particle [kg/m³]; lower at the free surface", "positions", 3
            ),
            "pressure": OutputSpec((n,), "f32", "pressure at each particle [Pa]", "mechanical"),
            "radius": OutputSpec((n,), "f32", "half the spacing, for drawing [m]"),
            "body": OutputSpec((*FACETS, 3), "f32", "surface of the body in the tank [m]; a point if there is none"),
            "body_normal": OutputSpec((*FACETS, 3), "f32", "unit normals of the body"),
            "floor": OutputSpec((2, 2, 3), "f32", "corners of the tank's floor [m]"),
            "floor_center": OutputSpec((1, 3), "f32", "middle of the floor [m]: the place of a larger one"),
            **body_outputs(),
        }

    @property
    def spacing(self) -> float:
        """Distance of particles at rest [m]."""
        return self._start.spacing

    @property
    def time_step(self) -> float:
        """The time step [s], with the current parameters."""
        fall, thick = self._fall, self._viscosity
        return min(
            LONGEST,
            self._params.courant * self.spacing / fall if fall else LONGEST,
            0.1 * self.spacing**2 / thick if thick else LONGEST,
        )

    def step(self, dt: float) -> None:
        time_step, pours = self.time_step, self._tool(Gesture.EMIT)
        self._shape_body()
        self._bodies.update()
        due = self._clock.due(dt * self._params.time_scale, time_step)
        for k in range(due):
            if self._interaction is pours:
                self._nozzle.pour(pours, time_step)
            lag = {"obstacle_lag": dt * (due - 1 - k) / due}
            self._step.replay(**{"dt": time_step, **self._fields(), **lag})
        if due:  # a step has found what is near
            self._measure.replay(dt=time_step, **self._fields())
        self._bodies.show()
        self._judge_energy()

    def diagnostics(self) -> dict[str, Tensor]:
        start, params, positions, velocities = self._start, self._params, self._positions, self._velocities
        mass, low, high = start.mass(params.density), np.array(start.low, np.float32), np.array(start.high, np.float32)
        kinetic, potential = self._kinetic_and_potential()
        energy = kinetic + potential
        inside = ops.all(ops.absolute(positions[:, 0:3] - 0.5 * (low + high)) <= 0.5 * (high - low), axis=1)
        return {
            "kinetic": kinetic,
            "potential": potential,
            "energy": energy,
            "mass": ops.sum(inside.to(f32)) * mass,
            "momentum": ops.l2(ops.sum(velocities[:, 0:3], axis=0)) * mass,
            "compression": ops.mean(ops.maximum(positions[:, 3] * (1.0 / params.density) - 1.0, 0.0)),
            "cfl": ops.max(velocities[:, 3]) * (self.time_step / self.spacing),
            "residual": self._solved[0:1] * (1.0 / self._layer_error),
            "iterations": self._solved[1:2].contiguous(),
            "neighbors": ops.max(self._found.to(f32)),
            "cell_reynolds": Tensor.full(1, self.spacing * self._fall / max(self._viscosity, LEAST_VISCOSITY)),
            **self._energy_gain(self._scaled(energy)),
            **self._bodies.diagnostics(),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A step of particles spread over all, in float64: each stage of it from what the GPU had before that stage."""
        fields = self._fields()
        known: dict[str, Any] = {"dt": self.time_step}
        if self._bodies.count:
            fall = self._params.gravity * self.time_step
            known["field"] = falling(self._bodies.tensor.numpy(), fall)
        elif self._obstacle is not None:
            known["field"] = self._obstacle.numpy()
        self._step.replay(dt=self.time_step, **fields)
        if self._bodies.count:
            known["moved"] = self._bodies.tensor.numpy()
        constants = fluid_reference.Constants(**self._static(), **fields, **known)
        return fluid_reference.compared(constants, {name: tensor.numpy() for name, tensor in self._tensors.items()})

    def reset(self) -> None:
        ops.assign(self._positions, self._first)
        ops.assign(self._velocities, 0.0)
        ops.assign(self._pressures, 0.0)
        ops.assign(self._found, 0)
        ops.assign(self._solved, 0.0)
        ops.assign(self._mechanical, 0.0)
        self._bodies.reset()
        self._clock.remainder, self._nozzle.poured, self._nozzle.layers = 0.0, 0.0, 0
        self._shape_body()
        self._forget_energy()

    def scalar_state(self) -> dict[str, float]:
        return super().scalar_state() | {"poured": self._nozzle.poured, "layers": self._nozzle.layers}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._nozzle.poured, self._nozzle.layers = scalars["poured"], int(scalars["layers"])

    def _kinetic_and_potential(self) -> tuple[Tensor, Tensor]:
        start, params = self._start, self._params
        mass = start.mass(params.density)
        height = ops.sum(self._positions[:, 1] - start.low[1])
        return ops.sum_square(self._velocities[:, 3]) * (0.5 * mass), height * (mass * params.gravity)

    def _scaled(self, energy: Tensor) -> Energy:
        weight = self._start.count * self._start.mass(self._params.density) * max(self._params.gravity, LEAST_GRAVITY)
        of_fluid = Energy(energy, Tensor.full(1, weight * self._start.top))
        return self._bodies.add_energy(of_fluid, self._params.gravity, self._start.top)

    def _mechanical_energy(self) -> Energy:
        kinetic, potential = self._kinetic_and_potential()
        return self._scaled(kinetic + potential)

    def _adds_energy(self) -> bool:
        return False

    @property
    def _fall(self) -> float:
        """Speed of what has fallen from the column's top [m/s]."""
        return math.sqrt(2.0 * self._params.gravity * self._start.top)

    @property
    def _layer_error(self) -> float:
        """Relative density that a step of gravity adds to the lowest layer of particles."""
        return max(self._params.gravity, LEAST_GRAVITY) * self.time_step**2 / self.spacing

    @property
    def _viscosity(self) -> float:
        return self._params.viscosity + self._params.artificial_viscosity * self.spacing * self._fall

    def _create(self, parts: Parts) -> None:
        params, self._start = self._params, Start.of(self._params)
        self._obstacle, self._obstacle_kind = obstacle_input(parts, self._inputs)
        start, n = self._start, self._start.count
        first = np.column_stack([start.positions(self._seed), np.full(n, params.density)]).astype(np.float32)
        self._first = parts.copied("first", first)
        self._positions, self._velocities = parts.empty("positions", n, 4), parts.empty("velocities", n, 4)
        self._pressures, self._found = parts.empty("pressures", n), parts.empty("found", n, dtype=u32)
        parts.empty("near", MOST, n, dtype=u32)
        for what in ("sorted_positions", "sorted_velocities", "pushed", "walls"):
            parts.empty(what, n, 4)
        parts.empty("sorted_pressures", n)
        parts.empty("excess", n, 2)
        parts.zeros("total", 1, dtype=u32)
        self._create_energy(parts, self._obstacle, self._obstacle_kind)
        self._solved, _ = parts.empty("solved", 2), parts.zeros("going", 2, dtype=u32)
        self._mechanical = parts.empty("mechanical", n)
        groups, placed = groups_of(n, 128), self._obstacle if self._obstacle_kind == "placed" else None
        self._bodies = RigidBodies(parts, placed, self.name, groups, low=start.low, high=start.high)
        parts.copied("radius", np.full(n, 0.5 * self.spacing, np.float32))
        body, body_normal = parts.empty("body", *FACETS, 3), parts.empty("body_normal", *FACETS, 3)
        parts.copied("floor", start.floor())
        parts.copied("floor_center", start.floor().reshape(4, 3).mean(axis=0, keepdims=True))
        self._record_step(parts)
        state = {name: self._tensors[name] for name in ("positions", "velocities", "pressures")}
        self._nozzle = Nozzle(parts, start, state)
        self._body = parts.plan("body")
        surface = Kernels(
            BODY, {"positions": body, "normals": body_normal}, {"rows": FACETS[0], "columns": FACETS[1], **UPRIGHT}
        )
        surface.add(self._body, "main", math.prod(FACETS), "positions", "normals")

    def _record_step(self, parts: Parts) -> None:
        step, tensors, n = parts.plan("step"), self._tensors, self._start.count
        self._step = step
        low, high = self._start.low, self._start.high
        grid = parts.enter_context(ops.NeighborGrid(n, 3, 2.0 * self.spacing, low, high, f"{self.name}.grid"))
        with self._positions[:, 0:3] as position, step.recording():
            grid.build(position)
        found = {f"new_{what}": tensors[what] for what in ("near", "found", "walls")}
        inputs = {"order": grid.order, "starts": grid.starts}
        constants = self._static() | grid.fields | {"chebyshev_weight": 1.0, "iteration": 0, "measured": 0}
        if self._obstacle is not None and self._obstacle_kind == "grid":
            inputs["field"], constants["field_size"] = self._obstacle, self._obstacle.shape[::-1]
        elif self._obstacle is not None:
            inputs |= {"field": self._bodies.tensor, **self._bodies.bindings}
            parts.empty("solids", n, 4)
            inputs |= {"new_solids": tensors["solids"], "near_solids": parts.zeros("near_solids", n, dtype=u32)}
            inputs["new_near_solids"] = inputs["near_solids"]
        defines = grid.defines | {"MOST": MOST, "FIELD": self._obstacle_kind, **self._bodies.defines}
        flow, solve = (Kernels(path, tensors | found | inputs, constants, defines) for path in (SHADER, PRESSURE))
        flow.add(
            step,
            "gather",
            n,
            new_positions=tensors["sorted_positions"],
            new_velocities=tensors["sorted_velocities"],
            new_pressures=tensors["sorted_pressures"],
        )
        flow.add(step, "meet", n)
        flow.add(step, "push", n, new_velocities=tensors["pushed"])
        self._record_solve(solve)
        self._bodies.add(step, "advance")
        flow.add(step, "finish", n, sorted_velocities=tensors["pushed"])
        self._bodies.add(step, "answer")
        self._bodies.add(step, "correct")
        self._measure = parts.plan("measure")
        solve.add(self._measure, "measure", n, "mechanical")

    def _record_solve(self, solve: Kernels) -> None:
        """The pressure, for what was pushed, and what it does to obstacles."""
        step, tensors, n = self._step, self._tensors, self._start.count
        velocities, pressures = tensors["sorted_velocities"], tensors["sorted_pressures"]
        self._bodies.add(step, "predict")
        solve.add(step, "predict", n, sorted_velocities=tensors["pushed"])
        weights = fluid_reference.chebyshev_weights(self._params.iterations)
        for iteration, weight in enumerate(weights, 1):
            measured = iteration % CHECKED == 0 or iteration == len(weights)
            solve.add(step, "accelerate", n, new_velocities=velocities)  # and the loads of obstacles that are moved
            self._bodies.add(step, "answer")
            solve.add(step, "relax", n, new_pressures=pressures, chebyshev_weight=weight, measured=measured)
            if measured:
                solve.add(step, "judge", 1, iteration=iteration)
        if self._bodies.count:
            solve.add(step, "load", n)
            self._bodies.add(step, "answer")

    def _shape_body(self) -> None:
        fields = self._fields()
        self._body.replay(**{name: fields[name] for name in ("shape", "body_center", "body_half")})

    def _static(self) -> dict[str, Any]:
        start = self._start
        return {"count": start.count, "spacing": start.spacing, "tank_low": start.low, "tank_high": start.high}

    def _fields(self) -> dict[str, Any]:
        params = self._params
        derived = {"viscosity": self._viscosity, "tolerance": params.tolerance * self._layer_error}
        values = uniforms(params, self._tool(Gesture.DRAG)) | derived
        if self._obstacle is None or self._obstacle_kind != "grid":
            return values
        edge, size = params.obstacle_spacing, self._obstacle.shape[::-1]
        low = tuple(at - 0.5 * edge * (n - 1) for at, n in zip(params.obstacle_center, size, strict=True))
        return values | {"field_low": low, "field_spacing": edge}
