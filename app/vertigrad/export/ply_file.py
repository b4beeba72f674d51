"""One `Geometry` as the bytes of a binary PLY."""

from __future__ import annotations

import numpy as np

from ..models.data import ply
from .geometry import Geometry

CHANNELS = ("red", "green", "blue", "alpha")


def packed(geometry: Geometry) -> bytes:
    """x, y, z; nx, ny, nz; red, green, blue and alpha as bytes; radius; scalar; and triangles, or edges of lines."""
    columns = dict(zip("xyz", geometry.positions.T, strict=True))
    if geometry.normals is not None:
        columns |= dict(zip(("nx", "ny", "nz"), geometry.normals.T, strict=True))
    columns |= dict(zip(CHANNELS, geometry.bytes_of_colors().T, strict=False))
    columns |= geometry.extras
    if geometry.scalars is not None:
        columns["scalar"] = geometry.scalars
    types = [(name, "u1" if name in CHANNELS else "<f4") for name in columns]
    rows = np.empty(len(geometry.positions), types)
    for name, column in columns.items():
        rows[name] = column
    return ply.packed({"vertex": rows} | _corners(geometry))


def _corners(geometry: Geometry) -> dict[str, np.ndarray]:
    """The element of the triangles, or of the edges of lines."""
    if geometry.index is None or geometry.kind not in ("triangles", "lines"):
        return {}
    if geometry.kind == "lines":
        edges = np.empty(len(geometry.index), [("vertex1", "<i4"), ("vertex2", "<i4")])
        edges["vertex1"], edges["vertex2"] = geometry.index.T
        return {"edge": edges}
    faces = np.empty(len(geometry.index), [("count", "u1"), ("vertex_indices", "<i4", (3,))])
    faces["count"], faces["vertex_indices"] = 3, geometry.index
    return {"face": faces}
