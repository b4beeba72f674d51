"""`Fluid`: water with a free surface, as particles kept incompressible by an implicit pressure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Kernel
from ...tensor import Tensor, f32, u32
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec
from ..interaction import Gesture
from ..model_bases import NoReloadModel
from ..parts import Parts
from ..reference import fluid as fluid_reference
from ..stepping import FixedStep
from .fluid_params import Params, uniforms
from .fluid_pour import Nozzle
from .fluid_start import Start

SHADER = "models/fluid.wgsl"
BODY = "models/fluid_body.wgsl"
MOST = 56  # neighbors that are kept of each particle; at rest there are 32
LONGEST = 1.0 / 60.0  # s
CROWD = {name: name for name in ("sorted_positions", "near", "found")}  # what every walk over neighbors reads
FACETS = (48, 64)  # rows and columns of the body's surface; multiples of four


class Fluid(NoReloadModel):
    """Incompressible SPH with an implicit pressure (Ihmsen et al. 2014); shaders/models/fluid.wgsl has the equations.

    Walls are free-slip. Particles are sorted by cell at each step, so an index does not name the same particle for
    long. The time step follows from `courant` and the speed of a fall from the column's top, and is shorter for a
    viscous fluid. At most 64 steps are taken per frame; time beyond that is dropped. The drag tool moves the fluid; the
    emit tool pumps particles from all over the fluid to the tool, so mass is conserved.

    The same seed gives the same bits on one GPU: sums go over neighbors in the order of their indices.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "obstacle": "signed distances [m] to an obstacle, negative inside, at the nodes of a grid (nz, ny, nx), f32"
    }
    gestures = frozenset({Gesture.DRAG, Gesture.EMIT})
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(1.0, "particles move more than one spacing per step: lower courant"),
        "compression": Limit(0.05, "the fluid is compressed: more iterations, or a lower courant"),
        "neighbors": Limit(MOST, "too many neighbors: the fluid is compressed; more iterations"),
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "kinetic": DiagnosticSpec("kinetic energy", "J"),
        "potential": DiagnosticSpec("potential energy above the bottom of the tank", "J"),
        "energy": DiagnosticSpec("`kinetic` and `potential` together", "J"),
        "mass": DiagnosticSpec("mass of the particles within the tank", "kg"),
        "momentum": DiagnosticSpec("magnitude of the total momentum", "kg m/s"),
        "compression": DiagnosticSpec("mean excess of density over the rest density, relative to it"),
        "cfl": DiagnosticSpec("distance the fastest particle moves per step, in spacings"),
        "neighbors": DiagnosticSpec("largest number of neighbors of a particle"),
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
            "position": OutputSpec((n, 3), "f32", "particle positions [m]"),
            "velocity": OutputSpec((n, 3), "f32", "particle velocities [m/s]"),
            "speed": OutputSpec((n,), "f32", "magnitude of the velocity [m/s]"),
            "density": OutputSpec((n,), "f32", "fluid density at each particle [kg/m³]; lower at the free surface"),
            "radius": OutputSpec((n,), "f32", "half the spacing, for drawing [m]"),
            "body": OutputSpec((*FACETS, 3), "f32", "surface of the body in the tank [m]; a point if there is none"),
            "body_normal": OutputSpec((*FACETS, 3), "f32", "unit normals of the body"),
            "floor": OutputSpec((2, 2, 3), "f32", "corners of the tank's floor [m]"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        self._start = Start.of(params)
        self._obstacle = _checked(name, inputs.get("obstacle"))
        self._clock = FixedStep()
        self.clocks = (self._clock,)
        with self._building() as parts:
            self._make(parts, seed)
            self._record(parts)
            self.reset()

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
        time_step, interaction = self.time_step, self._interaction
        self._shape_body()
        for _ in range(self._clock.due(dt * self._params.time_scale, time_step)):
            if interaction is not None and interaction.gesture is Gesture.EMIT:
                self._nozzle.pour(interaction, time_step)
            self._step.replay(dt=time_step, **self._fields())

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        mass = self._start.mass(self._params.density)
        low, high = (np.array(corner, np.float32) for corner in (self._start.low, self._start.high))
        positions, velocities, rest = self._positions, self._velocities, 1.0 / self._params.density
        with ops.square(velocities[:, 3]) as squares, ops.sum(squares) as total:
            kinetic = total * (0.5 * mass)
        with ops.sum(positions[:, 1] - self._start.low[1]) as heights:
            potential = heights * (mass * self._params.gravity)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        with ops.absolute(positions[:, 0:3] - middle) as off, ops.all(off <= half, axis=1) as inside:
            held = ops.sum(inside.to(f32)) * mass
        with ops.sum(velocities[:, 0:3], axis=0) as sum_, ops.square(sum_) as squares, ops.sum(squares) as square:
            momentum = ops.sqrt(square) * mass
        with ops.maximum(positions[:, 3] * rest - 1.0, 0.0) as beyond, ops.max(velocities[:, 3]) as fastest:
            compression, cfl = ops.mean(beyond), fastest * (self.time_step / self.spacing)
        return {
            "kinetic": kinetic,
            "potential": potential,
            "energy": kinetic + potential,
            "mass": held,
            "momentum": momentum,
            "compression": compression,
            "cfl": cfl,
            "neighbors": ops.max(self._found.to(f32)),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A step of particles spread over all, in float64: each stage of it from what the GPU had before that stage."""
        fields = self._fields()
        self._step.replay(dt=self.time_step, **fields)
        distances = None if self._obstacle is None else self._obstacle.numpy()
        constants = fluid_reference.Constants(**self._static(), **fields, dt=self.time_step, field=distances)
        kept = {name: tensor.numpy() for name, tensor in self._scratch.items()} | {
            name: tensor.numpy() for name, tensor in self.state().items()
        }
        return fluid_reference.compared(constants, kept)

    def reset(self) -> None:
        ops.assign(self._positions, self._first)
        ops.assign(self._velocities, 0.0)
        ops.assign(self._pressures, 0.0)
        ops.assign(self._found, 0)
        self._clock.remainder, self._nozzle.poured, self._nozzle.layers = 0.0, 0.0, 0
        self._shape_body()

    def state(self) -> dict[str, Tensor]:
        kept = {"positions": self._positions, "velocities": self._velocities, "pressures": self._pressures}
        return kept | {name: self._views[name] for name in ("body", "body_normal")}

    def numbers(self) -> dict[str, float]:
        return {"remainder": self._clock.remainder, "poured": self._nozzle.poured, "layers": self._nozzle.layers}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._clock.remainder, self._nozzle.poured = numbers["remainder"], numbers["poured"]
        self._nozzle.layers = int(numbers["layers"])

    # inside -----------------------------------------------------------------------------------------------------

    @property
    def _fall(self) -> float:
        """Speed of what has fallen from the column's top [m/s]."""
        return math.sqrt(2.0 * self._params.gravity * self._start.top)

    @property
    def _viscosity(self) -> float:
        return self._params.viscosity + self._params.artificial_viscosity * self.spacing * self._fall

    def _make(self, parts: Parts, seed: int) -> None:
        n, name = self._start.count, self.name
        first = np.column_stack([self._start.positions(seed), np.full(n, self._params.density)]).astype(np.float32)
        self._first = parts.copied("first", first)
        self._positions = parts.empty("positions", n, 4)
        self._velocities = parts.empty("velocities", n, 4)
        self._pressures = parts.empty("pressures", n)
        lines = ("sorted_pressures", "before", "excess")
        shapes = {key: (n, 4) for key in ("sorted_positions", "sorted_velocities", "pushed", "walls")} | dict.fromkeys(
            lines, (n,)
        )
        self._scratch = {key: parts.empty(key, *shape) for key, shape in shapes.items()}
        self._found = self._scratch["found"] = parts.empty("found", n, dtype=u32)
        self._scratch["near"] = parts.empty("near", MOST, n, dtype=u32)
        low, high = self._start.low, self._start.high
        self._grid = parts.enter_context(ops.NeighborGrid(n, 3, 2.0 * self.spacing, low, high, f"{name}.grid"))
        self._views = {
            "position": self._positions[:, 0:3],
            "velocity": self._velocities[:, 0:3],
            "speed": self._velocities[:, 3],
            "density": self._positions[:, 3],
            "radius": Tensor.from_numpy(np.full(n, 0.5 * self.spacing, np.float32), f"{name}.radius"),
            "body": Tensor.empty((*FACETS, 3), name=f"{name}.body"),
            "body_normal": Tensor.empty((*FACETS, 3), name=f"{name}.body_normal"),
            "floor": Tensor.from_numpy(self._start.floor(), f"{name}.floor"),
        }
        parts.views(self._views)

    def _record(self, parts: Parts) -> None:
        state: dict[str, Any] = {
            "positions": self._positions,
            "velocities": self._velocities,
            "pressures": self._pressures,
        }
        self._step = parts.plan("step")
        self._grid.record(self._step, self._views["position"])
        made = {
            "new_positions": "sorted_positions",
            "new_velocities": "sorted_velocities",
            "new_pressures": "sorted_pressures",
            "before": "before",
        }
        self._add("gather", made, order=self._grid.order, **state)
        made = {
            "sorted_positions": "sorted_positions",
            "new_near": "near",
            "new_found": "found",
            "new_walls": "walls",
            "excess": "excess",
        }
        self._add("meet", made, starts=self._grid.starts)
        self._add(
            "push", {**CROWD, "sorted_velocities": "sorted_velocities", "new_velocities": "pushed", "excess": "excess"}
        )
        walled = {**CROWD, "walls": "walls"}
        self._add("predict", {**walled, "sorted_velocities": "pushed", "excess": "excess"})
        turn = {
            **walled,
            "sorted_velocities": "sorted_velocities",
            "new_pressures": "sorted_pressures",
            "excess": "excess",
            "before": "before",
        }
        for weight in fluid_reference.chebyshev_weights(self._params.iterations):
            self._add(
                "accelerate", {**walled, "sorted_pressures": "sorted_pressures", "new_velocities": "sorted_velocities"}
            )
            self._add("relax", turn, weight)
        self._add("finish", {**walled, "sorted_velocities": "pushed", "sorted_pressures": "sorted_pressures"}, **state)
        self._nozzle = Nozzle(self.name, self._start, state)
        parts.callback(self._nozzle.close)
        self._body = parts.plan("body")
        shape: dict[str, Any] = {"positions": self._views["body"], "normals": self._views["body_normal"]}
        shape |= {"rows": FACETS[0], "columns": FACETS[1]}
        self._body.dispatch(Kernel.load(BODY), math.prod(FACETS), overwrites=("positions", "normals"), **shape)

    def _add(self, entry: str, made: Mapping[str, str], weight: float = 1.0, **tensors: Any) -> None:
        """One kernel to the step; `made` says which of the scratch tensors its bindings are."""
        field = self._obstacle
        kernel = Kernel.load(SHADER, entry, self._grid.defines | {"MOST": MOST, "FIELD": field is not None})
        tensors |= {binding: self._scratch[name] for binding, name in made.items()}
        tensors |= self._static() | self._grid.fields | {"chebyshev_weight": weight}
        if field is not None:
            tensors |= {"field_size": field.shape[::-1], "field_offset": 0}
            if any(binding.name == "field" for binding in kernel.bindings):
                tensors["field"] = field
        self._step.dispatch(kernel, self._start.count, **tensors)

    def _shape_body(self) -> None:
        fields = self._fields()
        self._body.replay(**{name: fields[name] for name in ("shape", "body_center", "body_half")})

    def _static(self) -> dict[str, Any]:
        """Values of uniforms that stay."""
        start = self._start
        return {"count": start.count, "spacing": start.spacing, "tank_low": start.low, "tank_high": start.high}

    def _fields(self) -> dict[str, Any]:
        """Values of uniforms as the parameters are now, all but the time step."""
        params = self._params
        values = uniforms(params, self._interaction) | {"viscosity": self._viscosity}
        if self._obstacle is None:
            return values
        edge, size = params.obstacle_spacing, self._obstacle.shape[::-1]
        low = tuple(at - 0.5 * edge * (n - 1) for at, n in zip(params.obstacle_center, size, strict=True))
        return values | {"field_low": low, "field_spacing": edge}


def _checked(name: str, obstacle: Tensor | None) -> Tensor | None:
    """The grid of distances, if it is one. Raises `InputError`."""
    if obstacle is None:
        return None
    if obstacle.ndim != 3 or min(obstacle.shape) < 2 or obstacle.dtype.name != "f32" or not obstacle.is_contiguous:
        raise InputError(
            f"{name}: obstacle is a {obstacle.dtype} tensor of shape {obstacle.shape}; it must be signed distances "
            "(nz, ny, nx), f32, contiguous, at least 2 along each axis"
        )
    return obstacle
