"""`RowImage`: an image, or a part of one, in which each pixel is the row of a layer that is visible there."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import wgpu

from ..gpu import Direction, Gpu, Reading, RenderPass, Traffic
from .camera import OrbitCamera
from .layers.base import Frame, Layer
from .target import CORNERS, CORNERS_BYTES, DEPTH, ROW, ROW_BYTES
from .view import View
from .view_uniforms import LAYER_AT, VIEW_SIZE, view_uniform

CLIP_AT, CLIP_SIZE = 64, 64  # bytes of `View` that hold `eye_to_clip`
LAYER_BYTES = 4096  # of uniforms that a layer may push in addition to its view


class RowImage:
    """A target of `size` pixels for `record`. Close it."""

    def __init__(self, gpu: Gpu, size: tuple[int, int]):
        self._gpu, self.size = gpu, size
        drawn, read = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.COPY_SRC
        self._rows = self._texture(ROW, drawn | read)
        self._corners = self._texture(CORNERS, drawn | read)
        self._depth = self._texture(DEPTH, drawn)
        color = {"clear_value": (0, 0, 0, 0), "load_op": "clear", "store_op": "store"}
        self._pass = RenderPass(
            [{"view": texture.create_view(), **color} for texture in (self._rows, self._corners)],
            {
                "view": self._depth.create_view(),
                "depth_clear_value": 0.0,
                "depth_load_op": "clear",
                "depth_store_op": "discard",
            },
        )

    def record(
        self, layers: Sequence[Layer], camera: OrbitCamera, size: tuple[int, int], corner: tuple[int, int], view: View
    ) -> None:
        """Draw the part of an image of `size` whose upper left pixel is `corner`; clipped by the planes of `view`.

        Raises `LimitError` for a surface that is too large.
        """
        gpu = self._gpu
        for layer in layers:
            layer.prepare()
        if not gpu.uniforms.fits(len(layers) * (gpu.uniforms.aligned(VIEW_SIZE) + LAYER_BYTES)):
            gpu.submit()
        packed = bytearray(view_uniform(view, camera, size, 0.0))
        projection = self._closer(size, corner) @ camera.projection(size[0] / size[1])
        packed[CLIP_AT : CLIP_AT + CLIP_SIZE] = projection.T.astype("<f4").tobytes()
        for layer in layers:
            gpu.recorder.use(layer.blocks())
        with gpu.recorder.render_pass("picking", self._pass) as pass_:
            for number, layer in enumerate(layers, start=1):
                struct.pack_into("<I", packed, LAYER_AT, number)
                layer.drawing.draw_rows(pass_, Frame(gpu.uniforms.push(packed), drawn="rows"))

    def read_rows(self, then: Callable[[np.ndarray], object]) -> Reading:
        """Record a readback: `then` gets layer, counted from 1, row, cell, counted from 1, and bits of the depth.

        They are u32 (height, width, 4), 0 where there is nothing.
        """
        return self._read(self._rows, ROW_BYTES, then)

    def read_corners(self, then: Callable[[np.ndarray], object]) -> Reading:
        """As `read_rows`, of the other two corners of cells, u32 (height, width, 2)."""
        return self._read(self._corners, CORNERS_BYTES, then)

    def close(self) -> None:
        """Free the textures, which must not be in use."""
        for texture in (self._rows, self._corners, self._depth):
            texture.destroy()

    def _read(self, texture: wgpu.GPUTexture, nbytes: int, then: Callable[[np.ndarray], object]) -> Reading:
        gpu, (width, height) = self._gpu, self.size

        def take(data: memoryview) -> None:
            then(np.frombuffer(data, np.uint32).reshape(height, width, nbytes // 4))

        gpu.meter.count(Direction.DEVICE_TO_HOST, width * height * nbytes, Traffic.DIAGNOSTICS)
        return gpu.readback.copy_texture(gpu.recorder.encoder, texture, width * nbytes, take)

    def _closer(self, size: tuple[int, int], corner: tuple[int, int]) -> np.ndarray:
        """From the clip space of the image to that of the part, whose pixels are the same."""
        image, part = np.array(size, float), np.array(self.size, float)
        middle = (2.0 * (corner + 0.5 * part) / image - 1.0) * (1.0, -1.0)
        closer = np.eye(4)
        closer[0, 0], closer[1, 1] = scale = image / part
        closer[:2, 3] = -middle * scale
        return closer

    def _texture(self, format: str, usage: int) -> wgpu.GPUTexture:
        return self._gpu.create_texture(size=(*self.size, 1), format=format, usage=usage)  # pyright: ignore
