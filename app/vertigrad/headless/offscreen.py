"""`Offscreen`: a texture to draw into, whose pictures are read back without stalling the frames."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import wgpu

from ..errors import LimitError
from ..gpu import Direction, Gpu, Traffic

FORMAT = "rgba8unorm"


class Offscreen:
    """A target of `size` = (width, height) pixels. Raises `LimitError` if the adapter has no textures that large."""

    def __init__(self, gpu: Gpu, size: tuple[int, int]):
        limit = gpu.limits["max-texture-dimension-2d"]
        if max(size) > limit:
            raise LimitError(f"a picture of {size[0]}x{size[1]} pixels; this adapter draws up to {limit} a side")
        self.size = size
        self._gpu = gpu
        self._texture = gpu.device.create_texture(
            size=(*size, 1), format=FORMAT, usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        )
        self.view = self._texture.create_view()

    def read(self, then: Callable[[np.ndarray], object]) -> None:
        """Record the reading of the picture: `then` receives it, (height, width, 4) u8, when it has arrived."""
        width, height = self.size

        def deliver(data: memoryview) -> None:
            then(np.frombuffer(data, np.uint8).reshape(height, width, 4))

        self._gpu.readback.copy_texture(self._gpu.recorder.encoder, self._texture, width * 4, deliver)
        self._gpu.meter.count(Direction.DEVICE_TO_HOST, width * height * 4, Traffic.IMAGE)
