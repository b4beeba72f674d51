"""`TracedImage`: a path-traced image as what a `Renderer` draws, so that it is post-processed as any other."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import wgpu

from ..gpu import Gpu
from ..memory import Block
from ..renderer.bindings import FRAGMENT, bind_group, bind_group_layout, uniform_range
from ..renderer.layers.base import Frame
from ..renderer.layers.storage import storage_range
from ..renderer.moment import Moment
from ..renderer.pipelines import fullscreen_pipeline
from ..renderer.target import cover_states
from ..renderer.view import View
from .tracer import PathTracer

SHADER = "path_trace/composite.wgsl"
TRACED = struct.Struct("<2IfI")  # `Traced` in the shader
# What is drawn over or into an image of layers, and is not part of a path-traced one.
WITHOUT: dict[str, Any] = {
    **{"axes": False, "scale_bar": False, "labels": "", "edges": 0.0, "color_bars": "none"},
}
# What the tracer draws itself.
LIT: dict[str, Any] = {
    **{"shadows": 0.0, "occlusion": 0.0, "environment": "gradient", "environment_backdrop": False, "floor": "none"},
}
EXPOSED: dict[str, Any] = {"aperture": 0.0, "shutter": 0.0}  # the tracer has its own lens and shutter


class TracedImage:
    """Takes the place of a layer in `Renderer.draw`, with the view of `flat_view`: it covers the whole image."""

    casts = casts_shadow = False
    transparency = "none"
    colorbar = None

    def __init__(self, gpu: Gpu, tracer: PathTracer):
        self._gpu, self._tracer = gpu, tracer
        self.name, self.style = "path trace", SimpleNamespace()
        self.display_referred = self.reads_depth = self.surveys = self.is_deferred = False

    @property
    def drawing(self) -> TracedImage:
        """It draws itself."""
        return self

    def prepare(self, moment: Moment | None = None) -> None:
        """Does nothing: samples are added by the tracer."""

    def state(self, time: float) -> None:
        """Not known: samples are added in each frame."""

    def blocks(self) -> Iterable[Block]:
        """The sums."""
        return [self._tracer.sums.block]

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the mean of the samples so far."""
        gpu, tracer = self._gpu, self._tracer
        layout = bind_group_layout(gpu, ("uniform", "storage"), FRAGMENT)
        states = cover_states(gpu, frame.colors)._asdict()
        pipeline = fullscreen_pipeline(gpu, SHADER, "composite_fragment", layout, **states)
        sums, _ = storage_range(gpu, tracer.sums, "a path-traced image")
        offset = gpu.uniforms.push(TRACED.pack(*tracer.size, tracer.samples, tracer.ahead))
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, bind_group(gpu, layout, (uniform_range(gpu, TRACED.size), sums)), (offset,))
        pass_.draw(3)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Does nothing: it does not blend."""


def flat_view(view: View) -> View:
    """The post-processing of a view, without its light and annotations."""
    return view.model_copy(update=WITHOUT | LIT | EXPOSED)


def untraced(view: View) -> list[str]:
    """Sentences on what of a view is left out."""
    usual = View()
    found = [name for name, none in WITHOUT.items() if getattr(view, name) not in (none, getattr(usual, name))]
    return [f"view.{name} is not drawn in a path-traced image" for name in found]
