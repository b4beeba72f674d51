"""`LiquidSurface`: the passes over an image that make a lit surface of the particles of a liquid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import wgpu

from ...gpu import Gpu, RenderPass
from ..bindings import bind_group, bind_group_layout, lighting_layout, uniform_range
from ..pipelines import fullscreen_pipeline, render_pipeline, smooth_sampler
from ..target import DEPTH, Colors, create_view, pass_states
from ..view_uniforms import VIEW_SIZE
from .base import Frame

SHADER, FILTER_SHADER, SHADING_SHADER, COVER_SHADER = (
    "draw/liquid.wgsl",
    "draw/liquid_filter.wgsl",
    "draw/liquid_shading.wgsl",
    "draw/liquid_cover.wgsl",
)
FRONT, DISTANCE, COLUMN = "rg32float", "r32float", "r16float"
AXES = ("1, 0", "0, 1")  # along both of which each iteration of the filter goes (Truong and Yuksel 2018, section 4.3)
TAPS = 32  # that the filter averages to either side at most
STRIDE = (6, 1)  # pixels from one of them to the next at most, in each iteration: the last one takes away their pattern
ITERATIONS = len(STRIDE)
COARSE = 2  # pixels along each side of one in which the lengths of columns are added up
NEARER: Mapping[str, Any] = {"format": DEPTH, "depth_write_enabled": True, "depth_compare": "greater"}
ADD = {"src_factor": "one", "dst_factor": "one", "operation": "add"}
# What each pass reads, after the uniforms `View` and `Style`
READ: Mapping[str, Sequence[str]] = {
    "front": (),
    "column": ("depth samples",),
    "filter": ("unfilterable", "unfilterable"),
    "shading": ("unfilterable", "unfilterable", "texture", "sampler", "depth samples", "samples"),
    "cover": ("unfilterable", "unfilterable"),
}


class LiquidSurface:
    """For images of any size: `record` after opaque objects, outside of any pass, then `cover` in a pass.

    `style_size` are the bytes of `Style`, `defines` and `buffers` those of the pipelines that draw particles.
    """

    def __init__(self, gpu: Gpu, style_size: int, defines: Mapping[str, Any], buffers: Sequence[Mapping[str, Any]]):
        self._gpu, self._style_size, self._defines, self._buffers = gpu, style_size, defines, buffers
        self._size, self._format = (0, 0), ""
        self._read: tuple[object, ...] = ()  # what the bind groups were made for
        self._layouts = {name: bind_group_layout(gpu, ("uniform", "uniform", *kinds)) for name, kinds in READ.items()}
        self._pipelines(Colors(), False)

    def record(self, frame: Frame, style_offset: int, draw: Callable[[wgpu.GPURenderPassEncoder], None]) -> None:
        """Record the passes that compute the surface and its light; `draw` draws a quad for each particle."""
        assert frame.depth is not None and frame.image is not None and frame.lighting is not None
        width, height, _ = frame.depth.texture.size
        if (width, height, frame.colors.format) != (*self._size, self._format):
            self._resize((width, height), frame.colors.format)
        if self._read != (frame.depth, frame.image):
            self._bind(frame.depth, frame.image)
        pipelines, offsets = self._pipelines(frame.colors, frame.area_lights), (frame.view_offset, style_offset)
        for name in ("front", "column"):
            with self._gpu.recorder.render_pass("layers", self._passes[name]) as pass_:
                pass_.set_pipeline(pipelines[name])
                pass_.set_bind_group(0, self._groups[name], offsets)
                draw(pass_)
        for number in range(2 * ITERATIONS):
            name = f"filter {number}"
            self._fill(name, pipelines[name], offsets)
        self._fill("shading", pipelines["shading"], offsets, frame.lighting)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style_offset: int) -> None:
        """Draw the surface over what is opaque, with its depth."""
        pass_.set_pipeline(self._pipelines(frame.colors, frame.area_lights)["cover"])
        pass_.set_bind_group(0, self._groups["cover"], (frame.view_offset, style_offset))
        pass_.draw(3)

    def _fill(
        self,
        name: str,
        pipeline: wgpu.GPURenderPipeline,
        offsets: tuple[int, int],
        lighting: wgpu.GPUBindGroup | None = None,
    ) -> None:
        with self._gpu.recorder.render_pass("layers", self._passes[name]) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, self._groups[name], offsets)
            if lighting is not None:
                pass_.set_bind_group(1, lighting)
            pass_.draw(3)

    def _resize(self, size: tuple[int, int], format: str) -> None:
        """Create the textures for images of this size."""
        gpu, coarse = self._gpu, tuple(-(-n // COARSE) for n in size)
        self._fronts, self._columns = create_view(gpu, size, FRONT), create_view(gpu, coarse, COLUMN)
        self._filtered = [create_view(gpu, size, DISTANCE) for _ in AXES]
        self._colors = create_view(gpu, size, format)
        depth = create_view(gpu, size, DEPTH, wgpu.TextureUsage.RENDER_ATTACHMENT)
        into = {"column": self._columns, "shading": self._colors}
        into |= {f"filter {n}": self._filtered[n % 2] for n in range(2 * ITERATIONS)}
        self._passes = {name: RenderPass([_cleared(view)]) for name, view in into.items()}
        nearest = {"view": depth, "depth_clear_value": 0.0, "depth_load_op": "clear", "depth_store_op": "discard"}
        self._passes["front"] = RenderPass([_cleared(self._fronts)], nearest)
        self._size, self._format, self._read = size, format, ()

    def _bind(self, depth: wgpu.GPUTextureView, image: wgpu.GPUTextureView) -> None:
        """Create the bind groups for an image of this depth and this light."""
        last = self._filtered[-1]
        resources: dict[str, Sequence[Any]] = {
            "front": (),
            "column": (depth,),
            "shading": (self._fronts, last, self._columns, smooth_sampler(self._gpu), depth, image),
            "cover": (last, self._colors),
        }
        sources = [self._fronts, *self._filtered * ITERATIONS]
        resources |= {f"filter {n}": (self._fronts, sources[n]) for n in range(2 * ITERATIONS)}
        uniforms = uniform_range(self._gpu, VIEW_SIZE), uniform_range(self._gpu, self._style_size)
        self._groups = {
            name: bind_group(self._gpu, self._layouts[name.split()[0]], (*uniforms, *bound))
            for name, bound in resources.items()
        }
        self._read = depth, image

    def _pipelines(self, colors: Colors, area_lights: bool) -> dict[str, wgpu.GPURenderPipeline]:
        """The pipelines for a target with these colors, perhaps lit by area lights, from the cache."""
        gpu, layouts = self._gpu, self._layouts
        particles = {"defines": self._defines, "buffers": self._buffers, "topology": "triangle-strip"}
        front, column = [{"format": FRONT}], [{"format": COLUMN, "blend": {"color": ADD, "alpha": ADD}}]
        found = {
            "front": render_pipeline(
                *(gpu, SHADER, ("sphere_vertex", "front_fragment"), [layouts["front"]], front),
                depth=NEARER,
                **particles,
            ),
            "column": render_pipeline(
                *(gpu, SHADER, ("column_vertex", "column_fragment"), [layouts["column"]], column), **particles
            ),
            "shading": render_pipeline(
                *(gpu, SHADING_SHADER, ("fullscreen_vertex", "shading_fragment")),
                [layouts["shading"], lighting_layout(gpu)],
                [{"format": colors.format}],
                defines={"AREA_LIGHTS": area_lights},
            ),
            "cover": fullscreen_pipeline(
                *(gpu, COVER_SHADER, "cover_fragment", layouts["cover"]),
                **pass_states(gpu, "color", over=False, colors=colors)._asdict(),
            ),
        }
        for number in range(2 * ITERATIONS):
            defines = {"AXIS": AXES[number % 2], "TAPS": TAPS, "STRIDE": STRIDE[number // 2]}
            found[f"filter {number}"] = fullscreen_pipeline(
                gpu, FILTER_SHADER, "filter_fragment", layouts["filter"], [{"format": DISTANCE}], defines=defines
            )
        return found


def _cleared(view: wgpu.GPUTextureView) -> dict[str, Any]:
    return {"view": view, "clear_value": (0.0, 0.0, 0.0, 0.0), "load_op": "clear", "store_op": "store"}
