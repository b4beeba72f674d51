"""`VolumeLayer`: something that fills a box, and absorbs, scatters and shines."""

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
from ..moment import Moment
from ..pipelines import draw_cache, draw_shader, smooth_sampler
from ..target import DEPTH, SAMPLES, color_targets, handles_samples
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .box import Box, inset
from .content import Content, ContentLayer
from .field import FIELD, NO_FIELD, ends, fields, whole
from .places import Places
from .stored import Stored

SHADER, LIGHT_SHADER = "draw/volume.wgsl", "draw/volume_light.wgsl"
STYLE = struct.Struct("<4f4f4f4f6f2f3I4x")  # `Style` in the shader, after its two fields
STAGES = ("whole", "edge")
MOST_LIGHT = 48  # cells of light along each axis: it is soft


class VolumeStyle(Params):
    """How a volume looks, and where it lies."""

    low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="low corner of the box in world space; auto: cubic cells around the origin"
    )
    high: tuple[float, ...] | Literal["auto"] = vector("auto", words=("auto",), doc="high corner of the box")
    samples: str = choice(
        "cells",
        ("cells", "nodes"),
        doc="cells: samples are at cell centers; nodes: the outer samples are on the faces of the box",
    )
    density_range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="density that is transparent, and density with full extinction"
    )
    extinction: float = number(
        8.0,
        min=0.0,
        max=1e9,
        slider_min=0.1,
        slider_max=200.0,
        scale="log",
        doc="extinction coefficient of full density, per world unit",
    )
    colormap: str = choice("inferno", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    emissive: float = number(0.0, min=0.0, max=1.0, doc="0: lit by sun and sky, 1: emits light")
    brightness: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the emitted light"
    )
    shadow: float = number(0.85, min=0.0, max=1.0, doc="strength of self-shadowing")
    anisotropy: float = number(0.3, min=-0.9, max=0.9, doc="scattering anisotropy: above 0 forward, below 0 backward")
    steps_per_cell: float = number(1.5, min=0.25, max=8.0, doc="ray marching steps per cell")


