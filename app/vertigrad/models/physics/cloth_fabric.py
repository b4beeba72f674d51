"""`Fabric`: a sheet's tensors on the GPU, and the plans that move it, dress it and measure it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...gpu import Kernel, Plan
from ...ops.launch import element_strides
from ...ops.neighbors import NeighborGrid
from ...tensor import Tensor
from .cloth_sheet import Doubles, Sheet, around

STEP = "models/cloth.wgsl"
CONTACT = "models/cloth_contact.wgsl"
SURFACE = "models/cloth_surface.wgsl"
MOST = 24  # partners of a vertex in self-collision
THICKNESS = 0.9  # of the cloth, in spacings: below 1, or neighbors would push; above 0.71, or vertices slip through
REACH = 2.0  # thicknesses within which partners are looked for


class Substeps(NamedTuple):
    """How time is cut: `steps` small steps of `h` seconds between looks at what is near."""

    steps: int
    h: float


class Fabric:
    """A sheet whose vertices start at `positions` (n, 3), those of `pinned` (n,) staying there.

    `wind` (nz, ny, nx, 3) and `obstacle` (nz, ny, nx) are grids that other models made. Close it.
    """

    def __init__(
        self,
        name: str,
        sheet: Sheet,
        positions: Doubles,
        pinned: Any,
        substeps: Substeps,
        wind: Tensor | None,
        obstacle: Tensor | None,
        collides: bool,
    ):
        self._sheet, self._substeps, self._name = sheet, substeps, name
        self._wind, self._obstacle = wind, obstacle
        self.thickness = THICKNESS * sheet.spacing
        self.reach = REACH * self.thickness
        inverse = np.where(pinned, 0.0, 1.0 / sheet.areas)
        with ExitStack() as stack:
            self._stack = stack
            self._hold_sheet(np.column_stack([positions, inverse]))
            self.grid = stack.enter_context(NeighborGrid(sheet.count, 3, self.reach, name=f"{name}.near"))
            if not collides:
                self.grid.close()
            self._collides = collides
            self.sweep = stack.enter_context(Plan(f"{name}.sweep"))
            self._record_sweep()
            self.dress = stack.enter_context(Plan(f"{name}.dress"))
            self._record_surface(self.dress)
            self.measure = stack.enter_context(Plan(f"{name}.measure"))
            self._record_measures()
            self._stack = stack.pop_all()

    def start(self) -> None:
        """Back to how it was made; `dress` is to be replayed after this."""
        ops.assign(self.vertices, self._first_vertices)
        ops.assign(self.springs, self._first_springs)
        self.velocities.fill_(0.0)
        self.normals.fill_(0.0)

    def threads(self) -> dict[str, Tensor]:
        """What a blade sees and parts."""
        woven = {"vertices": self.vertices, "edges": self._fixed["edges"], "springs": self.springs}
        return woven | {"triangles": self.index}

    def close(self) -> None:
        """Give back every tensor. Idempotent."""
        self._stack.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _hold_sheet(self, first: Doubles) -> None:
        sheet = self._sheet
        shape = (sheet.rows, sheet.columns, 4)
        springs = np.column_stack([sheet.lengths, sheet.edge_stiffnesses]).astype(np.float32)
        bits = sheet.bend_stiffnesses.astype(np.float32).view(np.uint32).astype(np.int64)
        hinges = np.column_stack([sheet.hinges, bits]).astype(np.uint32)
        spokes, fans = around(sheet.count, sheet.edges), around(sheet.count, sheet.triangles)
        given = {
            "first_vertices": first.astype(np.float32).reshape(shape),
            "first_springs": springs,
            "rest_positions": np.column_stack([sheet.rest_positions, 0.0 * sheet.areas]).astype(np.float32),
            "edges": sheet.edges.astype(np.uint32),
            "hinges": hinges if len(hinges) else np.zeros((1, 6), np.uint32),
            "corners": sheet.triangles.astype(np.uint32),
            "sides": sheet.sides.astype(np.uint32),
            "spoke_starts": spokes[0].astype(np.uint32),
            "spokes": spokes[1].astype(np.uint32),
            "fan_starts": fans[0].astype(np.uint32),
            "fans": fans[1].astype(np.uint32),
        }
        self._fixed = {
            name: self._kept(Tensor.from_numpy(array, f"{self._name}.{name}")) for name, array in given.items()
        }
        self._first_vertices, self._first_springs = self._fixed["first_vertices"], self._fixed["first_springs"]
        self.vertices = self._made("vertices", shape)
        self.velocities = self._made("velocities", shape)
        self.normals = self._made("normals", shape)
        self.springs = self._made("springs", springs.shape)
        self.index = self._kept(Tensor.zeros(sheet.triangles.shape, "u32", name=f"{self._name}.index"))
        self.tallies = self._made("tallies", (sheet.count, 4))
        self.impulses = self._made("impulses", (sheet.count, 4))
        self.bending = self._made("bending", (max(len(sheet.hinges), 1),))
        self.ball = self._made("ball", (1, 4))
        self._predicted = self._made("predicted", shape)
        self._pushes = self._made("pushes", shape)

    def _kept(self, tensor: Tensor) -> Tensor:
        return self._stack.enter_context(tensor)

    def _made(self, name: str, shape: tuple[int, ...]) -> Tensor:
        return self._kept(Tensor.zeros(shape, name=f"{self._name}.{name}"))

    def _record_sweep(self) -> None:
        plan, count = self.sweep, self._sheet.count
        fixed: dict[str, Any] = {"h": self._substeps.h, **self._grid_fields()}
        moving: dict[str, Any] = {"vertices": self.vertices, "velocities": self.velocities}
        threads: dict[str, Any] = {"count": count, "first": 0, "kind": 0}
        near = self._record_search() if self._collides else None
        wind = {} if self._wind is None else {"wind": self._wind}
        obstacle = {} if self._obstacle is None else {"obstacle": self._obstacle}
        pushes = {"pushes": self._pushes} if self._collides else {}
        for _ in range(self._substeps.steps):
            free = {"predicted": self._predicted, "normals": self.normals, **wind, **moving}
            plan.dispatch(self._kernel("predict"), count, **threads, **free, **fixed)
            self._record_constraints(fixed)
            if near is not None:
                self._record_pushes(near)
            done = {"predicted": self._predicted, **pushes, **obstacle, **moving}
            plan.dispatch(self._kernel("settle"), count, **threads, **done, **fixed)
        self._record_surface(plan)

    def _record_constraints(self, fixed: dict[str, Any]) -> None:
        woven: dict[str, Any] = {"vertices": self.vertices, "springs": self.springs}
        for kind, first, count in self._sheet.colors:
            entry = "hinge" if kind == 2 else "stretch"
            more = {"hinges": self._fixed["hinges"]} if kind == 2 else {"edges": self._fixed["edges"]}
            fields = {"count": count, "first": first, "kind": kind, **fixed}
            self.sweep.dispatch(self._kernel(entry), count, **woven, **more, **fields)

    def _record_search(self) -> dict[str, Any]:
        """The grid, and who may meet whom before the next search; returns what the kernels of contact take."""
        count = self._sheet.count
        near: dict[str, Any] = {
            **self.grid.fields,
            **{"count": count, "h": self._substeps.h, "thickness": self.thickness, "reach": self.reach},
        }
        found = self._kept(Tensor.zeros((count, MOST + 1), "u32", name=f"{self._name}.partners"))
        self.grid.record(self.sweep, self.vertices.reshape(count, 4)[:, 0:3])
        positions = {"vertices": self.vertices, "rest_positions": self._fixed["rest_positions"]}
        lists = {"order": self.grid.order, "starts": self.grid.starts}
        self.sweep.dispatch(self._contact("search"), count, found=found, **positions, **lists, **near)
        return {**near, "partners": found}

    def _record_pushes(self, near: dict[str, Any]) -> None:
        moving: dict[str, Any] = {"vertices": self.vertices, "velocities": self.velocities}
        self.sweep.dispatch(
            self._contact("repel"), self._sheet.count, overwrites=("pushes",), pushes=self._pushes, **moving, **near
        )

    def _record_surface(self, plan: Plan) -> None:
        """What tore, the triangles that are left, normals and strains."""
        sheet, fixed = self._sheet, self._fixed
        fields: dict[str, Any] = {"stretching": sheet.stretching}
        plan.dispatch(Kernel.load(SURFACE, "put_ball"), 1, overwrites=("ball",), ball=self.ball, count=1, **fields)
        edges, triangles, n = len(sheet.edges), len(sheet.triangles), sheet.count
        woven: dict[str, Any] = {"vertices": self.vertices, "edges": fixed["edges"]}
        plan.dispatch(Kernel.load(SURFACE, "tear"), edges, count=edges, tearing=self.springs, **woven, **fields)
        cover: dict[str, Any] = {name: fixed[name] for name in ("corners", "sides")}
        cover |= {"springs": self.springs, "index": self.index, "count": triangles}
        plan.dispatch(Kernel.load(SURFACE, "cover"), triangles, overwrites=("index",), **cover, **fields)
        rings = {name: fixed[name] for name in ("spoke_starts", "spokes", "fan_starts", "fans")}
        seen: dict[str, Any] = {"triangles": self.index, "springs": self.springs, "count": n, **rings}
        plan.dispatch(
            Kernel.load(SURFACE, "normals_and_strains"),
            n,
            normals=self.normals,
            velocities=self.velocities,
            **woven,
            **seen,
            **fields,
        )

    def _record_measures(self) -> None:
        sheet, fixed, n = self._sheet, self._fixed, self._sheet.count
        fields: dict[str, Any] = {"stretching": sheet.stretching, "springs": self.springs, "vertices": self.vertices}
        rings = {name: fixed[name] for name in ("spoke_starts", "spokes", "edges")}
        sums: dict[str, Any] = {"tallies": self.tallies, "impulses": self.impulses, "moving": self.velocities, **rings}
        self.measure.dispatch(
            Kernel.load(SURFACE, "tally"), n, overwrites=("tallies", "impulses"), count=n, **sums, **fields
        )
        if len(sheet.hinges):
            h: dict[str, Any] = {"hinges": fixed["hinges"], "bending": self.bending, "count": len(sheet.hinges)}
            self.measure.dispatch(Kernel.load(SURFACE, "flex"), h["count"], overwrites=("bending",), **h, **fields)

    def _grid_fields(self) -> dict[str, Any]:
        """Where samples lie in what is bound; offsets are filled in where it is."""
        fields: dict[str, Any] = {"wind_offset": 0, "obstacle_offset": 0}
        for name, grid, rank in (("wind", self._wind, 4), ("obstacle", self._obstacle, 3)):
            fields[f"{name}_size"] = (1, 1, 1) if grid is None else grid.shape[2::-1]
            fields[f"{name}_strides"] = (0,) * rank if grid is None else element_strides(grid)
        return fields

    def _kernel(self, entry: str) -> Kernel:
        there = {"WIND": self._wind is not None, "OBSTACLE": self._obstacle is not None, "SELF": self._collides}
        return Kernel.load(STEP, entry, there)

    def _contact(self, entry: str) -> Kernel:
        return Kernel.load(CONTACT, entry, {**self.grid.defines, "MOST": MOST})
