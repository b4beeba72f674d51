"""Videos: MP4 and WebM by H.264, H.265, VP9 or AV1, and animated GIF and WebP. All are encoded by FFmpeg."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..params import unknown
from ..session import FPS
from .offscreen import without_alpha
from .output import Output

LARGEST_VIDEO = 16384  # pixels per side, the limit of libx264 and of WebP's
FASTEST_GIF = 50  # frames a second: programs show shorter ones at 10 a second
_ITU_709 = 1  # H.264's number of its color space, transfer curve and primaries; players assume it for larger videos


class Codec(NamedTuple):
    """An encoder of FFmpeg. `worst` is its largest "crf", `usual` the one where no quality is named."""

    encoder: str
    worst: int = 0
    usual: int = 0
    options: Mapping[str, str] = {}
    tag: str = ""


CODECS = {
    "h264": Codec("libx264", 51, 16, {"preset": "veryfast"}),
    "h265": Codec("libx265", 51, 20, {"preset": "fast", "x265-params": "log-level=error"}, "hvc1"),
    "vp9": Codec("libvpx-vp9", 63, 24, {"b": "0", "row-mt": "1", "cpu-used": "4", "deadline": "realtime"}),
    "av1": Codec("libsvtav1", 63, 28, {"preset": "8"}),
    "gif": Codec("gif"),
    "webp": Codec("libwebp_anim"),
}
FORMATS = {".mp4": ("h264", "h265", "av1"), ".webm": ("vp9", "av1"), ".gif": ("gif",), ".webp": ("webp",)}
USUAL_RATE = {".gif": 25.0, ".webp": 30.0}  # frames a second of an animation that is rendered; of others `FPS`


class VideoOptions(NamedTuple):
    """`rate` in frames per second, 0 for the usual one of the format; `codec` is one of its `FORMATS`, empty for the
    first; `quality` is from 1 to 100, 0 for the usual one.
    """

    rate: float = 0.0
    codec: str = ""
    quality: int = 0

    def rate_of(self, path: Path) -> float:
        """The rate, or the usual one for a file of this suffix."""
        return self.rate or USUAL_RATE.get(path.suffix.lower(), FPS)


def is_video(path: Path) -> bool:
    """Whether a file of this suffix is a video."""
    return path.suffix.lower() in FORMATS


def is_shown(frame: int, rate: float) -> bool:
    """Whether a frame of a run (from 0) is one of a video of this rate: all if it is that of the run, or higher."""
    return frame == 0 or int(frame * rate / FPS + 1e-9) != int((frame - 1) * rate / FPS + 1e-9)


def require_video(path: Path, size: tuple[int, int], options: VideoOptions, transparent: bool = False) -> None:
    """Raise `InputError` if a video of `size` = (width, height) cannot be encoded with these options."""
    kind, most = path.suffix.lower(), max(size)
    codecs = FORMATS[kind]
    if options.codec and options.codec not in codecs:
        raise InputError(f"{path}: {unknown(f'codec of {kind}', options.codec, codecs)}")
    if not 0 <= options.quality <= 100:
        raise InputError(f"{path}: quality {options.quality}; expected a number from 1 to 100")
    if not 0.0 <= options.rate <= 1000.0:
        raise InputError(f"{path}: {options.rate:g} frames per second; expected a number above 0, up to 1000")
    if kind == ".gif" and options.rate > FASTEST_GIF:
        raise InputError(f"{path}: a GIF shows at most {FASTEST_GIF} frames per second, not {options.rate:g}")
    if kind in (".mp4", ".webm") and (size[0] % 2 or size[1] % 2):
        raise InputError(f"{path}: a video needs an even width and height, got {size[0]}x{size[1]}")
    if most > LARGEST_VIDEO:
        raise InputError(
            f"{path}: a video has at most {LARGEST_VIDEO} pixels per side, got {size[0]}x{size[1]}; "
            "write numbered images (.png) instead"
        )
    if transparent and kind != ".webp":
        raise InputError(f"{path}: a video has no alpha; transparent images are written as .png and .webp")


class Video(Output[np.ndarray]):
    """A video of the format of its suffix. Colors are those of ITU-R BT.709, of GIF sRGB."""

    def __init__(self, path: Path, size: tuple[int, int], options: VideoOptions, transparent: bool = False):
        import av  # here: it takes longer to import than an image takes to draw
        from av.error import FFmpegError
        from av.video.reformatter import Colorspace

        self._av, self._colorspace = av, Colorspace.ITU709
        self._path, self._errors = path, (OSError, FFmpegError)
        self._rate, self._format = options.rate_of(path), _pixels(path, transparent)
        self._images = 0
        self._refused: InputError | None = None
        name = options.codec or FORMATS[path.suffix.lower()][0]
        codec = CODECS[name]
        if codec.encoder not in av.codecs_available:
            raise InputError(f"{path}: this PyAV has no encoder {codec.encoder} for {name}; choose another codec")
        os.environ.setdefault("SVT_LOG", "1")  # libsvtav1 prints its settings otherwise
        try:
            self._container = av.open(str(path), "w", options=_container_options(path))
            stream = self._container.add_stream(
                codec.encoder,
                rate=Fraction(self._rate).limit_denominator(1001),
                options=_codec_options(name, codec, options.quality),
            )
        except self._errors as error:
            raise self._unwritable(error) from error
        self._stream: Any = stream
        self._configure(codec, size)
        self._palette = _Palettes(av, size, options.quality) if name == "gif" else None

    def wants(self, frame: int, last: int) -> bool:
        """As many as the rate takes; see `is_shown`."""
        return is_shown(frame, self._rate)

    def put(self, frame: int, image: np.ndarray) -> None:
        """Encode the image."""
        has_alpha = self._format == "bgra"
        source = image if has_alpha else without_alpha(image)
        shown = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(source), format="rgba" if has_alpha else "rgb24")
        if self._palette is not None:
            shown.pts, shown.time_base = round(self._images * 100 / self._rate), Fraction(1, 100)
            for indexed in self._palette.indexed(shown):
                self._encode(indexed)
        else:
            options = {"dst_colorspace": self._colorspace} if self._format == "yuv420p" else {}
            shown = shown.reformat(format=self._format, **options)
            shown.pts, shown.time_base = self._images, 1 / self._stream.codec_context.framerate
            self._encode(shown)
        self._images += 1

    def close(self) -> None:
        """Flush the encoder, and finish the file; raises the error of an earlier image again. No image, no file."""
        if not self._images and not self._refused:
            self.discard()
            return
        try:
            if self._refused:  # FFmpeg crashes when an encoder that could not be opened is flushed (PyAV 19)
                raise self._refused
            self._encode(None)
        finally:
            self._close()

    def discard(self) -> None:
        """Remove the file. Raises `InputError` if that is not possible."""
        try:
            with suppress(*self._errors):  # it may be why there is no video
                self._container.close()
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _configure(self, codec: Codec, size: tuple[int, int]) -> None:
        stream, context = self._stream, self._stream.codec_context
        stream.width, stream.height = size
        stream.pix_fmt = self._format
        if self._format == "yuv420p":
            context.colorspace = context.color_primaries = context.color_trc = _ITU_709
        if self._format == "pal8":
            context.time_base = Fraction(1, 100)  # GIF counts in hundredths of a second
        if codec.tag and self._path.suffix.lower() == ".mp4":
            context.codec_tag = codec.tag

    def _close(self) -> None:
        try:
            self._container.close()
        except self._errors as error:
            raise self._unwritable(error) from error

    def _encode(self, image: object) -> None:
        try:
            self._container.mux(self._stream.encode(image))
        except self._errors as error:
            self._refused = self._unwritable(error)
            raise self._refused from error

    def _unwritable(self, error: Any) -> InputError:
        return InputError(f"{self._path}: the video cannot be written ({error.strerror or error})")


class _Palettes:
    """Gives each image a palette of its own; `quality` percent of 256 colors."""

    def __init__(self, av: Any, size: tuple[int, int], quality: int):
        self._ends = (av.error.BlockingIOError, av.error.EOFError)
        self._graph = graph = av.filter.Graph()
        colors = max(2, round(256 * (quality or 100) / 100))
        source = graph.add_buffer(
            width=size[0], height=size[1], format=av.VideoFormat("rgb24"), time_base=Fraction(1, 100)
        )
        split = graph.add("split")
        generate = graph.add("palettegen", f"stats_mode=single:max_colors={colors}:reserve_transparent=0")
        use, sink = graph.add("paletteuse", "new=1:dither=sierra2_4a"), graph.add("buffersink")
        source.link_to(split)
        split.link_to(generate, 0, 0)
        split.link_to(use, 1, 0)
        generate.link_to(use, 0, 1)
        use.link_to(sink)
        graph.configure()

    def indexed(self, image: Any) -> Iterator[Any]:
        """The images that are ready, with their palettes."""
        self._graph.push(image)
        while True:
            try:
                yield self._graph.pull()
            except self._ends:
                return


def _pixels(path: Path, transparent: bool) -> str:
    kind = path.suffix.lower()
    return "pal8" if kind == ".gif" else "bgra" if kind == ".webp" and transparent else "yuv420p"


def _container_options(path: Path) -> dict[str, str]:
    kind = path.suffix.lower()
    return {"movflags": "+faststart"} if kind == ".mp4" else {"loop": "0"} if kind in (".gif", ".webp") else {}


def _codec_options(name: str, codec: Codec, quality: int) -> dict[str, str]:
    if name == "gif":
        return {}
    if name == "webp":
        return {"quality": str(quality or 85)}
    crf = round(codec.worst * (100 - quality) / 100) if quality else codec.usual
    return {**codec.options, "crf": str(crf)}
