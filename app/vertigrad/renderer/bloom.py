"""`Bloom`: light scattered in the lens, from a chain of ever smaller images: a quarter of the size, then halves."""

from __future__ import annotations

import wgpu

from ..gpu import Gpu, Recorder, RenderPass
from .bindings import FRAGMENT, bind_group, bind_group_layout
from .pipelines import fullscreen_pipeline, smooth_sampler
from .target import create_view

SHADER = "draw/bloom.wgsl"
FORMAT = "rgba16float"
LEVELS = 5
FIRST = 4  # how many times smaller than the image the first level is
SMALLEST = 8  # pixels
SPREAD = 0.65  # weight of the next smaller level when it is added to a level

_WIDEN = {"src_factor": "constant", "dst_factor": "one-minus-constant", "operation": "add"}


class Bloom:
    """Downsamples an image several times, then upsamples and adds the levels; `glow` is the result."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._layout = bind_group_layout(gpu, ("texture", "sampler"), FRAGMENT)
        self.compile()
        self._levels: list[wgpu.GPUTextureView] = []

    def compile(self) -> None:
        """Create the pipelines; also called after the shader has changed. Raises `ShaderError`."""
        target, widen = {"format": FORMAT}, {"blend": {"color": _WIDEN, "alpha": _WIDEN}}
        self._shrink, self._down, self._up = (
            fullscreen_pipeline(self._gpu, SHADER, entry, self._layout, [{**target, **blend}])
            for entry, blend in (("shrink", {}), ("down", {}), ("up", widen))
        )

    @property
    def glow(self) -> wgpu.GPUTextureView:
        """The blurred light of the image."""
        return self._levels[0]

    def resize(self, light: wgpu.GPUTextureView, size: tuple[int, int], scale: float = 1.0) -> None:
        """Use `light`, an image of `size` pixels, as the input. It has `scale` times as many pixels as are shown.

        The blur covers the same fraction of the image at every scale.
        """
        self._levels = []
        for level in range(LEVELS):
            width, height = (max(1, int(n / (FIRST * scale)) >> level) for n in size)
            if level and min(width, height) < SMALLEST:
                break
            self._levels.append(create_view(self._gpu, (width, height), FORMAT))
        sampler = smooth_sampler(self._gpu)
        self._sources = [bind_group(self._gpu, self._layout, (view, sampler)) for view in (light, *self._levels)]
        self._smaller = [_pass_into(level, "clear") for level in self._levels]
        self._larger = [_pass_into(level, "load") for level in self._levels]

    def record(self, recorder: Recorder) -> None:
        """Record the passes that compute `glow` from the image."""
        for index, pass_ in enumerate(self._smaller):
            self._draw(recorder, self._down if index else self._shrink, self._sources[index], pass_)
        for index in range(len(self._levels) - 1, 0, -1):
            self._draw(recorder, self._up, self._sources[index + 1], self._larger[index - 1])

    def _draw(
        self, recorder: Recorder, pipeline: wgpu.GPURenderPipeline, source: wgpu.GPUBindGroup, described: RenderPass
    ) -> None:
        with recorder.render_pass("post-process", described) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, source)
            if pipeline is self._up:
                pass_.set_blend_constant((SPREAD, SPREAD, SPREAD, SPREAD))
            pass_.draw(3)


def _pass_into(level: wgpu.GPUTextureView, load: str) -> RenderPass:
    return RenderPass([{"view": level, "load_op": load, "store_op": "store"}])
