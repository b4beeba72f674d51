"""Assets for path tracing: triangles with the materials of glTF 2.0 (shaders/draw/asset.wgsl), without textures."""

from __future__ import annotations

import numpy as np

from ..export import geometry
from ..export.layers import read, rows_of
from ..models.data.assets.content import BLEND, MAPS, MASK
from ..renderer.layers import Layer
from ..renderer.layers.asset import AssetDrawing
from .shapes import Shapes, Surface, triangles

FACTORS, MAP = 16, 12  # floats of a material before its maps, and of each map
COAT, TRANSMISSION = 76, 116  # where the strength of a clear coat is, and the fraction that is transmitted


def asset_shapes(layer: Layer) -> Shapes:
    """The triangles of an asset; base colors are factors of the colors of the vertices."""
    drawing: AssetDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    (table,) = read([drawing.materials])
    row = _material_rows(drawing, len(table))
    found = geometry(layer)
    if len(row) != len(found.positions):  # rows that are not finite are left out
        row = row[_finite(drawing)]
    own = found.linear_colors()
    colors = np.ones((len(own), 4), np.float32)
    colors[:, : own.shape[1]] = own
    colors *= table[row, :4]
    colors[:, 3] = _alpha(colors[:, 3], table[row, 12], table[row, 7], drawing.style.blend)
    materials = [Surface(one[8], max(one[9], 0.05), 0.0, 1.0, tuple(one[4:7]), float(one[14] > 0.0)) for one in table]
    return triangles(found, materials, row, colors)


def untraced_parts(name: str, drawing: AssetDrawing) -> list[str]:
    """Sentences on what of an asset is left out."""
    (table,) = read([drawing.materials])
    maps = table[:, FACTORS:COAT].reshape(len(table), len(MAPS), MAP)
    left_out = []
    if (maps[:, :, 0] >= 0.0).any():
        left_out.append(f"layer {name!r}: its textures are not path-traced, but its base colors are")
    if drawing.light_count:
        left_out.append(f"layer {name!r}: its own lights are not path-traced")
    if (table[:, COAT : COAT + 1] > 0.0).any():
        left_out.append(f"layer {name!r}: its clear coats are not path-traced")
    if (table[:, TRANSMISSION : TRANSMISSION + 1] > 0.0).any():
        left_out.append(f"layer {name!r}: what transmits light is path-traced as opaque")
    return left_out


def _material_rows(drawing: AssetDrawing, count: int) -> np.ndarray:
    """The material of each vertex, as the vertex stage finds it."""
    values = rows_of(drawing.drawn).get("material")
    if values is None:
        return np.zeros(drawing.drawn.rows, np.int64)
    return np.clip(np.nan_to_num(values[:, 0]) + 0.5, 0, count - 1).astype(np.int64)


def _finite(drawing: AssetDrawing) -> np.ndarray:
    return np.logical_and.reduce(np.isfinite(rows_of(drawing.drawn)["position"]), axis=1)


def _alpha(alpha: np.ndarray, mode: np.ndarray, cutoff: np.ndarray, blends: bool) -> np.ndarray:
    """What of the alpha counts: nothing but for masks, which it passes or not, and for what blends."""
    masked = np.where(mode == MASK, (alpha >= cutoff).astype(np.float32), 1.0)
    return np.where((mode == BLEND) & blends, alpha, masked)
