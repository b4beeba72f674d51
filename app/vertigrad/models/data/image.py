"""`Image`: a picture from a file, or a folder of them one after the other, for networks and layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ... import ops, params
from ...params import file, integer, number, switch
from ...tensor import Tensor
from ..base import Comparison, Model, OutputSpec
from .footage import STILLS, Stills
from .screen import Screen, outputs_of


class Params(params.Params):
    """Which picture, and how large."""

    file: Path = file(..., suffixes=STILLS, doc="the picture; with sequence, any one of the folder's pictures")
    sequence: bool = switch(False, rebuild=True, doc="all pictures of the folder, in the order of their names")
    rate: float = number(24.0, min=0.0, max=1e3, soft_max=60.0, unit="/s", doc="pictures in a simulated second")
    width: int = integer(0, min=0, max=1 << 14, rebuild=True, doc="columns, the rows to match; 0: those of the file")


class Image(Model):
    """A picture as stored: sRGB values from 0 to 1, what is transparent laid over black.

    Pictures are read ahead of time by a thread, and uploaded once, three bytes a pixel. A sequence begins anew at its
    end; which of its pictures is seen follows from the simulated time alone. Only a window that would have to wait for
    a file shows the picture before a little longer.
    """

    Params = Params

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return outputs_of(_stills(params))

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        stills = _stills(params)
        self._moves = stills.count > 1
        self._screen = Screen(name, stills)

    def step(self, dt: float) -> None:
        if self._moves:  # a single picture is there already
            self._screen.advance(dt * self._params.rate)

    def outputs(self) -> dict[str, Tensor]:
        return self._screen.outputs()

    def diagnostics(self) -> dict[str, Tensor]:
        """The mean of all `pixels`."""
        return {"mean": ops.mean(self.outputs()["pixels"])}

    def compare_with_twin(self) -> list[Comparison]:
        """The picture beside the same, read from the file once more."""
        return self._screen.compare_with_file()

    def reset(self) -> None:
        self._screen.restart()

    def state(self) -> dict[str, Tensor]:
        return self._screen.outputs() if self._moves else {}

    def numbers(self) -> dict[str, float]:
        return self._screen.numbers()

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._screen.resume(numbers)

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._screen.close()


def _stills(params: Params) -> Stills:
    return Stills(params.file, params.sequence, params.width)
