"""`Deferred`: deferred shading, in a compute shader.

Layers draw what their opaque surfaces are made of into a G-buffer; then each visible sample is lit once. GPUs that are
made for computing run fragment shaders on few of their multiprocessors, and light is most of the work: record 0165.
"""

from __future__ import annotations

from collections.abc import Sequence

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import COMPUTE, bind_group, bind_group_layout, hidden_layout, lighting_layout, uniform_range
from .layers.base import Frame, Layer
from .pipelines import column_of, compute_pipeline, dispatch, tiles
from .sample_image import SampleImage, stored_kind
from .target import GBUFFER, SAMPLES, Target, create_view
from .view_uniforms import VIEW_SIZE

SHADER, ENTRY = "draw/deferred.wgsl", "shade_pixels"
MOST_PIXELS = 1 << 24  # of larger images, which are files, each fragment is lit: a G-buffer takes 80 bytes a pixel
HIDDEN_SHADER, DISTANCE = "draw/farthest.wgsl", "r32float"


class Deferred:
    """The G-buffer for images of the current size of `target`; must be recreated when that is resized."""

    def __init__(self, gpu: Gpu, target: Target):
        self._gpu, self._size, self._colors = gpu, target.size, target.colors
        self._hidden = Hidden(gpu, self._size)
        self._column = column_of(gpu)
        drawn, bound = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.TEXTURE_BINDING
        views = [create_view(gpu, self._size, format, drawn | bound, SAMPLES) for format in GBUFFER]
        uncleared = {"resolve_target": None, "load_op": "load", "store_op": "store"}  # what has no depth is not read
        depth = {"depth_clear_value": 0.0, "depth_load_op": "clear", "depth_store_op": "store"}
        self._pass = RenderPass([{"view": view, **uncleared} for view in views], {"view": target.depth, **depth})
        self._lit = SampleImage(gpu, self._size, self._colors.format, blended=False)
        kinds = ("uniform", "integer samples", "integer samples", "depth samples", stored_kind(self._colors.format))
        self._layout = bind_group_layout(gpu, kinds, COMPUTE)
        resources = (uniform_range(gpu, VIEW_SIZE), *views, target.depth, self._lit.view)
        self._group = bind_group(gpu, self._layout, resources)
        self._shaders: dict[bool, wgpu.GPUComputePipeline] = {}

    @staticmethod
    def fits(size: tuple[int, int]) -> bool:
        """Whether images of this size are shaded so."""
        return size[0] * size[1] <= MOST_PIXELS

    def start(self, area_lights: bool) -> None:
        """Have threads compile what `record` will need."""
        self._shader(area_lights)

    def record(
        self,
        layers: Sequence[Layer],
        frame: Frame,
        lighting: wgpu.GPUBindGroup,
        depths: wgpu.GPUTextureView | None,
    ) -> None:
        """Record what draws the opaque parts of `layers` into the G-buffer, and computes their light.

        `depths` is the depth of what hides things behind it, one sample for each pixel, if that is known.
        """
        skips = any([layer.drawing.skips_hidden for layer in layers])
        hidden = self._hidden.record(depths if skips else None)
        recorder, gbuffer = self._gpu.recorder, Frame(frame.view_offset, frame.depth, drawn="gbuffer")
        with recorder.render_pass("surfaces", self._pass) as pass_:
            pass_.set_bind_group(1, hidden)
            for layer in layers:
                layer.drawing.draw(pass_, gbuffer)
        shader, groups = self._shader(frame.area_lights), (self._group, lighting)
        dispatch(self._gpu, "shading", shader, groups, (frame.view_offset,), tiles(self._size, self._column))

    def cover(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Draw the light into the samples of the target."""
        self._lit.cover(pass_, self._colors)

    def _shader(self, area_lights: bool) -> wgpu.GPUComputePipeline:
        if area_lights not in self._shaders:
            defines = {"FORMAT": self._colors.format, "AREA_LIGHTS": area_lights, "COLUMN_PIXELS": self._column}
            layouts = [self._layout, lighting_layout(self._gpu)]
            self._shaders[area_lights] = compute_pipeline(self._gpu, SHADER, ENTRY, layouts, defines)
        return self._shaders[area_lights]


class Hidden:
    """The depths behind which all is hidden, for images of `size` pixels."""

    def __init__(self, gpu: Gpu, size: tuple[int, int]):
        self._gpu, self._size = gpu, size
        self._layout = bind_group_layout(gpu, ("depth", "stored distances"), COMPUTE)
        stored = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        nothing = create_view(gpu, (1, 1), DISTANCE, stored)
        self._nothing = bind_group(gpu, hidden_layout(gpu), [nothing])
        self._farthest = create_view(gpu, size, DISTANCE, stored)
        self._found = bind_group(gpu, hidden_layout(gpu), [self._farthest])
        self._depths: wgpu.GPUTextureView | None = None  # that are bound
        self._pipeline = compute_pipeline(gpu, HIDDEN_SHADER, "farthest_pixels", [self._layout], {})

    def record(self, depths: wgpu.GPUTextureView | None) -> wgpu.GPUBindGroup:
        """Record the computation, if there are `depths`; returns what is bound as group 1."""
        if depths is None or tuple(depths.texture.size[:2]) != self._size:
            return self._nothing
        if depths is not self._depths:
            self._depths, self._group = depths, bind_group(self._gpu, self._layout, [depths, self._farthest])
        dispatch(self._gpu, "surfaces", self._pipeline, [self._group], (), tiles(self._size))
        return self._found
