"""`Multigrid`: the tensors and dispatches of the pressure solve of smoke."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...gpu import Kernel, Plan
from ...tensor import Tensor, u32
from ..parts import Parts
from ..reference.smoke_pressure import LAST_SWEEPS, SMOOTHINGS

SHADER = "models/smoke_pressure.wgsl"

Cells = tuple[int, int, int]  # along x, y, z


class Multigrid:
    """Levels of a grid of `size` cells along x, y and z, each half as fine as the one before.

    `solid` (nz, ny, nx) u32 is 1 where there is no air; `rhs` and `pressure` (nz, ny, nx) f32 as in the shader.
    """

    def __init__(self, size: Cells, name: str):
        self.sizes = [size]
        while all(n % 2 == 0 for n in self.sizes[-1]):
            x, y, z = self.sizes[-1]
            self.sizes.append((x // 2, y // 2, z // 2))
        with Parts(name) as parts:
            shapes = [(z, y, x) for x, y, z in self.sizes]
            self.solid = parts.zeros("solid", *shapes[0], dtype=u32)
            self._walls = [parts.empty("walls", *shape, 4) for shape in shapes]
            self._rhs = [parts.zeros("rhs", *shape) for shape in shapes]
            self._pressures = [parts.zeros("pressure", *shape) for shape in shapes]
            self._parts = parts.pop_all()

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
        finest = {"solid": self.solid, "made": self._walls[0]}
        sides = {"size": self.sizes[0], "fine": self.sizes[0], "color": 0}
        plan.dispatch(_kernel("conduct"), math.prod(self.sizes[0]), overwrites=("made",), **sides, **finest)
        for level in range(1, len(self.sizes)):
            tensors = {"walls": self._walls[level - 1], "made": self._walls[level]}
            self._add(plan, "coarsen", level, self.sizes[level], tensors, over=("made",))

    def record_cycle(self, plan: Plan, level: int = 0) -> None:
        """Add one V-cycle."""
        own = {"walls": self._walls[level], "pressure": self._pressures[level], "rhs": self._rhs[level]}
        if level == len(self.sizes) - 1:
            self._add(plan, "solve", level, (64, 1, 1), own)
            return
        below = level + 1
        coarse = {"coarse_pressure": self._pressures[below], "coarse_rhs": self._rhs[below]}
        self._smooth(plan, level, (0, 1), own)
        self._add(plan, "restrict_", below, self.sizes[below], own | coarse, over=tuple(coarse))
        self.record_cycle(plan, below)
        coarse = {"coarse_pressure": self._pressures[below], "coarse_walls": self._walls[below]}
        correcting = {"walls": self._walls[level], "pressure": self._pressures[level], **coarse}
        self._add(plan, "prolong", below, self.sizes[level], correcting)
        self._smooth(plan, level, (1, 0), own)

    def close(self) -> None:
        """Give up the memory. Idempotent."""
        self._parts.close()

    def __enter__(self) -> Multigrid:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _smooth(self, plan: Plan, level: int, colors: tuple[int, int], own: Mapping[str, Tensor]) -> None:
        x, y, z = self.sizes[level]
        for color in colors * SMOOTHINGS:
            self._add(plan, "smooth_color", level, (-(-x // 2), y, z), own, color)

    def _add(
        self,
        plan: Plan,
        entry: str,
        level: int,
        threads: Cells,
        tensors: Mapping[str, Tensor],
        color: int = 0,
        over: tuple[str, ...] = (),
    ) -> None:
        """A dispatch whose `size` is that of `level`."""
        sizes = {"size": self.sizes[level], "fine": self.sizes[max(level - 1, 0)], "color": color}
        sides = {"open_low": (0, 0, 0), "open_high": (0, 0, 0)}  # only the finest level's walls look at these
        plan.dispatch(_kernel(entry), math.prod(threads), overwrites=over, **sizes, **sides, **tensors)


def _kernel(entry: str) -> Kernel:
    return Kernel.load(SHADER, entry, {"LAST_SWEEPS": LAST_SWEEPS})
