"""`PostProcess`: bloom, exposure, tone mapping, outlines, vignette and encoding of an image."""

from __future__ import annotations

from typing import Any, NamedTuple

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, uniform_range
from .bloom import Bloom
from .pipelines import BY_FRAGMENTS, compute_pipeline, dispatch, fullscreen_pipeline, smooth_sampler, tiles
from .target import COLOR, Target, create_view
from .view_uniforms import POST_PROCESS_SIZE

SHADER, COVER_SHADER = "draw/post_process.wgsl", "draw/post_process_cover.wgsl"
COMPUTED = ("rgba8unorm", "bgra8unorm", "rgba8unorm-srgb", "bgra8unorm-srgb")  # formats with fewer bits than a half
MOST_COMPUTED = 1 << 24  # pixels; of larger images, which are files, fragments compute each


class Finish(NamedTuple):
    """Which variants of post-processing an image needs."""

    glow: bool
    edges: bool
    enlarged: bool = False  # fewer pixels were drawn than are shown
    fine: int = 1  # pixels drawn for each that is shown, along each side
    split: bool = False  # display-referred colors are in a separate texture
    tone_map: str = "film"
    averaged: bool = False  # the image is a mean of several, with one sample for each pixel


class Source(NamedTuple):
    """What is post-processed: linear light, and display-referred colors, if there are some."""

    light: wgpu.GPUTextureView
    display: wgpu.GPUTextureView | None


class Viewport(NamedTuple):
    """The part of a target in which an image is shown: `size` pixels, the upper left at its pixel `corner`.

    With `keep` the rest of the target stays as it is; else it becomes black.
    """

    view: wgpu.GPUTextureView
    corner: tuple[int, int]
    size: tuple[int, int]
    keep: bool = False


