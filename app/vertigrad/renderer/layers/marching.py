"""The table of marching cubes: which triangles cut a cell, for each set of its corners that are inside.

Corner c of a cell is at x = c & 1, y = c >> 1 & 1, z = c >> 2. Edge 4 axis + k is along `axis`; the bits of k are its
side along the other two axes, the next one (cyclically) first.

The method is that of Lorensen and Cline 1987, "Marching Cubes"; the table is computed: the boundary of the inside is
drawn on each face of the cell, and these lines are connected to loops. Where inside and outside corners of a face
alternate, each inside corner is cut off separately; the cell on the other side of the face does the same, so surfaces
have no holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

MOST = 5  # triangles of a cell
NONE = 15  # instead of an edge


def edge(first: int, second: int) -> int:
    """The index of the edge between two neighboring corners."""
    axis = (first ^ second).bit_length() - 1
    low = first & second
    one, two = (axis + 1) % 3, (axis + 2) % 3
    return 4 * axis + (low >> one & 1) + 2 * (low >> two & 1)


def ends(number: int) -> tuple[int, int]:
    """The two corners of an edge, the lower one first."""
    axis, k = divmod(number, 4)
    low = (k & 1) << (axis + 1) % 3 | (k >> 1) << (axis + 2) % 3
    return low, low | 1 << axis


@cache
def triangles(inside: int) -> tuple[tuple[int, int, int], ...]:
    """The triangles, as three edges each; bit c of `inside` is set if corner c is inside. They face outwards."""
    found = []
    for loop in _loops(inside):
        found += [(loop[0], loop[i], loop[i + 1]) for i in range(1, len(loop) - 1)]
    return tuple(found)


def packed() -> np.ndarray:
    """All 256 rows as u32 (512,): the edges of up to five triangles, four bits each, 8 in the first word of a row."""
    table = np.zeros((256, 2), np.uint32)
    for inside in range(256):
        corners = [number for triangle in triangles(inside) for number in triangle]
        corners += [NONE] * (16 - len(corners))
        for position, number in enumerate(corners):
            table[inside, position // 8] |= np.uint32(number << 4 * (position % 8))
    return table.reshape(-1)


def _faces() -> Iterator[tuple[int, int, int, int]]:
    """The corners of each face, counterclockwise as seen from outside."""
    for axis in range(3):
        one, two = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        yield 0, two, one | two, one
        yield tuple(corner | 1 << axis for corner in (0, one, one | two, two))  # pyright: ignore[reportReturnType]


def _loops(inside: int) -> list[list[int]]:
    """The edges that each piece of the surface crosses, in turn."""
    follows = {}
    for face in _faces():
        within = [bool(inside >> corner & 1) for corner in face]
        for i in range(4):
            if within[i] and not within[i - 1]:  # here the boundary enters; it leaves where the run of corners ends
                run = next(n for n in range(1, 4) if not within[(i + n) % 4])
                last = (i + run - 1) % 4
                follows[edge(face[i - 1], face[i])] = edge(face[last], face[(last + 1) % 4])
    loops = []
    while follows:
        start = next(iter(follows))
        loop, at = [start], follows.pop(start)
        while at != start:
            loop.append(at)
            at = follows.pop(at)
        loops.append(loop)
    return loops
