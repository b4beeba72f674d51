"""Points and triangles."""

from __future__ import annotations

import numpy as np


def nearest_points(corners: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The nearest point of triangle i (n, 3, 3) to position i (n, 3): over its face, or on an edge."""
    edges = np.roll(corners, -1, axis=1) - corners
    across = np.cross(edges[:, 0], edges[:, 1])
    from_corners = positions[:, None] - corners
    inside = (np.einsum("nkd,nd->nk", np.cross(edges, from_corners), across) >= 0.0).all(axis=1)
    height = np.einsum("nd,nd->n", from_corners[:, 0], across) / np.einsum("nd,nd->n", across, across)
    over = positions - height[:, None] * across
    along = np.einsum("nkd,nkd->nk", from_corners, edges) / np.einsum("nkd,nkd->nk", edges, edges)
    on_edges = corners + np.clip(along, 0.0, 1.0)[..., None] * edges
    closest = ((positions[:, None] - on_edges) ** 2).sum(-1).argmin(axis=1)
    return np.where(inside[:, None], over, on_edges[np.arange(len(positions)), closest])
