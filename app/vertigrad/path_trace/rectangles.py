"""Images and slices for path tracing: rectangles with a texture, whose colors are shown as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..export import Geometry
from ..export.colors import colormapped
from ..export.geometry import to_srgb, with_alpha
from ..export.layers import read
from ..models.data.assets.content import BLEND, CLAMP, TRANSMISSIVE, Map, Material
from ..renderer.layers import Layer
from ..renderer.layers.image import TRANSPARENT, ImageDrawing
from ..renderer.layers.slices import SlicesDrawing
from ..renderer.layers.styles import ends_among
from .details import VERTEX
from .shapes import CLEAR, Details, Shapes, Surface, triangles

FINE = 8  # texels of an edge for each pixel or sample, since shaders map interpolated values, not colors
MOST = 1024  # texels along an edge, if there are not as many pixels
NOT_FINITE = (255, 0, 255, 255)  # sRGB; as in draw/image.wgsl
CORNERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.float32)  # of a rectangle, along its edges from the first pixel
TURNS = np.array([[0, 1, 2], [2, 1, 3]], np.uint32)  # its triangles

Ends = tuple[float, float]  # of a range


class Rectangle(NamedTuple):
    """Its first corner and its edges, of a texture's rows and columns, in world space."""

    origin: np.ndarray
    right: np.ndarray
    down: np.ndarray


def image_shapes(layer: Layer) -> Shapes:
    """The rectangle of an image in the world."""
    layer.prepare()  # of a tensor, the image is computed
    drawing: ImageDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    style, values = drawing.style, drawing.uniform()
    (pixels,) = read([drawing.pixels])
    rectangle = Rectangle(*(np.array(values[name]) for name in ("origin", "right", "down")))
    texels = _image(pixels, style)
    if drawing.marks_not_finite:
        texels[_marked(pixels, texels.shape[:2])] = NOT_FINITE
    return _textured(layer.name, [rectangle], [texels], style.brightness, style.opacity)


