"""`LongThreads`: springs between distant vertices of one thread, which share its tension with those between neighbors.

One iteration of XPBD per substep h moves a vertex by what its own constraints say, so a spring between neighbors at
the distance l is never stiffer than S = ρ l² / h² [N/m], whatever the material. A spring from each vertex to the one s
further along the same thread is s² times as stiff. The stiffness K of the material is divided among neighbors and one
or two lengths s, none getting more than a part of its S; what the solver takes of each share is known, and added to
it. Long springs act in tension only: a thread that is curved or folded is shorter than its length, and they are slack.

Near the ends of a thread fewer long springs pass over an interval; the springs of neighbors there make up for them.
From a pinned end, springs of all shorter lengths start as well, so that each vertex near it carries its own part of
the load (as the long-range attachments of Kim, Chentanez & Müller 2012).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cloth_sheet import Color, Doubles, Ints, Sheet, widths

LONG = 3  # kind of their colors
WAVE = 160.0  # [m/s] of waves along threads, √(K/ρ), up to which the stiffness is meant to be the material's
AMPLE = 3.0  # times K, up to which the longest springs could be stiff
BOTH = 16  # vertices spanned from which on there are two lengths
NONE = np.iinfo(np.uint32).max
PARTS = (0.8, 0.5, 0.95)  # of S: most that neighbors, the shorter and the longest springs get


class LongThreads(NamedTuple):
    """Edges between vertices that are `spans` vertices apart, or fewer at pinned ends. Lengths in meters.

    `stiffnesses` (m, 2) are those of the edges for a unit of the stiffness of each span, and `shares` (threads, 2) what
    edges of neighbors make up for. `next` (n, 4) has the edges that start at each vertex: of neighbors along the row
    and the column, then of the first span; NONE without one.
    """

    spans: tuple[int, ...]
    edges: Ints
    lengths: Doubles
    stiffnesses: Doubles
    colors: list[Color]
    hops: list[int]  # of each color: vertices between the shorter edges that an edge runs along
    shares: Doubles
    next: Ints


def spans(sheet: Sheet, h: float) -> tuple[int, ...]:
    """Vertices that long edges span: none, one number or two, of which the second is a multiple of the first."""
    longest = math.ceil(math.sqrt(AMPLE) * WAVE * h / sheet.spacing)
    longest = min(longest, (max(sheet.rows, sheet.columns) - 1) // 2)
    if longest < 2:
        return ()
    first = round(math.sqrt(longest))
    return (longest,) if longest <= BOTH else (first, longest // first * first)


def long_threads(sheet: Sheet, pinned: NDArray[np.bool_], h: float) -> LongThreads:
    """The long edges of a sheet whose `pinned` vertices (n,) do not move, for substeps of `h` [s]."""
    lengths = spans(sheet, h)
    number = np.arange(sheet.count).reshape(sheet.rows, sheet.columns)
    fixed = pinned.reshape(number.shape)
    lines = [_Lines(number, fixed, sheet.rest_positions), _Lines(number.T, fixed.T, sheet.rest_positions)]
    edges, colors, hops = [], [], []
    for level, span in enumerate(lengths):
        for line in lines:
            for part in line.passing(level, span):
                edges.append(part)
                hops.append(1 if level == 0 else lengths[0])
    ends = np.concatenate([line.from_pins(lengths) for line in lines])
    edges.append(ends)
    hops.append(1)
    first = 0
    for part in edges:
        colors.append(Color(LONG, first, len(part)))
        first += len(part)
    rows = np.concatenate(edges)
    filled = [k for k, color in enumerate(colors) if color.count]
    found = rows[:, :2].astype(np.int64)
    return LongThreads(
        spans=lengths,
        edges=found,
        lengths=rows[:, 2],
        stiffnesses=rows[:, 3:],
        colors=[colors[k] for k in filled],
        hops=[hops[k] for k in filled],
        shares=_shares(sheet, lines, lengths),
        next=_next(sheet, found, lengths),
    )


def divided(stretch: float, density: float, spacing: float, h: float, lengths: tuple[int, ...]) -> tuple[Any, Any]:
    """How the stiffness `stretch` [N/m] is divided among neighbors and the spans, and what springs have to have for it.

    Both have three numbers; the shares add up to `stretch`, unless that is more than the solver reaches.
    """
    shares, springs = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    left, last = stretch, len(lengths)
    for level, span in enumerate((1, *lengths)):
        most = density * (span * spacing / h) ** 2
        share = min(left, PARTS[2 if level == last else level] * most)
        shares[level], springs[level] = share, share / (1.0 - share / most)
        left -= share
    return tuple(shares), tuple(springs)


def reached(stretch: float, density: float, spacing: float, h: float, lengths: tuple[int, ...], vertices: int) -> float:
    """Stiffness [N/m] of threads of so many vertices; those too short for a span have its share between neighbors."""
    shares, springs = divided(stretch, density, spacing, h, lengths)
    missing = [level for level, span in enumerate(lengths, 1) if not _fits(span, vertices)]
    if not missing:
        return sum(shares)
    near = springs[0] + sum(springs[level] for level in missing)
    near = 1.0 / (1.0 / near + (h / spacing) ** 2 / density)
    return near + sum(shares[level] for level in range(1, 3) if level not in missing)


def _fits(span: int, vertices: int) -> bool:
    """Whether a thread has edges of this span: two of them, one after the other."""
    return 2 * span <= vertices - 1


class _Lines:
    """The rows of `number` (lines, vertices) as threads; `fixed` are the pinned of them."""

    def __init__(self, number: Ints, fixed: NDArray[np.bool_], rest_positions: Doubles):
        self.number, self.fixed = number, fixed
        self.length = float(np.linalg.norm(rest_positions[number[0, 1]] - rest_positions[number[0, 0]]))
        across = np.linalg.norm(rest_positions[number[1, 0]] - rest_positions[number[0, 0]])
        self.widths = widths(len(number), float(across))

    def has(self, span: int) -> bool:
        return _fits(span, self.number.shape[1])

    def passing(self, level: int, span: int) -> list[Doubles]:
        """Two colors of edges from each vertex, as rows: two vertices, length, stiffnesses."""
        if not self.has(span):
            return []
        starts = np.arange(self.number.shape[1] - span)
        stiffness = np.zeros((len(self.number), 2))
        stiffness[:, level] = self.widths / (span * span * self.length)
        parts = [starts[(starts // span) % 2 == parity] for parity in (0, 1)]
        return [self._rows(part, part + span, stiffness) for part in parts]

    def from_pins(self, lengths: tuple[int, ...]) -> Doubles:
        """Edges shorter than the spans, from pinned ends; one color, since pinned vertices do not move."""
        found, last = [np.zeros((0, 5))], self.number.shape[1] - 1
        for count in range(1, max((span for span in lengths if self.has(span)), default=0)):
            stiffness = np.zeros((len(self.number), 2))
            for level, span in enumerate(lengths):
                if self.has(span) and count < span:
                    stiffness[:, level] = self.widths / (span * count * self.length)
            for start, pin, free in ((0, 0, count), (last - count, last, last - count)):
                rows = self._rows(np.array([start]), np.array([start + count]), stiffness)
                found.append(rows[self.fixed[:, pin] & ~self.fixed[:, free]])
        return np.concatenate(found)

    def shares(self, lengths: tuple[int, ...]) -> Doubles:
        """Of each interval (lines, vertices - 1, 2), what long edges leave of their stiffness to neighbors."""
        lines, intervals = self.number.shape[0], self.number.shape[1] - 1
        shares = np.zeros((lines, intervals, 2))
        index = np.arange(intervals)
        for level, span in enumerate(lengths):
            if not self.has(span):
                shares[..., level] = 1.0
                continue
            free = np.maximum(1.0 - (index + 1) / span, 0.0)  # near the start of the line
            for pins, missing in ((self.fixed[:, 0], free), (self.fixed[:, -1], free[::-1])):
                shares[..., level] += np.where(pins[:, None], 0.0, missing)
        return shares

    def _rows(self, first: Ints, second: Ints, stiffness: Doubles) -> Doubles:
        ends = np.stack([self.number[:, first], self.number[:, second]], axis=-1)
        length = np.broadcast_to((second - first) * self.length, ends.shape[:2])[..., None]
        each = np.broadcast_to(stiffness[:, None], (*ends.shape[:2], 2))
        return np.concatenate([ends, length, each], axis=-1).reshape(-1, 5).astype(np.float64)


def _shares(sheet: Sheet, lines: list[_Lines], lengths: tuple[int, ...]) -> Doubles:
    start, end = sheet.edges[: sheet.stretching].T
    row, column = np.divmod(start, sheet.columns)
    along, down = (line.shares(lengths) for line in lines)
    in_row = end - start == 1
    shares = np.zeros((sheet.stretching, 2))
    shares[in_row] = along[row[in_row], column[in_row]]
    shares[~in_row] = down[column[~in_row], row[~in_row]]
    return shares


def _next(sheet: Sheet, edges: Ints, lengths: tuple[int, ...]) -> Ints:
    found = np.full((sheet.count, 4), NONE)
    span = lengths[0] if lengths else 0
    for slot, all_edges in ((0, sheet.edges[: sheet.stretching]), (2, edges)):
        for offset, step in enumerate((1, sheet.columns)):
            chosen = np.flatnonzero(np.subtract(*all_edges.T[::-1]) == step * (span if slot else 1))
            found[all_edges[chosen, 0], slot + offset] = chosen
    return found
