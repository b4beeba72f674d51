"""`.splat` files, the format of antimatter15's viewer: 32 bytes a splat, without a header.

Position and scale as three f32 each, red, green, blue and opacity as bytes, and a quaternion w, x, y, z as bytes from
-1 to 1. There are no spherical harmonics.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....errors import InputError
from .packing import to_bytes
from .values import Splats, no_harmonics, require_count, unit

SUFFIX = ".splat"
ROW = np.dtype([("position", "<f4", (3,)), ("scale", "<f4", (3,)), ("color", "u1", (4,)), ("rotation", "u1", (4,))])
TOLERANCE = 0.1  # of the length of a quaternion


def read(path: Path) -> Splats:
    """The splats of a file. Raises `InputError`, also for a file whose quaternions are mostly not of length 1."""
    size = path.stat().st_size
    if size % ROW.itemsize:
        raise InputError(f"{path}: not a .splat file, or truncated: {size:,} bytes are not rows of {ROW.itemsize}")
    require_count(path, size // ROW.itemsize)
    rows = np.fromfile(path, ROW)
    turn = (rows["rotation"].astype(np.float32) - 128.0) / 128.0
    off = np.abs(np.linalg.norm(turn, axis=1) - 1.0) > TOLERANCE
    if off.mean() > 0.5:
        raise InputError(f"{path}: not a .splat file: most of its quaternions do not have the length 1")
    color = rows["color"].astype(np.float32) / 255.0
    return Splats(
        np.ascontiguousarray(rows["position"], np.float32),
        np.ascontiguousarray(rows["scale"], np.float32),
        unit(turn[:, [1, 2, 3, 0]]),
        np.ascontiguousarray(color[:, 3]),
        np.ascontiguousarray(color[:, :3]),
        no_harmonics(len(rows)),
    )


def packed(splats: Splats) -> bytes:
    """The bytes of a file; harmonics are not part of it."""
    rows = np.empty(len(splats.position), ROW)
    rows["position"], rows["scale"] = splats.position, splats.scale
    rows["color"][:, :3], rows["color"][:, 3] = to_bytes(splats.color * 255.0), to_bytes(splats.opacity * 255.0)
    rows["rotation"] = to_bytes(splats.rotation[:, [3, 0, 1, 2]] * 128.0 + 128.0)
    return rows.tobytes()
