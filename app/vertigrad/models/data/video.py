"""`Video`: the frames of a video, one after the other, for networks and layers."""

from __future__ import annotations

from pathlib import Path

from ... import params
from ...params import file, integer, number
from .clip import Clip
from .screen import ScreenModel

VIDEO_SUFFIXES = (".mp4", ".m4v", ".mov", ".webm", ".mkv", ".gif")


class Params(params.Params):
    """Which video, how fast, and how large."""

    file: Path = file(..., suffixes=VIDEO_SUFFIXES, doc="video file")
    time_scale: float = number(1.0, min=0.0, max=100.0, slider_max=4.0, doc="playback speed: 2 is twice as fast")
    width: int = integer(
        0, min=0, max=1 << 14, rebuild=True, doc="width in pixels, with the aspect ratio preserved; 0: as in the file"
    )


class Video(ScreenModel):
    """The frames of a video as stored: sRGB values from 0 to 1, without sound. It loops.

    A thread decodes frames ahead of time; each is uploaded once, three bytes per pixel; a short clip stays on the GPU.
    The frame shown follows from the simulated time alone. Only in a window, if the decoder is late, the previous frame
    stays.
    """

    Params = Params

    @staticmethod
    def footage(params: Params) -> Clip:
        return Clip(params.file, params.width)

    def step(self, dt: float) -> None:
        self.advance(dt * self._params.time_scale)
