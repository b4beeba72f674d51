"""One `Geometry` as the bytes of a binary PLY."""

from __future__ import annotations

import numpy as np

from ..models.data import ply, splat_file
from .geometry import Geometry

CHANNELS = ("red", "green", "blue", "alpha")


def packed(geometry: Geometry) -> bytes:
    """x, y, z; nx, ny, nz; red, green, blue and alpha as bytes; radius; scalar; and triangles, or edges of lines.

    Splats have the properties of Kerbl et al. 2023; see `splat_file`.
    """
    if geometry.kind == "splats":
        return splat_file.packed(_splats(geometry))
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
    triangles = geometry.index if geometry.kind == "triangles" else None
    return ply.packed(rows, triangles, geometry.index if geometry.kind == "lines" else None)


def _splats(geometry: Geometry) -> splat_file.Splats:
    extras = geometry.extras
    return splat_file.Splats(
        geometry.positions, extras["scale"], extras["rotation"], extras["opacity"], geometry.colors[:, :3]
    )
