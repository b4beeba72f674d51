"""`Image`: a picture from a file, or a folder of them one after the other, for networks and layers."""

from __future__ import annotations

from pathlib import Path

from ... import params
from ...params import file, integer, number, switch
from ...tensor import Tensor
from .footage import STILLS, Stills
from .screen import ScreenModel


class Params(params.Params):
    """Which picture, and how large."""

    file: Path = file(..., suffixes=STILLS, doc="the picture; with sequence, any one of the folder's pictures")
    sequence: bool = switch(False, rebuild=True, doc="all pictures of the folder, in the order of their names")
    rate: float = number(24.0, min=0.0, max=1e3, slider_max=60.0, unit="/s", doc="pictures in a simulated second")
    width: int = integer(0, min=0, max=1 << 14, rebuild=True, doc="columns, the rows to match; 0: those of the file")


class Image(ScreenModel):
    """A picture as stored: sRGB values from 0 to 1, what is transparent laid over black.

    Pictures are read ahead of time by a thread, and uploaded once, three bytes a pixel. A sequence begins anew at its
    end; which of its pictures is seen follows from the simulated time alone. Only a window that would have to wait for
    a file shows the picture before a little longer.
    """

    Params = Params

    @staticmethod
    def footage(params: Params) -> Stills:
        return Stills(params.file, params.sequence, params.width)

    def step(self, dt: float) -> None:
        if self._screen.moves:  # a single picture is there already
            self._screen.advance(dt * self._params.rate)

    def state(self) -> dict[str, Tensor]:
        return self._screen.outputs() if self._screen.moves else {}