class VolumeLayer(ContentLayer["_Content"]):
    """A box full of `density`, seen along each line of sight, in front of and behind everything else as it is.

    What blends over, as it does, is drawn in the order of the layers.
    """

    Style: ClassVar[type[Params]] = VolumeStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "density": AttributeSpec(True, (1,), None, "samples on a grid (nz, ny, nx)"),
        "color": AttributeSpec(
            False, (1, 3), (0.86, 0.87, 0.89), "a scalar for the colormap, or sRGB, on the same or another grid"
        ),
    }
    reads_depth: bool = True

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for too much of it; what was
        bound before stays then.
        """
        if not handles_samples(self._gpu):
            raise LimitError(
                f"layer {self.name!r}: a volume needs the depth of each sample, which cannot be read through OpenGL "
                f"({self._gpu.adapter}); use a Vulkan driver"
            )
        self._take(_Content(self._gpu, self.name, attributes))

    def prepare(self, moment: Moment | None = None) -> None:
        """Find extents that are wanted, and how far the light reaches."""
        self._bound.prepare(self.style, moment)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Nothing of a volume is solid."""

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the box twice: for pixels of one depth, and for outlines of what is solid."""
        content = self._bound
        offset = self._gpu.uniforms.push(content.uniform(self.style))
        group = content.group(self.style, frame)
        pass_.set_bind_group(0, group, (frame.view_offset, offset))
        for pipeline in content.pipelines(frame.split):
            pass_.set_pipeline(pipeline)
            pass_.draw(36)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """A volume has no place that could be picked: nothing."""


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute]):
        self._gpu = gpu
        self._packed: tuple[Any, bytes] = (), b""  # the style's uniform, and the values it was made of
        self.fields = fields(gpu, name, "density", given)
        beside = ("density", *self.fields)
        specs = VolumeLayer.ATTRIBUTES
        self.attributes = Attributes(gpu, name, specs, given, "vertex", beside=beside)
        self._color = self.attributes.color()[:3]
        density = self.fields["density"]
        self._light_size = tuple(min(max(-(-n // 2), 2), MOST_LIGHT) for n in density.size)
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._box = Box(name, density.size)
            stack.callback(self._box.close)
            self.attributes.add("position", self._box.positions, (3,))
            self._extents = self._found_extents(stack)
            if "color" in self._extents:
                self.attributes.add("extent", self._extents["color"].pair.expand(self.attributes.rows, 2), (2,))
            cells = self._light_size[0] * self._light_size[1] * self._light_size[2]
            self._light = stack.enter_context(Tensor.empty((cells, 2), name=f"{name}.light"))
            self._pipelines: dict[bool, list[wgpu.GPURenderPipeline]] = {}
            self._plans: dict[tuple[Extent, ...], Plan] = {}
            self._held = stack
            self._lit(())
            self._stored = Stored(gpu, 2 * FIELD.size + STYLE.size, self._kinds())
            self.pipelines(split=False)
            fields_of = [field.tensor for field in self.fields.values()]
            pairs = [extent.pair for extent in dict.fromkeys(self._extents.values())]
            self._places = Places(gpu, [*fields_of, *pairs, self._light])
            self._resident: list[Block] | None = None
            self._asked: tuple[Any, ...] = ()
            self._wanted: tuple[Extent, ...] = ()
            self._shading: dict[str, Any] | None = None
            self._held = stack.pop_all()

    def prepare(self, style: VolumeStyle, moment: Moment | None) -> None:
        if self._places.blocks is not self._resident:
            for field in self.fields.values():
                self._gpu.make_resident(field.tensor.owner)
            self._resident = self._places.blocks
        asked = self.uniform(style), None if moment is None else (moment.sun, moment.up)
        if asked != self._asked:
            self._asked = asked
            self._decide(style, moment)
        if self._shading is None:
            for extent in self._wanted:
                extent.record()
        else:
            self._lit(self._wanted).replay(**self._shading)

    def _decide(self, style: VolumeStyle, moment: Moment | None) -> None:
        """Which extents are wanted, and whether light is."""
        ranges = {"density": style.density_range, "color": style.range}
        wanted = [extent for name, extent in self._extents.items() if ranges[name] == "auto"]
        self._wanted = tuple(dict.fromkeys(wanted))
        shaded = moment is not None and style.shadow > 0.0 and style.emissive < 1.0
        self._shading = self._shading_of(style, moment) if moment is not None and shaded else None

    def _shading_of(self, style: VolumeStyle, moment: Moment) -> dict[str, Any]:
        """What the plan of `_lit` is told."""
        low, high = self._box.place(style)
        return {
            "box": tuple(b - a for a, b in zip(low, high, strict=True)),
            "extinction": style.extinction,
            "inset": inset(style),
            "auto_density": float(style.density_range == "auto"),
            "density_range": ends(style.density_range),
            "sun": moment.sun,
            "up": moment.up,
        }

    def uniform(self, style: VolumeStyle) -> bytes:
        key = tuple(vars(style).values())
        if key != self._packed[0]:
            self._packed = key, self._uniform(style)
        return self._packed[1]

    def group(self, style: VolumeStyle, frame: Frame) -> wgpu.GPUBindGroup:
        key = (frame.depth, style.colormap, style.colormap_flip, *self.blocks())
        return self._stored.group(key, lambda: self._resources(style, frame))

    def blocks(self) -> list[Block]:
        return self._places.blocks

    def report(self) -> dict[str, Any]:
        return self.attributes.report() | {name: field.report() for name, field in self.fields.items()}

    def close(self) -> None:
        self._held.close()

    def _found_extents(self, stack: ExitStack) -> dict[str, Extent]:
        """An extent for each field of scalars; one for both where they are the same tensor."""
        found: dict[str, Extent] = {}
        for name, field in self.fields.items():
            if name == "color" and field.tensor is self.fields["density"].tensor:
                found[name] = found["density"]
            elif field.components == 1:
                found[name] = Extent(field.tensor)
                stack.callback(found[name].close)
        return found

    def _uniform(self, style: VolumeStyle) -> bytes:
        low, high = self._box.place(style)
        color = self.fields.get("color")
        values = STYLE.pack(
            *(*low, style.extinction, *high, style.shadow),
            *(*self._color, style.emissive, *ends(style.density_range), *ends(style.range)),
            *(inset(style), style.brightness, style.anisotropy, style.steps_per_cell),
            *(style.density_range == "auto", style.range == "auto", 0.0, 0.0, *self._light_size),
        )
        return self.fields["density"].packed + (color.packed if color else NO_FIELD) + values

    def _resources(self, style: VolumeStyle, frame: Frame) -> list[Any]:
        found: list[Any] = [frame.depth, self.fields["density"].resource()]
        found += [whole(self._extents["density"].pair), whole(self._light)]
        if "color" in self.fields:
            found.append(self.fields["color"].resource())
        if "color" in self._extents:
            texture = colormap_texture(self._gpu, style.colormap, style.colormap_flip)
            found += [whole(self._extents["color"].pair), texture, smooth_sampler(self._gpu)]
        return found

    def _kinds(self) -> list[str]:
        kinds = ["depth", "storage", "storage", "storage"]
        if "color" in self.fields:
            kinds.append("storage")
        if "color" in self._extents:
            kinds += ["storage", "texture", "sampler"]
        return kinds

    def _lit(self, extents: tuple[Extent, ...]) -> Plan:
        """The plan that finds extents, and then how far the light reaches."""
        if extents in self._plans:
            return self._plans[extents]
        plan, density = self._held.enter_context(Plan(self._light.name)), self.fields["density"]
        for extent in extents:
            extent.add_to(plan)
        plan.dispatch(
            Kernel.load(LIGHT_SHADER),
            self._light.shape[0],
            overwrites=("light",),
            densities=density.tensor,
            density_extent=self._extents["density"].pair,
            light=self._light,
            densities_size=density.size,
            densities_strides=density.strides,
            light_size=self._light_size,
            pad0=0.0,
        )
        self._plans[extents] = plan
        return plan

    def pipelines(self, split: bool) -> list[wgpu.GPURenderPipeline]:
        """One for each stage, for a target that is split or not."""
        if split not in self._pipelines:
            self._pipelines[split] = [self._pipeline(stage, split) for stage in STAGES]
        return self._pipelines[split]

    def _pipeline(self, stage: str, split: bool) -> wgpu.GPURenderPipeline:
        components = self.fields["color"].components if "color" in self.fields else 0
        device, layout = self._gpu.device, self._stored.layout

        def make() -> wgpu.GPURenderPipeline:
            module = draw_shader(self._gpu, SHADER, {"COLOR_COMPONENTS": components})
            return device.create_render_pipeline(
                label=f"{SHADER}:{stage}",
                layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
                vertex={"module": module, "entry_point": "volume_vertex"},
                fragment={
                    "module": module,
                    "entry_point": f"{stage}_fragment",
                    "targets": color_targets(over=True, split=split),  # pyright: ignore
                },
                primitive={"topology": "triangle-list", "cull_mode": "front"},
                depth_stencil={"format": DEPTH, "depth_write_enabled": False, "depth_compare": "always"},
                multisample={"count": SAMPLES},
            )

        return draw_cache(self._gpu).get((SHADER, stage, components, split), make)
