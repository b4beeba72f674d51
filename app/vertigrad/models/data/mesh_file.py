"""Mesh files: reading, scaling, and normals that are smooth except at creases."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from . import ply_mesh
from .file_cache import cached
from .placement import placed

FORMATS = (".glb", ".gltf", ".obj", ".off", ".ply", ".stl")
MOST_AROUND = 64  # triangles around a vertex up to which creases are searched


class MeshFile(NamedTuple):
    """`positions` and unit `normals` f32 (n, 3), `index` u32 (m, 3); `dropped` is the number of triangles
    left out because they are not finite or have no area.

    `colors` are those of the vertices, f32 (n, 3), sRGB from 0 to 1, if the file has any.
    """

    positions: np.ndarray
    normals: np.ndarray
    index: np.ndarray
    dropped: int
    colors: np.ndarray | None = None


_log = logging.getLogger("vertigrad")


@cached(4)  # a scene asks for the shapes before it builds the model
def read(path: Path, size: float, up: str, crease: float) -> MeshFile:
    """The mesh of a file, its middle at the origin. `size` is its longest edge then; 0 preserves that of the file.

    `up` is the file's upward axis, "y" or "z". Vertices are split where triangles meet at more than `crease` degrees.
    Raises `InputError` for a file without a triangle that can be drawn.
    """
    positions, index, colors = _loaded(path)
    sound = _sound(positions, index)
    if not sound.any():
        raise InputError(f"{path}: has no triangle with an area")
    valid = index[sound]
    used, valid = np.unique(valid, return_inverse=True)
    positions, _ = placed(positions[used], size, up)
    if (reach := np.abs(positions).max()) > np.finfo(np.float32).max:
        raise InputError(f"{path}: coordinates reach {reach:.3g}, beyond float32; set size to scale the mesh")
    vertex, normals, triangles = split_at_creases(positions, valid.reshape(-1, 3), crease)
    colors = None if colors is None else colors[used][vertex]
    return MeshFile(positions[vertex].astype(np.float32), normals, triangles, int((~sound).sum()), colors)


def _loaded(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Positions float64 (n, 3), triangles (m, 3) and colors (n, 3) of all parts of the file as one.

    Vertices of equal position and color are merged.
    """
    found = ply_mesh.read(path) if path.suffix.lower() == ".ply" else None
    positions, faces, colors = found or _by_trimesh(path)
    rows = positions if colors is None else np.concatenate([positions, colors], axis=1)
    rows, index = np.unique(rows, axis=0, return_inverse=True)
    triangles = index.reshape(-1)[faces]
    return rows[:, :3], triangles, None if colors is None else rows[:, 3:].astype(np.float32)


