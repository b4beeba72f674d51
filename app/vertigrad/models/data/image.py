"""`Image`: an image from a file, or an image sequence from a folder, for networks and layers."""

from __future__ import annotations

from pathlib import Path

from ... import params
from ...params import file, integer, number, switch
from ...tensor import Tensor
from .footage import STILLS, Stills
from .screen import ScreenModel


class Params(params.Params):
    """Image file and size."""

    file: Path = file(..., suffixes=STILLS, doc="image file; with sequence, any image of the folder")
    sequence: bool = switch(False, rebuild=True, doc="play all images of the folder in the order of their names")
    fps: float = number(24.0, min=0.0, max=1e3, slider_max=60.0, unit="/s", doc="images per simulated second")
    width: int = integer(
        0, min=0, max=1 << 14, rebuild=True, doc="width in pixels, with the aspect ratio preserved; 0: as in the file"
    )


class Image(ScreenModel):
    """An image or an image sequence as stored: sRGB values from 0 to 1, transparency blended over black.

    A thread reads images ahead of time; each is uploaded once, three bytes per pixel. A sequence loops; the image shown
    follows from the simulated time alone. Only in a window, if a file is not read in time, the previous image stays.
    """

    Params = Params

    @staticmethod
    def footage(params: Params) -> Stills:
        return Stills(params.file, params.sequence, params.width)

    def step(self, dt: float) -> None:
        if self.moves:  # a single image is there already
            self.advance(dt * self._params.fps)

    def state(self) -> dict[str, Tensor]:
        return super().state() if self.moves else {}
