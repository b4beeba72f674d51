"""`TextureMaps`: images of a tensor as the layers of a texture array, with smaller levels for the distance."""

from __future__ import annotations

import struct
from typing import Any

import wgpu

from ...errors import LayoutError, LimitError
from ...gpu import Gpu, RenderPass
from ...tensor import Tensor
from ..bindings import FRAGMENT, bind_group, bind_group_layout, uniform_range
from ..pipelines import draw_cache, fullscreen_pipeline, smooth_sampler
from .storage import storage_range

SHADER = "draw/texture_maps.wgsl"
FORMAT, SRGB = "rgba8unorm", "rgba8unorm-srgb"
LAYER = struct.Struct("<2I")
ANISOTROPY = 8  # samples along what is seen at a slant


class TextureMaps:
    """A texture array of `images` u8 (n, rows, columns, 4), of colors in sRGB or of linear values.

    It is drawn when created: what the tensor holds later does not change it. Raises `LayoutError` for another tensor,
    and `LimitError` for more than this GPU has room for.
    """

    def __init__(self, gpu: Gpu, layer: str, images: Tensor, is_srgb: bool):
        _check(gpu, layer, images)
        self._gpu, self._format, self._where = gpu, SRGB if is_srgb else FORMAT, f"layer {layer!r}: textures"
        count, rows, columns, _ = images.shape
        self._size, levels = (columns, rows), max(rows, columns).bit_length()
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
        self._texture = gpu.create_texture(
            size=(columns, rows, count),
            format=self._format,
            usage=usage,
            mip_level_count=levels,
        )
        gpu.make_resident(images.owner)
        gpu.recorder.use([images.block])
        for at in range(count):
            self._fill(images, at)
            for level in range(1, levels):
                self._shrink(at, level)
        self.view = self._texture.create_view(dimension="2d-array")

    def _fill(self, images: Tensor, at: int) -> None:
        gpu = self._gpu
        with images[at] as image:
            resource, first = storage_range(gpu, image, self._where)
        layout = bind_group_layout(gpu, ("uniform", "storage"), FRAGMENT)
        pipeline = self._pipeline("fill_fragment", layout)
        group = bind_group(gpu, layout, (uniform_range(gpu, LAYER.size), resource))
        offset = gpu.uniforms.push(LAYER.pack(first // 4, self._size[0]))
        self._draw(pipeline, group, (offset,), self._level(at, 0))

    def _shrink(self, at: int, level: int) -> None:
        gpu = self._gpu
        layout = bind_group_layout(gpu, {1: "texture", 2: "sampler"}, FRAGMENT)
        pipeline, larger = self._pipeline("shrink_fragment", layout), self._level(at, level - 1)
        group = bind_group(gpu, layout, {1: larger, 2: smooth_sampler(gpu)})
        self._draw(pipeline, group, (), self._level(at, level))

    def _draw(
        self, pipeline: wgpu.GPURenderPipeline, group: wgpu.GPUBindGroup, offsets: tuple[int, ...], into: Any
    ) -> None:
        described = RenderPass([{"view": into, "load_op": "clear", "store_op": "store"}])
        with self._gpu.recorder.render_pass("textures", described) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, group, offsets)
            pass_.draw(3)

    def _pipeline(self, fragment: str, layout: wgpu.GPUBindGroupLayout) -> wgpu.GPURenderPipeline:
        defines = {"FILL": fragment == "fill_fragment", "SRGB": self._format == SRGB}
        return fullscreen_pipeline(self._gpu, SHADER, fragment, layout, [{"format": self._format}], defines=defines)

    def _level(self, at: int, level: int) -> wgpu.GPUTextureView:
        return self._texture.create_view(
            dimension="2d",
            base_array_layer=at,
            array_layer_count=1,
            base_mip_level=level,
            mip_level_count=1,
        )


def map_sampler(gpu: Gpu, ends: tuple[bool, bool]) -> wgpu.GPUSampler:
    """Linear between texels and levels; along each axis it repeats, or ends with the color of the edge.

    Without anisotropy on a software adapter: llvmpipe then takes the level from the pixels around instead of the given
    gradients, and at the edges of triangles those have none.
    """
    u, v = ("clamp-to-edge" if one else "repeat" for one in ends)
    return draw_cache(gpu).get(
        ("map sampler", ends),
        lambda: gpu.device.create_sampler(
            address_mode_u=u,
            address_mode_v=v,
            mag_filter="linear",
            min_filter="linear",
            mipmap_filter="linear",
            max_anisotropy=1 if gpu.adapter.kind == "software" else ANISOTROPY,
        ),
    )


def _check(gpu: Gpu, layer: str, images: Tensor) -> None:
    where = f"layer {layer!r}: {images.name!r}"
    if images.dtype.name != "u8" or images.ndim != 4 or images.shape[3] != 4 or 0 in images.shape:
        raise LayoutError(f"{where} is {images.dtype} of shape {images.shape}; textures are u8 (n, rows, columns, 4)")
    if not images.is_contiguous or images.offset % 4:
        raise LayoutError(f"{where} must be contiguous; call .contiguous()")
    sides, layers = (gpu.limits[f"max-texture-{what}"] for what in ("dimension-2d", "array-layers"))
    if max(images.shape[1:3]) > sides or images.shape[0] > layers:
        raise LimitError(f"{where} of shape {images.shape}: this GPU has at most {layers} layers of {sides} pixels")
