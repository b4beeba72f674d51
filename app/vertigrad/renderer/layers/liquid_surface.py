"""`LiquidSurface`: the passes over an image that make a lit surface of the particles of a liquid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import wgpu

from ...gpu import Gpu
from ..bindings import BOTH, COMPUTE, bind_group, bind_group_layout, lighting_layout, uniform_range
from ..pipelines import compute_pipeline, fullscreen_pipeline, tiles
from ..target import COLOR, Colors, create_view, pass_states
from ..view_uniforms import VIEW_SIZE
from .base import Frame
from .liquid_tiles import LiquidTiles

FILTER_SHADER, OUTLINE_SHADER, SHADING_SHADER, COVER_SHADER = (
    "draw/liquid_filter.wgsl",
    "draw/liquid_outline.wgsl",
    "draw/liquid_shading.wgsl",
    "draw/liquid_cover.wgsl",
)
DISTANCE, PAIR = "r32float", "rg32float"
# Along both of which each iteration of the filter goes (Truong and Yuksel 2018, section 4.3); the last one ends along
# that in which far rims extend: lines that are fitted to what is on one side only differ from one pixel to the next.
AXES = ("1, 0", "0, 1", "0, 1", "1, 0")
TAPS = 32  # that the filter averages to either side at most
STRIDE = (6, 1)  # pixels from one of them to the next at most, in each iteration: the last one takes away their pattern
ITERATIONS = len(STRIDE)
SURFACES = ("", " behind")  # the foremost one, and that without what is thin, in the names of passes
FILTERS = [f"filter{surface} {k}" for k in range(2 * ITERATIONS) for surface in reversed(SURFACES)]
OUTLINE = "outline"
SHADINGS = ("shading behind", "shading")
COMPUTED = (*FILTERS, OUTLINE, *SHADINGS)
# What each pass reads, after the uniforms `View` and `Style`
SHADED = ("unfilterable", "unfilterable", "unfilterable", "depth samples", "samples", "unfilterable")
READ: Mapping[str, Sequence[str]] = {
    "filter": ("unfilterable",) * 4,
    "filter behind": ("unfilterable",) * 2,
    "shading behind": SHADED,
    "shading": (*SHADED, "unfilterable"),
    OUTLINE: ("unfilterable",) * 3,
    "cover": ("unfilterable",) * 2,
}


class LiquidSurface:
    """For images of any size: `record` after opaque objects, outside of any pass, then `cover` in a pass.

    `tiles` find the particles; `style_size` are the bytes of `Style`.
    """

    def __init__(self, gpu: Gpu, tiles: LiquidTiles, style_size: int):
        self._gpu, self._tiles, self._style_size = gpu, tiles, style_size
        self._size, self._format = (0, 0), ""
        self._read: tuple[object, ...] = ()  # what the bind groups were made for
        self._layouts = {
            name: bind_group_layout(gpu, ("uniform", "uniform", *kinds), BOTH | COMPUTE) for name, kinds in READ.items()
        }
        self._pipelines: dict[tuple[str, bool], dict[str, wgpu.GPUComputePipeline]] = {}
        self._cover(Colors())
        self._computes(COLOR, False)

    def record(self, frame: Frame, style_offset: int) -> None:
        """Record what computes the surface and its light."""
        assert frame.depth is not None and frame.image is not None and frame.lighting is not None
        self._tiles.record(frame, style_offset)
        if (frame.size, frame.colors.format) != (self._size, self._format):
            self._resize(frame.size, frame.colors.format)
        read = frame.depth, frame.image, self._tiles.fronts
        if self._read != read:
            self._bind(*read)
        self._compute((frame.view_offset, style_offset), frame)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style_offset: int) -> None:
        """Draw the surface over what is opaque, with its depth."""
        pass_.set_pipeline(self._cover(frame.colors))
        pass_.set_bind_group(0, self._groups["cover"], (frame.view_offset, style_offset))
        pass_.draw(3)

    def _compute(self, offsets: tuple[int, int], frame: Frame) -> None:
        """Record filter, outline and light of all pixels: compute shaders, for the reason that record 0161 gives."""
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
        gpu, stored = self._gpu, wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        self._filtered = [[create_view(gpu, size, DISTANCE, stored) for _ in range(2)] for _ in SURFACES]
        self._colors = [create_view(gpu, size, format, stored) for _ in SURFACES]
        self._outline = create_view(gpu, size, PAIR, stored)
        into = {"shading": self._colors[0], "shading behind": self._colors[1], OUTLINE: self._outline}
        into |= {name: self._filtered[1 - k % 2][k // 2 % 2] for k, name in enumerate(FILTERS)}
        self._targets = {name: bind_group(gpu, self._written(name, format), [view]) for name, view in into.items()}
        self._size, self._format, self._read = size, format, ()

    def _bind(self, depth: wgpu.GPUTextureView, image: wgpu.GPUTextureView, front: wgpu.GPUTextureView) -> None:
        """Create the bind groups for an image of this depth and this light, and the particles of `front`."""
        behind, (last, last_behind) = self._tiles.behinds, (views[-1] for views in self._filtered)
        shaded = self._tiles.columns, depth, image, behind
        resources: dict[str, Sequence[Any]] = {
            "shading": (front, last, *shaded, self._colors[1]),
            "shading behind": (front, last_behind, *shaded),
            OUTLINE: (last, front, behind),
            "cover": (self._outline, self._colors[0]),
        }
        for k in range(2 * ITERATIONS):
            sources = [views[(k - 1) % 2] for views in self._filtered] if k else [front, behind]
            resources[f"filter {k}"] = front, sources[0], behind, self._filtered[1][k % 2]
            resources[f"filter behind {k}"] = behind, sources[1]
        uniforms = uniform_range(self._gpu, VIEW_SIZE), uniform_range(self._gpu, self._style_size)
        self._groups = {
            name: bind_group(self._gpu, self._layouts[name.rstrip(" 0123456789")], (*uniforms, *bound))
            for name, bound in resources.items()
        }
        self._read = depth, image, front

    def _cover(self, colors: Colors) -> wgpu.GPURenderPipeline:
        """The pipeline of `cover` for a target with these colors, from the cache."""
        states = pass_states(self._gpu, "color", over=False, colors=colors)
        return fullscreen_pipeline(
            self._gpu, COVER_SHADER, "cover_fragment", self._layouts["cover"], **states._asdict()
        )

    def _computes(self, format: str, area_lights: bool) -> dict[str, wgpu.GPUComputePipeline]:
        """The pipelines of what is computed, for light of this format, perhaps of area lights."""
        if (format, area_lights) in self._pipelines:
            return self._pipelines[format, area_lights]
        gpu, found = self._gpu, {}
        for name in COMPUTED:
            kind, layouts = name.rstrip(" 0123456789"), []
            variant: dict[str, Any] = {"BEHIND": kind.endswith("behind")}
            if name in SHADINGS:
                shader, entry, layouts = SHADING_SHADER, "shade_pixels", [lighting_layout(gpu)]
                variant |= {"AREA_LIGHTS": area_lights, "FORMAT": format}
            elif name == OUTLINE:
                shader, entry, variant = OUTLINE_SHADER, "outline_pixels", {}
            else:
                shader, entry, k = FILTER_SHADER, "filter_pixels", int(name.split()[-1])
                variant |= {"AXIS": AXES[k], "TAPS": TAPS, "STRIDE": STRIDE[k // 2]}
            layouts = [self._layouts[kind], *layouts, self._written(name, format)]
            found[name] = compute_pipeline(gpu, shader, entry, layouts, variant)
        self._pipelines[format, area_lights] = found
        return found

    def _written(self, name: str, format: str) -> wgpu.GPUBindGroupLayout:
        """The layout of the texture that is written under this name."""
        kind = "stored pairs" if name == OUTLINE else "stored distances"
        if name in SHADINGS:
            kind = "stored light" if format == COLOR else "stored"
        return bind_group_layout(self._gpu, (kind,), COMPUTE)
