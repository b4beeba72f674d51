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
_FLOATS = {"rgba16float": (np.float16, 4), "rgba32float": (np.float32, 4), "r32float": (np.float32, 1)}


class Offscreen:
    """A target of `size` = (width, height) pixels, of `format`: eight bits each of red, green, blue and alpha, in this
    order or with blue first, the same as floats of 16 or 32 bits, or one float of 32 bits. Raises `InputError` if this
    GPU cannot draw that many.
    """

    def __init__(self, gpu: Gpu, size: tuple[int, int], format: str = FORMAT):
        require_drawable(gpu, size, _pixel_bytes(format))
        self.size = size
        self._gpu = gpu
        self._texture = gpu.create_texture(
            size=(*size, 1),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC,
        )
        self.view = self._texture.create_view()

    def read(self, then: Callable[[np.ndarray], object]) -> Reading:
        """Record the readback of the image: `then` receives it when it is there.

        It is (height, width, 4) RGBA, of u8, f16 or f32, and (height, width, 1) for one float.
        """
        return read_texture(self._gpu, self._texture, then)


def read_texture(gpu: Gpu, texture: wgpu.GPUTexture, then: Callable[[np.ndarray], object]) -> Reading:
    """Record the readback of a texture of one of `Offscreen`'s formats; `then` receives it as `Offscreen.read` says."""
    (width, height, _), (dtype, channels) = texture.size, _pixel(texture.format)
    row = width * _pixel_bytes(texture.format)

    def deliver(data: memoryview) -> None:
        image = np.frombuffer(data, dtype).reshape(height, width, channels)
        then(image[..., [2, 1, 0, 3]] if texture.format.startswith("bgra8") else image)

    gpu.meter.count(Direction.DEVICE_TO_HOST, row * height, Traffic.IMAGE)
    return gpu.readback.copy_texture(gpu.recorder.encoder, texture, row, deliver)


def _pixel(format: str) -> tuple[type[np.generic], int]:
    """Type and number of its values."""
    assert format in _FLOATS or format.startswith(("rgba8", "bgra8")), format
    return _FLOATS.get(format, (np.uint8, 4))


def _pixel_bytes(format: str) -> int:
    dtype, channels = _pixel(format)
    return np.dtype(dtype).itemsize * channels


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


def without_alpha(image: np.ndarray) -> np.ndarray:
    """A copy (height, width, 3) of an image (height, width, 4), eight times as fast as NumPy's of the slice."""
    opaque = np.empty((*image.shape[:2], 3), image.dtype)
    for channel in range(3):
        opaque[..., channel] = image[..., channel]
    return opaque
