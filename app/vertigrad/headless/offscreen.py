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
LINEAR = "rgba16float"  # linear light


class Offscreen:
    """A target of `size` = (width, height) pixels, of `format`: eight bits each of red, green, blue and alpha, in this
    order or with blue first, or 16-bit floats. Raises `InputError` if this GPU cannot draw that many.
    """

    def __init__(self, gpu: Gpu, size: tuple[int, int], format: str = FORMAT):
        self._dtype: type[np.generic] = np.float16 if format == LINEAR else np.uint8
        self._pixel_bytes = 4 * np.dtype(self._dtype).itemsize
        require_drawable(gpu, size, self._pixel_bytes)
        self.size = size
        self._gpu = gpu
        self._blue_first = format.startswith("bgra8")
        assert self._blue_first or format == LINEAR or format.startswith("rgba8"), format
        self._texture = gpu.create_texture(
            size=(*size, 1),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC,
        )
        self.view = self._texture.create_view()

    def read(self, then: Callable[[np.ndarray], object]) -> Reading:
        """Record the readback of the image: `then` receives it when it is there, (height, width, 4) RGBA, u8 or f16."""
        width, height = self.size

        def deliver(data: memoryview) -> None:
            image = np.frombuffer(data, self._dtype).reshape(height, width, 4)
            then(image[..., [2, 1, 0, 3]] if self._blue_first else image)

        self._gpu.meter.count(Direction.DEVICE_TO_HOST, width * height * self._pixel_bytes, Traffic.IMAGE)
        row = width * self._pixel_bytes
        return self._gpu.readback.copy_texture(self._gpu.recorder.encoder, self._texture, row, deliver)


@contextmanager
def enough_memory(size: tuple[int, int]) -> Iterator[None]:
    """Raise `OutOfMemory` with a simple message if there is not enough GPU memory inside the context."""
    try:
        yield
    except OutOfMemory as error:
        message = f"there is too little GPU memory for images of {size[0]}x{size[1]} pixels; draw smaller ones"
        raise OutOfMemory(f"{message}\n{error}") from error


def require_drawable(gpu: Gpu, size: tuple[int, int], pixel_bytes: int = 4) -> None:
    """Raise `InputError` if this GPU cannot draw that many pixels, or not read them back."""
    width, height = size
    side = gpu.limits["max-texture-dimension-2d"]
    if not (1 <= width <= side and 1 <= height <= side):
        raise InputError(f"an image of {width}x{height} pixels; this GPU draws from 1 to {side:,} per side")
    nbytes = -(-width * pixel_bytes // ROW_ALIGNMENT) * ROW_ALIGNMENT * height
    if nbytes > gpu.limits["max-buffer-size"]:
        raise InputError(
            f"an image of {width}x{height} pixels takes {nbytes:,} bytes to read back; this GPU allows "
            f"{gpu.limits['max-buffer-size']:,}"
        )
