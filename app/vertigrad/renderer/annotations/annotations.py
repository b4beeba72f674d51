"""`Annotations`: color bars, axes around everything, a scale bar, labels and a floor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import wgpu

from ...gpu import Direction, Gpu, RenderPass, Traffic
from ..bindings import BOTH, COMPUTE, Bindings, whole_buffer
from ..camera import OrbitCamera
from ..colormap import colormap_texture
from ..layers.base import Frame, Layer
from ..pipelines import draw_cache, render_pipeline, smooth_sampler
from ..target import BLEND_OVER, Colors, pass_states
from ..view import View
from ..view_uniforms import VIEW_SIZE
from .axes_bounds import AxesBounds
from .floor import Floor
from .font import Font, font
from .overlay import (
    OVERLAY_SIZE,
    bar_layouts,
    em_size,
    fitting_bars,
    glyph_instances,
    headings,
    layers_with_bar,
    overlay_uniform,
    texts,
)

BAR_SHADER, AXES_SHADER = "draw/color_bar.wgsl", "draw/axes.wgsl"
BOX_SHADER = "draw/axes_box.wgsl"
PER_TICK, MOST_TICKS = 19, 12  # glyphs of a tick: its mark and the digits of a number; mirrored by the shaders
PER_BAR = 3 + PER_TICK * MOST_TICKS
AXES_QUADS = 3 * PER_TICK * MOST_TICKS
SCALE = 3 + PER_TICK  # the line with its two feet, and a number
BOX_LINES = 12 + 3 * 2 * MOST_TICKS
UNIFORMS = (VIEW_SIZE, OVERLAY_SIZE)
BAR_KINDS = ("storage", "texture", "texture", "sampler", "storage")  # glyphs, atlas, colormap, extent
GLYPH_BUFFERS = [
    {
        "array_stride": 32,
        "step_mode": "instance",
        "attributes": [{"format": "float32x4", "offset": 16 * slot, "shader_location": slot} for slot in (0, 1)],
    }
]
REPLACED = {
    "color": {"src_factor": "one", "dst_factor": "zero", "operation": "add"},
    "alpha": {"src_factor": "one", "dst_factor": "one-minus-src-alpha", "operation": "add"},
}  # of colors that are not multiplied by their alpha, where there is no background


class _TextBuffer(NamedTuple):
    """The glyphs of all texts in a vertex buffer, and the values that they depend on."""

    key: tuple[Any, ...]
    buffer: wgpu.GPUBuffer | None
    count: int


def has_annotations(view: View, layers: Sequence[Layer]) -> bool:
    """Whether any annotation is shown. Cheap if none is."""
    return (
        view.axes
        or view.scale_bar
        or view.labels != ""
        or view.floor != "none"
        or view.color_bars == "all"
        or (view.color_bars == "named" and any([layer.colorbar is not None for layer in layers]))
    )


class Annotations:
    """Draws the annotations of one renderer: lines among the layers, text over the tone-mapped image.

    Numbers are formatted on the GPU, where ranges and boxes are computed, so nothing is read back and nothing lags.
    Text layout is recomputed only when texts change.
    """

    def __init__(self, gpu: Gpu, color_format: str, transparent: bool):
        self._gpu = gpu
        self._format = color_format
        self._transparent = transparent
        self._bounds = AxesBounds(gpu)
        self._lines = Bindings(gpu, UNIFORMS, ["storage"], BOTH | COMPUTE)
        self._axes = Bindings(gpu, UNIFORMS, ["storage", "texture", "storage"])
        self._bar_layout = Bindings(gpu, UNIFORMS, BAR_KINDS).layout
        self._colored: dict[Layer, Bindings] = {}
        self._texts = _TextBuffer((), None, 0)
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])
        self._offset = 0
        self._pipelines: dict[tuple[str, str | Colors], wgpu.GPURenderPipeline] = {}
        self._floor: Floor | None = None
        self._bars: list[Layer] = []
        self._key: tuple[Any, ...] = ()
        draw_cache(gpu).users.add(self)

    def compile(self) -> None:
        """Drop the pipelines, whose shaders may have changed; they are created again when needed."""
        self._pipelines, self._floor = {}, None

    def prepare(self, layers: Sequence[Layer], camera: OrbitCamera, view: View, size: tuple[int, int]) -> None:
        """Lay out the next frame, and record what must precede its passes; the layers were prepared before."""
        key = (size, camera.distance, *vars(view).values(), *[layer.style.range for layer in self._bars])
        key += tuple([(ref(layer), layer.colorbar, ref(layer.attributes)) for layer in layers])
        if key != self._key:
            self._lay_out(layers, camera, view, size)
            self._key = key
        if view.axes or view.floor != "none":
            self._bounds.record(layers)

    def _lay_out(self, layers: Sequence[Layer], camera: OrbitCamera, view: View, size: tuple[int, int]) -> None:
        """Update what depends on parameters, but not on the camera's rotation."""
        self._view, self._size = view.model_copy(), size
        self._font = font(em_size(view, size))
        self._bars = fitting_bars(layers_with_bar(layers, view), size, self._font)
        titles = headings(self._bars)
        layouts = bar_layouts(size, titles, self._font)
        ranges = [layer.style.range for layer in self._bars]
        self._overlay = overlay_uniform(view, camera, size, list(zip(layouts, ranges, strict=True)), self._font)
        self._write(titles)
        for shader, stage, fragment in self._drawn():
            self._text_pipeline(shader, stage, fragment)  # threads compile all of them

    def _drawn(self) -> list[tuple[str, str, str]]:
        """The shader file and the stages of all that is drawn over the image, in order."""
        bars = [(BAR_SHADER, "bar", fragment) for fragment in self._fragments("bar") if self._bars]
        over = [(AXES_SHADER, stage, part) for part in self._fragments("overlay") for stage, _ in self._overlays()]
        return bars + over

    def _overlays(self) -> list[tuple[str, int]]:
        """The vertex stages of the overlay, and how many quads each has."""
        drawn = [("axes", AXES_QUADS)] if self._view.axes else []
        drawn += [("scale", SCALE)] if self._view.scale_bar else []
        return drawn + ([("text", self._texts.count)] if self._texts.count else [])

    def push(self) -> None:
        """Write the uniform of the image that is about to be recorded."""
        self._offset = self._gpu.uniforms.push(self._overlay)

    def compute(self, frame: Frame, size: tuple[int, int], lighting: wgpu.GPUBindGroup) -> None:
        """Record the color of the floor, for an image of which `size` pixels are drawn; before `draw_lines`."""
        if self._view.floor != "none":
            self._floor = self._floor or Floor(self._gpu, self._lines.layout)
            self._floor.compute(size, lighting, self._line_group(), (frame.view_offset, self._offset))

    def draw_lines(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw floor and axes box, in the pass of the transparent layers."""
        offsets, group = (frame.view_offset, self._offset), self._line_group()
        if self._view.floor != "none" and self._floor is not None:
            self._floor.draw(pass_, frame.colors, group, offsets)
        if self._view.axes:
            pass_.set_pipeline(self._box_pipeline(frame.colors))
            pass_.set_bind_group(0, group, offsets)
            pass_.draw(4, BOX_LINES)

    def _line_group(self) -> wgpu.GPUBindGroup:
        return self._lines.group(self._bounds.buffer, lambda: [whole_buffer(self._bounds.buffer)])

    def draw_text(self, view_offset: int, corner: tuple[int, int], target: wgpu.GPUTextureView) -> None:
        """Record color bars, numbers and texts over the final image, at `corner` of the target."""
        offsets = (view_offset, self._offset)
        for layer in self._bars:
            self._gpu.recorder.use((layer.attributes.tensors["extent"].tensor.block,))
        with self._gpu.recorder.render_pass("annotations", self._pass, target) as pass_:
            pass_.set_viewport(*corner, *self._size, 0.0, 1.0)
            pass_.set_scissor_rect(*corner, *self._size)
            self._draw_bars(pass_, offsets)
            self._draw_overlay(pass_, offsets)

    def _draw_bars(self, pass_: wgpu.GPURenderPassEncoder, offsets: tuple[int, int]) -> None:
        for fragment in self._fragments("bar") if self._bars else ():
            pass_.set_pipeline(self._text_pipeline(BAR_SHADER, "bar", fragment))
            for number, layer in enumerate(self._bars):
                pass_.set_bind_group(0, self._bar_group(layer), offsets)
                pass_.draw(4, PER_BAR, 0, number * PER_BAR)

    def _draw_overlay(self, pass_: wgpu.GPURenderPassEncoder, offsets: tuple[int, int]) -> None:
        if not self._overlays():
            return
        key = self._font.size, self._bounds.buffer
        group = self._axes.group(key, lambda: [*_face(self._gpu, self._font), whole_buffer(self._bounds.buffer)])
        if self._texts.buffer is not None:
            pass_.set_vertex_buffer(0, self._texts.buffer)
        for fragment, (stage, count) in product(self._fragments("overlay"), self._overlays()):
            pass_.set_pipeline(self._text_pipeline(AXES_SHADER, stage, fragment))
            pass_.set_bind_group(0, group, offsets)
            pass_.draw(4, count)

    def _fragments(self, fragment: str) -> tuple[str, ...]:
        """The fragment stages in order: the halos of all glyphs, which need a background, then the glyphs."""
        return (fragment,) if self._transparent else ("halo", fragment)

    def _write(self, titles: Sequence[str]) -> None:
        """Update the texts, in a new buffer: the GPU may still read the old one."""
        view = self._view
        key = (
            self._size,
            self._font.size,
            *titles,
            view.axes,
            view.axis_names,
            view.scale_bar,
            view.unit,
            view.labels,
        )
        if key == self._texts.key:
            return
        rows = glyph_instances(texts(view, self._size, titles, self._font), self._font)
        buffer = _uploaded(self._gpu, rows, wgpu.BufferUsage.VERTEX) if len(rows) else None
        self._texts = _TextBuffer(key, buffer, len(rows))

    def _bar_group(self, layer: Layer) -> wgpu.GPUBindGroup:
        style, extent = layer.style, layer.attributes.tensors["extent"].tensor
        bindings = self._colored.get(layer)
        if bindings is None:
            self._colored = {one: cached for one, cached in self._colored.items() if one in self._bars}
            bindings = self._colored[layer] = Bindings(self._gpu, UNIFORMS, BAR_KINDS)
        block = extent.block
        key = self._font.size, style.colormap, style.colormap_flip, block.id, block.generation, extent.offset
        return bindings.group(
            key,
            lambda: [
                *_face(self._gpu, self._font),
                colormap_texture(self._gpu, style.colormap, style.colormap_flip),
                smooth_sampler(self._gpu),
                {"buffer": extent.block.buffer, "offset": extent.offset, "size": 8},
            ],
        )

    def _box_pipeline(self, colors: Colors) -> wgpu.GPURenderPipeline:
        found = self._pipelines.get(("box", colors))
        if found is None:
            found = self._pipelines["box", colors] = render_pipeline(
                *(self._gpu, BOX_SHADER, ("box_vertex", "box_fragment"), [self._lines.layout]),
                topology="triangle-strip",
                **pass_states(self._gpu, "color", True, colors)._asdict(),
            )
        return found

    def _text_pipeline(self, shader: str, stage: str, fragment: str) -> wgpu.GPURenderPipeline:
        found = self._pipelines.get((stage, fragment))
        if found is None:
            defines = {"ENCODED_BY_TARGET": self._format.endswith("-srgb"), "TRANSPARENT": self._transparent}
            found = self._pipelines[stage, fragment] = render_pipeline(
                self._gpu,
                shader,
                (f"{stage}_vertex", f"{fragment}_fragment"),
                [self._bar_layout if stage == "bar" else self._axes.layout],
                [{"format": self._format, "blend": REPLACED if self._transparent else BLEND_OVER}],
                defines=defines | ({"PER_BAR": PER_BAR} if stage == "bar" else {}),
                buffers=GLYPH_BUFFERS if stage == "text" else (),
                topology="triangle-strip",
            )
        return found


def _face(gpu: Gpu, drawn: Font) -> tuple[dict[str, Any], wgpu.GPUTextureView]:
    """A font's table and atlas on the device, created once for each size."""

    def make() -> tuple[dict[str, Any], wgpu.GPUTextureView]:
        height, width, channels = drawn.atlas.shape
        usage = wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
        texture = gpu.create_texture(
            label=f"glyphs {drawn.size}", size=(width, height, 1), format="rg8unorm", usage=usage
        )
        rows = {"bytes_per_row": width * channels}
        gpu.queue.write_texture({"texture": texture}, drawn.atlas, rows, texture.size)
        gpu.meter.count(Direction.HOST_TO_DEVICE, drawn.atlas.nbytes, Traffic.IMAGE)
        return whole_buffer(_uploaded(gpu, drawn.table, wgpu.BufferUsage.STORAGE)), texture.create_view()

    return draw_cache(gpu).get(("glyphs", drawn.size), make)


def _uploaded(gpu: Gpu, rows: np.ndarray, usage: int) -> wgpu.GPUBuffer:
    gpu.meter.count(Direction.HOST_TO_DEVICE, rows.nbytes, Traffic.IMAGE)
    return gpu.create_buffer(rows.nbytes, usage, "glyphs", rows)
