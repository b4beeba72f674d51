"""Normals and colors in the words of a corner, for shaders/common/trace_scene.wgsl."""

from __future__ import annotations

import numpy as np

from ..export.geometry import with_alpha

WORDS = 4  # of a corner: normal, color (two), and one that is free


def corners(colors: np.ndarray, normals: np.ndarray | None = None) -> np.ndarray:
    """Linear colors (n, 3) or (n, 4), and unit normals (n, 3), as u32 (n, 4)."""
    words = np.zeros((len(colors), WORDS), np.uint32)
    if normals is not None:
        words[:, 0] = octahedral(normals)
    words[:, 1:3] = with_alpha(colors).astype(np.float16).view(np.uint32)
    return words


def octahedral(normals: np.ndarray) -> np.ndarray:
    """Unit vectors (n, 3) as two 16-bit numbers in a word (Meyer et al. 2010); of length 0, the z axis."""
    vectors = normals.astype(np.float64)
    total = np.abs(vectors).sum(axis=1, keepdims=True)
    vectors = np.where(total > 0.0, vectors / np.where(total > 0.0, total, 1.0), (0.0, 0.0, 1.0))
    across, up = vectors[:, :2], vectors[:, 2:]
    signs = np.where(across >= 0.0, 1.0, -1.0)
    folded = np.where(up < 0.0, (1.0 - np.abs(across[:, ::-1])) * signs, across)
    return np.round(np.clip(folded, -1.0, 1.0) * 32767.0).astype(np.int16).view(np.uint32)[:, 0]
