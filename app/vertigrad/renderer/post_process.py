"""`PostProcess`: bloom, exposure, tone mapping, outlines, vignette and encoding of an image."""

from __future__ import annotations

from typing import NamedTuple

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import FRAGMENT, bind_group, bind_group_layout, uniform_range
from .bloom import Bloom
from .pipelines import fullscreen_pipeline, smooth_sampler
from .target import Target
from .view_uniforms import POST_PROCESS_SIZE

SHADER = "draw/post_process.wgsl"


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


class PostProcess:
    """Post-processes the contents of `target` into textures of one format."""

    def __init__(self, gpu: Gpu, target: Target, bloom: Bloom, color_format: str, transparent: bool):
        self._gpu = gpu
        self._target = target
        self._bloom = bloom
        self._format = color_format
        self._transparent = transparent
        self._pipelines: dict[Finish, wgpu.GPURenderPipeline] = {}
        self._groups: dict[Finish, wgpu.GPUBindGroup] = {}
        self._bound: tuple[object, ...] = ()  # the source and the depths that are bound in them
        self._passes = {
            keep: RenderPass([{"load_op": "load" if keep else "clear", "store_op": "store"}]) for keep in (False, True)
        }
        self.compile()

    def compile(self) -> None:
        """Create the pipelines; also called after the shader has changed. Raises `ShaderError`."""
        known = self._pipelines or (Finish(glow=True, edges=False), Finish(glow=False, edges=False))
        self._pipelines = {finish: self._pipeline(finish) for finish in known}

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
        with self._gpu.recorder.render_pass("post-process", self._passes[viewport.keep], viewport.view) as pass_:
            pass_.set_viewport(*viewport.corner, *viewport.size, 0.0, 1.0)
            pass_.set_pipeline(self._pipelines[finish])
            pass_.set_bind_group(0, self._groups[finish], (offset,))
            pass_.draw(3)

    def _pipeline(self, finish: Finish) -> wgpu.GPURenderPipeline:
        defines = {
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
        layout, targets = self._layout(finish), [{"format": self._format}]
        return fullscreen_pipeline(self._gpu, SHADER, "post_process_fragment", layout, targets, defines=defines)

    def _group(self, finish: Finish, source: Source, depths: wgpu.GPUTextureView) -> wgpu.GPUBindGroup:
        if finish not in self._pipelines:  # edges are seldom drawn
            self._pipelines[finish] = self._pipeline(finish)
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
        return bind_group_layout(self._gpu, self._kinds(finish), FRAGMENT)

    def _kinds(self, finish: Finish) -> dict[int, str]:
        """What is bound, by its binding in the shader."""
        image = "samples" if self._target.by_sample and not finish.averaged else "unfilterable"
        return {
            **{0: "uniform", 1: image},
            **({2: "texture", 3: "sampler"} if finish.glow else {}),
            **({4: "depth"} if finish.edges else {}),
            **({5: image} if finish.split else {}),
        }
