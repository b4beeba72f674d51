"""`SplatsLayer`: Gaussian splats, sorted by depth on the GPU."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...ops.sorting import record_sort
from ...params import Params, choice, interval, number, switch
from ...tensor import Tensor
from ..colormap import COLORMAPS, colormap_texture
from ..extent import Extent
from ..moment import Moment
from ..pipelines import draw_cache, draw_shader, smooth_sampler
from ..rows import ROW_TARGETS, rows_depth
from ..target import color_targets, depth_state, multisample_state
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import Content, ContentLayer
from .field import ends, storage_range, whole
from .places import Places
from .stored import Stored

SHADER, ORDER_SHADER = "draw/splats.wgsl", "draw/splat_order.wgsl"
STYLE = struct.Struct("<4f3ff2f2f12I2f8x")  # `Style` in the shader
BOUND = ("position", "scale", "rotation", "opacity", "color")
ARRAYS = ("positions", "scales", "rotations", "opacities", "colors")  # what shaders call them


class SplatsStyle(Params):
    """How splats look."""

    size: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=5.0, scale="log", doc="factor of all standard deviations"
    )
    opacity_scale: float = number(1.0, min=0.0, max=1.0, doc="factor of all opacities")
    colormap: str = choice("viridis", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    brightness: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the color"
    )
    blur: float = number(
        0.3, min=0.0, max=16.0, slider_max=2.0, unit="pixels²", doc="variance of the low-pass filter on the screen"
    )
    antialiased: bool = switch(False, doc="compensate the opacity of splats that the filter enlarges")


class SplatsLayer(ContentLayer["_Content"]):
    """A Gaussian cloud for each row of `position`, projected as an ellipse, blended from the farthest to the nearest.

    A row in which anything is not finite is not drawn. Splats blend over what is solid, by the depth of their middles.
    Colors are display-referred and blend as sRGB, which captured scenes were fitted to.
    """

    Style: ClassVar[type[Params]] = SplatsStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "scale": AttributeSpec(False, (1, 3), 0.02, "standard deviation, or one along each of the splat's own axes"),
        "rotation": AttributeSpec(False, (4,), None, "rotation of those axes as a quaternion x, y, z, w"),
        "opacity": AttributeSpec(False, (1,), 0.8, "opacity at the center"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more rows than this adapter
        binds; what was bound before stays then.
        """
        self._take(_Content(self._gpu, self.name, attributes))

    def prepare(self, moment: Moment | None = None) -> None:
        """Sort the rows by their depth, and find the extent of the colors if it is wanted."""
        self._bound.prepare(self.style, moment)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Nothing of a splat is solid."""

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the splats."""
        self._record(pass_, frame, picking=False)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the splats, where they are dense enough to be seen, as the numbers of their rows."""
        self._record(pass_, frame, picking=True)

    @property
    def display_referred(self) -> bool:
        """Always."""
        return True

    @property
    def size(self) -> Tensor:
        """The indirect draw, u32 (4,): its second number is how many rows are drawn, all others were not finite."""
        return self._bound.size

    @property
    def order(self) -> Tensor:
        """Rows as they are drawn, i32; those that are not drawn are the last."""
        return self._bound.order

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, picking: bool) -> None:
        content = self._bound
        offset = self._gpu.uniforms.push(content.uniform(self.style))
        pass_.set_pipeline(content.pipeline(picking))
        pass_.set_bind_group(0, content.group(self.style), (frame.view_offset, offset))
        pass_.draw_indirect(content.size.block.buffer, content.size.offset)


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute]):
        self._gpu = gpu
        self._packed: tuple[Any, bytes] = (), b""  # the style's uniform, and the values it was made of
        self._forward: tuple[float, float, float] | None = None
        self._resident: list[Block] | None = None
        self.attributes = Attributes(gpu, name, SplatsLayer.ATTRIBUTES, given, "instance")
        _check(name, self.attributes)
        self._color, self._scale = self.attributes.color(), _deviations(name, self.attributes)
        self._opacity = self.attributes.number("opacity")
        self._bound = {name: self.attributes.tensors[name] for name in BOUND if name in self.attributes.tensors}
        self._places = self._found_places(name)
        rows = self.attributes.rows
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            color = self._bound.get("color")
            self._extent = None
            if color and color.layout.components == 1:
                self._extent = Extent(color.tensor, color.layout)
                stack.callback(self._extent.close)
                self.attributes.add("extent", self._extent.pair.expand(self.attributes.rows, 2), (2,))
            self._keys = held(Tensor.empty(rows, "u32", name=f"{name}.keys"))
            self.order = held(Tensor.empty(rows, "i32", name=f"{name}.order"))
            self.size = held(Tensor.empty(4, "u32", name=f"{name}.draw"))
            self._plan = self._recorded(ranged=True)
            stack.callback(lambda: self._plan.close())
            made = [self._extent.pair] if self._extent is not None else []
            self._lying = Places(gpu, [self.order, *(b.tensor for b in self._bound.values()), self.size, *made])
            kinds = ["storage"] * (1 + len(self._bound)) + (["storage", "texture", "sampler"] if self._extent else [])
            self._stored = Stored(gpu, STYLE.size, kinds)
            self._pipelines = {False: self._pipeline(picking=False)}
            self._held = stack.pop_all()

    def prepare(self, style: SplatsStyle, moment: Moment | None) -> None:
        if self._lying.blocks is not self._resident:
            for bound in self._bound.values():
                self._gpu.make_resident(bound.tensor.owner)
            self._resident = self._lying.blocks
        if moment is not None or self._forward is None:
            self._forward = moment.forward if moment is not None else (0.0, 0.0, -1.0)
            self._ordered(style.range == "auto").replay(forward=self._forward)

    def uniform(self, style: SplatsStyle) -> bytes:
        key = tuple(vars(style).values())
        if key != self._packed[0]:
            values = (*self._color, *(style.size * s for s in self._scale), style.opacity_scale * self._opacity)
            looks = (*ends(style.range), style.range == "auto", style.brightness)
            self._packed = key, STYLE.pack(*values, *looks, *self._places, style.blur, style.antialiased)
        return self._packed[1]

    def group(self, style: SplatsStyle) -> wgpu.GPUBindGroup:
        key = (style.colormap, style.colormap_flip, *self.blocks())
        return self._stored.group(key, lambda: self._resources(style))

    def blocks(self) -> list[Block]:
        return self._lying.blocks

    def report(self) -> dict[str, Any]:
        return self.attributes.report()

    def pipeline(self, picking: bool) -> wgpu.GPURenderPipeline:
        if picking not in self._pipelines:
            self._pipelines[picking] = self._pipeline(picking)
        return self._pipelines[picking]

    def close(self) -> None:
        self._held.close()

    def _components(self) -> dict[str, int]:
        return {name.upper(): self.attributes.components(name) for name in BOUND[1:]}

    def _found_places(self, layer: str) -> list[int]:
        """Of each array, the first element in what is bound and the elements from one row to the next."""
        found: list[int] = []
        for name in BOUND:
            bound = self._bound.get(name)
            if bound is None:
                found += [0, 0]
                continue
            itemsize = bound.tensor.itemsize
            _, first = storage_range(self._gpu, bound.tensor, f"layer {layer!r}: {name}", bound.layout.nbytes)
            found += [first // itemsize, bound.layout.stride // itemsize]
        return [*found, 0, 0]

    def _ordered(self, ranged: bool) -> Plan:
        """The plan that sorts the rows; if `ranged`, with what finds the extent of the colors."""
        if ranged != self._ranged:
            self._plan.close()
            self._plan = self._recorded(ranged)
        return self._plan

    def _recorded(self, ranged: bool) -> Plan:
        plan, rows = Plan(self.order.name), self.attributes.rows
        self._ranged = ranged
        if ranged and self._extent is not None:
            self._extent.add_to(plan)
        given: dict[str, Any] = {}
        for name, array in zip(BOUND, ARRAYS, strict=True):
            if name in self._bound:
                bound = self._bound[name]
                given |= {array: bound.tensor, f"{array}_strides": bound.layout.stride // bound.tensor.itemsize}
        defines = self._components()
        plan.dispatch(Kernel.load(ORDER_SHADER, "begin", defines), 1, overwrites=("draw",), draw=self.size)
        rank = Kernel.load(ORDER_SHADER, "rank", defines)
        plan.dispatch(rank, rows, overwrites=("keys",), keys=self._keys, draw=self.size, rows=rows, **given)
        record_sort(plan, self._keys, sorted_values=self.order)
        return plan

    def _resources(self, style: SplatsStyle) -> list[Any]:
        found: list[Any] = [whole(self.order)]
        found += [storage_range(self._gpu, b.tensor, "a layer", b.layout.nbytes)[0] for b in self._bound.values()]
        if self._extent is not None:
            texture = colormap_texture(self._gpu, style.colormap, style.colormap_flip)
            found += [whole(self._extent.pair), texture, smooth_sampler(self._gpu)]
        return found

    def _pipeline(self, picking: bool) -> wgpu.GPURenderPipeline:
        gpu, layout, components = self._gpu, self._stored.layout, self._components()

        def make() -> wgpu.GPURenderPipeline:
            module = draw_shader(gpu, SHADER, {**components, "PICKING": picking})
            colors = color_targets(over=True, split=True, display_referred=True)
            return gpu.device.create_render_pipeline(
                label=SHADER,
                layout=gpu.device.create_pipeline_layout(bind_group_layouts=[layout]),
                vertex={"module": module, "entry_point": "splat_vertex"},
                fragment={
                    "module": module,
                    "entry_point": "splat_fragment",
                    "targets": list(ROW_TARGETS) if picking else colors,  # pyright: ignore
                },
                primitive={"topology": "triangle-strip"},
                depth_stencil=rows_depth() if picking else depth_state(write=False),  # pyright: ignore
                multisample={"count": 1} if picking else multisample_state(gpu, solid=False),  # pyright: ignore
            )

        return draw_cache(gpu).get((SHADER, picking, *components.items()), make)


def _check(layer: str, attributes: Attributes) -> None:
    """Raises `LayoutError` for what shaders do not read as storage, `ParameterError` for a constant rotation."""
    if "rotation" in attributes.constants:
        raise ParameterError(f"layer {layer!r}: rotation must be a tensor; leave it out for splats as they are")
    for name in BOUND:
        bound = attributes.tensors.get(name)
        if bound is not None and bound.tensor.dtype.name != "f32":
            raise LayoutError(
                f"layer {layer!r}, {name}: tensor {bound.tensor.name!r} is {bound.tensor.dtype}; splats take f32: "
                "cast it"
            )


def _deviations(layer: str, attributes: Attributes) -> tuple[float, ...]:
    """A constant scale along the three axes; 1, as a factor, where it is a tensor. Raises `ParameterError`."""
    value = attributes.constants.get("scale", 1.0)
    values = [value] * 3 if isinstance(value, int | float) else value
    sound = isinstance(values, list | tuple) and len(values) == 3
    if not sound or not all(isinstance(v, int | float) and not isinstance(v, bool) and v > 0 for v in values):
        raise ParameterError(f"layer {layer!r}: scale must be one or three numbers above 0, got {value!r}")
    return tuple(float(v) for v in values)
