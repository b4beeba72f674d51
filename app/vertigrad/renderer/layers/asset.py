"""`AssetLayer`: triangles with metal-rough materials and their textures."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import wgpu

from ...errors import LayoutError
from ...params import Params, switch
from ...tensor import Tensor
from ..bindings import lighting_layout
from ..pipelines import render_pipeline
from ..target import LEAST_ALPHA, Colors, handles_samples, pass_states
from . import styles
from .attributes import describe
from .base import Attribute, AttributeSpec, Frame, Layer
from .light_behind import LightBehind
from .meshes import IndexedDrawing, checked_index, draw_cells
from .recipe import Recipe, Stage
from .storage import storage_range
from .styles import Range
from .texture_maps import TextureMaps, map_sampler

MATERIAL, COATED, TRANSMISSIVE = 76, 116, 148  # floats of a material, of the shader: with coats, and with transmission
MATERIALS = (MATERIAL, COATED, TRANSMISSIVE)
LIGHT = 16  # floats of a light
ENDS = ((False, False), (True, True), (False, True), (True, False))  # the samplers' axes, as in the shader
_log = logging.getLogger("vertigrad")
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
        self.materials = self._table(values, "materials", MATERIALS, _plain())
        self.images = {name: values.get(name) for name in ("color_maps", "data_maps")}
        self.lights = self._table(values, "lights", (LIGHT,), np.zeros((1, LIGHT), np.float32))
        self.light_count = self.lights.shape[0] if isinstance(values.get("lights"), Tensor) else 0
        maps = [self._maps(values, name, is_srgb) for name, is_srgb in (("color_maps", True), ("data_maps", False))]
        textures = [("textures", one.view) for one in maps]
        self.create(
            RECIPE,
            [self.attributes],
            storage=[self.materials, self.lights],
            others=[self.index],
            defines={"LIGHTS": self.light_count > 0, **self._material_defines()},
            textures=[*textures, *(("sampler", map_sampler(self.gpu, ends)) for ends in ENDS)],
        )
        if self.refracts:
            self._behind = LightBehind(self.gpu)
            self._through_pipeline(Colors())

    def _material_defines(self) -> dict[str, Any]:
        """The values for the shader that the columns of the materials decide."""
        columns = self.materials.shape[1]
        self.refracts = self.reads_depth = columns == TRANSMISSIVE and handles_samples(self.gpu)
        if columns == TRANSMISSIVE and not self.refracts:
            _log.warning("layer %r: nothing shines through its materials: OpenGL cannot read what is behind", self.name)
        return {"COLUMNS": columns, "COATS": columns >= COATED, "TRANSMISSION": self.refracts}

    def refract(self, frame: Frame) -> None:
        """Copy the light of what is opaque."""
        assert frame.image is not None
        self._behind.record(frame.image)

    def draw_refracted(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the materials that transmit light, with what is behind them."""
        assert frame.lighting is not None
        offset, group = self.push(), self._find_group(frame)
        pass_.set_pipeline(self._through_pipeline(frame.colors))
        pass_.set_bind_group(0, group, (frame.view_offset, offset))
        pass_.set_bind_group(1, frame.lighting)
        pass_.set_bind_group(2, self._behind.group)
        self._buffers.set(pass_)
        self.draw_call(pass_)

    def _through_pipeline(self, colors: Colors) -> wgpu.GPURenderPipeline:
        return render_pipeline(
            self.gpu,
            RECIPE.shader,
            ("asset_vertex", "asset_through"),
            [self.pipelines.bindings.layout, lighting_layout(self.gpu), self._behind.layout],
            defines=self.pipelines.defines,
            buffers=[one.descriptor(RECIPE.locations) for one in self.attributes.buffers],
            **pass_states(self.gpu, "color", over=False, colors=colors)._asdict(),
        )

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles with the indices of their nearest corners."""
        if self.color[3] >= LEAST_ALPHA:
            draw_cells(self.gpu, pass_, frame, self.attributes.tensors["position"], self.index)

    def uniform(self) -> dict[str, Any]:
        tables = {"material": self.materials, "light": self.lights}
        first = {f"first_{name}": storage_range(self.gpu, one, "a layer")[1] // 4 for name, one in tables.items()}
        constant = "color" in self.attributes.constants
        return {
            **first,
            "material_count": self.materials.shape[0],
            "light_count": self.light_count,
            "color": self.color if constant else (1.0, 1.0, 1.0, 1.0),
        }

    def _table(
        self, values: Mapping[str, Attribute], name: str, columns: tuple[int, ...], without: np.ndarray
    ) -> Tensor:
        """The table that is bound as `name`, f32 (n, columns), or else `without`."""
        table = values.get(name)
        if table is None:
            return self.hold(Tensor.from_numpy(without, name=f"{self.name}.{name}"))
        where = f"layer {self.name!r}: {name}"
        expected = " or ".join(f"(n, {count})" for count in columns)
        if not isinstance(table, Tensor) or table.dtype.name != "f32" or table.ndim != 2 or not table.is_contiguous:
            raise LayoutError(f"{where} must be a contiguous f32 tensor {expected}")
        if table.shape[1] not in columns or not table.shape[0]:
            raise LayoutError(f"{where} {table.name!r} has the shape {table.shape}, not {expected}")
        self.reported[name] = partial(describe, table, table.strides[0], f"f32x{table.shape[1]}")
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
            False, MATERIALS, None, "factors and maps of materials", own_rows=True, without="a white one"
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
    row[0, :4], row[0, 7], row[0, 9:12], row[0, 13], row[0, 15] = 1.0, 0.5, (0.7, 1.0, 1.0), 1.0, 0.04
    row[0, 16::12] = -1.0
    return row
