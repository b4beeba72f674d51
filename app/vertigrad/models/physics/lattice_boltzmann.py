"""`LatticeBoltzmann`: flow in a plane, past an obstacle that can be drawn with the mouse."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import Gesture
from ..kernels import Kernels
from ..model_bases import FixedStepModel
from ..parts import Parts
from ..reference import lattice_boltzmann as reference
from ..reference.obstacle import Obstacles
from .grid_inputs import grid_input, obstacle_input
from .lattice_bodies import LatticeBodies, positions
from .lattice_boltzmann_params import MOST_MACH, Params, section_of, stroke, uniforms
from .rigid_bodies import BODY_STATE, pose_outputs

SHADER = "models/lattice_boltzmann.wgsl"
BUNDLE = 8  # pairs of steps that are replayed at once where so many are due


class LatticeBoltzmann(FixedStepModel):
    """D2Q9 lattice Boltzmann flow past an obstacle (Krüger et al. 2017, The Lattice Boltzmann Method).

    Collisions are regularized with the third moments (Malaspinas 2015) or have two relaxation times (Ginzburg et al.
    2008). Walls of circle, square and airfoil are interpolated (Bouzidi et al. 2001); painted walls, those of a mask
    and those of the channel are halfway bounce-back. The inflow yields where it is blocked; the outflow has density 1
    behind a sponge layer. Mass is conserved with periodic ends and halfway walls.

    A placed obstacle is where it is at the time of each step. Its momentum exchange has its velocity (Ladd 1994), up to
    0.2 cells per step, and what it leaves begins in equilibrium with it and the density around (Caiazzo 2008). Beyond
    the limit of `mach`, speeds are limited to 0.3 cells per step, and densities to 0.4 to 2.5: the flow remains finite.

    Obstacles with a density are bodies that the flow moves in its plane, by all the momentum that it loses, that of the
    cells which they cover and leave included (Aidun, Lu & Ding 1998). Their velocities after a step are solved for with
    it, so light ones are stable. They stay in the channel and have contacts, also with `periodic` boundaries. The fluid
    is as high as each of them; a sphere weighs as a cylinder of its volume.

    Energy is not judged: the inflow or a force adds some in each step and the sponge takes waves out, by amounts that
    are not measured. Mass is, by `mass_change`.

    The viscosity is never below the stable minimum: `coarseness` is the factor by which it is then too large. Steps are
    taken in pairs. The paint tool adds walls, the cut tool removes them. The same seed gives the same bits on one GPU.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "obstacle": "output obstacle of a model of type obstacle, of which the section at y = 0 is in the flow",
        "mask": "obstacle mask (rows, columns) f32: wall where above 0.5, stretched over it; replaces the shape",
    }
    gestures = frozenset({Gesture.PAINT, Gesture.CUT})
    max_steps = 512
    surfaces = ("position", "normal", "obstacle", "obstacle_normal")
    saved = ("populations", "painted", "distance", "moments", "vorticity", "met", *surfaces, *BODY_STATE)
    limits: ClassVar[Mapping[str, Limit]] = {
        "mass_change": Limit(0.05, "the flow is compressed, or walls and ends create or lose mass: lower speed"),
        "mach": Limit(MOST_MACH, "the Mach number is too high: lower speed, or a smaller obstacle"),
        "wall_mach": Limit(
            reference.MOST_WALL_SPEED * math.sqrt(3.0),
            "the obstacle is too fast for the lattice, and pushes less: move it slower, or more steps_per_second",
        ),
        "coarseness": Limit(
            1.001, "the lattice is too coarse for this Reynolds number: more rows, or a lower reynolds"
        ),
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "mass": DiagnosticSpec("mean density; 1 at rest"),
        "mass_change": DiagnosticSpec("difference of that from 1"),
        "mach": DiagnosticSpec("Mach number of the fastest cell"),
        "wall_mach": DiagnosticSpec("Mach number of the fastest cell of a moved obstacle"),
        "inflow": DiagnosticSpec(
            "inflow speed: `speed`, or less if the obstacle blocks too much of the channel", "cells/step"
        ),
        "reynolds": DiagnosticSpec("actual Reynolds number of the flow"),
        "coarseness": DiagnosticSpec("the parameter `reynolds`, relative to the actual Reynolds number"),
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        return {} if "obstacle" in inputs else {"density": "the input obstacle is not connected"}

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        grid = (params.rows, params.columns)
        return {
            "velocity": OutputSpec(
                (*grid, 2), "f32", "velocity along columns and rows, relative to the inflow speed", "moments", slice(2)
            ),
            "speed": OutputSpec(grid, "f32", "magnitude of the velocity", "moments", 2),
            "density": OutputSpec(grid, "f32", "density; 1 at rest", "moments", 3),
            "vorticity": OutputSpec(grid, "f32", "vorticity, times the obstacle's size over the inflow speed"),
            "position": OutputSpec((*grid, 3), "f32", "surface positions, displaced by vorticity, y up"),
            "normal": OutputSpec((*grid, 3), "f32", "unit normals of the surface"),
            "obstacle": OutputSpec((*grid, 3), "f32", "surface of the obstacle, raised where there is wall"),
            "obstacle_normal": OutputSpec((*grid, 3), "f32", "unit normals of the obstacle"),
            "distance": OutputSpec(
                grid, "f32", "signed distance to the obstacle [cells], negative inside; approximate"
            ),
            **pose_outputs(),
        }

    def step(self, dt: float) -> None:
        pace, early = self._params.steps_per_second, self._clock.remainder
        pairs = self._clock.due(dt * pace, 2.0)
        values = self._values()
        if pairs:  # a step is at a time of its own, and so is the obstacle
            late = self._clock.remainder
            values |= {"step_time": (dt + (early - late) / pace) / (2 * pairs), "obstacle_lag": min(late / pace, dt)}
        if self._interaction is not None:
            self._paint.replay(**values | stroke(self._params, self._interaction, dt))
        self._bodies.update()
        self._obstruct.replay(**values)
        lag = values["obstacle_lag"]
        for plan, length in [(self._many, BUNDLE)] * (pairs // BUNDLE) + [(self._pair, 1)] * (pairs % BUNDLE):
            pairs -= length
            plan.replay(**values | {"obstacle_lag": lag + 2 * pairs * values["step_time"]})
        self._show.replay(**values)
        self._bodies.show()

    def diagnostics(self) -> dict[str, Tensor]:
        values = self._values()
        reynolds = values["inflow"] * values["length"] / values["viscosity"]
        mass = ops.mean(self._moments[:, 3])
        return {
            "mass": mass,
            "mass_change": ops.absolute(mass - 1.0),
            "mach": ops.max(self._moments[:, 2]) * (values["inflow"] * math.sqrt(3.0)),
            "wall_mach": self._wall_mach(),
            "inflow": Tensor.full(1, values["inflow"]),
            "reynolds": Tensor.full(1, reynolds),
            "coarseness": Tensor.full(1, self._params.reynolds / reynolds),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """Two steps of every population, and the moments and the vorticity that they have then, in float64.

        With bodies it is one step, which moves none, and the moments are those from before.
        """
        values, params = self._values(), self._params
        kinds = params.collision, params.ends, params.sides
        shown = after = self._now.numpy().astype(float).reshape(9, params.rows, params.columns)
        if self._bodies.count:
            with self._bodies.met() as met:
                self._meeting.replay(**values)
            distance, painted = (tensor.numpy().astype(float) for tensor in (self._distance, self._painted))
            found, walls = self._bodies.compared(after, met, distance, painted, values, params)
            after = reference.step(after, distance, values | {"walls": walls}, *kinds)
            populations = [found, compare("populations", self._next.numpy().reshape(after.shape), after, 1e-5)]
        else:
            for lag in (values["step_time"], 0.0):
                self._obstruct.replay(**values | {"obstacle_lag": lag})
                distance = self._distance.numpy().astype(float)
                walls = self._walls_in(distance, values | {"obstacle_lag": lag})
                after = reference.step(after, distance, values | {"walls": walls}, *kinds)
            self._pair.replay(**values)
            populations = [compare("populations", self._now.numpy().reshape(after.shape), after, 1e-5)]
            shown = after
        return [*populations, *self._compared_moments(shown, distance, values)]

    def _compared_moments(
        self, populations: np.ndarray, distance: np.ndarray, values: Mapping[str, Any]
    ) -> list[Comparison]:
        self._show.replay(**values)
        velocity, density = reference.moments(populations, distance, values)
        vorticity = reference.vorticity(velocity, distance) * values["length"]
        moments = self._moments.numpy().reshape(*distance.shape, 4)
        return [
            compare("velocity", moments[..., :2], velocity, 1e-5),
            compare("density", moments[..., 3], density, 1e-6),
            compare("vorticity", self._vorticity.numpy(), vorticity, 1e-4),
        ]

    def reset(self) -> None:
        self._clock.remainder = 0.0
        ops.assign(self._painted, 0.0)
        self._bodies.reset()
        values = self._values()
        self._obstruct.replay(**values)
        self._begin.replay(**values)
        self._bodies.begin()
        self._show.replay(**values)

    def _create(self, parts: Parts) -> None:
        params, grid = self._params, (self._params.rows, self._params.columns)
        cells = math.prod(grid)
        section_of(params.naca)
        self._wall_velocity: Tensor | None = None
        self._placed, kind = obstacle_input(parts, self._inputs)
        if kind == "grid" or (kind and "mask" in self._inputs):
            problem = f"{self.name}: the input obstacle takes the output obstacle of a model of type obstacle"
            raise InputError(f"{problem}, and not together with a mask")
        self._bodies = LatticeBodies(parts, self._placed, self.name, params)
        self._mask = grid_input(parts, self._inputs, "mask", "rows", "columns")
        self._now, self._next = parts.empty("populations", 9, cells), parts.empty("next", 9, cells)
        self._distance, self._painted = parts.empty("distance", *grid), parts.empty("painted", *grid)
        self._moments, self._vorticity = parts.empty("moments", cells, 4), parts.empty("vorticity", *grid)
        position, normal, obstacle, obstacle_normal = (parts.empty(what, *grid, 3) for what in self.surfaces)

        self._pair, self._many, self._meeting = parts.plans("pair", "many", "meeting")
        self._paint, self._obstruct, self._begin, self._show = parts.plans("paint", "obstruct", "begin", "show")
        if self._placed is not None:
            self._wall_velocity = parts.zeros("wall_velocity", *grid, 2)
        inputs = {"mask": self._mask, "placed": self._placed, "wall_velocity": self._wall_velocity}
        tensors = self._tensors | {name: tensor for name, tensor in inputs.items() if tensor is not None}
        tensors |= self._bodies.tensors
        defines = {
            **self._bodies.defines,
            "COLLISION": params.collision,
            "ENDS": params.ends,
            "SIDES": params.sides,
            "SHAPE": kind or (params.obstacle if self._mask is None else "mask"),
        }
        add = Kernels(SHADER, tensors, {"steps_after": 0, **self._bodies.constants}, defines).add

        def step(plan: Plan, before: Tensor, after: Tensor, steps_after: int) -> None:
            """But for the motion of bodies."""
            self._bodies.predict(plan)
            if kind:
                add(plan, "obstruct", cells, "found", found=self._distance, steps_after=steps_after)
            self._bodies.meet(plan, add, before)
            add(plan, "stream", cells, "after", before=before, after=after)

        turns = [(self._now, self._next), (self._next, self._now)]
        for plan, pairs in ((self._pair, 1), (self._many, BUNDLE)):
            for k, (before, after) in enumerate(turns * pairs):
                step(plan, before, after, 2 * pairs - 1 - k)
                self._bodies.advance(plan)
        if self._bodies.count:
            step(self._meeting, *turns[0], 0)
        add(self._paint, "paint", cells)
        add(self._obstruct, "obstruct", cells, "found", found=self._distance)
        add(self._begin, "begin", cells, "after", after=self._now)
        add(self._show, "moments", cells, "moment", before=self._now, moment=self._moments)
        add(self._show, "show", cells, "vorticity", "position", "obstacle", moved=self._moments)
        with self._show.recording():
            ops.grid_normals(position, out=normal)
            ops.grid_normals(obstacle, out=obstacle_normal)

    def _walls_in(self, distance: np.ndarray, values: Mapping[str, Any]) -> np.ndarray | None:
        """Velocities (rows, columns, 2) of a placed obstacle along columns and rows [cells/step]; 0 in the fluid."""
        if self._placed is None:
            return None
        at = positions(distance.shape, values["edge"])
        velocity = Obstacles.of(self._placed.numpy()).velocity(at, values["obstacle_lag"])[:, [0, 2]]
        moves = (distance <= 0.0) & (self._painted.numpy() <= 0.5)
        found = velocity.reshape(*distance.shape, 2) * values["step_time"] / values["edge"] * moves[..., None]
        return reference.limited(found, reference.MOST_WALL_SPEED, -1)

    def _wall_mach(self) -> Tensor:
        if self._wall_velocity is None:
            return Tensor.zeros(1)
        return ops.sqrt(ops.max(ops.sum(self._wall_velocity * self._wall_velocity, axis=2)) * 3.0)

    def _values(self) -> dict[str, Any]:
        return uniforms(self._params, self._mask is not None or self._placed is not None)
