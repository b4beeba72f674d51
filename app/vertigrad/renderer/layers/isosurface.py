"""`IsosurfaceLayer`: the surface where samples on a grid have one value."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LimitError
from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...params import Params, choice, interval, number, switch, vector
from ...tensor import Tensor
from ..colormap import COLORMAPS, colormap_texture
from ..extent import Extent
from ..lighting_layout import lighting_layout
from ..moment import Moment
from ..pipelines import draw_cache, draw_shader, smooth_sampler
from ..rows import LEAST_ALPHA, ROW_TARGETS, rows_depth
from ..target import CLEAR_TARGETS, color_targets, depth_state, handles_samples, multisample_state
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Drawn, Frame
from .box import Box, inset
from .content import Content, ContentLayer
from .field import FIELD, NO_FIELD, ends, fields, whole
from .marching import MOST, packed
from .places import Places
from .stored import Stored
from .surface import HEIGHT

SHADER, CELLS_SHADER = "draw/isosurface.wgsl", "draw/isosurface_cells.wgsl"
STYLE = struct.Struct("<3ff3ff4f2f2f4f3f4x")  # `Style` in the shader, after its two fields
VERTICES = 3 * MOST  # of a cell; those that it does not need lie nowhere
MOST_CELLS = 1 << 24  # their numbers have 24 bits


class IsosurfaceStyle(Params):
    """How a surface of one value looks, and where its grid lies."""

    level: float = number(0.0, slider_min=-1.0, slider_max=1.0, doc="value on the surface")
    low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="low corner of the box in world space; auto: cubic cells around the origin"
    )
    high: tuple[float, ...] | Literal["auto"] = vector("auto", words=("auto",), doc="high corner of the box")
    samples: str = choice(
        "nodes",
        ("cells", "nodes"),
        doc="cells: samples are at cell centers; nodes: the outer samples are on the faces of the box",
    )
    colormap: str = choice("batlow", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    metallic: float = number(0.0, min=0.0, max=1.0, doc="0: dielectric, 1: metal")
    roughness: float = number(0.5, min=0.05, max=1.0, doc="0.05: polished, 1: matte")
    contours: float = number(
        0.0,
        min=0.0,
        slider_max=1.0,
        doc="interval between contour lines of a scalar color, else of the height; 0: none",
    )
    contour_axis: str = choice("y", tuple(HEIGHT), doc="axis along which height is measured for contour lines")
    contour_strength: float = number(0.45, min=0.0, max=1.0, doc="opacity of contour lines")
    contour_width: float = number(1.2, min=0.5, max=8.0, unit="pixels", doc="width of contour lines")


class IsosurfaceLayer(ContentLayer["_Content"]):
    """Marching cubes, anew for each picture. How many triangles there are is known on the GPU only."""

    casts: ClassVar[bool] = True
    blends: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = IsosurfaceStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "values": AttributeSpec(True, (1,), None, "samples on a grid (nz, ny, nx)"),
        "color": AttributeSpec(
            False, (1, 3), (0.72, 0.70, 0.67), "a scalar for the colormap, or sRGB, on the same or another grid"
        ),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for too much of it; what was
        bound before stays then.
        """
        self._take(_Content(self._gpu, self.name, attributes))

    def prepare(self, moment: Moment | None = None) -> None:
        """Find the cells that the surface passes through, and the extent of the colors if it is wanted."""
        self._bound.prepare(self.style)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the triangles."""
        self._record(pass_, frame, self._bound.pipeline(picking=False, drawn=frame.drawn, split=frame.split))

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """A surface is solid throughout: nothing."""

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """It has no rows: it hides those behind it. Nothing if it is all but transparent."""
        if self._bound.color[3] >= LEAST_ALPHA:
            self._record(pass_, frame, self._bound.pipeline(picking=True))

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, pipeline: wgpu.GPURenderPipeline) -> None:
        content = self._bound
        offset = self._gpu.uniforms.push(content.uniform(self.style))
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, content.group(self.style), (frame.view_offset, offset))
        pass_.draw_indirect(content.size.block.buffer, content.size.offset)


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute]):
        self._gpu = gpu
        self._packed: tuple[Any, bytes] = (), b""  # the style's uniform, and the values it was made of
        self._pipelines: dict[tuple[bool, Drawn, bool], wgpu.GPURenderPipeline] = {}
        self.fields = fields(gpu, name, "values", given)
        self.attributes = Attributes(
            gpu, name, IsosurfaceLayer.ATTRIBUTES, given, "vertex", beside=("values", *self.fields)
        )
        self.color = self.attributes.color()
        values = self.fields["values"]
        x, y, z = (n - 1 for n in values.size)
        count = x * y * z
        if count > MOST_CELLS:
            raise LimitError(
                f"layer {name!r}: values {values.tensor.name!r} has {count:,} cells; an isosurface takes "
                f"{MOST_CELLS:,}: draw a part, or every other sample ([::2, ::2, ::2])"
            )
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            self._box = Box(name, values.size)
            stack.callback(self._box.close)
            self.attributes.add("position", self._box.positions, (3,))
            color = self.fields.get("color")
            self._extent = Extent(color.tensor) if color and color.components == 1 else None
            if self._extent is not None:
                stack.callback(self._extent.close)
                self.attributes.add("extent", self._extent.pair.expand(self.attributes.rows, 2), (2,))
            self._cells = held(Tensor.empty(count, "u32", name=f"{name}.cells"))
            self.size = held(Tensor.empty(4, "u32", name=f"{name}.draw"))
            self._kinds = held(Tensor.from_numpy(packed(), name=f"{name}.kinds"))
            ranges = (True, False) if self._extent is not None else (False,)
            self._plans = {auto: self._recorded(held(Plan(f"{name}.cells")), count, auto) for auto in ranges}
            self._stored = Stored(gpu, 2 * FIELD.size + STYLE.size, self._resource_kinds())
            self.pipeline(picking=False)
            fields_of = [field.tensor for field in self.fields.values()]
            extents = [] if self._extent is None else [self._extent.pair]
            self._places = Places(gpu, [*fields_of, *extents, self._cells, self._kinds, self.size])
            self._held = stack.pop_all()

    def prepare(self, style: IsosurfaceStyle) -> None:
        for field in self.fields.values():
            self._gpu.make_resident(field.tensor.owner)
        self._box.place(style)
        self._plans[self._extent is not None and style.range == "auto"].replay(level=style.level)

    def uniform(self, style: IsosurfaceStyle) -> bytes:
        key = tuple(vars(style).values())
        if key != self._packed[0]:
            self._packed = key, self._uniform(style)
        return self._packed[1]

    def group(self, style: IsosurfaceStyle) -> wgpu.GPUBindGroup:
        key = (style.colormap, style.colormap_flip, *self.blocks())
        return self._stored.group(key, lambda: self._resources(style))

    def blocks(self) -> list[Block]:
        return self._places.blocks

    def pipeline(self, picking: bool, drawn: Drawn = "color", split: bool = False) -> wgpu.GPURenderPipeline:
        key = picking, drawn, split and drawn == "color"
        if key not in self._pipelines:
            self._pipelines[key] = self._pipeline(*key)
        return self._pipelines[key]

    def _pipeline(self, picking: bool, drawn: Drawn, split: bool) -> wgpu.GPURenderPipeline:
        components = self.fields["color"].components if "color" in self.fields else 0
        gpu, layout = self._gpu, self._stored.layout

        layouts = [layout] if picking or drawn == "depth" else [layout, lighting_layout(gpu)]
        part = "fragment" if drawn == "color" else drawn
        single = picking or drawn == "depth"

        def targets() -> Any:
            if drawn != "color":
                return list(CLEAR_TARGETS) if drawn == "clear" else []
            return list(ROW_TARGETS) if picking else color_targets(over=False, split=split)

        def make() -> wgpu.GPURenderPipeline:
            defines = {"COLOR_COMPONENTS": components, "PICKING": picking, "VERTICES": VERTICES}
            module = draw_shader(gpu, SHADER, {**defines, "SAMPLE_MASK": handles_samples(gpu)})
            return gpu.device.create_render_pipeline(
                label=SHADER,
                layout=gpu.device.create_pipeline_layout(bind_group_layouts=layouts),
                vertex={"module": module, "entry_point": "isosurface_vertex"},
                fragment={"module": module, "entry_point": f"isosurface_{part}", "targets": targets()},
                primitive={"topology": "triangle-list", "cull_mode": "none"},
                depth_stencil=rows_depth() if picking else depth_state(write=drawn != "clear"),  # pyright: ignore
                multisample={"count": 1} if single else multisample_state(gpu, solid=drawn == "color"),  # pyright: ignore
            )

        return draw_cache(gpu).get((SHADER, components, picking, drawn, split), make)

    def report(self) -> dict[str, Any]:
        return self.attributes.report() | {name: field.report() for name, field in self.fields.items()}

    def close(self) -> None:
        self._held.close()

    def _uniform(self, style: IsosurfaceStyle) -> bytes:
        low, high = self._box.place(style)
        color = self.fields.get("color")
        values = STYLE.pack(
            *(*low, style.level, *high, inset(style), *self.color, *ends(style.range)),
            *(style.metallic, style.roughness, style.contours, style.contour_strength, style.contour_width),
            *(style.range == "auto", *HEIGHT[style.contour_axis]),
        )
        return self.fields["values"].packed + (color.packed if color else NO_FIELD) + values

    def _recorded(self, plan: Plan, count: int, auto: bool) -> Plan:
        values, defines = self.fields["values"], {"VERTICES": VERTICES}
        if auto and self._extent is not None:
            self._extent.add_to(plan)
        plan.dispatch(Kernel.load(CELLS_SHADER, "begin", defines), 1, overwrites=("draw",), draw=self.size)
        plan.dispatch(
            Kernel.load(CELLS_SHADER, "find", defines),
            count,
            overwrites=("cells",),
            values=values.tensor,
            cells=self._cells,
            draw=self.size,
            values_size=values.size,
            values_strides=values.strides,
        )
        return plan

    def _resources(self, style: IsosurfaceStyle) -> list[Any]:
        found: list[Any] = [self.fields["values"].resource(), whole(self._cells), whole(self._kinds)]
        if "color" in self.fields:
            found.append(self.fields["color"].resource())
        if self._extent is not None:
            texture = colormap_texture(self._gpu, style.colormap, style.colormap_flip)
            found += [whole(self._extent.pair), texture, smooth_sampler(self._gpu)]
        return found

    def _resource_kinds(self) -> list[str]:
        kinds = ["storage"] * (4 if "color" in self.fields else 3)
        return kinds + (["storage", "texture", "sampler"] if self._extent is not None else [])
