"""`Video`: the pictures of a video, one after the other, for networks and layers."""

from __future__ import annotations

from pathlib import Path

from ... import params
from ...params import file, integer, number
from ...tensor import Tensor
from .clip import Clip
from .screen import ScreenModel

FILMS = (".mp4", ".m4v", ".mov", ".webm", ".mkv", ".gif")


class Params(params.Params):
    """Which video, how fast, and how large."""

    file: Path = file(..., suffixes=FILMS, doc="the video")
    rate: float = number(1.0, min=0.0, max=100.0, slider_max=4.0, doc="seconds of the video in a simulated second")
    width: int = integer(0, min=0, max=1 << 14, rebuild=True, doc="columns, the rows to match; 0: those of the file")


class Video(ScreenModel):
    """A video's pictures as stored: sRGB values from 0 to 1, without the sound. It begins anew at its end.

    Pictures are decoded ahead of time by a thread, and uploaded once, three bytes a pixel; a clip that has room stays
    on the GPU. Which one is seen follows from the simulated time alone. Only a window that would have to wait for
    the decoder shows the one before a little longer.
    """

    Params = Params

    @staticmethod
    def footage(params: Params) -> Clip:
        return Clip(params.file, params.width)

    def step(self, dt: float) -> None:
        self._screen.advance(dt * self._params.rate)

    def state(self) -> dict[str, Tensor]:
        return self._screen.outputs()