class Image:
    """What is computed of an image of `size` pixels, and the pipeline that draws it into a target of this format."""

    def __init__(self, gpu: Gpu, size: tuple[int, int], format: str):
        self.size = size
        read = bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        view = create_view(gpu, size, COLOR, wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING)
        self.target, self._source = bind_group(gpu, written_layout(gpu), [view]), bind_group(gpu, read, [view])
        self._pipeline = fullscreen_pipeline(gpu, COVER_SHADER, "cover_fragment", read, [{"format": format}])

    def bind(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Prepare for drawing it."""
        pass_.set_pipeline(self._pipeline)
        pass_.set_bind_group(0, self._source)


def written_layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    """Group 1 of the pipelines that compute it."""
    return bind_group_layout(gpu, ("stored light",), COMPUTE)


class PostProcess:
    """Post-processes the contents of `target` into textures of one format.

    It is computed and then drawn by fragments that only read it, for the reason that record 0161 gives; a software
    adapter, which has no other multiprocessors, computes it in fragments.
    """

    def __init__(self, gpu: Gpu, target: Target, bloom: Bloom, color_format: str, transparent: bool):
        self._gpu = gpu
        self._target = target
        self._bloom = bloom
        self._format = color_format
        self._transparent = transparent
        self._computes = gpu.adapter.kind not in BY_FRAGMENTS and target.by_sample and color_format in COMPUTED
        self._pipelines: dict[Finish, wgpu.GPURenderPipeline] = {}
        self._computed: dict[Finish, wgpu.GPUComputePipeline] = {}
        self._image: Image | None = None
        self._groups: dict[Finish, wgpu.GPUBindGroup] = {}
        self._bound: tuple[object, ...] = ()  # the source and the depths that are bound in them
        self._passes = {
            keep: RenderPass([{"load_op": "load" if keep else "clear", "store_op": "store"}]) for keep in (False, True)
        }
        self.compile()

    def compile(self) -> None:
        """Create the pipelines; also called after the shader has changed. Raises `ShaderError`."""
        known = [*self._pipelines, *self._computed] or (Finish(True, edges=False), Finish(False, edges=False))
        self._pipelines, self._computed, self._image = {}, {}, None
        for finish in known:
            self._pipeline_of_pixels(finish) if self._computes else self._pipeline(finish)

    def start(self, finish: Finish) -> None:
        """Have threads compile what `record` will need."""
        self._pipeline_of_pixels(finish) if self._computes else self._pipeline(finish)

    def resized(self) -> None:
        """Drop bind groups: the target has new textures."""
        self._groups.clear()

    def record(
        self, finish: Finish, source: Source, depths: wgpu.GPUTextureView, offset: int, viewport: Viewport
    ) -> None:
        """Record the image of `source` into its viewport.

        `depths` is the depth of opaque objects, for outlines; `offset` that of `PostProcess` in the uniform ring.
        """
        if finish.glow:
            self._bloom.record(self._gpu.recorder)
        if (source, depths) != self._bound:
            self._bound = source, depths
            self._groups.clear()
        if finish not in self._groups:
            self._groups[finish] = self._group(finish, source, depths)
        image = self._compute(finish, offset, viewport.size)
        with self._gpu.recorder.render_pass("post-process", self._passes[viewport.keep], viewport.view) as pass_:
            pass_.set_viewport(*viewport.corner, *viewport.size, 0.0, 1.0)
            if image is None:
                pass_.set_pipeline(self._pipeline(finish))
                pass_.set_bind_group(0, self._groups[finish], (offset,))
            else:
                image.bind(pass_)
            pass_.draw(3)

    def _compute(self, finish: Finish, offset: int, size: tuple[int, int]) -> Image | None:
        """Record the computation of an image of `size` pixels; returns it, or None if fragments are to compute it."""
        if not self._computes or size[0] * size[1] > MOST_COMPUTED:
            return None
        if self._image is None or self._image.size != size:
            self._image = Image(self._gpu, size, self._format)
        groups = self._groups[finish], self._image.target
        dispatch(self._gpu, "post-process", self._pipeline_of_pixels(finish), groups, (offset,), tiles(size))
        return self._image

    def _defines(self, finish: Finish) -> dict[str, Any]:
        return {
            "GLOW": finish.glow,
            "EDGES": finish.edges,
            "BY_SAMPLE": self._target.by_sample and not finish.averaged,
            "ENLARGED": finish.enlarged,
            "FINE": finish.fine,
            "SPLIT": finish.split,
            "TONE_MAP": finish.tone_map,
            "ENCODED_BY_TARGET": self._format.endswith("-srgb"),
            "TRANSPARENT": self._transparent,
            "LINEAR": self._format.endswith("float"),
        }

    def _pipeline(self, finish: Finish) -> wgpu.GPURenderPipeline:
        if finish not in self._pipelines:  # edges are seldom drawn
            layout, targets, defines = self._layout(finish), [{"format": self._format}], self._defines(finish)
            self._pipelines[finish] = fullscreen_pipeline(
                self._gpu, SHADER, "post_process_fragment", layout, targets, defines=defines
            )
        return self._pipelines[finish]

    def _pipeline_of_pixels(self, finish: Finish) -> wgpu.GPUComputePipeline:
        if finish not in self._computed:
            layouts = self._layout(finish), written_layout(self._gpu)
            self._computed[finish] = compute_pipeline(
                self._gpu, SHADER, "post_process_pixels", layouts, self._defines(finish)
            )
        return self._computed[finish]

    def _group(self, finish: Finish, source: Source, depths: wgpu.GPUTextureView) -> wgpu.GPUBindGroup:
        sources = {
            0: uniform_range(self._gpu, POST_PROCESS_SIZE),
            1: source.light,
            2: self._bloom.glow if finish.glow else None,
            3: smooth_sampler(self._gpu),
            4: depths,
            5: source.display,
        }
        return bind_group(self._gpu, self._layout(finish), {n: sources[n] for n in self._kinds(finish)})

    def _layout(self, finish: Finish) -> wgpu.GPUBindGroupLayout:
        return bind_group_layout(self._gpu, self._kinds(finish), FRAGMENT | COMPUTE)

    def _kinds(self, finish: Finish) -> dict[int, str]:
        """What is bound, by its binding in the shader."""
        image = "samples" if self._target.by_sample and not finish.averaged else "unfilterable"
        return {
            **{0: "uniform", 1: image},
            **({2: "texture", 3: "sampler"} if finish.glow else {}),
            **({4: "depth"} if finish.edges else {}),
            **({5: image} if finish.split else {}),
        }
