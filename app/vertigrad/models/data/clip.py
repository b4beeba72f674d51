"""`Clip`: the frames of a video."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.error import FFmpegError

from ...errors import InputError
from .footage import Footage, scaled

FROM_THE_START = ("gif", "apng")  # their frames build on the ones before, whatever the file states
FORMATS = "mov,matroska,gif,apng"  # no lists of files, which could name some outside of the folder
MOST_PIXELS = 1 << 25  # of a frame: what a few bytes of a file can claim is allocated before these are read
CUT_OFF = 0.5  # seconds that may be missing of the length that a file gives; more, and its end is gone


class _Index(NamedTuple):
    """The frames' times as the file has them, rising, those of frames that stand alone, and the time of a tick."""

    times: list[int]
    keys: list[int]
    end: int
    tick: float


class Clip(Footage):
    """A video's frames, at the times it gives them; sound is left out. One that is marked as turned is turned.

    `columns` is their width, 0 for their own. Raises `InputError` for a file that is no video, that is damaged, or that
    ends early, where that is found: at once, or while its frames are read.
    """

    def __init__(self, file: Path, columns: int = 0):
        self.file = file
        with closing(self._decoded(None)) as frames:
            first = next(frames, None)
        if first is None:
            raise InputError(f"{file} has no frames")
        size = (first.width, first.height) if first.rotation % 180 else (first.height, first.width)
        self.rows, self.columns = scaled(size, columns)

    @cached_property
    def starts(self) -> list[float]:  # type: ignore[override]
        """When each frame begins [s]. The first use reads the whole file, without decoding it."""
        index = self._index
        return [(time - index.times[0]) * index.tick for time in index.times]

    @cached_property
    def duration(self) -> float:  # type: ignore[override]
        """When the last frame ends [s]."""
        return (self._index.end - self._index.times[0]) * self._index.tick

    def frames(self, first: int) -> Generator[np.ndarray, None, None]:
        """As in `Footage`. A frame that the decoder leaves out is the one before it, as in a player."""
        return self._frames(first, seek=first > 0)

    def _frames(self, first: int, seek: bool) -> Generator[np.ndarray, None, None]:
        times, number, before = self._index.times, first, None
        with closing(self._decoded(times[first] if seek else None)) as frames:
            for frame in frames:
                index = bisect_right(times, frame.pts) - 1
                if index > number and before is None and seek:
                    break  # the file's index is wrong: it went too far
                if frame.is_corrupt and index >= number:
                    raise InputError(f"{self.file} is damaged at {self.starts[index]:.2f} s (frame {index})")
                for _ in range(number, index):
                    yield self._pixels(frame if before is None else before)
                if index >= number:
                    yield self._pixels(frame)
                number, before = max(number, index + 1), frame
        if before is None and seek:
            yield from self._frames(first, seek=False)
        elif number < self.count:
            raise InputError(f"{self.file} ends early: {number} of its {self.count} frames can be read")

    @cached_property
    def _index(self) -> _Index:
        try:
            with self._opened() as container:
                return self._read_index(container)
        except FFmpegError as error:
            raise self._damaged(error) from error

    def _read_index(self, container: Any) -> _Index:
        stream = _video(container)
        times: dict[int, bool] = {}
        end, reached, packets = 0, 0.0, 0
        for packet in container.demux():
            if packet.pts is None:
                continue
            reached = max(reached, float((packet.pts + (packet.duration or 0)) * packet.time_base))
            if packet.stream is not stream:
                continue
            packets += 1
            if not packet.is_discard:
                times[packet.pts] = packet.is_keyframe
                end = max(end, packet.pts + max(packet.duration or 0, 1))
        if not times:
            raise InputError(f"{self.file} has no frame times; convert it to mp4 or webm")
        promised = (container.duration or 0) / 1e6 + float((container.start_time or 0) / 1e6)
        allowed = 2 * promised / stream.frames if packets < stream.frames else CUT_OFF
        if reached < promised - allowed:
            raise InputError(f"{self.file} ends early: {reached:.2f} s of {promised:.2f} s can be read")
        ordered = sorted(times)
        if len(ordered) > 1:  # a last frame of no length stays as long as the others do
            end = max(end, ordered[-1] + (ordered[-1] - ordered[0]) // (len(ordered) - 1))
        return _Index(ordered, [time for time in ordered if times[time]], end, float(stream.time_base))

    def _decoded(self, time: int | None) -> Generator[Any, None, None]:
        """Frames in the order they are shown, from one that stands alone before `time`; None: from the start."""
        try:
            with self._opened() as container:
                stream = _video(container)
                stream.thread_type = "AUTO"
                if time is not None and container.format.name not in FROM_THE_START:
                    self._seek(container, stream, time)
                yield from (frame for frame in container.decode(stream) if frame.pts is not None)
        except FFmpegError as error:
            raise self._damaged(error) from error

    def _seek(self, container: Any, stream: Any, time: int) -> None:
        """A frame may need the one that stands alone before the last: those shown between two can refer to both."""
        keys = self._index.keys
        at = bisect_right(keys, time) - 2
        if at > 0:
            container.seek(keys[at], stream=stream, backward=True)

    def _pixels(self, frame: Any) -> np.ndarray:
        turns = round(frame.rotation / 90) % 4
        width, height = (self.rows, self.columns) if turns % 2 else (self.columns, self.rows)
        same = (frame.width, frame.height) == (width, height)
        shown = frame.reformat(width, height, "rgb24", interpolation="POINT" if same else "AREA")
        return np.ascontiguousarray(np.rot90(shown.to_ndarray(), turns))

    def _opened(self) -> Any:
        try:
            # Titles may be in any encoding.
            container = av.open(str(self.file), options={"format_whitelist": FORMATS}, metadata_errors="replace")
        except (FFmpegError, OSError) as error:
            raise InputError(f"{self.file} cannot be read as a video: {_why(error)}") from error
        try:
            self._require_readable(container)
        except InputError:
            container.close()
            raise
        return container

    def _require_readable(self, container: Any) -> None:
        """Also frames that are larger than the file says are not decoded."""
        if not container.streams.video:
            raise InputError(f"{self.file} has no video stream")
        context = _video(container).codec_context
        if context is None:
            raise InputError(f"{self.file} has a codec that is not known; convert it to mp4 or webm")
        context.options = {"max_pixels": str(MOST_PIXELS)}
        if context.width * context.height > MOST_PIXELS:
            size = f"{context.width:,} x {context.height:,} pixels"
            raise InputError(f"{self.file} has {size}; up to {MOST_PIXELS:,} (8K) are read")

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"{self.file} is damaged: {_why(error)}")


def _video(container: Any) -> Any:
    return container.streams.best("video") or container.streams.video[0]


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
