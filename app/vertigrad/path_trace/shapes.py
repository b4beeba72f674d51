"""`Shapes`: what a layer draws as triangles and spheres, in the words of shaders/common/trace_scene.wgsl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..export import Geometry
from . import packing
from .tree import MOST_PRIMITIVES, Tree, build

SPHERE, CLEAR, FLAT, LIQUID, TUBE = (np.uint32(1 << bit) for bit in (31, 30, 29, 28, 27))
MOST_MATERIALS = 1 << 24
OPAQUE = 0.999  # of an alpha, as in shaders/common/coverage.wgsl


class Surface(NamedTuple):
    """A material: its rows in the shader. `emission` is linear light, `unlit` 1 where colors are shown as they are.

    With an index of refraction `ior` it is the surface of a liquid, which absorbs and scatters for each world unit.
    `details` are where its numbers are in the tables, and its first texels: path_trace/details.py.
    """

    metallic: float = 0.0
    roughness: float = 0.5
    emissive: float = 0.0
    brightness: float = 1.0
    emission: tuple[float, float, float] = (0.0, 0.0, 0.0)
    unlit: float = 0.0
    absorption: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ior: float = 0.0
    scattering: float = 0.0
    details: tuple[int, int, int] = (0, 0, 0)


class Details(NamedTuple):
    """What an asset's materials have beyond a `Surface`: see path_trace/details.py.

    `vertices` f32 (n, 8): two sets of texture coordinates, a tangent and its handedness. `materials` f32 (m, 4 + 148):
    the sizes of the maps, then the numbers of `content.Material.floats`. The maps of colors and of data are u8 (k,
    rows, columns, 4). `has_maps` and `has_layers` (m,): which materials have textures; and which a clear coat, an index
    of refraction, or transmission.
    """

    vertices: np.ndarray
    materials: np.ndarray
    color_maps: np.ndarray
    data_maps: np.ndarray
    has_maps: np.ndarray
    has_layers: np.ndarray


class Shapes(NamedTuple):
    """`primitives` u32 (n, 3, 4) refer to rows of `corners` u32 (m, 4) and `materials`; `low` and `high` are boxes.

    With `details` the last word of a corner is the number of its vertex.
    """

    primitives: np.ndarray
    corners: np.ndarray
    low: np.ndarray
    high: np.ndarray
    materials: Sequence[Surface]
    details: Details | None = None


def spheres(geometry: Geometry, material: Surface) -> Shapes:
    """Those around the points of a geometry, which have a radius."""
    radius = geometry.extras["radius"].astype(np.float32)
    keep = radius > 0.0
    centers, radius = geometry.positions[keep].astype(np.float32), radius[keep]
    colors = geometry.linear_colors()[keep]
    words = np.zeros((len(centers), 3, 4), np.uint32)
    words[:, 0, :3] = np.ascontiguousarray(centers).view(np.uint32)
    words[:, 0, 3] = SPHERE | _clear(colors)
    words[:, 1, 0] = radius.view(np.uint32)
    words[:, 1, 3] = np.arange(len(centers), dtype=np.uint32)
    reach = radius[:, None]
    return Shapes(words, packing.corners(colors), centers - reach, centers + reach, [material])


def triangles(
    geometry: Geometry,
    materials: Sequence[Surface],
    material: np.ndarray | None = None,
    colors: np.ndarray | None = None,
) -> Shapes:
    """Those of a geometry. `material` is a row of `materials` for each vertex, that of the first corner counts.

    `colors` are linear ones, instead of those of the geometry.
    """
    assert geometry.index is not None
    index = geometry.index.astype(np.int64)
    places = geometry.positions.astype(np.float32)[index]
    colors = geometry.linear_colors() if colors is None else colors
    normals = geometry.normals
    words = np.zeros((len(index), 3, 4), np.uint32)
    words[:, :, :3] = np.ascontiguousarray(places).view(np.uint32)
    words[:, 0, 3] = _clear(colors[index].reshape(len(index), -1, colors.shape[1]))
    row = np.zeros(len(index), np.uint32) if material is None else material[index[:, 0]].astype(np.uint32)
    words[:, 0, 3] |= row
    if normals is None:
        words[:, 0, 3] |= FLAT
    words[:, 0, 3] |= np.where(np.array([one.ior > 0.0 for one in materials])[row], LIQUID, np.uint32(0))
    words[:, 1, 3] = 3 * np.arange(len(index), dtype=np.uint32)
    corners = packing.corners(colors, normals)[index].reshape(-1, packing.WORDS)
    corners[:, 3] = index.reshape(-1)
    return Shapes(words, corners, places.min(axis=1), places.max(axis=1), materials)


def _clear(colors: np.ndarray) -> np.ndarray:
    """The flag of those that let light through: (n, channels), or (n, corners, channels)."""
    if colors.shape[-1] < 4:
        return np.zeros(len(colors), np.uint32)
    least = colors[..., 3].reshape(len(colors), -1).min(axis=1)
    return np.where(least < OPAQUE, CLEAR, np.uint32(0))


class Scene(NamedTuple):
    """The shapes of all layers, in the order of the leaves of their tree; `materials` are rows of words, (n, 4).

    After the last corner is one more: of a tube, which has two, a third is read that counts for nothing.
    """

    tree: Tree | None
    primitives: np.ndarray
    corners: np.ndarray
    materials: np.ndarray


def concatenated(found: Sequence[Shapes]) -> Scene:
    """The shapes of several layers. Raises `InputError` for too many."""
    found = [one for one in found if len(one.primitives)]
    count = sum(len(one.primitives) for one in found)
    if count > MOST_PRIMITIVES:
        raise InputError(f"path tracing: {count:,} triangles and spheres; there may be {MOST_PRIMITIVES:,}")
    if not found:
        nothing = np.zeros((1, 4), np.uint32)
        return Scene(None, nothing, nothing, nothing)
    materials, parts, first_corner = list[Surface](), list[np.ndarray](), 0
    first_line = MOST_PRIMITIVES  # one random number decides what each line and each other primitive lets through
    for one in found:
        words = one.primitives.copy()
        words[:, 0, 3] += np.uint32(len(materials))
        words[:, 1, 3] += np.uint32(first_corner)
        tubes = (words[:, 0, 3] & TUBE) != 0
        words[tubes, 2, 2] += np.uint32(first_line)
        first_line = int(words[tubes, 2, 2].max(initial=first_line - 1)) + 1
        parts.append(words)
        materials += one.materials
        first_corner += len(one.corners)
    if len(materials) > MOST_MATERIALS:
        raise InputError(f"path tracing: {len(materials):,} materials; there may be {MOST_MATERIALS:,}")
    tree = build(*(np.concatenate([getattr(one, name) for one in found]) for name in ("low", "high")))
    primitives = np.concatenate(parts)[tree.order].reshape(-1, 4)
    corners = [*(one.corners for one in found), np.zeros((1, packing.WORDS), np.uint32)]
    return Scene(tree, primitives, np.concatenate(corners), _rows(materials))


def _rows(materials: Sequence[Surface]) -> np.ndarray:
    values = [
        (*one[:4], *one.emission, one.unlit, *one.absorption, one.ior, one.scattering, 0.0, 0.0, 0.0)
        for one in materials
    ]
    words = np.array(values, np.float32).view(np.uint32)
    words[:, 13:] = [one.details for one in materials]
    return words.reshape(-1, 4)
