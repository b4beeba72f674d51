"""`LatticeBodies`: the obstacles of `lattice_boltzmann` that have a density, as bodies that the flow moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import ops
from ...gpu import Plan
from ...tensor import Tensor, u32
from ..base import Comparison
from ..parts import Parts
from ..reference import lattice_bodies as reference
from ..reference.lattice_boltzmann import MOST_WALL_SPEED, limited
from ..reference.obstacle import FAR, Obstacles
from .lattice_boltzmann_params import LONGER_SIDE, Params
from .rigid_bodies import RigidBodies, groups_of, with_bodies

SLOW = 1e-4  # [cells/step]: changes of velocities are compared relative to it where they are smaller

Add = Callable[..., None]  # `Kernels.add` of the lattice


class LatticeBodies:
    """Bodies in the plane of a lattice, if one of the obstacles is to be moved: `count` of them, else 0.

    `tensors`, `constants` and `defines` are for the lattice's kernels.
    """

    def __init__(self, parts: Parts, placed: Tensor | None, name: str, params: Params):
        grid, cells = (params.rows, params.columns), params.rows * params.columns
        groups = groups_of(cells, 128)
        self._rigid = RigidBodies(parts, with_bodies(placed), name, groups, flat=True, **_box(params))
        self.count, self.defines, self.constants = self._rigid.count, self._rigid.defines, {"groups": groups}
        self._cells, owned = cells, grid if self.count else (1,)
        self._owner, self._met = (parts.zeros(what, *owned, dtype=u32) for what in ("owner", "met"))
        own = {"placed": self._rigid.tensor, "owner": self._owner, "met": self._met, **self._rigid.bindings}
        self.tensors: dict[str, Tensor] = own if self.count else {}

    def update(self) -> None:
        """Take over what models have placed, at the beginning of a frame."""
        self._rigid.update()

    def show(self) -> None:
        """Update what is drawn of them."""
        self._rigid.show()

    def reset(self) -> None:
        """Put them where they are placed."""
        self._rigid.reset()

    def begin(self) -> None:
        """Take the cells that they are in as those that they were in."""
        if self.count:
            ops.assign(self._met, self._owner)

    def predict(self, plan: Plan) -> None:
        """Add the contacts of a step."""
        self._rigid.add(plan, "predict")

    def meet(self, plan: Plan, add: Add, before: Tensor) -> None:
        """Add what the flow does to them in a step: they have the velocities after it."""
        if self.count:
            add(plan, "load", self._cells, before=before)
            add(plan, "answer", 128 * self.count)
            add(plan, "carry", self._cells)

    def advance(self, plan: Plan) -> None:
        """Add their motion over a step."""
        self._rigid.add(plan, "advance")

    @contextmanager
    def met(self) -> Iterator[np.ndarray]:
        """The obstacle in each cell a step before, as the reference has it; restored afterwards. Waits for the GPU."""
        with self._met.clone() as now:
            found = now.numpy().astype(np.int64)
            found[found == self.count] = reference.OTHER_WALL
            yield np.where(found > self.count, reference.FLUID, found)
            ops.assign(self._met, now)

    def compared(
        self,
        before: np.ndarray,
        met: np.ndarray,
        distance: np.ndarray,
        painted: np.ndarray,
        values: Mapping[str, Any],
        params: Params,
    ) -> tuple[Comparison, np.ndarray]:
        """What `meet` did to them, from populations `before`, and the velocities (rows, columns, 2) of walls after it.

        These are of obstacles' cells, along columns and rows [cells/step]; 0 in fluid and in other walls.
        """
        obstacles, edge, dt = Obstacles.of(self._rigid.tensor.numpy()), values["edge"], values["dt"]
        at = positions(distance.shape, edge)
        nearest = obstacles.nearest(at, values["obstacle_lag"])[0].reshape(distance.shape)
        owner = np.where(painted > 0.5, reference.OTHER_WALL, np.where(distance > 0.0, reference.FLUID, nearest))
        walls = obstacles.velocity(at, values["obstacle_lag"])[:, [0, 2]].reshape(*distance.shape, 2) * (dt / edge)
        walls = walls * (owner >= 0)[..., None]
        cells, fields = reference.Cells(owner, met, distance), {**values, "walls": limited(walls, MOST_WALL_SPEED, -1)}
        expected = reference.changes(before, cells, fields, params.ends, params.sides, obstacles.all)
        for number, body in enumerate(obstacles.all):
            arm = (at - reference.middle(body))[:, [2, 0]].reshape(walls.shape) / edge * [1.0, -1.0]
            change = expected[number, :2] + expected[number, 2] * arm
            walls = walls + np.where((owner == number)[..., None], change, 0.0)
        answers = self._rigid.bindings["answers"].numpy().astype(float)
        ours = np.concatenate([answers[:, 2, [0, 2]] * dt**2 / edge, answers[:, 3, [1]] * dt**2], axis=1)
        error = float(np.linalg.norm(ours - expected)) / max(float(np.linalg.norm(expected)), SLOW)
        comparison = Comparison("bodies", error if math.isfinite(error) else math.inf, 1e-3)
        return comparison, limited(walls, MOST_WALL_SPEED, -1)


def positions(shape: tuple[int, ...], edge: float) -> np.ndarray:
    """Where the cells (rows, columns) are in the scene [m], shape (n, 3)."""
    row, column = np.indices(shape)
    at = np.stack([column - 0.5 * (shape[1] - 1), 0.0 * row, row - 0.5 * (shape[0] - 1)], axis=-1) * edge
    return at.reshape(-1, 3)


def _box(params: Params) -> Mapping[str, Any]:
    """The box that bodies stay in [m], without gravity: the channel, less the columns at its ends that stay open."""
    edge = LONGER_SIDE / max(params.rows, params.columns)
    x = edge * (0.5 * params.columns - (2 if params.ends == "open" else 0))
    high = (x, FAR, edge * 0.5 * params.rows)
    return {"low": tuple(-far for far in high), "high": high, "gravity": 0.0, "obstacle_pace": 1.0}
