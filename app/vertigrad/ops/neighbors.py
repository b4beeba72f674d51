"""Which points are near: a uniform grid whose cells list their points, built by sorting them by cell.

The order is that of cells, and of points within a cell as they were given: the same points give the same bits. Kernels
walk the cells around a position with common/grid.wgsl (`//% call grid.neighbors(...)`); cells of the size of the
interaction's reach make sure that no neighbor is missed. A grid over a box has a cell for each position in it; points
outside count to the nearest cell. Without a box, cells repeat in all directions (27 cells around a position are never
the same one), and points from far away are recognized by their distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..closing import Closing
from ..deprecation import recorded
from ..errors import DtypeError, LimitError, ShapeError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, f32, u32
from . import launch
from .differentiable import require_no_gradient
from .segments import segment_starts
from .sorting import sort_pairs

MOST_CELLS = 1 << 24


class NeighborGrid(Closing):
    """A grid for `count` points in 2 or 3 dimensions with cells of edge `cell`, in a box from `low` to `high` if any.

    `order` (count,) u32 lists the points cell by cell; those of cell c are order[starts[c] : starts[c + 1]], `starts`
    being (cells + 1,) u32; `keys` (count,) is the cell of each in that order. `fields` and `defines` are what kernels
    that include common/grid.wgsl take. Close it, or use it in a `with`. Raises `ShapeError`, `LimitError`.
    """

    def __init__(
        self,
        count: int,
        axes: int,
        cell: float,
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
        name: str = "grid",
    ):
        if axes not in (2, 3) or count < 0:
            raise ShapeError(f"neighbor grid: {count} points in {axes} dimensions; there are 2 or 3")
        if not (math.isfinite(cell) and cell > 0):
            raise ShapeError(f"neighbor grid: cells of edge {cell}; it must be positive")
        self.count, self.axes, self.cell = count, axes, float(cell)
        self.wraps = high is None
        self.low = _corner("low", low, axes)
        self.size = _wrapped(count, axes) if high is None else _box(self.low, _corner("high", high, axes), cell, axes)
        self.starts = Tensor.empty(math.prod(self.size) + 1, u32, f"{name}.starts")
        self.order = Tensor.empty(count, u32, f"{name}.order")
        self.keys = Tensor.empty(count, u32, f"{name}.keys")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.size)

    @property
    def fields(self) -> dict[str, Any]:
        """Values for the uniform fields that common/grid.wgsl declares."""
        return {"grid_low": self.low, "grid_cell": self.cell, "grid_size": self.size}

    @property
    def defines(self) -> dict[str, Any]:
        """Template values that common/grid.wgsl takes."""
        return {"GRID_WRAPS": self.wraps}

    def build(self, positions: Tensor, *, live: bool = False) -> None:
        """List `positions` (count, axes), f32, with any strides. Raises `ShapeError`, `DtypeError`.

        With `live`, inside of a recording, each replay is given `grid_low` and `grid_cell`. A plan holds scratch memory
        for three words a point.
        """
        if positions.shape != (self.count, self.axes):
            raise ShapeError(
                f"neighbor grid: expected positions of shape {(self.count, self.axes)}, got {positions.shape}"
            )
        if positions.dtype is not f32:
            raise DtypeError(f"neighbor grid: positions are {positions.dtype}; they must be f32")
        with Tensor.empty(self.count, u32, temporary=True) as keys:
            if self.count:
                Kernel.load("ops/grid_keys.wgsl", defines=self.defines | {"AXES": self.axes})(
                    self.count,
                    overwrites=("keys",),
                    keys=keys,
                    count=self.count,
                    **launch.strided(positions=positions),
                    **({"grid_size": self.size} if live else self.fields),
                )
            sort_pairs(keys, key_bits=max((self.cells - 1).bit_length(), 1), out=(self.keys, self.order))
        segment_starts(self.keys, self.cells, out=self.starts)

    def record(self, plan: Plan, positions: Tensor, *, live: bool = False) -> None:
        """Old form of `build` inside of `plan.recording()`."""
        recorded("NeighborGrid.record", "build", self.build, callers=2)(plan, positions, live=live)

    def close(self) -> None:
        """Give up the memory. Idempotent."""
        for tensor in (self.starts, self.order, self.keys):
            tensor.close()


def neighbor_grid(
    positions: Tensor, cell: float, *, low: Sequence[float] | None = None, high: Sequence[float] | None = None
) -> NeighborGrid:
    """The grid of `positions` (points, 2 or 3), f32, built now; raises what `NeighborGrid` raises."""
    if positions.ndim != 2:
        raise ShapeError(f"neighbor grid: positions have shape {positions.shape}; it must be (points, 2 or 3)")
    grid = NeighborGrid(positions.shape[0], positions.shape[1], cell, low, high)
    try:
        grid.build(positions)
    except BaseException:
        grid.close()
        raise
    return grid


def reorder(rows: Tensor, order: Tensor, out: Tensor) -> None:
    """Set `out`, contiguous, to the rows of `rows` (n, k), 32 bits each, in the `order` (u32) of a grid.

    Neighbors are then close together, which is what makes walks fast. Raises `ShapeError`, `DtypeError`, and
    `GradientError` if gradients flow to the rows: `take(rows, order, 0)` has one.
    """
    require_no_gradient("reorder", (rows, out))
    if rows.ndim != 2 or order.ndim != 1 or out.shape != (order.size, rows.shape[1]):
        raise ShapeError(f"reorder: rows {rows.shape} in an order {order.shape} do not make {out.shape}")
    if order.dtype is not u32 or rows.itemsize != 4 or out.dtype is not rows.dtype:
        raise DtypeError(f"reorder: order is {order.dtype}, rows {rows.dtype}, out {out.dtype}; u32, and 32 bits alike")
    if not out.size:
        return
    with rows.bitcast(u32) as source, out.bitcast(u32) as target:
        Kernel.load("ops/reorder.wgsl")(
            out.size,
            order=order,
            source=source,
            out=target,
            rows=order.size,
            width=rows.shape[1],
            available=rows.shape[0],
            source_strides=launch.element_strides(rows),
        )


def _corner(name: str, corner: Sequence[float] | None, axes: int) -> tuple[float, float, float]:
    values = [0.0] * axes if corner is None else [float(x) for x in corner]
    if len(values) != axes or not all(map(math.isfinite, values)):
        raise ShapeError(f"neighbor grid: {name} is {corner}; it must be {axes} finite numbers")
    x, y, z = (*values, 0.0)[:3]
    return x, y, z


def _box(
    low: tuple[float, float, float], high: tuple[float, float, float], cell: float, axes: int
) -> tuple[int, int, int]:
    """Cells along each axis of a box. Raises `ShapeError` or `LimitError`."""
    if not all(a < b for a, b in zip(low[:axes], high[:axes], strict=True)):
        raise ShapeError(f"neighbor grid: the box from {low[:axes]} to {high[:axes]} is empty")
    x, y, z = (max(1, math.ceil((b - a) / cell)) for a, b in zip(low, high, strict=True))
    if x * y * z > MOST_CELLS:
        raise LimitError(f"neighbor grid: {x} x {y} x {z} cells; {MOST_CELLS:,} at most: larger cells, or no box")
    return x, y, z


def _wrapped(count: int, axes: int) -> tuple[int, int, int]:
    """Powers of two along each axis, so that there are about as many cells as points."""
    bits = max(2 * axes, min(max(count, 1).bit_length(), MOST_CELLS.bit_length() - 1))
    each, more = divmod(bits, axes)
    x, y, z = ([1 << (each + (axis < more)) for axis in range(axes)] + [1])[:3]
    return x, y, z
