"""`Obstacle`: a solid that is placed and moved, for all simulations that have obstacles."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...params import choice, number, vector
from ...tensor import Tensor
from .. import quantities
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..reference import obstacle as reference
from .grid_inputs import distance_input, grid_input, obstacle_input
from .obstacle_mass import rigid

SHAPES = ("none", "box", "sphere", "cylinder")  # by their numbers in the shader
FACETS = (48, 64)  # rows and columns of the surface; multiples of four
FASTEST = 50.0  # m/s; what is farther away after a step was put there


class Params(params.Params):
    """A shape and where it is. Lengths in meters."""

    shape: str = choice(
        "sphere", SHAPES, doc="shape of the obstacle; the inputs distance and heights replace it", rebuild=True
    )
    position: tuple[float, ...] = quantities.position(
        (0.0, 0.0, 0.0), "center of the obstacle; what is moved pushes", gizmo="position"
    )
    rotation: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), min=-360.0, max=360.0, unit="°", doc="rotation around x, then y, then z"
    )
    scale: float = number(1.0, min=1e-3, max=1e3, scale="log", doc="factor of all lengths of the obstacle")
    size: tuple[float, ...] = quantities.size(
        (0.5, 0.5, 0.5),
        "edges of its box, or of that of the grid; spheres use the first as diameter, cylinders the second as height",
    )
    density: float = number(
        0.0,
        min=0.0,
        max=2e4,
        slider_max=3e3,
        unit="kg/m³",
        doc="density of a body that a simulation moves, from where it is placed; 0: it stays where it is placed",
    )
    friction: float = number(0.3, min=0.0, max=2.0, doc="Coulomb friction coefficient of that body at walls and others")

    def recorded(self) -> bool:
        """Whether it is a body: what moves bodies has more to do than what has obstacles."""
        return self.density > 0.0


class Obstacle(NamedTensorsModel):
    """A box, sphere, cylinder, grid of signed distances (of a mesh or a network) or field of heights, with a placement.

    Connect its output `obstacle` to the input `obstacle` of fluid, mpm, cloth, smoke and lattice_boltzmann: all have it
    at the same place, lattice_boltzmann its section at y = 0. It has the velocity and the angular velocity with which
    its placement changed in the last step, so a moved obstacle pushes; a jump faster than 50 m/s moves nothing along.
    With a density they move it as a rigid body, and their outputs have where it is.
    Samples of grids are on the faces of their box; heights are meters above its center, and all below them is solid.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "distance": "signed distances [m] (nz, ny, nx), f32, negative inside, at nodes that fill the box of this size",
        "heights": "heights [m] (nz, nx), f32, above the center, at nodes that fill the box's width and depth",
        "others": "output obstacle of another obstacle: this one's output then has both, and what that one has",
    }
    saved = ("obstacle", "position", "normal")
    scalars = ("placed", "motion")
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "speed": DiagnosticSpec("speed of the center", "m/s"),
        "spin": DiagnosticSpec("angular speed", "rad/s"),
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        grid = sorted({"distance", "heights"} & set(inputs))
        held = {} if params.density > 0.0 else {"friction": "density = 0: it touches no others"}
        if grid:
            return {"shape": f"the input {grid[0]} is connected", **held}
        return {"size": "there is no obstacle", **held} if params.shape == "none" else held

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {
            "obstacle": OutputSpec((None,), "f32", "shape and placement, for the input obstacle of simulations"),
            "position": OutputSpec((*FACETS, 3), "f32", "surface of a box, sphere or cylinder [m]; else a point"),
            "normal": OutputSpec((*FACETS, 3), "f32", "unit normals of that surface"),
        }

    def step(self, dt: float) -> None:
        before, after = self._placed, self._placement()
        self._placed = after
        velocity, spin = np.zeros(3), np.zeros(3)
        if dt > 0.0:
            velocity = (np.array(after[:3]) - before[:3]) / dt
            axes_before, axes = (reference.rotation(tuple(placed[3:])) for placed in (before, after))
            spin = reference.spin(axes_before, axes, dt)
        if np.linalg.norm(velocity) > FASTEST:
            velocity, spin = np.zeros(3), np.zeros(3)
        self._motion = [*map(float, velocity), *map(float, spin)]
        self._write()

    def diagnostics(self) -> dict[str, Tensor]:
        speed, spin = float(np.linalg.norm(self._motion[:3])), float(np.linalg.norm(self._motion[3:]))
        return {"speed": Tensor.full(1, speed), "spin": Tensor.full(1, spin)}

    def compare_with_reference(self) -> list[Comparison]:
        """Its header, and that its surface is where its distance is 0."""
        self._write()
        found = [compare("placement", self._tensors["obstacle"].numpy()[: reference.HEADER], self._header(), 1e-6)]
        now = reference.Obstacle.of(self._tensors["obstacle"].numpy())
        if now.kind in (reference.BOX, reference.SPHERE, reference.CYLINDER):
            surface, normals = (self._tensors[what].numpy().reshape(-1, 3) for what in ("position", "normal"))
            raised = now.distance(surface.astype(float) + 0.01 * now.scale * now.half.min() * normals)
            found.append(compare("surface", raised, np.full(len(raised), 0.01 * now.scale * now.half.min()), 1e-2))
        return found

    def reset(self) -> None:
        self._placed, self._motion = self._placement(), [0.0] * 6
        self._write()

    def _create(self, parts: Parts) -> None:
        distance = distance_input(parts, self._inputs, "distance")
        heights = grid_input(parts, self._inputs, "heights", "nz", "nx")
        if distance is not None and heights is not None:
            raise InputError(f"{self.name}: an obstacle has distances or heights; connect one of them")
        self._kind, self._samples = SHAPES.index(self._params.shape), (0, 0, 0)
        if distance is not None:
            self._kind, self._samples = reference.GRID, distance.shape
        elif heights is not None:
            if min(heights.shape) < 2 or not heights.is_contiguous:
                problem = f"{self.name}: heights have the shape {heights.shape}"
                raise InputError(f"{problem}; they are contiguous, with 2 samples or more along each axis")
            self._kind, self._samples = reference.HEIGHTS, (heights.shape[0], 1, heights.shape[1])
        samples, others, self._grid = math.prod(self._samples), self._others(parts), distance
        self._rigid_of: tuple[Any, ...] = ()
        self._written: tuple[Any, ...] = ()
        self._sources = [tensor for tensor in (distance, heights, others) if tensor is not None]
        own = reference.HEADER + samples
        obstacle = parts.zeros("obstacle", own + (0 if others is None else others.size))
        self._next = 0 if others is None else own
        surface = {"positions": parts.empty("position", *FACETS, 3), "normals": parts.empty("normal", *FACETS, 3)}
        self._plan = parts.plan("placement")
        Kernels("models/obstacle.wgsl", {"obstacle": obstacle}).add(self._plan, "write_header", 1)
        grid = distance if distance is not None else heights
        if grid is not None:
            flat = parts.enter_context(grid.reshape(samples))
            rows = parts.enter_context(obstacle[reference.HEADER : own])
            with self._plan.recording():
                ops.assign(rows, flat)
        if others is not None:
            after = parts.enter_context(obstacle[own:])
            with self._plan.recording():
                ops.assign(after, others)
        self._surface = parts.plan("surface")
        constants = {"rows": FACETS[0], "columns": FACETS[1]}
        kernels = Kernels("models/fluid_body.wgsl", surface, constants)
        kernels.add(self._surface, "main", math.prod(FACETS), "positions", "normals")
        self._placed, self._motion = self._placement(), [0.0] * 6

    def _placement(self) -> list[float]:
        return [*self._params.position, *self._params.rotation]

    def _header(self) -> np.ndarray:
        p, samples = self._params, np.zeros(self._samples)
        half, axes = 0.5 * np.array(p.size), reference.rotation(tuple(self._placed[3:]))
        at, velocity, spin = (np.array(part) for part in (self._placed[:3], self._motion[:3], self._motion[3:]))
        rigid = self._rigid(half) if p.density > 0.0 else None
        head = reference.Obstacle(self._kind, at, p.scale, half, axes, velocity, spin, samples, rigid).header()
        head[31] = self._next
        return head

    def _others(self, parts: Parts) -> Tensor | None:
        others, kind = obstacle_input(parts, self._inputs, "others")
        if kind == "grid":
            raise InputError(f"{self.name}: others must be the output obstacle of a model of type obstacle")
        return others

    def _rigid(self, half: np.ndarray) -> reference.Rigid | None:
        """How it moves, computed again where its shape is another one. Reads distances once. Raises `InputError`."""
        p = self._params
        if self._kind in (reference.NONE, reference.HEIGHTS):
            problem = "heights are solid all the way down" if self._kind else "it has no shape"
            raise InputError(f"{self.name}: a body with a density moves, but {problem}; set density = 0")
        if (self._kind, *p.size, p.scale) != self._rigid_of[:-1]:
            samples = np.zeros(0) if self._grid is None else self._grid.numpy().astype(float)
            unit = rigid(self._kind, half, p.scale, samples, 1.0, 0.0)
            self._rigid_of = (self._kind, *p.size, p.scale, unit)
        unit = self._rigid_of[-1]
        if unit is None:
            return None
        return unit._replace(mass=p.density * unit.mass, inertia=p.density * unit.inertia, friction=p.friction)

    def _write(self) -> None:
        """Write what has changed: outputs at rest are not written, and have the revisions that they had."""
        head = self._header()
        if self._written == (head.tobytes(), *self._revisions()):
            return
        rows = {f"row{k}": tuple(map(float, head[4 * k : 4 * k + 4])) for k in range(reference.HEADER // 4)}
        self._plan.replay(**rows)
        solid = self._kind if self._kind < reference.GRID else 0
        axes = {f"body_{axis}": tuple(map(float, head[8 + 4 * k : 11 + 4 * k])) for k, axis in enumerate("xyz")}
        half = tuple(map(float, head[4] * head[5:8]))
        self._surface.replay(shape=solid, body_center=tuple(map(float, head[1:4])), body_half=half, **axes)
        self._written = head.tobytes(), *self._revisions()

    def _revisions(self) -> list[int]:
        """Of what it writes and reads."""
        tensors = [self._tensors[name] for name in self.saved], self._sources
        return [tensor.owner.block.revision for tensor in chain(*tensors)]
