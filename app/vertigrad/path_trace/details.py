"""Textures, clear coats and transmission of materials, for shaders/common/trace_asset.wgsl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..export.geometry import to_light
from .shapes import Details, Shapes
from .tables import Tables

SIZES = 4  # numbers before those of a material: columns and rows of the maps of colors, and of data
VERTEX = 8  # numbers of a vertex: two sets of texture coordinates, a tangent and its handedness


class Detailed(NamedTuple):
    """Shapes whose corners and materials refer to tables and to `texels` u32 (n,); `defines` of the shader.

    The first 256 texels are the light of the bytes of sRGB.
    """

    shapes: Sequence[Shapes]
    texels: np.ndarray
    defines: dict[str, Any]


def detailed(found: Sequence[Shapes], tables: Tables) -> Detailed:
    """Add the details of all shapes to the tables."""
    light = to_light(np.arange(256) / 255.0).astype(np.float32).view(np.uint32)
    texels, count, shapes = [light], len(light), list[Shapes]()
    for one in found:
        details = one.details
        if details is None:
            shapes.append(one)
            continue
        maps = [_words(images) for images in (details.color_maps, details.data_maps)]
        shapes.append(_placed(one, details, tables, (count, count + len(maps[0]))))
        texels += maps
        count += sum(map(len, maps))
    all_details = [one.details for one in found if one.details is not None]
    defines = {
        "MAPS": any(one.has_maps.any() for one in all_details),
        "LOBES": any(one.has_layers.any() for one in all_details),
    }
    return Detailed(shapes, np.concatenate(texels), defines)


def _words(images: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(images).view(np.uint32).reshape(-1)


def _placed(shapes: Shapes, details: Details, tables: Tables, first_texels: tuple[int, int]) -> Shapes:
    """Shapes whose corners, which have the numbers of vertices, and materials say where the details are."""
    corners = shapes.corners.copy()
    corners[:, 3] = tables.add(details.vertices) + VERTEX * corners[:, 3]
    first, columns = tables.add(details.materials) + SIZES, details.materials.shape[1]
    materials = [
        one._replace(details=(first + columns * row, *first_texels))
        if details.has_maps[row] or details.has_layers[row]
        else one
        for row, one in enumerate(shapes.materials)
    ]
    return shapes._replace(corners=corners, materials=materials)
