"""Assets for path tracing: triangles with the materials of glTF 2.0, as shaders/draw/asset.wgsl draws them."""

from __future__ import annotations

import numpy as np

from ..export import geometry
from ..export.layers import read, rows_of
from ..models.data.assets.content import BLEND, MAPS, MASK, OPAQUE, TRANSMISSIVE, Coat, Material, Transmission
from ..renderer.layers import Layer
from ..renderer.layers.asset import AssetDrawing
from ..tensor import Tensor
from .details import SIZES, VERTEX
from .lamps import lamps_of_asset
from .shapes import CLEAR, Details, Shapes, Surface, triangles

FACTORS, MAP = 16, 12  # numbers of a material before its maps, and of each map
COAT, TRANSMISSION = 76, 116  # where the strength of a clear coat is, and the fraction that is transmitted
LEAST_ROUGHNESS = 0.05  # of what does not transmit light
PAINT = 0.04  # what a dielectric of the usual index reflects head-on
METAL = 1e4  # index of refraction that stands for an infinite one


def asset_shapes(layer: Layer) -> Shapes:
    """The triangles of an asset; base colors are factors of the colors of the vertices."""
    drawing: AssetDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    table, rows = _materials(drawing), rows_of(drawing.drawn)
    finite = np.logical_and.reduce(np.isfinite(rows["position"]), axis=1)  # other rows are left out
    row, found = _material_rows(rows, len(table))[finite], geometry(layer)
    colors = found.linear_rgba() * table[row, :4]
    clear = (table[row, FACTORS] >= 0.0) & (table[row, 12] != OPAQUE)  # by a map, whose alpha the shader knows
    colors[:, 3] = np.where(clear, colors[:, 3], _alpha(colors[:, 3], table[row, 12], table[row, 7]))
    shapes = triangles(found, [_surface(one) for one in table], row, colors)
    assert found.index is not None
    shapes.primitives[:, 0, 3] |= np.where(clear[found.index[:, 0]], CLEAR, np.uint32(0))
    return shapes._replace(details=_details(drawing, table, rows, finite))


def asset_lights(drawing: AssetDrawing, shapes: Shapes) -> np.ndarray:
    """The lights of an asset, which lie in its box or shine into it, as rows of lamps (n, 18)."""
    if not drawing.light_count or not len(shapes.low):
        return np.zeros((0, 18), np.float32)
    (table,) = read([drawing.lights])
    return lamps_of_asset(table, shapes.low.min(axis=0), shapes.high.max(axis=0))


def _materials(drawing: AssetDrawing) -> np.ndarray:
    """Their numbers, f32 (n, 148), without a coat and transmission where they have none."""
    (table,) = read([drawing.materials])
    without = [*Coat().floats(), *Transmission().floats(Material().ior, 1.0)]
    found = np.tile(np.array([0.0] * COAT + without, np.float32), (len(table), 1))
    found[:, : table.shape[1]] = table
    if not drawing.style.blend:
        found[found[:, 12] == BLEND, 12] = OPAQUE
    return found


def _surface(one: np.ndarray) -> Surface:
    """The factors of a material; what transmits light is absorbed in what it encloses."""
    unlit, transmits = float(one[14] > 0.0), one[TRANSMISSION] > 0.0
    roughness = max(one[9], 0.0 if transmits else LEAST_ROUGHNESS)
    surface = Surface(one[8], roughness, emission=tuple(one[4:7]), unlit=unlit)
    if not transmits:
        return surface
    thickness, distance, *color, ior = one[TRANSMISSION + 1 : TRANSMISSION + 7]
    absorbs = thickness > 0.0 and distance > 0.0
    absorption = -np.log(np.maximum(color, 1e-6)) / distance if absorbs else np.zeros(3)
    return surface._replace(absorption=tuple(absorption), ior=max(ior, 1.0) if ior else METAL)


def _details(drawing: AssetDrawing, table: np.ndarray, rows: dict[str, np.ndarray], finite: np.ndarray) -> Details:
    vertices = np.zeros((np.count_nonzero(finite), VERTEX), np.float32)
    for name, begin in (("texcoord", 0), ("tangent", 4)):
        if name in rows:
            vertices[:, begin : begin + 4] = rows[name][finite]
    images = [_images(drawing, name) for name in ("color_maps", "data_maps")]
    sizes = [size for one in images for size in one.shape[2:0:-1]]
    layers = [
        *(table[:, FACTORS + MAP * at] for at, name in enumerate(MAPS) if name != "occlusion"),
        *(table[:, COAT + 4 + MAP * at] for at in range(3)),
        table[:, TRANSMISSION + 8],
    ]
    has_layers = (table[:, [COAT, TRANSMISSION]] > 0.0).any(axis=1) | (abs(table[:, 15] - PAINT) > 1e-6)
    numbers = np.concatenate([np.tile(np.array(sizes, np.float32), (len(table), 1)), table], axis=1)
    assert numbers.shape[1] == SIZES + TRANSMISSIVE
    colors, data = images
    return Details(vertices, numbers, colors, data, np.max(layers, axis=0) >= 0.0, has_layers)


def _images(drawing: AssetDrawing, name: str) -> np.ndarray:
    images = drawing.images[name]
    return read([images])[0] if isinstance(images, Tensor) else np.full((1, 1, 1, 4), 255, np.uint8)


def _material_rows(rows: dict[str, np.ndarray], count: int) -> np.ndarray:
    """The material of each vertex, as the vertex stage finds it."""
    values = rows.get("material")
    if values is None:
        return np.zeros(len(rows["position"]), np.int64)
    return np.clip(np.nan_to_num(values[:, 0]) + 0.5, 0, count - 1).astype(np.int64)


def _alpha(alpha: np.ndarray, mode: np.ndarray, cutoff: np.ndarray) -> np.ndarray:
    """What of the alpha counts: nothing but for masks, which it passes or not, and for what blends."""
    masked = np.where(mode == MASK, (alpha >= cutoff).astype(np.float32), 1.0)
    return np.where(mode == BLEND, alpha, masked)
