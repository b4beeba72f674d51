"""`Recording`: the tensors of a recorded run, frame by frame, next to those of a run that is going on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...params import file, integer, switch, text, unknown
from ...tensor import Tensor, dtype
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from . import recording_file as files
from .file_cache import cached
from .frames_ahead import FramesAhead

NEAR = 1e-6  # of a frame: times are sums of steps


class Params(params.Params):
    """Which recording, and which of its frames."""

    file: Path = file(
        ..., suffixes=(files.ARCHIVE, files.DESCRIPTION), doc="recording, .vgz, or the file zarr.json of a .zarr folder"
    )
    play: bool = switch(True, doc="show the frame of the current time; off: the one that `frame` says")
    frame: int = integer(0, min=0, max=files.MOST, slider_max=600, doc="frame shown if `play` is off, from 0")
    loop: bool = switch(False, doc="begin again after the last frame, which stays otherwise")
    compared: str = text(
        "", rebuild=True, doc="output that is compared with the input `live`: the output `difference`; empty: none"
    )


class Recording(NamedTensorsModel):
    """Outputs that `vertigrad record` wrote, at the times at which they were written.

    An output "galaxy.position" has the name `position`, or `galaxy_position` if the recording is of several models.
    A thread reads and decompresses frames before they are shown; then they are uploaded. The output `difference` is the
    length of `live` − `compared` in each row: of the last axis, or of the number itself where there is one axis.
    """

    Params = Params
    divisible = False  # a step reads a file
    scalars = ("time",)
    inputs: ClassVar[Mapping[str, str]] = {"live": "an output of the shape of `compared`, of a model that runs; f32"}
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "frame": DiagnosticSpec("number of the frame that is shown, from 0"),
        "difference": DiagnosticSpec("root mean square of the output `difference`; 0 without one"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        names, tensors = _names(params.file)
        found = {
            key: OutputSpec(tensors[name].shape, tensors[name].dtype, f"{name}, as recorded")
            for key, name in names.items()
        }
        if params.compared:
            spec = _compared(params, found)
            found["difference"] = OutputSpec(
                _rows(spec.shape), "f32", f"distance of `live` from the recorded {params.compared}"
            )
        return found

    def step(self, dt: float) -> None:
        self._time += dt
        self._show()

    def reset(self) -> None:
        self._time = 0.0
        self._shown = -1
        self._show()

    def state(self) -> dict[str, Tensor]:
        return dict(self._views)

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._shown = -1

    def diagnostics(self) -> dict[str, Tensor]:
        difference = self._tensors.get("difference")
        rms = Tensor.zeros(1) if difference is None else ops.sqrt(ops.mean(difference * difference)).reshape(1)
        return {"frame": Tensor.full(1, self._number()), "difference": rms}

    def compare_with_reference(self) -> list[Comparison]:
        """The frame that is shown, read once more; and the difference in NumPy."""
        self._show()
        found = []
        for key, name in self._names.items():
            reference = np.nan_to_num(self._recording.frame(name, self._shown)).astype(float)
            found.append(compare(key, np.nan_to_num(self._tensors[key].numpy()), reference, 1e-7))
        if "difference" in self._tensors:
            recorded = self._tensors[self._params.compared].numpy().astype(float)
            away = self._inputs["live"].numpy().astype(float) - recorded if "live" in self._inputs else 0 * recorded
            length = np.abs(away) if away.ndim == 1 else np.linalg.norm(away, axis=-1)
            found.append(compare("difference", self._tensors["difference"].numpy(), length, 1e-5))
        return found

    def _create(self, parts: Parts) -> None:
        self._recording = files.open_recording(self._params.file)
        parts.callback(self._recording.close)
        self._names, tensors = _names(self._params.file)
        self._ahead = FramesAhead(self._recording, list(self._names.values()))
        parts.callback(self._ahead.close)
        for key, name in self._names.items():
            parts.zeros(key, *tensors[name].shape, dtype=dtype.dtype_of(tensors[name].dtype))
        if self._params.compared:
            self._create_difference(parts)

    def _create_difference(self, parts: Parts) -> None:
        recorded, live = self._tensors[self._params.compared], self._inputs.get("live")
        difference = parts.zeros("difference", *_rows(recorded.shape))
        if live is None:
            return
        if live.shape != recorded.shape:
            raise InputError(
                f"{self.name}: live has the shape {live.shape}, the recorded {self._params.compared} {recorded.shape}"
            )
        self._plan = parts.plan("difference")
        with self._plan.recording():
            away = live - recorded
            ops.assign(difference, ops.absolute(away) if away.ndim == 1 else ops.norm(away, axis=-1))

    def _number(self) -> int:
        """The frame to show."""
        last, recorded = self._recording.count - 1, self._recording.recorded
        if not self._params.play:
            return min(self._params.frame, last)
        number = max(0, math.floor((self._time - recorded.start) / recorded.interval + NEAR))
        return number % (last + 1) if self._params.loop else min(number, last)

    def _show(self) -> None:
        """Upload the frame to show, unless it is there, and compare it."""
        number = self._number()
        if number != self._shown:
            step = number - self._shown if self._shown >= 0 else 1
            frame = self._ahead.take(number, step, self._params.play and self._params.loop)
            for key, name in self._names.items():
                self._tensors[key][...] = frame[name]
            self._shown = number
        if self._plan is not None:
            self._plan.update()

    _shown = -1  # the number of the frame in the tensors
    _plan: Any = None


@cached(4)
def _names(path: Path) -> tuple[Mapping[str, str], Mapping[str, files.RecordedTensor]]:
    """The names in the recording by those of outputs, and its tensors. Raises `InputError`."""
    recording = files.open_recording(path)
    recording.close()
    single = len({name.partition(".")[0] for name in recording.tensors}) == 1
    names = {output_name(name, single): name for name in recording.tensors}
    if len(names) < len(recording.tensors) or "difference" in names:
        raise InputError(f"{path}: is no readable recording (two outputs have one name, or one is called difference)")
    return names, recording.tensors


def output_name(name: str, single: bool) -> str:
    """The name of an output of the model, for "galaxy.position"; `single`: if all are of one model."""
    model, _, output = name.partition(".")
    return (output if single else f"{model}_{output}").replace("-", "_")


def _rows(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    return shape if len(shape) == 1 else shape[:-1]


def _compared(params: Params, found: Mapping[str, OutputSpec]) -> OutputSpec:
    if params.compared not in found:
        raise InputError(f"compared: {unknown('output', params.compared, found)}")
    if found[params.compared].dtype != "f32":
        raise InputError(
            f"compared: {params.compared} has elements of {found[params.compared].dtype}; only f32 is compared"
        )
    return found[params.compared]
