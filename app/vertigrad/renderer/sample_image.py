"""`SampleImage`: colors for the four samples of each pixel, computed by a compute shader, and drawn into the target.

GPUs that are made for computing run fragment shaders on few of their multiprocessors: records 0161 and 0165.
"""

from __future__ import annotations

import wgpu

from ..gpu import Gpu
from .bindings import FRAGMENT, bind_group, bind_group_layout
from .pipelines import fullscreen_pipeline
from .target import COLOR, NO_DEPTH_TEST, SAMPLES, Colors, pass_states

COVER_SHADER = "draw/samples_cover.wgsl"


def stored_kind(format: str) -> str:
    """The kind of binding through which a shader writes colors of this format: see `bindings.KINDS`."""
    return "stored layers" if format == COLOR else "precise stored layers"


class SampleImage:
    """A layer of `view` for each sample, of `size` pixels and a format of colors."""

    def __init__(self, gpu: Gpu, size: tuple[int, int], format: str, blended: bool):
        self._gpu, self.size, self.format, self._blended = gpu, size, format, blended
        self.view = gpu.create_texture(
            size=(*size, SAMPLES),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING,
        ).create_view(dimension="2d-array")
        self._layout = bind_group_layout(gpu, ("unfilterable textures",), FRAGMENT)
        self._group = bind_group(gpu, self._layout, (self.view,))
        self._pipelines: dict[tuple[Colors, bool], wgpu.GPURenderPipeline] = {}

    def cover(self, pass_: wgpu.GPURenderPassEncoder, colors: Colors, display_referred: bool = False) -> None:
        """Draw the colors into the samples of the target, or blend them over it."""
        if (colors, display_referred) not in self._pipelines:
            states = pass_states(self._gpu, "color", self._blended, colors, display_referred)
            self._pipelines[colors, display_referred] = fullscreen_pipeline(
                *(self._gpu, COVER_SHADER, "cover_fragment", self._layout),
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
                defines={"BLENDED": self._blended},
            )
        pass_.set_pipeline(self._pipelines[colors, display_referred])
        pass_.set_bind_group(0, self._group)
        pass_.draw(3)
