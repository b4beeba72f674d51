"""Triangles of binary PLY files as most programs write them: read in some milliseconds, without another library."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from .ply import ORDERS, TYPES, Header, columns, header, vertices

LISTS = ("vertex_indices", "vertex_index")
COLORS = ("red", "green", "blue")
KNOWN = {*("x", "y", "z", "nx", "ny", "nz", "alpha"), *COLORS}  # properties of vertices; others may be of a texture


class PlyMesh(NamedTuple):
    """`positions` f64 (n, 3), `index` i64 (m, 3), and the `colors` of vertices f64 (n, 3), from 0 to 1, if any."""

    positions: np.ndarray
    index: np.ndarray
    colors: np.ndarray | None


def read(path: Path) -> PlyMesh | None:
    """The mesh, if all faces are triangles and the file has vertices and faces alone; None for any other file."""
    try:
        found = header(path)
        face_type = _face_type(found)
        if face_type is None:
            return None
        rows = vertices(path, found)
        start, count = found.start + rows.nbytes, found.elements[1].count
        if not count or path.stat().st_size != start + count * face_type.itemsize:
            return None  # also where faces have more corners
        faces = np.fromfile(path, face_type, count, offset=start)
    except (InputError, OSError):  # trimesh says what is wrong
        return None
    if not np.all(faces["corners"] == 3):
        return None
    index = faces["index"].astype(np.int64)
    if index.min() < 0 or index.max() >= len(rows):
        return None
    has_colors = all(found.vertex.fields.get(name) == "u1" for name in COLORS)
    colors = columns(rows, COLORS) / 255.0 if has_colors else None
    return PlyMesh(columns(rows, ("x", "y", "z")), index, colors)


def _face_type(found: Header) -> np.dtype | None:
    """The rows of triangles, of a file that has vertices and faces and of these the corners alone."""
    if found.order == "ascii" or [one.name for one in found.elements] != ["vertex", "face"]:
        return None
    vertex, face = found.elements
    if vertex.others or not {"x", "y", "z"} <= vertex.fields.keys() <= KNOWN or face.fields or len(face.others) != 1:
        return None
    kind, count, index, name = (*face.others[0].split(), "", "", "", "")[:4]
    if (
        kind != "list"
        or name not in LISTS
        or TYPES.get(count) not in ("u1", "i1")
        or TYPES.get(index) not in ("i4", "u4")
    ):
        return None
    order = ORDERS[found.order]
    return np.dtype([("corners", TYPES[count]), ("index", order + TYPES[index], 3)])
