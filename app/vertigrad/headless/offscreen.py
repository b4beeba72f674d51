"""`Offscreen`: a render target whose images are read back without stalling the frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import wgpu

from ..errors import InputError, OutOfMemory
from ..gpu import Direction, Gpu, Reading, Traffic
from ..gpu.readback import ROW_ALIGNMENT

FORMAT = "rgba8unorm"


class Offscreen:
    """A target of `size` = (width, height) pixels, of `format`: eight bits each of red, green, blue and alpha, in this
    order or with blue first. Raises `InputError` if this GPU cannot draw that many.
    """

    def __init__(self, gpu: Gpu, size: tuple[int, int], format: str = FORMAT):
        require_drawable(gpu, size)
        self.size = size
        self._gpu = gpu
        self._blue_first = format.startswith("bgra8")
        assert self._blue_first or format.startswith("rgba8"), format
        self._texture = gpu.create_texture(
            size=(*size, 1),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC,
        )
        self.view = self._texture.create_view()

    def read(self, then: Callable[[np.ndarray], object]) -> Reading:
        """Record the readback of the image: `then` receives it, (height, width, 4) u8 RGBA, when it has arrived."""
        width, height = self.size

        def deliver(data: memoryview) -> None:
            image = np.frombuffer(data, np.uint8).reshape(height, width, 4)
            then(image[..., [2, 1, 0, 3]] if self._blue_first else image)

        self._gpu.meter.count(Direction.DEVICE_TO_HOST, width * height * 4, Traffic.IMAGE)
        return self._gpu.readback.copy_texture(self._gpu.recorder.encoder, self._texture, width * 4, deliver)


@contextmanager
def enough_memory(size: tuple[int, int]) -> Iterator[None]:
    """Raise `OutOfMemory` with a simple message if there is not enough GPU memory inside the context."""
    try:
        yield
    except OutOfMemory as error:
        message = f"there is too little GPU memory for images of {size[0]}x{size[1]} pixels; draw smaller ones"
        raise OutOfMemory(f"{message}\n{error}") from error


def require_drawable(gpu: Gpu, size: tuple[int, int]) -> None:
    """Raise `InputError` if this GPU cannot draw that many pixels, or not read them back."""
    width, height = size
    side = gpu.limits["max-texture-dimension-2d"]
    if not (1 <= width <= side and 1 <= height <= side):
        raise InputError(f"an image of {width}x{height} pixels; this GPU draws from 1 to {side:,} per side")
    nbytes = -(-width * 4 // ROW_ALIGNMENT) * ROW_ALIGNMENT * height
    if nbytes > gpu.limits["max-buffer-size"]:
        raise InputError(
            f"an image of {width}x{height} pixels takes {nbytes:,} bytes to read back; this GPU allows "
            f"{gpu.limits['max-buffer-size']:,}"
        )