def _by_trimesh(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """As the file has them."""
    import trimesh  # takes a second: it imports SciPy and networkx

    try:
        scene = trimesh.load_scene(path)
        mesh = scene.to_mesh()
    except Exception as error:  # its readers raise whatever they meet
        raise InputError(f"{path}: not a readable mesh ({error})") from error
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise InputError(f"{path}: has no triangles")
    faces = np.asarray(mesh.faces, np.int64)
    if faces.min() < 0 or faces.max() >= len(mesh.vertices):
        count = len(mesh.vertices)
        raise InputError(f"{path}: damaged: a triangle has an index beyond its {count:,} vertices")
    if mesh.vertices.shape[1:] != (3,):
        raise InputError(f"{path}: damaged: its vertices have {mesh.vertices.shape[1]} coordinates, not 3")
    positions, colors = np.asarray(mesh.vertices, np.float64), _gltf_colors(scene, len(mesh.vertices))
    return positions, faces, _colors(path, mesh.visual) if colors is None else colors


def _colors(path: Path, visual: Any) -> np.ndarray | None:
    """Colors of vertices (n, 3), from 0 to 1; warns of all others, which are left out."""
    if visual.kind == "vertex":
        return np.asarray(visual.vertex_colors, np.float64)[:, :3] / 255.0
    if visual.kind == "texture":
        what = "its materials" if getattr(visual, "uv", None) is None else "its textures and materials"
        _log.warning("%s: %s are left out: the mesh has the color of its layer", path, what)
    elif visual.kind == "face":
        _log.warning("%s: the colors of its faces are left out; those of vertices would be drawn", path)
    return None


def _gltf_colors(scene: Any, count: int) -> np.ndarray | None:
    """Colors of vertices beside a material, sRGB (count, 3), if all meshes of a glTF file have some."""
    parts = [scene.geometry[scene.graph[node][1]] for node in scene.graph.nodes_geometry]
    attributes = [getattr(part.visual, "vertex_attributes", {}) for part in parts if hasattr(part, "faces")]
    if not attributes or not all("color" in one for one in attributes):
        return None
    colors = np.concatenate([_encoded(np.asarray(one["color"])[:, :3]) for one in attributes])
    return colors if len(colors) == count else None


def _encoded(light: np.ndarray) -> np.ndarray:
    """Linear light, floats or normalized integers, as sRGB from 0 to 1 (IEC 61966-2-1)."""
    most = np.iinfo(light.dtype).max if light.dtype.kind in "iu" else 1.0
    light = np.clip(light.astype(np.float64) / most, 0.0, 1.0)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def _sound(positions: np.ndarray, index: np.ndarray) -> np.ndarray:
    corners = positions[index]
    with np.errstate(invalid="ignore", over="ignore"):
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    return np.isfinite(area) & (area > 0)


def split_at_creases(
    positions: np.ndarray, index: np.ndarray, crease: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of which vertex each is a copy, unit normals f32 and triangles u32.

    The normal at a triangle's corner is the mean of those of the triangles around it that are within `crease` degrees
    of its own, weighed by their angles there (Thürmer and Wüthrich 1998). Around a vertex of very many all count.
    """
    faces, angles = _faces(positions, index)
    vertex = index.reshape(-1)
    owner = np.repeat(np.arange(len(index)), 3)
    sums = np.zeros((len(vertex), 3))
    corner, other = _pairs(vertex)
    near = np.einsum("ij,ij->i", faces[owner[corner]], faces[owner[other]]) >= np.cos(np.radians(crease)) - 1e-9
    np.add.at(sums, corner[near], (angles.reshape(-1, 1) * faces[owner])[other[near]])
    crowded = np.bincount(vertex)[vertex] > MOST_AROUND
    around = np.zeros_like(positions)
    np.add.at(around, vertex, angles.reshape(-1, 1) * faces[owner])
    sums[crowded] = around[vertex[crowded]]
    normals = np.broadcast_to((0.0, 1.0, 0.0), sums.shape)
    for better in (around[vertex], faces[owner], sums):  # the last that has a direction
        length = np.linalg.norm(better, axis=1, keepdims=True)
        normals = np.where(length > 1e-12, better / np.maximum(length, 1e-12), normals)
    rows = np.concatenate([vertex[:, None].astype(np.float64), np.round(normals, 5)], axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    triangles = which.reshape(-1, 3).astype(np.uint32)
    return vertex[first], normals[first].astype(np.float32), triangles


def _faces(positions: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of triangles (m, 3), and the angles at their corners (m, 3).

    A triangle whose corners coincide to rounding, next to others far away, has the normal 0.
    """
    corners = positions[index]
    edges = np.roll(corners, -1, axis=1) - corners
    edges = edges / _or_one(np.abs(edges).max(axis=(1, 2), keepdims=True))  # products of tiny edges would be 0
    across = np.cross(edges[:, 0], -edges[:, 2])
    unit = edges / _or_one(np.linalg.norm(edges, axis=-1, keepdims=True))
    cosine = -np.einsum("ijk,ijk->ij", unit, np.roll(unit, 1, axis=1))
    return across / _or_one(np.linalg.norm(across, axis=-1, keepdims=True)), np.arccos(np.clip(cosine, -1.0, 1.0))


def _or_one(lengths: np.ndarray) -> np.ndarray:
    """Lengths to divide by: 1 for 0."""
    return np.where(lengths > 0.0, lengths, 1.0)


def _pairs(vertex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every two corners that share a vertex, each also with itself; none of vertices with very many corners."""
    order = np.argsort(vertex, kind="stable")
    counts = np.bincount(vertex)
    starts = np.cumsum(counts) - counts
    selected = order[counts[vertex[order]] <= MOST_AROUND]
    times = counts[vertex[selected]]
    corner = np.repeat(selected, times)
    offset = np.arange(len(corner)) - np.repeat(np.cumsum(times) - times, times)
    return corner, order[starts[vertex[corner]] + offset]
