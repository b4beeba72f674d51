"""Small files of points in every format, with the same values."""

from __future__ import annotations

import io
from functools import cache

import laspy
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from vertigrad.models.data import ply

COUNT = 300
UTM = np.array([448_262.25, 5_411_932.5, 310.0])  # somewhere in zone 32
RNG = np.random.default_rng(4)
XYZ = UTM + RNG.uniform(0, 50, (COUNT, 3)).round(3)
RGB = RNG.integers(0, 256, (COUNT, 3)).astype(np.uint8)
CLASSES = RNG.integers(0, 9, COUNT).astype(np.uint8)
INTENSITY = RNG.integers(0, 40_000, COUNT).astype(np.uint16)
POINT_NAMES = ("a.ply", "a.las", "a.laz", "a.npy", "a.npz", "a.csv", "a.parquet")


def table(xyz: np.ndarray = XYZ) -> dict[str, np.ndarray]:
    """All columns by name."""
    axes, colors = dict(zip("xyz", xyz.T, strict=True)), dict(zip(("red", "green", "blue"), RGB.T, strict=True))
    return {**axes, **colors, "classification": CLASSES, "intensity": INTENSITY}


def point_file(name: str, xyz: np.ndarray = XYZ) -> bytes:
    """The content of a file of this name."""
    columns = table(xyz)
    dtype = np.dtype([(key, column.dtype) for key, column in columns.items()])
    rows = np.empty(COUNT, dtype)
    for key, column in columns.items():
        rows[key] = column
    file = io.BytesIO()
    match name.rpartition(".")[2]:
        case "ply":
            head = "".join(f"property {_PLY[kind[1:]]} {key}\n" for key, kind in dtype.descr)
            return f"ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\n{head}end_header\n".encode() + (
                rows.tobytes()
            )
        case "las" | "laz":
            header = laspy.LasHeader(point_format=7, version="1.4")
            header.scales, header.offsets = [0.001] * 3, UTM
            las = laspy.LasData(header)
            las.x, las.y, las.z = XYZ.T
            las.red, las.green, las.blue = RGB.T.astype(np.uint16)  # 8 bits in 16, as many programs write it
            las.classification, las.intensity = CLASSES, INTENSITY
            las.write(file, do_compress=name.endswith("z"))
        case "npy":
            np.save(file, rows)
        case "npz":
            np.savez(file, points=xyz, colors=RGB, classification=CLASSES, intensity=INTENSITY)
        case "csv":
            pyarrow.csv.write_csv(pa.table(columns), file)
        case "parquet":
            pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


@cache
def point_files() -> dict[str, bytes]:
    """The content of a valid file of each format, by its name."""
    return {name: point_file(name) for name in POINT_NAMES}


_PLY = {kind: name for name, kind in ply.TYPES.items()}
