"""`Fabric`: a sheet's tensors on the GPU, and the plans that move it, dress it and measure it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...gpu import Plan
from ...ops.neighbors import NeighborGrid
from ...tensor import Tensor, u32
from ..kernels import Kernels
from ..parts import Parts
from .cloth_long import long_threads
from .cloth_sheet import Doubles, Sheet, around
from .rigid_bodies import RigidBodies

STEP = "models/cloth.wgsl"
CONTACT = "models/cloth_contact.wgsl"
SURFACE = "models/cloth_surface.wgsl"
MOST = 24  # partners of a vertex in self-collision
THICKNESS = 0.9  # of the cloth, in spacings: below 1, or neighbors would push; above 0.71, or vertices slip through
REACH = 2.0  # thicknesses within which partners are looked for


class Substeps(NamedTuple):
    """How time is cut: `steps` small steps of `h` seconds between searches for neighbors."""

    steps: int
    h: float


class Fabric:
    """A sheet whose vertices start at `positions` (n, 3), those of `pinned` (n,) staying there; closed with `parts`.

    `wind` (nz, ny, nx, 3) and `obstacle` are from other models; `obstacle_kind` is what `obstacle_input` returns, and
    `bodies` are those of a placed obstacle. `sweep` moves all; where no obstacle is a body, `sweep_at_walls` does so
    with the same result. `meeting` is a small step before which bodies fall but that does not move them, for the
    reference.
    """

    def __init__(
        self,
        parts: Parts,
        sheet: Sheet,
        positions: Doubles,
        pinned: Any,
        substeps: Substeps,
        wind: Tensor | None,
        obstacle: Tensor | None,
        obstacle_kind: str,
        bodies: RigidBodies,
        collides: bool,
    ):
        self._sheet, self._substeps, self._parts, self._bodies = sheet, substeps, parts, bodies
        self.thickness = THICKNESS * sheet.spacing
        self.reach = REACH * self.thickness
        self.long = long_threads(sheet, pinned, substeps.h)
        inverse = np.where(pinned, 0.0, 1.0 / sheet.areas)
        self._create(np.column_stack([positions, inverse]))
        self._constants: dict[str, Any] = {
            **{"count": sheet.count, "first": 0, "kind": 0, "h": substeps.h, "stretching": sheet.stretching},
            **{"thickness": self.thickness, "reach": self.reach, "columns": sheet.columns, "hop": 1},
            "substep_lag": 0.0,
        }
        self._tensors = parts.tensors | {"tearing": self.springs, "triangles": self.index, "moving": self.velocities}
        for name, grid in (("wind", wind), ("obstacle", obstacle)):
            self._constants[f"{name}_size"] = (1, 1, 1) if grid is None or grid.ndim == 1 else grid.shape[2::-1]
            if grid is not None:
                self._tensors[name] = grid
        if bodies.count:
            self._constants["obstacle_strides"] = (1, 1, 1)  # of a grid, which there is none of
            self._tensors |= {"obstacle": bodies.tensor, **bodies.bindings}
        self.sweep, self.sweep_at_walls, self.meeting = parts.plans("sweep", "sweep_at_walls", "meeting")
        self.dress, self.measure = parts.plans("dress", "measure")
        distant = {**self._tensors, "edges": self._tensors["long_edges"], "springs": self.long_springs}
        there = {"WIND": wind is not None, "OBSTACLE": obstacle_kind, "SELF": collides, **bodies.defines}
        distant, near = (Kernels(STEP, tensors, self._constants, there) for tensors in (distant, self._tensors))
        surface = Kernels(SURFACE, self._tensors, self._constants)
        self._grid = parts.enter_context(NeighborGrid(sheet.count, 3, self.reach, name="near")) if collides else None
        plans = ((self.sweep, substeps.steps), (self.sweep_at_walls, substeps.steps), (self.meeting, 1))
        for plan, steps in plans if bodies.count else plans[:1]:
            self._record_steps(plan, steps, distant, near)
            self._record_surface(plan, surface)
        self._record_surface(self.dress, surface)
        surface.add(self.measure, "tally", sheet.count, "tallies", "impulses")
        if len(sheet.hinges):
            surface.add(self.measure, "flex", len(sheet.hinges), "bending", count=len(sheet.hinges))
        if distant := len(self.long.edges):
            surface.add(self.measure, "pull", distant, "pulling", count=distant)

    def start(self) -> None:
        """Back to the initial state; `dress` is to be replayed after this."""
        ops.assign(self.vertices, self._first_vertices)
        ops.assign(self.springs, self._first_springs)
        ops.assign(self.long_springs, self._first_long_springs)
        self.velocities.fill_(0.0)
        self.normals.fill_(0.0)

    def _create(self, first: Doubles) -> None:
        sheet, parts = self._sheet, self._parts
        shape = (sheet.rows, sheet.columns, 4)
        long, ratios = self.long, sheet.edge_stiffnesses[:, None]
        shares = np.concatenate([long.shares, np.zeros((len(sheet.edges) - sheet.stretching, 2))])
        springs = np.column_stack([sheet.lengths, ratios, ratios * shares])
        long_springs = np.column_stack([long.lengths, 0.0 * long.lengths, long.stiffnesses])
        bits = sheet.bend_stiffnesses.astype(np.float32).view(np.uint32).astype(np.int64)
        hinges = np.column_stack([sheet.hinges, bits])
        spokes, fans = around(sheet.count, sheet.edges), around(sheet.count, sheet.triangles)
        self._first_vertices = parts.copied("first_vertices", first.reshape(shape))
        self._first_springs = parts.copied("first_springs", springs)
        self._first_long_springs = parts.copied("first_long_springs", _some(long_springs))
        parts.copied("rest_positions", np.column_stack([sheet.rest_positions, 0.0 * sheet.areas]))
        indices = {
            "edges": sheet.edges,
            "hinges": _some(hinges),
            "long_edges": _some(long.edges),
            "next": long.next,
            "corners": sheet.triangles,
            "sides": sheet.sides,
            "spoke_starts": spokes[0],
            "spokes": spokes[1],
            "fan_starts": fans[0],
            "fans": fans[1],
        }
        for name, array in indices.items():
            parts.copied(name, array.astype(np.uint32))
        self.vertices, self.velocities, self.normals = (
            parts.zeros(what, *shape) for what in ("vertices", "velocities", "normals")
        )
        self.springs = parts.zeros("springs", *springs.shape)
        self.long_springs = parts.zeros("long_springs", *self._first_long_springs.shape)
        self.pulling = parts.zeros("pulling", max(len(long.edges), 1))
        self.index = parts.zeros("index", *sheet.triangles.shape, dtype=u32)
        self.tallies, self.impulses = parts.zeros("tallies", sheet.count, 4), parts.zeros("impulses", sheet.count, 4)
        self.bending = parts.zeros("bending", max(len(sheet.hinges), 1))
        parts.zeros("ball", 1, 4)
        parts.zeros("predicted", *shape)
        parts.zeros("pushes", *shape)
        self._partners = parts.zeros("partners", sheet.count, MOST + 1, dtype=u32)

    def _record_steps(self, plan: Plan, steps: int, distant: Kernels, kernels: Kernels) -> None:
        count = self._sheet.count
        contact = self._record_search(plan)
        for step in reversed(range(steps)):
            # what no medium moves meets the cloth as it is; of the loads on it the last ones are shown
            meets = self._bodies.count > 0 and (plan is not self.sweep_at_walls or step == 0)
            if meets:
                self._bodies.add(plan, "predict")
            kernels.add(plan, "predict", count)
            for kind, first, size in self.long.colors:
                distant.add(plan, "stretch", size, count=size, first=first, kind=kind)
            for kind, first, size in self._sheet.colors:
                kernels.add(plan, "hinge" if kind == 2 else "stretch", size, count=size, first=first, kind=kind)
            if contact is not None:
                contact.add(plan, "repel", count, "pushes")
            self._record_contacts(plan, kernels, step * self._substeps.h, meets)

    def _record_contacts(self, plan: Plan, kernels: Kernels, lag: float, meets_bodies: bool) -> None:
        if meets_bodies:
            kernels.add(plan, "touch", self._sheet.count, substep_lag=lag)
            self._bodies.add(plan, "answer")
        kernels.add(plan, "resolve", self._sheet.count, substep_lag=lag)
        if meets_bodies:
            self._bodies.add(plan, "answer")
        if meets_bodies and plan is not self.meeting:
            self._bodies.add(plan, "advance")

    def _record_search(self, plan: Plan) -> Kernels | None:
        """The grid, and who may meet whom before the next search; returns the kernels of contact."""
        if self._grid is None:
            return None
        count, grid = self._sheet.count, self._grid
        with plan.recording():
            grid.build(self.vertices.reshape(count, 4)[:, 0:3])
        tensors = self._tensors | {"order": grid.order, "starts": grid.starts, "found": self._partners}
        contact = Kernels(
            *(CONTACT, tensors | {"partners": self._partners}, self._constants | grid.fields),
            {**grid.defines, "MOST": MOST},
        )
        contact.add(plan, "search", count)
        return contact

    def _record_surface(self, plan: Plan, surface: Kernels) -> None:
        edges, triangles = len(self._sheet.edges), len(self._sheet.triangles)
        surface.add(plan, "put_ball", 1, "ball", count=1)
        surface.add(plan, "tear", edges, count=edges)
        for color, hop in zip(self.long.colors, self.long.hops, strict=True):
            surface.add(plan, "part_long", color.count, count=color.count, first=color.first, hop=hop)
        surface.add(plan, "cover", triangles, "index", count=triangles)
        surface.add(plan, "normals_and_strains", self._sheet.count)


def _some(rows: Any) -> Any:
    """The rows, or one of zeros: a tensor has at least one."""
    return rows if len(rows) else np.zeros((1, rows.shape[1]))
