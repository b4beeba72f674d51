"""`LiquidSurface`: the passes over an image that make a lit surface of the particles of a liquid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import wgpu

from ...gpu import Gpu, RenderPass
from ..bindings import BOTH, COMPUTE, bind_group, bind_group_layout, lighting_layout, uniform_range
from ..pipelines import compute_pipeline, fullscreen_pipeline, render_pipeline, smooth_sampler, tiles
from ..target import COLOR, DEPTH, Colors, create_view, pass_states
from ..view_uniforms import VIEW_SIZE
from .base import Frame

SHADER, FILTER_SHADER, SHADING_SHADER, COVER_SHADER = (
    "draw/liquid.wgsl",
    "draw/liquid_filter.wgsl",
    "draw/liquid_shading.wgsl",
    "draw/liquid_cover.wgsl",
)
FRONT, BEHIND, DISTANCE, COLUMN = "rg32float", "rgba32float", "r32float", "rg16float"
AXES = ("1, 0", "0, 1")  # along both of which each iteration of the filter goes (Truong and Yuksel 2018, section 4.3)
TAPS = 32  # that the filter averages to either side at most
STRIDE = (6, 1)  # pixels from one of them to the next at most, in each iteration: the last one takes away their pattern
ITERATIONS = len(STRIDE)
SURFACES = ("", " behind")  # the foremost one, and that without what is thin, in the names of passes
FILTERS = [f"filter{surface} {k}" for k in range(2 * ITERATIONS) for surface in reversed(SURFACES)]
SHADINGS = ("shading behind", "shading")
COMPUTED = (*FILTERS, *SHADINGS)
COARSE = 2  # pixels along each side of one in which the lengths of columns are added up
NEARER: Mapping[str, Any] = {"format": DEPTH, "depth_write_enabled": True, "depth_compare": "greater"}
ADD = {"src_factor": "one", "dst_factor": "one", "operation": "add"}
# What each pass reads, after the uniforms `View` and `Style`
SHADED = ("unfilterable", "unfilterable", "texture", "sampler", "depth samples", "samples", "unfilterable")
READ: Mapping[str, Sequence[str]] = {
    "front": (),
    "nearest": ("depth samples", "unfilterable"),
    "column": ("depth samples", "unfilterable", "unfilterable"),
    "next": ("depth samples", "unfilterable", "unfilterable", "texture"),
    "separate": ("depth samples", "unfilterable", "unfilterable", "texture", "unfilterable"),
    "filter": ("unfilterable",) * 4,
    "filter behind": ("unfilterable",) * 2,
    "shading behind": SHADED,
    "shading": (*SHADED, "unfilterable"),
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
        self._layouts = {
            name: bind_group_layout(gpu, ("uniform", "uniform", *kinds), BOTH | COMPUTE) for name, kinds in READ.items()
        }
        self._pipelines(Colors())
        self._computes(COLOR, False)

    def record(self, frame: Frame, style_offset: int, draw: Callable[[wgpu.GPURenderPassEncoder], None]) -> None:
        """Record the passes that compute the surface and its light; `draw` draws a quad for each particle."""
        assert frame.depth is not None and frame.image is not None and frame.lighting is not None
        width, height, _ = frame.depth.texture.size
        if (width, height, frame.colors.format) != (*self._size, self._format):
            self._resize((width, height), frame.colors.format)
        if self._read != (frame.depth, frame.image):
            self._bind(frame.depth, frame.image)
        pipelines, offsets = self._pipelines(frame.colors), (frame.view_offset, style_offset)
        for name in ("front", "nearest", "column", "next", "separate"):
            with self._gpu.recorder.render_pass("layers", self._passes[name]) as pass_:
                pass_.set_pipeline(pipelines[name])
                pass_.set_bind_group(0, self._groups[name], offsets)
                if name in ("nearest", "separate"):
                    pass_.draw(3)
                else:
                    draw(pass_)
        self._compute(offsets, frame)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style_offset: int) -> None:
        """Draw the surface over what is opaque, with its depth."""
        pass_.set_pipeline(self._pipelines(frame.colors)["cover"])
        pass_.set_bind_group(0, self._groups["cover"], (frame.view_offset, style_offset))
        pass_.draw(3)

    def _compute(self, offsets: tuple[int, int], frame: Frame) -> None:
        """Record the filter and the light of all pixels: compute shaders, for the reason that record 0161 gives."""
        assert frame.lighting is not None
        recorder, pipelines = self._gpu.recorder, self._computes(frame.colors.format, frame.area_lights)
        with recorder.group("layers"):
            pass_ = recorder.compute_pass()
            for name in COMPUTED:
                pass_.set_pipeline(pipelines[name])
                pass_.set_bind_group(0, self._groups[name], offsets)
                if name in SHADINGS:
                    pass_.set_bind_group(1, frame.lighting)
                pass_.set_bind_group(2 if name in SHADINGS else 1, self._targets[name])
                pass_.dispatch_workgroups(*tiles(self._size))
        recorder.dispatches += len(COMPUTED)

    def _resize(self, size: tuple[int, int], format: str) -> None:
        """Create the textures for images of this size."""
        gpu, coarse = self._gpu, tuple(-(-n // COARSE) for n in size)
        self._fronts = [create_view(gpu, size, kind) for kind in (FRONT, BEHIND)]
        self._nearest, self._columns = create_view(gpu, coarse, FRONT), create_view(gpu, coarse, COLUMN)
        stored = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        self._filtered = [[create_view(gpu, size, DISTANCE, stored) for _ in AXES] for _ in SURFACES]
        self._colors = [create_view(gpu, size, format, stored) for _ in SURFACES]
        depth = create_view(gpu, size, DEPTH, wgpu.TextureUsage.RENDER_ATTACHMENT)
        self._next = create_view(gpu, size, FRONT)
        into = {"shading": self._colors[0], "shading behind": self._colors[1]}
        into |= {name: self._filtered[1 - k % 2][k // 2 % 2] for k, name in enumerate(FILTERS)}
        self._targets = {name: bind_group(gpu, self._written(name, format), [view]) for name, view in into.items()}
        drawn = {"nearest": self._nearest, "column": self._columns, "separate": self._fronts[1]}
        self._passes = {name: RenderPass([_cleared(view)]) for name, view in drawn.items()}
        nearest = {"view": depth, "depth_clear_value": 0.0, "depth_load_op": "clear", "depth_store_op": "discard"}
        for name, view in (("front", self._fronts[0]), ("next", self._next)):
            self._passes[name] = RenderPass([_cleared(view)], nearest)
        self._size, self._format, self._read = size, format, ()

    def _bind(self, depth: wgpu.GPUTextureView, image: wgpu.GPUTextureView) -> None:
        """Create the bind groups for an image of this depth and this light."""
        (front, behind), (last, last_behind) = self._fronts, (views[-1] for views in self._filtered)
        shaded = self._columns, smooth_sampler(self._gpu), depth, image, behind
        resources: dict[str, Sequence[Any]] = {
            "front": (),
            "nearest": (depth, front),
            "column": (depth, front, self._nearest),
            "next": (depth, front, self._nearest, self._columns),
            "separate": (depth, front, self._nearest, self._columns, self._next),
            "shading": (front, last, *shaded, self._colors[1]),
            "shading behind": (front, last_behind, *shaded),
            "cover": (last, self._colors[0]),
        }
        for k in range(2 * ITERATIONS):
            sources = [views[(k - 1) % 2] for views in self._filtered] if k else self._fronts
            resources[f"filter {k}"] = front, sources[0], behind, self._filtered[1][k % 2]
            resources[f"filter behind {k}"] = behind, sources[1]
        uniforms = uniform_range(self._gpu, VIEW_SIZE), uniform_range(self._gpu, self._style_size)
        self._groups = {
            name: bind_group(self._gpu, self._layouts[name.rstrip(" 0123456789")], (*uniforms, *bound))
            for name, bound in resources.items()
        }
        self._read = depth, image

    def _pipelines(self, colors: Colors) -> dict[str, wgpu.GPURenderPipeline]:
        """The pipelines for a target with these colors, from the cache."""
        gpu, layouts = self._gpu, self._layouts
        particles = {"defines": self._defines, "buffers": self._buffers, "topology": "triangle-strip"}
        front, column = [{"format": FRONT}], [{"format": COLUMN, "blend": {"color": ADD, "alpha": ADD}}]
        stages = {
            "front": ("sphere_vertex", "front_fragment"),
            "next": ("sphere_vertex", "next_fragment"),
        }
        found = {
            name: render_pipeline(gpu, SHADER, entries, [layouts[name]], front, depth=NEARER, **particles)
            for name, entries in stages.items()
        }
        for name, targets in (("nearest", front), ("separate", [{"format": BEHIND}])):
            found[name] = fullscreen_pipeline(
                *(gpu, SHADER, f"{name}_fragment", layouts[name], targets), defines=self._defines
            )
        found["column"] = render_pipeline(
            *(gpu, SHADER, ("column_vertex", "column_fragment"), [layouts["column"]], column), **particles
        )
        found["cover"] = fullscreen_pipeline(
            *(gpu, COVER_SHADER, "cover_fragment", layouts["cover"]),
            **pass_states(gpu, "color", over=False, colors=colors)._asdict(),
        )
        return found

    def _computes(self, format: str, area_lights: bool) -> dict[str, wgpu.GPUComputePipeline]:
        """The pipelines of what is computed, for light of this format, perhaps of area lights, from the cache."""
        gpu, found = self._gpu, {}
        for name in COMPUTED:
            kind, layouts = name.rstrip(" 0123456789"), []
            variant: dict[str, Any] = {"BEHIND": kind.endswith("behind")}
            if name in SHADINGS:
                shader, entry, layouts = SHADING_SHADER, "shade_pixels", [lighting_layout(gpu)]
                variant |= {"AREA_LIGHTS": area_lights, "FORMAT": format}
            else:
                shader, entry, k = FILTER_SHADER, "filter_pixels", int(name.split()[-1])
                variant |= {"AXIS": AXES[k % 2], "TAPS": TAPS, "STRIDE": STRIDE[k // 2]}
            layouts = [self._layouts[kind], *layouts, self._written(name, format)]
            found[name] = compute_pipeline(gpu, shader, entry, layouts, variant)
        return found

    def _written(self, name: str, format: str) -> wgpu.GPUBindGroupLayout:
        """The layout of the texture that is written under this name."""
        light = "stored light" if format == COLOR else "stored"
        return bind_group_layout(self._gpu, (light if name in SHADINGS else "stored distances",), COMPUTE)


def _cleared(view: wgpu.GPUTextureView) -> dict[str, Any]:
    return {"view": view, "clear_value": (0.0, 0.0, 0.0, 0.0), "load_op": "clear", "store_op": "store"}
