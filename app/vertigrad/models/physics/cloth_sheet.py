"""`Sheet`: how a rectangular cloth is woven: vertices, and the constraints between them, by colors.

Vertices are in `rows` of `columns`, row by row. Edges are threads along both directions (stretch) and both diagonals of
each cell (shear); hinges are three vertices in a row. Constraints of one color share no vertex, so they are solved at
once and the result does not depend on their order (graph-colored Gauss-Seidel). A grid needs two colors for each
direction of edges and three for each direction of hinges.

Stiffness is that of the continuum: a spring along a thread stands for a strip of the cloth as wide as their
distance, k = K w / l; the diagonals d of a cell a × b take its shear, k = G d² / (2 a b); a hinge takes the bending of
its strip, ½ B w κ² l with κ = |x₋ − 2x + x₊| / l², so k = B w / l³.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Pins = Literal["none", "corners", "edge", "pole", "ends"]


class Color(NamedTuple):
    """Constraints first … first + count − 1, which share no vertex; `kind` 0 is stretch, 1 shear, 2 bending."""

    kind: int
    first: int
    count: int


class Sheet(NamedTuple):
    """A cloth as it was cut. Lengths in meters.

    `colors` has those of the constraints in the order in which they are solved: hinges forth and back, so that what
    they do to a bent thread is symmetric. In one order only it has complex eigenvalues, and a step of motion makes
    those grow (record 0197).
    """

    rows: int
    columns: int
    rest_positions: Doubles  # (n, 3), flat
    areas: Doubles  # (n,), what of the cloth hangs on each vertex
    edges: Ints  # (e, 2)
    lengths: Doubles  # (e,)
    edge_stiffnesses: Doubles  # (e,), stiffness of each for a unit of the material's
    stretching: int  # edges that are threads; those after them are diagonals
    hinges: Ints  # (h, 5): three vertices, and the two edges between them
    bend_stiffnesses: Doubles  # (h,), stiffness of each for a unit of the material's
    colors: list[Color]
    triangles: Ints  # (t, 3)
    sides: Ints  # (t, 3), the edges of each triangle

    @property
    def count(self) -> int:
        """Vertices."""
        return self.rows * self.columns

    @property
    def spacing(self) -> float:
        """Between the closest threads."""
        return float(self.lengths[: self.stretching].min())


def woven(rows: int, columns: int, width: float, length: float) -> Sheet:
    """A sheet `width` along its rows and `length` across them, both at least 2 vertices."""
    number = np.arange(rows * columns).reshape(rows, columns)
    along, down = width / (columns - 1), length / (rows - 1)
    edges, lengths, edge_stiffnesses, colors = _edges(number, along, down)
    stretching = sum(color.count for color in colors if color.kind == 0)
    hinges, bend_stiffnesses, folds = _hinges(number, along, down)
    threes = np.column_stack([hinges, _between(edges, hinges[:, :2]), _between(edges, hinges[:, 1:])])
    triangles = _triangles(number)
    sides = [_between(edges, triangles[:, [p, q]]) for p, q in ((0, 1), (1, 2), (2, 0))]
    y, x = np.meshgrid(np.arange(rows) * down, np.arange(columns) * along, indexing="ij")
    return Sheet(
        rows=rows,
        columns=columns,
        rest_positions=np.stack([x, y, 0.0 * x], axis=-1).reshape(-1, 3).astype(np.float64),
        areas=np.outer(widths(rows, down), widths(columns, along)).ravel(),
        edges=edges,
        lengths=lengths,
        edge_stiffnesses=edge_stiffnesses,
        stretching=stretching,
        hinges=threes,
        bend_stiffnesses=bend_stiffnesses,
        colors=colors + folds + folds[-2::-1],
        triangles=triangles,
        sides=np.stack(sides, axis=-1),
    )


def around(count: int, of: Ints) -> tuple[Ints, Ints]:
    """Starts and rows: `rows[starts[i] : starts[i + 1]]` are the rows of `of` (m, k) that name vertex i of `count`."""
    order = np.argsort(of.ravel(), kind="stable")
    starts = np.searchsorted(of.ravel()[order], np.arange(count + 1))
    return starts, order // of.shape[1]


def hung(sheet: Sheet, pins: Pins, span: float) -> tuple[Doubles, NDArray[np.bool_]]:
    """Where each vertex (n, 3) is at the start, around the origin, and which are pinned (n,).

    Lying, y up, if nothing pins it; hanging in the plane z = 0 if corners, the upper edge or a pole at the left does;
    "ends" lets it hang in a V between its left and right edges, `span` times its width apart.
    """
    x, y = sheet.rest_positions[:, 0], sheet.rest_positions[:, 1]
    width, length = x.max(), y.max()
    row, column = np.divmod(np.arange(sheet.count), sheet.columns)
    left, right, top = column == 0, column == sheet.columns - 1, row == 0
    across, down = x - 0.5 * width, y - 0.5 * length
    if pins == "none":
        return np.stack([across, 0.0 * x, down], axis=-1), np.zeros(sheet.count, bool)
    if pins == "ends":
        sag = np.sqrt(1.0 - span * span) * (np.abs(across) - 0.5 * width)
        return np.stack([span * across, sag, down], axis=-1), left | right
    pinned = {"corners": top & (left | right), "edge": top, "pole": left}[pins]
    return np.stack([across, -down, 0.0 * x], axis=-1), pinned


def widths(count: int, spacing: float) -> Doubles:
    """How wide the strip around each thread is: half at the borders."""
    widths = np.full(count, spacing)
    widths[[0, -1]] = 0.5 * spacing
    return widths


def _edges(number: Ints, along: float, down: float) -> tuple[Ints, Doubles, Doubles, list[Color]]:
    rows, columns = number.shape
    row_widths, column_widths = widths(rows, down), widths(columns, along)
    across = np.broadcast_to(row_widths[:, None] / along, (rows, columns - 1))
    upright = np.broadcast_to(column_widths / down, (rows - 1, columns))
    diagonal = np.hypot(along, down)
    slanted = np.full((rows - 1, columns - 1), diagonal**2 / (2.0 * along * down))
    kinds = [
        (0, (number[:, :-1], number[:, 1:]), along, across, (1, 2)),
        (0, (number[:-1], number[1:]), down, upright, (2, 1)),
        (1, (number[:-1, :-1], number[1:, 1:]), diagonal, slanted, (2, 1)),
        (1, (number[:-1, 1:], number[1:, :-1]), diagonal, slanted, (2, 1)),
    ]
    pairs, values, colors = _colored(
        (kind, ends, np.stack([np.full(ratio.shape, length), ratio]), periods)
        for kind, ends, length, ratio, periods in kinds
    )
    return pairs, *values, colors


def _hinges(number: Ints, along: float, down: float) -> tuple[Ints, Doubles, list[Color]]:
    rows, columns = number.shape
    across = np.broadcast_to(widths(rows, down)[:, None] / along**3, (rows, max(columns - 2, 0)))
    upright = np.broadcast_to(widths(columns, along) / down**3, (max(rows - 2, 0), columns))
    kinds = [
        (2, (number[:, :-2], number[:, 1:-1], number[:, 2:]), across[None], (1, 3)),
        (2, (number[:-2], number[1:-1], number[2:]), upright[None], (3, 1)),
    ]
    threes, (bend_stiffnesses,), colors = _colored(kinds)
    return threes, bend_stiffnesses, colors


def _colored(
    kinds: Iterable[tuple[int, tuple[Ints, ...], Doubles, tuple[int, int]]],
) -> tuple[Ints, Doubles, list[Color]]:
    """Vertices (n, k) and values (m, n) of constraints in the order of their colors.

    Of each kind: its number, the arrays of its k vertices, values (m, rows, columns), and how many rows and columns
    apart constraints share no vertex.
    """
    found, values, colors, first = [], [], [], 0
    for kind, vertices, by_position, periods in kinds:
        for part in _parts(periods):
            found.append(np.stack([one[part].ravel() for one in vertices], axis=-1))
            values.append(by_position[:, *part].reshape(len(by_position), -1))
            if count := len(found[-1]):
                colors.append(Color(kind, first, count))
                first += count
    return np.concatenate(found), np.concatenate(values, axis=1), colors


def _between(edges: Ints, ends: Ints) -> Ints:
    """The numbers of the edges between pairs of vertices (m, 2), in any order."""
    stride = int(edges.max()) + 1
    keys = edges[:, 0] * stride + edges[:, 1]
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], ends.min(axis=1) * stride + ends.max(axis=1))]


def _parts(periods: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Every how manyth row and column, from each start."""
    for row in range(periods[0]):
        for column in range(periods[1]):
            yield slice(row, None, periods[0]), slice(column, None, periods[1])


def _triangles(number: Ints) -> Ints:
    """Two for each cell, the diagonal turned from cell to cell.

    They run so that the normal of a horizontal sheet, columns along x and rows along z, is +y.
    """
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    row, column = np.indices(a.shape)
    even = ((row + column) % 2 == 0)[..., None, None]
    falling = np.stack([np.stack([a, c, d], -1), np.stack([a, d, b], -1)], axis=-2)
    rising = np.stack([np.stack([a, c, b], -1), np.stack([b, c, d], -1)], axis=-2)
    return np.where(even, falling, rising).reshape(-1, 3)


def pattern(sheet: Sheet, kind: str) -> np.ndarray:
    """What is woven in (rows, columns), 0 to 1: broad threads in both directions, or a third of the rows in turn."""
    row, column = np.divmod(np.arange(sheet.count), sheet.columns)
    if kind == "tartan":
        period = max(sheet.columns // 8, 2)
        values = 0.5 * ((row % period) * 4 < period) + 0.5 * ((column % period) * 4 < period)
    else:
        values = 0.5 * (3 * row // sheet.rows) if kind == "bands" else 0.0 * row
    return values.astype(np.float32).reshape(sheet.rows, sheet.columns)
