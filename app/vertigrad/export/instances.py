"""The triangles of meshes and arrows that are drawn once for each row, as shaders/draw/instances.wgsl places them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..renderer.layers.arrows import ANCHORS

MOST = 1 << 26  # vertices of one layer: some gigabytes
HEAD = 2.6  # radius of an arrow's head in radii of its shaft, as in the shader

Placed = tuple[np.ndarray, np.ndarray | None, np.ndarray]  # positions and normals (n, 3), and triangles (m, 3)
Rows = dict[str, np.ndarray]


def meshes(drawing: Any, rows: Rows, mesh: Rows, index: np.ndarray) -> Placed:
    """The bound mesh for each row, with its size and rotation."""
    count = drawing.drawn.rows
    _require_few(drawing.name, count, len(mesh["mesh"]))
    size = np.array(drawing.drawn.factors("size")) * rows.get("size", np.ones((count, 1), np.float32))
    turns = _turns(rows.get("direction"), count)
    turns[~np.isfinite(size).all(axis=1)] = np.nan
    positions = np.einsum("rij,rvj->rvi", turns, mesh["mesh"][None] * size[:, None]) + rows["position"][:, None]
    normals = None
    if "mesh_normal" in mesh:
        scaled = mesh["mesh_normal"][None] / np.where(size != 0.0, size, 1.0)[:, None]
        normals = _unit(np.einsum("rij,rvj->rvi", turns, scaled))
    return _concatenated(positions, normals, index)


def arrows(drawing: Any, rows: Rows, mesh: Rows, index: np.ndarray) -> Placed:
    """An arrow for each row along its direction; none for a direction without a finite length."""
    style, direction = drawing.style, rows["direction"]
    _require_few(drawing.name, len(direction), len(mesh["mesh"]))
    strength = np.linalg.norm(direction.astype(np.float64), axis=1)
    length = np.minimum(style.scale * (np.ones_like(strength) if style.normalize else strength), style.max_length)
    length[~(np.isfinite(strength) & (strength > 0.0))] = np.nan
    part, around = mesh["mesh"][:, 1], mesh["mesh"][:, [0, 2]]
    radius = style.thickness * np.where(part > 1.5, HEAD, 1.0)
    height = np.where(part < 0.5, 0.0, np.where(part > 2.5, 1.0, 1.0 - style.head)) - ANCHORS[style.anchor]
    unit = np.stack([around[:, 0] * radius, height, around[:, 1] * radius], axis=1)
    slope = HEAD * style.thickness / style.head
    normal = mesh["mesh_normal"].copy()
    normal[normal[:, 1] > 0.5, 1] = slope
    turns = _turns(direction, len(direction))
    positions = np.einsum("rij,rvj->rvi", turns, unit[None] * length[:, None, None]) + rows["position"][:, None]
    normals = _unit(np.einsum("rij,vj->rvi", turns, normal))
    return _concatenated(positions, normals, index)


def _turns(direction: np.ndarray | None, count: int) -> np.ndarray:
    """The rotation of each row, (count, 3, 3): a quaternion x, y, z, w, or so that y points along a direction."""
    if direction is None:
        return np.tile(np.eye(3), (count, 1, 1))
    values = direction.astype(np.float64)
    return _of_quaternions(values) if values.shape[1] == 4 else _along(values)


def _of_quaternions(values: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(values, axis=1, keepdims=True)
    x, y, z, w = np.where(length > 0.0, values / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 0.0, 1.0)).T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def _along(values: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(values, axis=1, keepdims=True)
    y = np.where(length > 0.0, values / np.where(length > 0.0, length, 1.0), (0.0, 1.0, 0.0))
    y[~np.isfinite(values).all(axis=1)] = np.nan
    aside = np.where(np.abs(y[:, 1:2]) > 0.99, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = np.cross(aside, y)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def _concatenated(positions: np.ndarray, normals: np.ndarray | None, index: np.ndarray) -> Placed:
    count, vertices = positions.shape[:2]
    triangles = index[None].astype(np.uint32) + (np.arange(count, dtype=np.uint32) * np.uint32(vertices))[:, None, None]
    flat = None if normals is None else normals.reshape(-1, 3).astype(np.float32)
    return positions.reshape(-1, 3).astype(np.float32), flat, triangles.reshape(-1, 3)


def _require_few(layer: str, count: int, vertices: int) -> None:
    if count * vertices > MOST:
        raise InputError(
            f"layer {layer!r}: {count:,} meshes of {vertices} vertices are more than the {MOST:,} vertices that are "
            "exported; draw fewer rows, or a simpler mesh"
        )