def _marked(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The texels, in an image of this size, of pixels that are NaN or infinite, but those without a value."""
    marked = ~np.isfinite(pixels) & (pixels.view(np.uint32) != TRANSPARENT)
    rows, columns = (np.arange(n) * count // n for n, count in zip(size, pixels.shape, strict=True))
    return marked[np.ix_(rows, columns)]


def slice_shapes(layer: Layer) -> Shapes:
    """The rectangles of slices through a grid."""
    drawing: SlicesDrawing = layer.drawing  # pyright: ignore[reportAssignmentType]
    layer.prepare()
    style, values = drawing.style, drawing.uniform()
    (samples,) = read([drawing.fields["values"].tensor])
    low, high, gap = np.array(values["low"]), np.array(values["high"]), values["inset"]
    side = min(FINE * max(samples.shape), max(MOST, *samples.shape))
    ends = ends_among(style.range, samples)
    found = list[tuple[Rectangle, np.ndarray]]()
    for axis in (axis for axis in range(3) if "xyz"[axis] in style.across):
        across, along = (other for other in range(3) if other != axis)
        edges = np.diag(high - low)
        rectangle = Rectangle(low + style.at[axis] * edges[axis], edges[across], edges[along])
        parts = {axis: np.array([style.at[axis]]), across: _middles(side), along: _middles(side)}
        found.append((rectangle, _slice(samples, parts, gap, style, ends)))
    return _textured(layer.name, [one for one, _ in found], [texels for _, texels in found], style.brightness, 1.0)


def _middles(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


def _slice(
    samples: np.ndarray, parts: dict[int, np.ndarray], gap: float, style: Any, ends: tuple[float, float]
) -> np.ndarray:
    """The texels of a slice, whose positions along x, y and z are fractions of the box."""
    values = samples
    between = _smooth if style.interpolation == "cubic" else _between
    for axis in sorted(parts, key=lambda axis: len(parts[axis])):  # first the one that leaves few planes of the grid
        count = samples.shape[2 - axis]
        values = between(values, parts[axis] * (count - 1 + 2 * gap) - gap, 2 - axis)
    values = values.squeeze(axis=2 - min(axis for axis in range(3) if len(parts[axis]) == 1))
    span = ends[1] - ends[0]
    fraction = (values - ends[0]) / (span if abs(span) > 1e-30 else 1.0)
    shown = np.isfinite(values) & ((style.hidden_below <= 0.0) | (fraction >= style.hidden_below))
    return _texels(_mapped(values, ends, style), shown)


def _between(values: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Values at positions along an axis, linear between elements; beyond them those at the ends."""
    at = np.clip(at, 0.0, values.shape[axis] - 1)
    low = np.minimum(at.astype(int), values.shape[axis] - 1)
    high = np.minimum(low + 1, values.shape[axis] - 1)
    shape = [-1 if one == axis else 1 for one in range(values.ndim)]
    part = (at - low).reshape(shape)
    upper = np.where(part > 0.0, values.take(high, axis), 0.0)  # of one that does not count, no NaN
    return (1.0 - part) * values.take(low, axis) + part * upper


def _smooth(values: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Values at positions along an axis, by a cubic B-spline, as `smooth` of shaders/common/field.wgsl."""
    first = np.floor(at).astype(int) - 1
    found = np.zeros(())
    for offset in range(4):
        away = np.abs(at - first - offset)
        weight = np.where(away < 1.0, 4.0 - 3.0 * away**2 * (2.0 - away), (2.0 - away) ** 3) / 6.0
        taken = values.take(np.clip(first + offset, 0, values.shape[axis] - 1), axis)
        found = found + weight.reshape([-1 if one == axis else 1 for one in range(values.ndim)]) * taken
    return found


def _image(pixels: np.ndarray, style: Any) -> np.ndarray:
    """The texels of an image."""
    values = pixels.astype(np.float64) / (255.0 if pixels.dtype == np.uint8 else 1.0)
    sound = np.logical_and.reduce(np.isfinite(values).reshape(*values.shape[:2], -1), axis=2)
    if values.ndim == 3 and style.smooth:
        return _texels(values, sound)
    ends = ends_among(style.range, pixels) if values.ndim == 2 else None
    for axis in (0, 1):
        fine = max(min(FINE, MOST // values.shape[axis]), 1)
        at = (np.arange(values.shape[axis] * fine) + 0.5) / fine - 0.5
        nearest = np.clip(np.rint(at).astype(int), 0, values.shape[axis] - 1)
        sound = sound.take(nearest, axis)
        values = _between(values, at, axis) if style.smooth else values.take(nearest, axis)
    return _texels(values if ends is None else _mapped(values, ends, style), sound)


def _mapped(values: np.ndarray, ends: Ends, style: Any) -> np.ndarray:
    """Their colors, whose range has these ends."""
    return colormapped(values.reshape(-1), np.array(ends), style).reshape(*values.shape, 3)


def _texels(colors: np.ndarray, sound: np.ndarray) -> np.ndarray:
    """Colors (rows, columns, 3 or 4), sRGB, as u8 (rows, columns, 4); clear where they are not sound."""
    found = with_alpha(np.nan_to_num(colors))
    found[..., 3] *= sound
    return np.round(np.clip(found, 0.0, 1.0) * 255.0).astype(np.uint8)


def _textured(
    name: str, rectangles: Sequence[Rectangle], textures: Sequence[np.ndarray], brightness: float, opacity: float
) -> Shapes:
    """Rectangles with textures of one size, that are not lit."""
    count = len(rectangles)
    corners = [one.origin + CORNERS[:, :1] * one.right + CORNERS[:, 1:] * one.down for one in rectangles]
    index = (TURNS[None] + 4 * np.arange(count, dtype=np.uint32)[:, None, None]).reshape(-1, 3)
    positions = np.concatenate(corners).astype(np.float32) if count else np.zeros((0, 3), np.float32)
    colors = np.tile(np.array([brightness] * 3 + [opacity], np.float32), (4 * count, 1))
    geometry = Geometry(name, "triangles", positions, to_srgb(colors), index)
    shapes = triangles(geometry, [Surface(unlit=1.0)] * count, np.repeat(np.arange(count), 4), colors)
    shapes.primitives[:, 0, 3] |= CLEAR  # as their textures are
    vertices = np.zeros((4 * count, VERTEX), np.float32)
    vertices[:, :2] = np.tile(CORNERS, (count, 1))
    return shapes._replace(details=_details(vertices, textures))


def _details(vertices: np.ndarray, textures: Sequence[np.ndarray]) -> Details:
    maps = np.stack(textures) if textures else np.zeros((1, 1, 1, 4), np.uint8)
    rows = [
        Material(alpha_mode=BLEND, unlit=True, maps={"base_color": Map(number, wrap=(CLAMP, CLAMP))})
        for number in range(len(textures))
    ]
    sizes = [maps.shape[2], maps.shape[1], 1, 1]
    materials = np.array([sizes + one.floats(TRANSMISSIVE) for one in rows], np.float32)
    return Details(
        vertices,
        materials.reshape(-1, len(sizes) + TRANSMISSIVE),
        maps,
        np.full((1, 1, 1, 4), 255, np.uint8),
        np.ones(len(rows), bool),
        np.zeros(len(rows), bool),
    )
