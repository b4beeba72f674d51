"""`Video`: the pictures of a video, one after the other, for networks and layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ... import ops, params
from ...params import file, integer, number
from ...tensor import Tensor
from ..base import Comparison, Model, OutputSpec
from .clip import Clip
from .screen import Screen, outputs_of

FILMS = (".mp4", ".m4v", ".mov", ".webm", ".mkv", ".gif")


class Params(params.Params):
    """Which video, how fast, and how large."""

    file: Path = file(..., suffixes=FILMS, doc="the video")
    rate: float = number(1.0, min=0.0, max=100.0, soft_max=4.0, doc="seconds of the video in a simulated second")
    width: int = integer(0, min=0, max=1 << 14, rebuild=True, doc="columns, the rows to match; 0: those of the file")


class Video(Model):
    """A video's pictures as stored: sRGB values from 0 to 1, without the sound. It begins anew at its end.

    Pictures are decoded ahead of time by a thread, and uploaded once, three bytes a pixel; a clip that has room stays
    on the GPU. Which one is seen follows from the simulated time alone. Only a window that would have to wait for
    the decoder shows the one before a little longer.
    """

    Params = Params

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return outputs_of(_clip(params))

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        self._screen = Screen(name, _clip(params))

    def step(self, dt: float) -> None:
        self._screen.advance(dt * self._params.rate)

    def outputs(self) -> dict[str, Tensor]:
        return self._screen.outputs()

    def diagnostics(self) -> dict[str, Tensor]:
        """The mean of all `pixels`."""
        return {"mean": ops.mean(self.outputs()["pixels"])}

    def compare_with_twin(self) -> list[Comparison]:
        """The picture beside the same, decoded from the file once more."""
        return self._screen.compare_with_file()

    def reset(self) -> None:
        self._screen.restart()

    def state(self) -> dict[str, Tensor]:
        return self._screen.outputs()

    def numbers(self) -> dict[str, float]:
        return self._screen.numbers()

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._screen.resume(numbers)

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._screen.close()


def _clip(params: Params) -> Clip:
    return Clip(params.file, params.width)
