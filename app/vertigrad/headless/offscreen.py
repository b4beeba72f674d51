"""`Offscreen`: a texture to draw into, whose pictures are read back without stalling the frames."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import wgpu

from ..errors import InputError
from ..gpu import Direction, Gpu, Traffic
from ..gpu.readback import ROW_ALIGNMENT

FORMAT = "rgba8unorm"


class Offscreen:
    """A target of `size` = (width, height) pixels. Raises `InputError` if this adapter cannot draw that many."""

    def __init__(self, gpu: Gpu, size: tuple[int, int]):
        _require_drawable(gpu, size)
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


def _require_drawable(gpu: Gpu, size: tuple[int, int]) -> None:
    width, height = size
    side = gpu.limits["max-texture-dimension-2d"]
    if not (1 <= width <= side and 1 <= height <= side):
        raise InputError(f"a picture of {width}x{height} pixels; this adapter draws from 1 to {side:,} a side")
    nbytes = -(-width * 4 // ROW_ALIGNMENT) * ROW_ALIGNMENT * height
    if nbytes > gpu.limits["max-buffer-size"]:
        raise InputError(
            f"a picture of {width}x{height} pixels takes {nbytes:,} bytes to read back; this adapter allows "
            f"{gpu.limits['max-buffer-size']:,}"
        )
