"""Tangents for normal maps, where a file has none, by the rules of MikkTSpace.

The rules (Mikkelsen 2008, "Simulation of Wrinkled Surfaces Revisited", and the description at mikktspace.com): each
triangle has the direction in which u grows on it. A corner takes the mean of those of the triangles around its vertex,
in the plane of its normal, weighted by their angles there. Triangles count as neighbors if they share an edge, with
its normals and coordinates, and are not mirrored to each other in the texture; else the vertex is split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .content import Map
from .parts import PartArrays

TINY = 1e-20


def with_tangents(part: PartArrays, normal_map: Map) -> PartArrays:
    """The same with tangents along u of the coordinates at which the map is sampled, and w = −1 where it is mirrored.

    A triangle whose corners are at one line of the texture has no direction: its corners take that of another triangle
    at their vertex, or have the tangent 0 without one.
    """
    shape = part.vertices[:, :6].astype(np.float64)
    at = 2 * normal_map.texcoord
    matrix = np.array(normal_map.transform)
    coordinates = part.texcoords[:, at : at + 2].astype(np.float64) @ matrix[:, :2].T
    faces = _Faces.of(shape[:, :3], coordinates, part.index)
    alike = np.concatenate([part.vertices[:, :6], part.texcoords[:, at : at + 2]], axis=1)
    corners = _numbered(alike)[part.index]
    groups = _groups(corners, faces.sign)
    tangents = _sums(shape, part.index, faces, groups)
    signs = np.zeros(len(tangents))
    signs[groups] = faces.sign[:, None]
    _borrow(corners, groups, tangents, signs)
    pairs, index = np.unique(part.index.astype(np.int64) * len(signs) + groups, return_inverse=True)
    rows, group = np.divmod(pairs, len(signs))
    found = part.taken(rows, index.reshape(-1, 3).astype(np.uint32))
    found.vertices[:, 6:9], found.vertices[:, 9] = tangents[group], signs[group]
    return found


def _numbered(rows: np.ndarray) -> np.ndarray:
    """A number for each row (n, k), from 0, the same for rows that are equal."""
    order = np.lexsort(rows.T)
    ordered = rows[order]
    is_new = np.concatenate([[0], (ordered[1:] != ordered[:-1]).any(axis=1)])
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.cumsum(is_new)
    return numbers


class _Faces(NamedTuple):
    """Of each triangle the direction of u, (m, 3), and 1, or −1 where the texture is mirrored, 0 without one."""

    along: np.ndarray
    sign: np.ndarray

    @staticmethod
    def of(positions: np.ndarray, coordinates: np.ndarray, index: np.ndarray) -> _Faces:
        first, second = (positions[index[:, at]] - positions[index[:, 0]] for at in (1, 2))
        one, two = (coordinates[index[:, at]] - coordinates[index[:, 0]] for at in (1, 2))
        area = one[:, 0] * two[:, 1] - two[:, 0] * one[:, 1]
        sign = -np.sign(area)  # v points down
        along = (first * two[:, 1:] - second * one[:, 1:]) * np.sign(area)[:, None]
        sign[np.linalg.norm(along, axis=1) < TINY] = 0.0
        return _Faces(along, sign)


def _groups(corners: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """A number for each corner (m, 3), the same for those at one vertex that neighboring triangles connect."""
    count = len(corners)
    starts = np.arange(3 * count).reshape(count, 3)
    own, next_ = starts.reshape(-1), np.roll(starts, -1, axis=1).reshape(-1)
    vertex = corners.reshape(-1)
    low, high = np.minimum(vertex[own], vertex[next_]), np.maximum(vertex[own], vertex[next_])
    order = np.lexsort((high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    edge, other = order[:-1][same], order[1:][same]
    alike = (sign[edge // 3] == sign[other // 3]) & (sign[edge // 3] != 0.0)
    edge, other = edge[alike], other[alike]
    turned = vertex[own[edge]] != vertex[own[other]]  # as on a surface whose triangles have one sense
    pairs = [
        (own[edge], np.where(turned, next_[other], own[other])),
        (next_[edge], np.where(turned, own[other], next_[other])),
    ]
    return _connected(3 * count, *(np.concatenate(side) for side in zip(*pairs, strict=True))).reshape(count, 3)


def _connected(count: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Numbers (count,) from 0 that are the same for all that pairs connect."""
    label = np.arange(count)
    while True:
        low = np.minimum(label[one], label[other])
        before = label.copy()
        np.minimum.at(label, label[one], low)
        np.minimum.at(label, label[other], low)
        label = label[label]
        if (label == before).all():
            return np.unique(label, return_inverse=True)[1]


def _sums(shape: np.ndarray, index: np.ndarray, faces: _Faces, groups: np.ndarray) -> np.ndarray:
    """The unit tangent of each group, or 0."""
    sums = np.zeros((groups.max() + 1, 3))
    for corner in range(3):
        here, ahead, behind = (index[:, (corner + step) % 3] for step in range(3))
        normal = shape[here, 3:6]
        edges = [_across(shape[to, :3] - shape[here, :3], normal) for to in (ahead, behind)]
        angle = np.arccos(np.clip(np.sum(edges[0] * edges[1], axis=1), -1.0, 1.0))
        weighted = _across(faces.along, normal) * (angle * np.abs(faces.sign))[:, None]
        for axis in range(3):
            sums[:, axis] += np.bincount(groups[:, corner], weighted[:, axis], len(sums))
    return _unit(sums)


def _across(vectors: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Unit vectors in the planes of unit normals; 0 for those along it."""
    return _unit(vectors - normals * np.sum(vectors * normals, axis=1, keepdims=True))


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > TINY, vectors / np.maximum(length, TINY), 0.0)


def _borrow(corners: np.ndarray, groups: np.ndarray, tangents: np.ndarray, signs: np.ndarray) -> None:
    """Give groups without a direction that of another one at their vertex."""
    vertex = np.zeros(len(signs), np.int64)
    vertex[groups] = corners
    lender = np.full(corners.max() + 1, -1)
    has_one = (signs != 0.0) & tangents.any(axis=1)
    lender[vertex[has_one]] = np.flatnonzero(has_one)
    signs[~has_one] = 0.0
    borrows = ~has_one & (lender[vertex] >= 0)
    tangents[borrows], signs[borrows] = tangents[lender[vertex[borrows]]], signs[lender[vertex[borrows]]]
