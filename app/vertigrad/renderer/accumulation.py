"""`Accumulation`: the mean of the samples of an image, as linear light, before it is tone-mapped."""

from __future__ import annotations

import struct

import numpy as np
import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, uniform_range
from .pipelines import BY_FRAGMENTS, compute_pipeline, dispatch, fullscreen_pipeline, tiles
from .target import PRECISE, Target, create_view

SHADER, REPROJECTION = "draw/accumulation.wgsl", "draw/reprojection.wgsl"
SHARE = struct.Struct("<f12x")
REPROJECTED = struct.Struct("<19f4x")  # `Reprojection` in the shader
USAGE = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.STORAGE_BINDING


class Accumulation:
    """Takes the contents of `target` as samples, all of its size and colors.

    `light` is their mean, in 32-bit floats, and `display` that of display-referred colors, if there are some. Images
    that move are reprojected in compute, for the reason that record 0161 gives; on a software adapter in fragments.
    """

    def __init__(self, gpu: Gpu, target: Target):
        self._gpu, self._target = gpu, target
        self.size, self.colors = target.size, target.colors
        count = 2 if self.colors.split else 1
        self._means = [[create_view(gpu, self.size, PRECISE, USAGE) for _ in range(count)] for _ in range(2)]
        self._current = 0
        self._clip: np.ndarray | None = None  # world space to clip space of the last image that moved
        self._computes = gpu.adapter.kind not in BY_FRAGMENTS
        self._reprojected: dict[int, list[wgpu.GPUBindGroup]] = {}  # what is read and written, by the mean that is read
        attachments = [[{"view": view, "load_op": "clear", "store_op": "store"} for view in one] for one in self._means]
        self._passes = [RenderPass(one) for one in attachments]
        self._light_pass = RenderPass([{"view": target.light, "load_op": "clear", "store_op": "store"}])
        sources = [target.image] if target.display is None else [target.image, target.display]
        kind = "samples" if target.by_sample else "unfilterable"
        self._layout = bind_group_layout(gpu, ("uniform", *[kind] * count, *["unfilterable"] * count), FRAGMENT)
        uniform = uniform_range(gpu, SHARE.size)
        self._groups = [bind_group(gpu, self._layout, (uniform, *sources, *before)) for before in self._means]
        defines = {"BY_SAMPLE": target.by_sample, "SPLIT": self.colors.split}
        self._add = self._pipeline("add_fragment", [PRECISE] * count, defines)
        self._copy = self._pipeline("copy_fragment", [self.colors.format], defines)

    @property
    def light(self) -> wgpu.GPUTextureView:
        """The mean of the samples so far."""
        return self._means[self._current][0]

    @property
    def display(self) -> wgpu.GPUTextureView | None:
        """The same of display-referred colors, None if there are none."""
        return self._means[self._current][1] if self.colors.split else None

    def fits(self, target: Target) -> bool:
        """Whether the target still has the textures that it had."""
        return (target.size, target.colors) == (self.size, self.colors)

    def add(self, index: int, clip: np.ndarray | None = None) -> None:
        """Record that the contents of the target are sample number `index`; 0 begins a new image.

        `clip` is as for `reproject`, which may go on from here.
        """
        self._clip = clip
        self._draw(self._add, self._passes[1 - self._current], 1.0 / (index + 1))
        self._current = 1 - self._current

    def reproject(self, index: int, clip: np.ndarray, jitter: tuple[float, float]) -> None:
        """Record that the contents of the target are the next image of one that moves; 0 begins with it.

        `clip` is world space to clip space of this image, without what it is moved within a pixel: that is `jitter`, to
        the right and up, in half heights. The target's `light` must be resolved, and its depth stored; its samples must
        be readable one by one.
        """
        to_before = np.eye(4) if self._clip is None else self._clip @ np.linalg.inv(clip)
        share = 1.0 if self._clip is None else 1.0 / (index + 1)
        self._clip = clip
        pixels = [0.5 * self.size[1] * shift for shift in (jitter[0], -jitter[1])]
        offset = self._gpu.uniforms.push(REPROJECTED.pack(*to_before.T.reshape(-1), *pixels, share))
        split = self.colors.split
        kinds = ("uniform", "unfilterable", "unfilterable", "depth samples", *["samples", "unfilterable"] * split)
        read = bind_group_layout(self._gpu, kinds, FRAGMENT | COMPUTE)
        written = bind_group_layout(self._gpu, ["stored"] * (1 + split), COMPUTE)
        groups, defines = self._images(read, written), {"SPLIT": split}
        if self._computes:
            computed = compute_pipeline(self._gpu, REPROJECTION, "reprojection_pixels", (read, written), defines)
            dispatch(self._gpu, "post-process", computed, groups, (offset,), tiles(self.size))
        else:
            targets = [{"format": PRECISE}] * (1 + split)
            pipeline = fullscreen_pipeline(
                self._gpu, REPROJECTION, "reprojection_fragment", read, targets, defines=defines
            )
            with self._gpu.recorder.render_pass("post-process", self._passes[1 - self._current]) as pass_:
                pass_.set_pipeline(pipeline)
                pass_.set_bind_group(0, groups[0], (offset,))
                pass_.draw(3)
        self._current = 1 - self._current

    def _images(self, read: wgpu.GPUBindGroupLayout, written: wgpu.GPUBindGroupLayout) -> list[wgpu.GPUBindGroup]:
        """What is reprojected, and, where it is computed, the mean that is written."""
        if self._current not in self._reprojected:
            target, uniform = self._target, uniform_range(self._gpu, REPROJECTED.size)
            display = [target.display, self.display] if self.colors.split else []
            groups = [bind_group(self._gpu, read, (uniform, target.light, self.light, target.depth, *display))]
            if self._computes:
                groups.append(bind_group(self._gpu, written, self._means[1 - self._current]))
            self._reprojected[self._current] = groups
        return self._reprojected[self._current]

    def write_light(self) -> None:
        """Record a copy of the mean into the target's `light`, which blooms."""
        self._draw(self._copy, self._light_pass, 0.0)

    def _draw(self, pipeline: wgpu.GPURenderPipeline, described: RenderPass, share: float) -> None:
        offset = self._gpu.uniforms.push(SHARE.pack(share))
        with self._gpu.recorder.render_pass("post-process", described) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, self._groups[self._current], (offset,))
            pass_.draw(3)

    def _pipeline(self, entry: str, formats: list[str], defines: dict[str, bool]) -> wgpu.GPURenderPipeline:
        targets = [{"format": format} for format in formats]
        return fullscreen_pipeline(self._gpu, SHADER, entry, self._layout, targets, defines=defines)
