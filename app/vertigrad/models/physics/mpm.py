"""`Mpm`: water, jelly, snow and sand in one simulation, by the material point method."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Plan, gpu
from ...tensor import Tensor, i32, u32
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..energy import ENERGY_DIAGNOSTICS, ENERGY_LIMITS, ENERGY_SCALARS, ENERGY_STATE, LEAST_GRAVITY, Energy, EnergyModel
from ..interaction import Gesture
from ..kernels import Kernels
from ..parts import Parts
from ..reference import mpm as mpm_reference
from ..reference.obstacle import falling
from .grid_inputs import OBSTACLE, distance_input, obstacle_input
from .mpm_bodies import bodies, filled
from .mpm_grid import Grid
from .mpm_matter import CONSTANTS, material_constants, slowest_wave_step
from .mpm_params import Params, step_constants
from .rigid_bodies import BODY_DIAGNOSTICS, BODY_STATE, RigidBodies, body_outputs, groups_of

SHADER = "models/mpm.wgsl"
WORKGROUP = {"software": 32}  # invocations for a block; processors pay for each, needed or not
GRID_WORKGROUP = 256  # invocations of a workgroup of move_grid
TOGETHER = 8  # steps in the longer of two plans: a frame costs the CPU few replays


class Mpm(EnergyModel):
    """MLS-MPM (Hu et al. 2018) with APIC transfers (Jiang et al. 2015); shaders/models/mpm.wgsl has the equations.

    Water, jelly, snow and sand are materials of particles that interact on the grid (common/matter.wgsl has their
    strain updates). Snow floats in water, but sand sinks too slowly, a cube of 0.15 m by 0.06 m/s, and without friction
    by 0.3 m/s: all have one velocity at a node, so water does not flow through sand, and its pressure presses grains
    together, which then have friction (Tampubolon et al. 2017 have a grid for each). The time step is `time_step`, or
    shorter where `courant` and the waves of the stiffest material require it. At most 64 steps are taken per frame;
    time beyond that is dropped. The drag tool moves material.

    The same seed gives the same bits on one GPU: particles are added to the grid in fixed-point integers, so order does
    not matter. With eight particles per cell the resolution is 2^-24 of the heaviest particle's mass, and of that times
    one cell per step; a node holds 16 to 32 times the mass of a full cell, and `crowding` is the fraction in use.
    """

    Params = Params
    inputs: ClassVar = {
        "obstacle": OBSTACLE,
        "shape": "signed distances (nz, ny, nx), f32, negative inside: the shape of bodies set to mesh",
    }
    gestures = frozenset({Gesture.DRAG})
    saved = ("particles", "affine", "strains", "nodes", "colors", *BODY_STATE, *ENERGY_STATE)
    scalars = ENERGY_SCALARS
    limits: ClassVar = {
        "cfl": Limit(0.5, "particles move more than half a cell per step: lower time_step"),
        "elastic_cfl": Limit(0.6, "waves of the stiffest material are not resolved: lower courant"),
        "sparsity": Limit(0.5, "too few particles per cell, and material collapses: raise count, or lower resolution"),
        "crowding": Limit(1.0, "grid mass overflows at a node: raise resolution, or lower count"),
        **ENERGY_LIMITS,
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "kinetic": DiagnosticSpec("kinetic energy", "J"),
        "elastic": DiagnosticSpec("elastic energy", "J"),
        "potential": DiagnosticSpec("potential energy", "J"),
        "energy": DiagnosticSpec("`kinetic`, `elastic` and `potential` together", "J"),
        "momentum": DiagnosticSpec("magnitude of the total momentum", "kg m/s"),
        "mass": DiagnosticSpec("mass of all particles", "kg"),
        "grid_mass": DiagnosticSpec("mass on the grid nodes", "kg"),
        "cfl": DiagnosticSpec("distance the fastest particle moves per step, in cells"),
        "elastic_cfl": DiagnosticSpec("distance the fastest elastic wave moves per step, in cells; an upper bound"),
        "crowding": DiagnosticSpec("largest mass at a grid node, relative to the capacity of a node"),
        "sparsity": DiagnosticSpec("rest volume of a particle, in cells"),
        "time_step": DiagnosticSpec("time step in use", "s"),
        **ENERGY_DIAGNOSTICS,
        **BODY_DIAGNOSTICS,
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        grid = () if "obstacle" in inputs else ("obstacle_corner", "obstacle_spacing")
        absent = {
            f"{matter}_{part}": f'{matter} = "none": there is none'
            for matter in ("water", "jelly", "snow", "sand")
            for part in ("center", "size")
            if getattr(params, matter) == "none"
        }
        return {**dict.fromkeys(grid, "the input obstacle is not connected"), **absent}

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.count
        bodies(params)
        Grid.of(params)
        return {
            "position": OutputSpec((n, 3), "f32", "particle positions [m]", "particles", slice(3)),
            "velocity": OutputSpec((n, 3), "f32", "particle velocities [m/s]", "particles", slice(4, 7)),
            "speed": OutputSpec((n,), "f32", "magnitude of the velocity [m/s]", "particles", 7),
            "material": OutputSpec((n,), "u32", "0 water, 1 jelly, 2 snow, 3 sand", "materials"),
            "color": OutputSpec((n, 3), "f32", "color of the material", "colors"),
            "floor": OutputSpec((2, 2, 3), "f32", "floor surface just below the box [m]"),
            "floor_center": OutputSpec((1, 3), "f32", "middle of the floor [m]: the place of a larger one"),
            **body_outputs(),
        }

    @property
    def time_step(self) -> float:
        """The time step [s], with the current parameters."""
        longest = slowest_wave_step(self._params, self._grid.cell)
        return min(self._params.time_step, self._params.courant * longest)

    def step(self, dt: float) -> None:
        time_step = self.time_step
        due = self._clock.due(dt * self._params.time_scale, time_step)
        fields = self._fields(time_step)
        self._bodies.update()
        whole = due // TOGETHER * TOGETHER
        for k in range(0, whole, TOGETHER):
            self._steps.replay(**fields | {"obstacle_lag": dt * (due - TOGETHER - k) / due})
        for k in range(whole, due):
            self._step.replay(**fields | {"obstacle_lag": dt * (due - 1 - k) / due})
        self._paint.replay(**fields)
        self._bodies.show()
        self._judge_energy()

    def diagnostics(self) -> dict[str, Tensor]:
        time_step, cell = self.time_step, self._grid.cell
        energies = self._measured_energies()
        kinetic, elastic, potential, mass = (energies[i].contiguous() for i in range(4))
        capacity = self._grid.capacity(self._volume) * self._constants.unit
        return {
            "kinetic": kinetic,
            "elastic": elastic,
            "potential": potential,
            "energy": kinetic + elastic + potential,
            "momentum": ops.l2(ops.sum(self._momenta[:, 0:3], axis=0)),
            "mass": mass,
            "grid_mass": ops.sum(self._nodes[:, 3]),
            "cfl": ops.max(self._momenta[:, 3]) * (time_step / cell),
            "elastic_cfl": Tensor.full(1, time_step / slowest_wave_step(self._params, cell)),
            "crowding": ops.max(self._nodes[:, 3]) * (1.0 / capacity),
            "sparsity": Tensor.full(1, self._volume / cell**3),
            "time_step": Tensor.full(1, time_step),
            **self._energy_gain(self._of_energies(energies)),
            **self._bodies.diagnostics(),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A physical step, in float64 and without integers on the grid."""
        fields = self._fields(self.time_step)
        obstacle = None if self._obstacle is None else self._obstacle.numpy()
        if self._bodies.count:
            obstacle = falling(self._bodies.tensor.numpy(), self._params.gravity * self.time_step)
        particles, affine, strains = (x.numpy().astype(float) for x in (self._particles, self._affine, self._strains))
        before = mpm_reference.Particles.of(particles, affine, strains, self._materials.numpy())
        reference = mpm_reference.step(before, self._known | fields, obstacle)
        self._step.replay(**fields)
        ours = [tensor.numpy() for tensor in (self._particles, self._affine, self._strains)]
        particles, affine, strains = reference.packed()
        return [
            compare("position", ours[0][:, 0:3], particles[:, 0:3], 1e-6),
            compare("velocity", ours[0][:, 4:7], particles[:, 4:7], 1e-4),
            compare("velocity gradient", ours[1], affine, 2e-3),
            compare("strain", ours[2], strains, 1e-5),
            compare("mass on the grid", self._nodes[:, 3].contiguous().numpy().sum()[None], reference.mass, 1e-5),
        ]

    def reset(self) -> None:
        self._clock.remainder = 0.0
        ops.assign(self._particles, self._first)
        ops.assign(self._affine, 0.0)
        ops.assign(self._strains, self._first_strains)
        ops.assign(self._nodes, 0.0)
        self._bodies.reset()
        self._paint.replay(**self._fields(self.time_step))
        self._forget_energy()

    def _measured_energies(self) -> Tensor:
        """Kinetic, elastic and potential energy and the mass of all particles."""
        self._measure.replay(**self._fields(self.time_step))
        return ops.sum(self._energies, axis=0)

    def _of_energies(self, energies: Tensor) -> Energy:
        gravity, top = self._params.gravity, self._params.box[1]
        of_matter = Energy(ops.sum(energies[0:3], keepdims=True), energies[3:4] * (max(gravity, LEAST_GRAVITY) * top))
        return self._bodies.add_energy(of_matter, gravity, top)

    def _mechanical_energy(self) -> Energy:
        return self._of_energies(self._measured_energies())

    def _adds_energy(self) -> bool:
        return False

    def _create(self, parts: Parts) -> None:
        params, n = self._params, self._params.count
        self._grid = grid = Grid.of(params)
        self._obstacle, self._obstacle_kind = obstacle_input(parts, self._inputs)
        shape = distance_input(parts, self._inputs, "shape")
        if shape is None and "mesh" in (params.water, params.jelly, params.snow, params.sand):
            raise InputError(
                f"{self.name}: a body of shape mesh needs the input shape, such as the distance of a mesh model"
            )
        start = filled(bodies(params, None if shape is None else shape.numpy()), n, self._seed, grid.cell)
        self._volume = start.volume
        particles, strains = np.zeros((n, 8), np.float32), np.zeros((n, 12), np.float32)
        particles[:, 0:3], particles[:, 3] = start.positions, np.random.default_rng([self._seed, 1]).random(n)
        strains[:, [0, 5, 10]] = 1.0
        strains[:, 3] = start.materials != mpm_reference.SAND
        self._first = parts.copied("first_particles", particles)
        self._first_strains = parts.copied("first_strains", strains)
        self._materials = parts.copied("materials", start.materials)
        self._particles = parts.empty("particles", n, 8)
        self._affine, self._strains = parts.empty("affine", n, 12), parts.empty("strains", n, 12)
        self._energies, self._momenta = parts.empty("energies", n, 4), parts.empty("momenta", n, 4)
        self._counts = parts.zeros("counts", math.prod(grid.blocks) + 1, dtype=u32)
        self._starts = parts.empty("starts", math.prod(grid.blocks) + 1, dtype=u32)
        self._nodes = parts.zeros("nodes", grid.nodes, 4)
        parts.zeros("sums", grid.nodes, 4, dtype=i32)
        parts.empty("slots", n, 2, dtype=u32)
        parts.empty("order", n, dtype=u32)
        parts.empty("colors", n, 3)
        self._create_energy(parts, self._obstacle, self._obstacle_kind)
        parts.copied("floor", grid.floor)
        parts.copied("floor_center", grid.floor.reshape(4, 3).mean(axis=0, keepdims=True))
        placed = self._obstacle if self._obstacle_kind == "placed" else None
        groups = groups_of(grid.nodes, GRID_WORKGROUP)
        self._bodies = RigidBodies(parts, placed, self.name, groups, **grid.box)
        self._constants = material_constants(params, self._volume)
        self._known: dict[str, Any] = {
            "count": n,
            "volume": self._volume,
            "grain": grid.grain(self._volume),
            "obstacle_size": self._obstacle.shape[::-1]
            if self._obstacle is not None and self._obstacle.ndim == 3
            else (1, 1, 1),
            **grid.fields,
        }
        self._step, self._steps, self._paint, self._measure = parts.plans("step", "steps", "paint", "measure")
        kernels = self._kernels()
        self._record_step(self._step, kernels)
        for _ in range(TOGETHER):
            self._record_step(self._steps, kernels)
        kernels.add(self._paint, "paint", n, "colors")
        kernels.add(self._measure, "measure", n, "energies", "momenta")

    def _kernels(self) -> Kernels:
        """The kernels, with the names that they have for tensors where they only read or only write them."""
        defines = {"WORKGROUP": _workgroup(), "OBSTACLE": self._obstacle_kind, **self._bodies.defines, **CONSTANTS}
        others = {
            "gradients": "affine",
            "listed_slots": "slots",
            "moved": "nodes",
            "new_particles": "particles",
            "ordered": "order",
            "strained": "strains",
            "totals": "sums",
        }
        tensors = self._tensors | {name: self._tensors[other] for name, other in others.items()}
        if self._bodies.count:
            bound = self._bodies.bindings
            tensors |= {"obstacle": self._bodies.tensor, "body_blocks": bound["blocks"], "answers": bound["answers"]}
            tensors["sums_of_bodies"] = bound["sums"]
        elif self._obstacle is not None:
            tensors["obstacle"] = self._obstacle
        return Kernels(SHADER, tensors, self._known, defines)

    def _record_step(self, plan: Plan, kernels: Kernels) -> None:
        n, (x, y, z) = self._params.count, self._grid.blocks
        by_block = (_workgroup() * x, y, z)
        kernels.add(plan, "list", n, "slots")
        with plan.recording():
            ops.cumsum(self._counts, exclusive=True, out=self._starts)
        kernels.add(plan, "put_in_order", n, "order")
        kernels.add(plan, "to_grid", by_block)
        self._bodies.add(plan, "predict")
        kernels.add(plan, "move_grid", self._grid.nodes, "nodes")
        self._bodies.add(plan, "answer")
        self._bodies.add(plan, "advance")
        kernels.add(plan, "to_particles", by_block)

    def _fields(self, time_step: float) -> dict[str, Any]:
        self._constants = material_constants(self._params, self._volume)
        return {**self._constants.named(), **step_constants(self._params, time_step, self._tool())}


def _workgroup() -> int:
    return WORKGROUP.get(gpu().adapter.kind, 128)
