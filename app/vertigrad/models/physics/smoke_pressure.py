"""`Multigrid`: the tensors and dispatches of the pressure solve of smoke."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...gpu import Plan
from ...tensor import Tensor, u32
from ..kernels import Kernels
from ..parts import Parts
from ..reference.smoke_pressure import LAST_SWEEPS, SMOOTHINGS

SHADER = "models/smoke_pressure.wgsl"

Cells = tuple[int, int, int]  # along x, y, z


class Multigrid:
    """Levels of a grid of `size` cells along x, y and z, each half as fine as the one before; closed with `parts`.

    `solid` (nz, ny, nx) u32 is 1 where there is no air; `rhs` and `pressure` (nz, ny, nx) f32 as in the shader.
    """

    def __init__(self, size: Cells, parts: Parts):
        self.sizes = [size]
        while all(n % 2 == 0 for n in self.sizes[-1]):
            x, y, z = self.sizes[-1]
            self.sizes.append((x // 2, y // 2, z // 2))
        shapes = [(z, y, x) for x, y, z in self.sizes]
        self.solid = parts.zeros("solid", *shapes[0], dtype=u32)
        self._walls = [parts.empty("walls", *shape, 4) for shape in shapes]
        self._rhs = [parts.zeros("rhs", *shape) for shape in shapes]
        self._pressures = [parts.zeros("pressure", *shape) for shape in shapes]
        self._kernels = Kernels(SHADER, {"solid": self.solid}, defines={"LAST_SWEEPS": LAST_SWEEPS})

    @property
    def rhs(self) -> Tensor:
        """What flows out of each cell."""
        return self._rhs[0]

    @property
    def pressure(self) -> Tensor:
        """The solution, and the first guess of the next solve."""
        return self._pressures[0]

    def record_walls(self, plan: Plan) -> None:
        """Add what finds the conductances of all levels from `solid`; leaves `open_low` and `open_high` to replay."""
        self._add(plan, "conduct", 0, "walls_out", walls_out=self._walls[0], replayed=("open_low", "open_high"))
        for level in range(1, len(self.sizes)):
            self._add(plan, "coarsen", level, "walls_out", walls=self._walls[level - 1], walls_out=self._walls[level])

    def record_cycle(self, plan: Plan, level: int = 0) -> None:
        """Add one V-cycle."""
        own: dict[str, Any] = {"walls": self._walls[level], "pressure": self._pressures[level], "rhs": self._rhs[level]}
        if level == len(self.sizes) - 1:
            self._add(plan, "solve", level, threads=(256, 1, 1), **own)
            return
        below = level + 1
        coarse: dict[str, Any] = {"coarse_pressure": self._pressures[below], "coarse_rhs": self._rhs[below]}
        self._smooth(plan, level, (0, 1), own)
        self._add(plan, "restrict_", below, *coarse, **own, **coarse)
        self.record_cycle(plan, below)
        coarse = {"coarse_pressure": self._pressures[below], "coarse_walls": self._walls[below]}
        correcting: dict[str, Any] = {"walls": self._walls[level], "pressure": self._pressures[level], **coarse}
        self._add(plan, "prolong", below, threads=self.sizes[level], **correcting)
        self._smooth(plan, level, (1, 0), own)

    def _smooth(self, plan: Plan, level: int, colors: tuple[int, int], own: Mapping[str, Any]) -> None:
        x, y, z = self.sizes[level]
        for color in colors * SMOOTHINGS:
            self._add(plan, "smooth_color", level, threads=(-(-x // 2), y, z), color=color, **own)

    def _add(
        self, plan: Plan, entry: str, level: int, *overwrites: str, threads: Cells | None = None, **arguments: Any
    ) -> None:
        """A dispatch whose `size` is that of `level`, and whose threads are its cells unless given."""
        size = self.sizes[level]
        arguments = {"size": size, "fine": self.sizes[max(level - 1, 0)], "replayed": (), **arguments}
        self._kernels.add(plan, entry, math.prod(threads or size), *overwrites, **arguments)
