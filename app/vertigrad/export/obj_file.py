"""Geometries as the bytes of a Wavefront OBJ."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from .geometry import Geometry

ELEMENTS = {"points": "p", "lines": "l", "triangles": "f"}
DIGITS = "%.9g"  # every f32 can be read back exactly


def packed(geometries: Sequence[Geometry]) -> bytes:
    """An object for each, named as its layer: `v` with its color (sRGB, 0 to 1) after x, y, z; `vn`; its elements."""
    file = io.BytesIO()
    vertices = normals = 0
    for one in geometries:
        file.write(f"o {one.name}\n".encode())
        colors = np.clip(np.nan_to_num(one.colors[:, :3]), 0.0, 1.0)
        _lines(file, "v", np.concatenate([one.positions, colors], axis=1), " ".join([DIGITS] * 3 + ["%.6g"] * 3))
        if one.normals is not None:
            _lines(file, "vn", one.normals, " ".join([DIGITS] * 3))
        index = np.arange(len(one.positions))[:, None] if one.index is None else one.index.astype(np.int64)
        _elements(file, ELEMENTS[one.kind], index + 1 + vertices, None if one.normals is None else normals - vertices)
        vertices += len(one.positions)
        normals += 0 if one.normals is None else len(one.normals)
    return file.getvalue()


def _elements(file: io.BytesIO, word: str, index: np.ndarray, shift: int | None) -> None:
    """`shift` leads from a vertex to its normal; None: there are no normals."""
    if shift is None:
        _lines(file, word, index, " ".join(["%d"] * index.shape[1]))
    else:
        both = np.stack([index, index + shift], axis=2).reshape(len(index), -1)
        _lines(file, word, both, " ".join(["%d//%d"] * index.shape[1]))


def _lines(file: io.BytesIO, word: str, rows: np.ndarray, form: str) -> None:
    if len(rows):
        np.savetxt(file, rows, fmt=f"{word} {form}")
