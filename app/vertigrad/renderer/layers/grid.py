"""Triangles between the points of a grid."""

from __future__ import annotations

import numpy as np

TILE = 16  # columns drawn together: few enough that the row before is still in the vertex cache


def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """Vertex indices of the triangles, uint32 [2 * (rows - 1) * (columns - 1), 3], for vertices in row-major order.

    The diagonals of neighboring cells run across each other, so that shading shows no grain.
    """
    y, x = np.mgrid[0 : rows - 1, 0 : columns - 1]
    order = np.lexsort((x.ravel(), y.ravel(), x.ravel() // TILE))
    y, x = y.ravel()[order], x.ravel()[order]
    corner = y * columns + x
    right, below = corner + 1, corner + columns
    across = below + 1
    even = np.stack([corner, below, across, corner, across, right], axis=1)
    odd = np.stack([corner, below, right, right, below, across], axis=1)
    cells = np.where(((x + y) % 2 == 0)[:, None], even, odd)
    return cells.reshape(-1, 3).astype(np.uint32)
