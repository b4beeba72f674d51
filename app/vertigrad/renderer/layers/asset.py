"""`AssetLayer`: triangles with metal-rough materials and their textures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import wgpu

from ...errors import LayoutError
from ...params import Params, switch
from ...tensor import Tensor
from ..target import LEAST_ALPHA
from . import styles
from .attributes import describe
from .base import Attribute, AttributeSpec, Frame, Layer
from .meshes import IndexedDrawing, checked_index, draw_cells
from .recipe import Recipe, Stage
from .storage import storage_range
from .styles import Range
from .texture_maps import TextureMaps, map_sampler

MATERIAL, LIGHT = 76, 16  # floats of a row of the tables, as in shaders/draw/asset.wgsl
ENDS = ((False, False), (True, True), (False, True), (True, False))  # the samplers' axes, as in the shader
RECIPE = Recipe(
    shader="draw/asset.wgsl",
    stages=[Stage("asset", "asset")],
    locations={"position": 0, "normal": 1, "tangent": 2, "texcoord": 3, "color": 4, "extent": 5, "material": 6},
)


class AssetStyle(Params):
    """The style of an asset."""

    colormap: str = styles.colormap("batlow")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    blend: bool = switch(True, doc="materials that blend are transparent; off: opaque, which is faster")


class AssetDrawing(IndexedDrawing):
    """Triangles, whose materials, textures and lights are read by the fragment stage."""

    rebuilds = ("blend",)

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, AssetLayer.ATTRIBUTES, excluded=TABLES, step_mode="vertex")
        if self.style.blend:
            self.attributes.transparency = "some"
        self.index = checked_index(self.name, values.get("index", 0.0))
        self.reported["index"] = self.report_index
        self.materials = self._table(values, "materials", MATERIAL, _plain())
        self._lights = self._table(values, "lights", LIGHT, np.zeros((1, LIGHT), np.float32))
        self.light_count = self._lights.shape[0] if isinstance(values.get("lights"), Tensor) else 0
        maps = [self._maps(values, name, is_srgb) for name, is_srgb in (("color_maps", True), ("data_maps", False))]
        textures = [("textures", one.view) for one in maps]
        self.create(
            RECIPE,
            [self.attributes],
            storage=[self.materials, self._lights],
            others=[self.index],
            defines={"LIGHTS": self.light_count > 0},
            textures=[*textures, *(("sampler", map_sampler(self.gpu, ends)) for ends in ENDS)],
        )

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles with the indices of their nearest corners."""
        if self.color[3] >= LEAST_ALPHA:
            draw_cells(self.gpu, pass_, frame, self.attributes.tensors["position"], self.index)

    def uniform(self) -> dict[str, Any]:
        tables = {"material": self.materials, "light": self._lights}
        first = {f"first_{name}": storage_range(self.gpu, one, "a layer")[1] // 4 for name, one in tables.items()}
        constant = "color" in self.attributes.constants
        return {
            **first,
            "material_count": self.materials.shape[0],
            "light_count": self.light_count,
            "color": self.color if constant else (1.0, 1.0, 1.0, 1.0),
        }

    def _table(self, values: Mapping[str, Attribute], name: str, columns: int, without: np.ndarray) -> Tensor:
        """The table that is bound as `name`, f32 (n, columns), or else `without`."""
        table = values.get(name)
        if table is None:
            return self.hold(Tensor.from_numpy(without, name=f"{self.name}.{name}"))
        where = f"layer {self.name!r}: {name}"
        if not isinstance(table, Tensor) or table.dtype.name != "f32" or table.ndim != 2 or not table.is_contiguous:
            raise LayoutError(f"{where} must be a contiguous f32 tensor (n, {columns})")
        if table.shape[1] != columns or not table.shape[0]:
            raise LayoutError(f"{where} {table.name!r} has the shape {table.shape}, not (n, {columns})")
        self.reported[name] = partial(describe, table, table.strides[0], f"f32x{columns}")
        return table

    def _maps(self, values: Mapping[str, Attribute], name: str, is_srgb: bool) -> TextureMaps:
        images = values.get(name)
        if isinstance(images, Tensor):
            self.reported[name] = images.name
            return TextureMaps(self.gpu, self.name, images, is_srgb)
        white = np.full((1, 1, 1, 4), 255, np.uint8)
        with Tensor.from_numpy(white, name=f"{self.name}.{name}") as images:
            return TextureMaps(self.gpu, self.name, images, is_srgb)


class AssetLayer(Layer):
    """Triangles of an asset, each vertex with a row of `materials`, lit as metal-rough surfaces of glTF 2.0."""

    casts = True
    blends = True
    Style = AssetStyle
    DRAWING = AssetDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "normal": AttributeSpec(True, (3,), None, "normals"),
        "tangent": AttributeSpec(
            False,
            (4,),
            None,
            "tangents and their handedness, for normal maps",
            without="those of the texture coordinates",
        ),
        "texcoord": AttributeSpec(
            False, (4,), None, "two sets of texture coordinates, v downwards", without="no textures"
        ),
        "color": AttributeSpec(False, (1, 3, 4), (1.0, 1.0, 1.0), "factor of the base color: as of other layers"),
        "material": AttributeSpec(False, (1,), None, "row of materials", without="the first material"),
        "index": AttributeSpec(True, (1, 3), None, "three rows of position for each triangle"),
        "materials": AttributeSpec(
            False, (MATERIAL,), None, "factors and maps of materials", own_rows=True, without="a white one"
        ),
        "color_maps": AttributeSpec(
            False, (4,), None, "textures of colors (n, rows, columns, 4), u8, sRGB", own_rows=True, without="white"
        ),
        "data_maps": AttributeSpec(
            False, (4,), None, "textures of data (n, rows, columns, 4), u8, linear", own_rows=True, without="white"
        ),
        "lights": AttributeSpec(False, (LIGHT,), None, "lights of the asset", own_rows=True, without="no lights"),
    }


TABLES = ("index", "materials", "color_maps", "data_maps", "lights")


def _plain() -> np.ndarray:
    """A white material that is matt, without maps."""
    row = np.zeros((1, MATERIAL), np.float32)
    row[0, :4], row[0, 7], row[0, 9:12], row[0, 13] = 1.0, 0.5, (0.7, 1.0, 1.0), 1.0
    row[0, 16::12] = -1.0
    return row
