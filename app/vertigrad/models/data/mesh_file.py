"""Mesh files: read, brought to size, and given normals that are smooth but for creases."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError

FORMATS = (".glb", ".gltf", ".obj", ".off", ".ply", ".stl")
MOST_AROUND = 64  # triangles around a vertex up to which creases are looked for


class MeshFile(NamedTuple):
    """`positions` and unit `normals` f32 (n, 3), `index` u32 (m, 3); `dropped` triangles had no area, or no place."""

    positions: np.ndarray
    normals: np.ndarray
    index: np.ndarray
    dropped: int


def read(path: Path, size: float, up: str, crease: float) -> MeshFile:
    """The mesh of a file, its middle at the origin. `size` is its longest edge then; 0 keeps that of the file.

    `up` is the file's upward axis, "y" or "z". Vertices are split where triangles meet at more than `crease` degrees.
    Raises `InputError` for a file without a triangle that can be drawn.
    """
    try:
        modified = path.stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return _read(path, modified, size, up, crease)


@lru_cache(maxsize=4)  # a scene asks for the shapes before it builds the model
def _read(path: Path, modified: int, size: float, up: str, crease: float) -> MeshFile:
    places, index = _loaded(path)
    sound = _sound(places, index)
    if not sound.any():
        raise InputError(f"{path}: holds no triangle that could be drawn")
    kept = index[sound]
    used, kept = np.unique(kept, return_inverse=True)
    places = _placed(places[used], size, up)
    positions, normals, triangles = with_normals(places, kept.reshape(-1, 3), crease)
    return MeshFile(positions, normals, triangles, int((~sound).sum()))


def _loaded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Positions float64 (n, 3) and triangles (m, 3), all parts of the file as one, corners at one place as one."""
    import trimesh  # takes a fifth of a second

    try:
        mesh = trimesh.load_scene(path).to_mesh()
    except Exception as error:  # its readers raise whatever they meet
        raise InputError(f"{path}: not a mesh that can be read ({error})") from error
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise InputError(f"{path}: holds no triangles")
    places, index = np.unique(np.asarray(mesh.vertices, np.float64), axis=0, return_inverse=True)
    return places, index.reshape(-1)[np.asarray(mesh.faces, np.int64)]


def _sound(places: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Which triangles have an area, and a place."""
    corners = places[index]
    with np.errstate(invalid="ignore", over="ignore"):
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    return np.isfinite(area) & (area > 0)


def _placed(places: np.ndarray, size: float, up: str) -> np.ndarray:
    low, high = places.min(axis=0), places.max(axis=0)
    scale = size / (high - low).max() if size else 1.0
    middled = (places - 0.5 * (low + high)) * scale
    return np.stack([middled[:, 0], middled[:, 2], -middled[:, 1]], axis=-1) if up == "z" else middled


def with_normals(places: np.ndarray, index: np.ndarray, crease: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, unit normals and triangles. A vertex gets as many copies as it has normals.

    The normal at a triangle's corner is the mean of those of the triangles around it that are within `crease` degrees
    of its own, weighed by their angles there (Thürmer and Wüthrich 1998). Around a vertex of very many all count.
    """
    faces, angles = _faces(places, index)
    vertex = index.reshape(-1)
    owner = np.repeat(np.arange(len(index)), 3)
    sums = np.zeros((len(vertex), 3))
    corner, other = _pairs(vertex)
    near = np.einsum("ij,ij->i", faces[owner[corner]], faces[owner[other]]) >= np.cos(np.radians(crease)) - 1e-9
    np.add.at(sums, corner[near], (angles.reshape(-1, 1) * faces[owner])[other[near]])
    crowded = np.bincount(vertex)[vertex] > MOST_AROUND
    around = np.zeros_like(places)
    np.add.at(around, vertex, angles.reshape(-1, 1) * faces[owner])
    sums[crowded] = around[vertex[crowded]]
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    normals = np.where(length > 1e-12, sums / np.maximum(length, 1e-12), faces[owner])
    rows = np.concatenate([vertex[:, None].astype(np.float64), np.round(normals, 5)], axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    triangles = which.reshape(-1, 3).astype(np.uint32)
    return places[vertex[first]].astype(np.float32), normals[first].astype(np.float32), triangles


def _faces(places: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of triangles (m, 3), and the angles at their corners (m, 3)."""
    corners = places[index]
    ways = np.roll(corners, -1, axis=1) - corners
    across = np.cross(ways[:, 0], -ways[:, 2])
    unit = ways / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-300)
    cosine = -np.einsum("ijk,ijk->ij", unit, np.roll(unit, 1, axis=1))
    return across / np.linalg.norm(across, axis=-1, keepdims=True), np.arccos(np.clip(cosine, -1.0, 1.0))


def _pairs(vertex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every two corners that share a vertex, each also with itself; none of vertices with very many corners."""
    order = np.argsort(vertex, kind="stable")
    counts = np.bincount(vertex)
    starts = np.cumsum(counts) - counts
    kept = order[counts[vertex[order]] <= MOST_AROUND]
    times = counts[vertex[kept]]
    corner = np.repeat(kept, times)
    place = np.arange(len(corner)) - np.repeat(np.cumsum(times) - times, times)
    return corner, order[starts[vertex[corner]] + place]
