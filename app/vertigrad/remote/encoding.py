"""Images as bytes for a browser: H.264 while they move, or JPEG where that cannot be decoded, and PNG at rest."""

from __future__ import annotations

import io
import struct
from abc import ABC, abstractmethod
from enum import IntEnum
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from ..errors import InputError
from ..headless.offscreen import without_alpha

JPEG_QUALITY = 85
CRF = "23"
HEADER = struct.Struct("<B3xIHH")  # kind, number, width, height: 12 bytes before the data


class Kind(IntEnum):
    """What follows the header."""

    H264_KEY = 1
    H264_DELTA = 2
    JPEG = 3
    PNG = 4


class Encoder(ABC):
    """Encodes the images of one viewer, one after the other."""

    name: ClassVar[str]

    @abstractmethod
    def encode(self, pixels: np.ndarray) -> tuple[Kind, bytes]:
        """An image, (height, width, 4) u8, as it is sent."""


@final
class H264(Encoder):
    """Every image is one packet, decodable as soon as it is there. `codec` is its name for WebCodecs, after the first.

    Raises `InputError` if PyAV has no H.264 encoder.
    """

    name = "h264"

    def __init__(self) -> None:
        self._context = None
        self._size = (0, 0)
        self._number = 0
        self.codec = ""

    def encode(self, pixels: np.ndarray) -> tuple[Kind, bytes]:
        from av import VideoFrame
        from av.video.reformatter import Colorspace

        size = pixels.shape[1], pixels.shape[0]
        if self._context is None or size != self._size:
            self._context, self._size, self._number = _context(size), size, 0
        frame = VideoFrame.from_ndarray(pixels, format="rgba")
        frame = frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709)
        frame.pts, frame.time_base = self._number, self._context.time_base
        self._number += 1
        packets = self._context.encode(frame)
        data = b"".join(bytes(packet) for packet in packets)
        is_key = any(packet.is_keyframe for packet in packets)
        if is_key:
            self.codec = codec_name(data)
        return (Kind.H264_KEY if is_key else Kind.H264_DELTA), data


@final
class Jpeg(Encoder):
    """Every image by itself."""

    name = "jpeg"

    def encode(self, pixels: np.ndarray) -> tuple[Kind, bytes]:
        return Kind.JPEG, _file(pixels, "JPEG", quality=JPEG_QUALITY)


def lossless(pixels: np.ndarray) -> tuple[Kind, bytes]:
    """An image as it was drawn, without its alpha."""
    return Kind.PNG, _file(pixels, "PNG", compress_level=1)


def packed(kind: Kind, number: int, pixels: np.ndarray, data: bytes) -> bytes:
    """The message with an image."""
    return HEADER.pack(kind, number & 0xFFFFFFFF, pixels.shape[1], pixels.shape[0]) + data


def codec_name(data: bytes) -> str:
    """The name of a stream for WebCodecs, from its sequence parameter set: avc1 with profile, constraints and level.

    Format: ITU-T H.264, annex B and 7.3.2.1.
    """
    at = data.find(b"\x00\x00\x01\x67")
    assert at >= 0, "a key frame without a sequence parameter set"
    return f"avc1.{data[at + 4 : at + 7].hex()}"


def _context(size: tuple[int, int]):
    from av import CodecContext
    from av.error import FFmpegError

    options: Final = {"preset": "ultrafast", "tune": "zerolatency", "crf": CRF, "profile": "baseline"}
    try:
        context = CodecContext.create("libx264", "w")
        context.width, context.height = size
        context.pix_fmt, context.time_base, context.framerate = "yuv420p", Fraction(1, 60), Fraction(60)
        context.colorspace = context.color_primaries = context.color_trc = 1  # ITU-R 709
        context.gop_size = 600
        context.options = {**options, "x264-params": "repeat-headers=1:annexb=1"}
        context.open()
    except (FFmpegError, ValueError) as error:
        raise InputError(f"no H.264 encoder: PyAV has no libx264 here ({error}); viewers get JPEG") from error
    return context


def _file(pixels: np.ndarray, format: str, **options: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(without_alpha(pixels)).save(file, format, **options)
    return file.getvalue()
