"""`TensorStatistics`: what one tensor inside a model holds: histogram, dead and saturated units, where NaN begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from .. import ops
from ..errors import GpuError
from ..gpu import Plan, Traffic
from ..models.inside import Source
from ..ops.summary import NEVER, Condition, Summary, spread, summarize
from ..ops.unit_peaks import unit_peaks
from ..scene.model_instance import ModelInstance
from ..scene.stage import Stage
from ..tensor import Readback, Tensor, f16, f32, u32

EVERY = 15  # frames between two readbacks
EDGE = 0.01  # distance from an end of an activation's range that is called saturated, of the range
RANGES = {  # of activations
    **dict.fromkeys(("Sigmoid", "HardSigmoid", "Softmax"), (0.0, 1.0)),
    **dict.fromkeys(("Tanh", "Softsign"), (-1.0, 1.0)),
    **dict.fromkeys(("Relu", "ThresholdedRelu"), (0.0, None)),
}


class TensorState(NamedTuple):
    """The statistics of a tensor. `counts` is the histogram between `summary.min` and `.max`.

    `peaks` are the largest magnitudes of each unit over the frames seen since the tensor was chosen; None for a tensor
    without units. `saturated` is the fraction of elements at an end of the range of `operator`; None if it has none.
    `difference` is of the tensor minus that of the same name in the other model, if one is compared.
    """

    shape: tuple[int, ...]
    operator: str
    summary: Summary
    counts: np.ndarray
    peaks: np.ndarray | None
    saturated: float | None
    difference: Summary | None = None

    @property
    def dead(self) -> int | None:
        """How many units were zero in all frames seen."""
        return None if self.peaks is None else int((self.peaks == 0.0).sum())


class TensorStatistics:
    """`chosen` is the model and the tensor whose statistics are taken, `state` their latest, `source` the first tensor
    inside the model that is not finite, with its operator, if the chosen one is not.

    A scene that is built anew continues with those chosen `before`.
    `observe` records what is due, `collect` takes what has been read back; nothing waits for the GPU.
    """

    def __init__(self, stage: Stage, before: TensorStatistics | None = None):
        self._stage = stage
        self.chosen: tuple[str, str] | None = None
        self.compared = ""  # the other model
        if before is not None and before.chosen is not None and before.chosen[0] in stage.instances:
            self.chosen, self.compared = before.chosen, before.compared
        self.state: TensorState | None = None
        self.source: tuple[str, str] | None = None
        self._peaks: _Peaks | None = None
        self._search: Source | None = None
        self._searched = False
        self._changes, self._followed_at, self._frames = -1, -1, EVERY  # of the last readback, and of `_peaks`
        self._readings: list[Readback] = []
        self._take: Callable[..., None] | None = None

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return bool(self._readings) or self._search is not None

    def choose(self, model: str | None, tensor: str = "", compared: str = "") -> None:
        """Take the statistics of this tensor from now on; of none if `model` is None.

        With the name of another model, `compared`, also those of the difference to its tensor of the same name.
        """
        self.forget()
        self.compared = compared
        self.chosen = None if model is None else (model, tensor)

    def observe(self, changes: int, now: bool = False) -> None:
        """Record what is due, at once or some frames after the last time, if tensors have changed since.

        `changes` counts how often.
        """
        self._frames += 1
        instance, tensor = self._observed()
        if instance is None or tensor is None or changes == self._changes:
            return
        peaks = self._followed(instance, tensor)
        if peaks is not None and changes != self._followed_at:
            peaks.update()
        self._followed_at = changes
        if (now or self._frames >= EVERY) and not self._readings:
            self._request(instance, tensor, peaks)
            self._changes, self._frames = changes, 0

    def collect(self) -> None:
        """Take the results that have been read back."""
        if self._search is not None and self._search.done:
            search, self._search = self._search, None
            self.source = _result(search)
            search.close()
        if self._readings and all(reading.done for reading in self._readings):
            readings, self._readings = self._readings, []
            try:
                values = [reading.result() for reading in readings]
            except GpuError:  # the frame they were recorded in was dropped
                self._changes = -1
                return
            assert self._take is not None
            self._take(*values)

    def forget(self) -> None:
        """Drop all results, as after the models were rebuilt; the tensor stays chosen."""
        for owned in (self._peaks, self._search):
            if owned is not None:
                owned.close()
        self._peaks = self._search = self.state = self.source = None
        self._searched = False
        self._changes, self._followed_at, self._frames = -1, -1, EVERY
        self._readings.clear()

    # inside -----------------------------------------------------------------------------------------------------

    def _observed(self) -> tuple[ModelInstance | None, Tensor | None]:
        if self.chosen is None:
            return None, None
        instance = self._stage.instances.get(self.chosen[0])
        return instance, None if instance is None else instance.outputs.get(self.chosen[1])

    def _other(self, tensor: Tensor) -> Tensor | None:
        """The tensor to compare with: that of the same name and shape in the other model."""
        instance = self._stage.instances.get(self.compared)
        if instance is None or self.chosen is None:
            return None
        other = instance.outputs.get(self.chosen[1])
        return other if other is not None and other.shape == tensor.shape else None

    def _followed(self, instance: ModelInstance, tensor: Tensor) -> _Peaks | None:
        assert self.chosen is not None
        axis = instance.inside.unit_axis(self.chosen[1])
        if axis is None or not tensor.ndim or tensor.dtype not in (f16, f32):
            return None
        if self._peaks is None or self._peaks.tensor is not tensor:
            if self._peaks is not None:
                self._peaks.close()
            self._peaks = _Peaks(tensor, axis)
        return self._peaks

    def _request(self, instance: ModelInstance, tensor: Tensor, peaks: _Peaks | None) -> None:
        assert self.chosen is not None
        name = self.chosen[1]
        known = instance.inside.known().get(name)
        operator, shape, dtype = known.operator if known else "", tensor.shape, tensor.dtype
        condition = _saturation(operator)
        with ExitStack() as stack:
            record = stack.enter_context(summarize(tensor, condition))
            counts = stack.enter_context(spread(tensor, record))
            readings = [record.read_async(Traffic.DIAGNOSTICS), counts.read_async(Traffic.DIAGNOSTICS)]
            other = self._other(tensor)
            if other is not None:
                difference = stack.enter_context(_difference(tensor, other))
                readings.append(stack.enter_context(summarize(difference)).read_async(Traffic.DIAGNOSTICS))
            if peaks is not None:
                readings.append(peaks.row.read_async(Traffic.DIAGNOSTICS))

        def take(words: np.ndarray, counted: np.ndarray, *more: np.ndarray) -> None:
            summary = Summary.of(words, dtype)
            saturated = None if condition is NEVER else summary.met / max(summary.size, 1)
            difference = Summary.of(more[0], f32) if other is not None else None
            found = more[-1].view(np.float32) if peaks is not None else None
            self.state = TensorState(shape, operator, summary, counted, found, saturated, difference)
            if (summary.nan or summary.infinite) and not self._searched:
                self._searched = True
                self._search = instance.inside.find_not_finite()

        self._readings, self._take = readings, take


class _Peaks:
    """The largest magnitude of each unit of a tensor so far, `row`: the bits of f32."""

    def __init__(self, tensor: Tensor, axis: int):
        self.tensor = tensor
        self.row = Tensor.zeros(tensor.shape[axis], u32, "largest magnitudes")
        self._plan = Plan("largest magnitudes")
        with self._plan.recording():
            unit_peaks(tensor, axis, self.row)

    def update(self) -> None:
        """Take the values of now into account."""
        self._plan.replay()

    def close(self) -> None:
        self._plan.close()
        self.row.close()


def _difference(one: Tensor, other: Tensor) -> Tensor:
    if one.dtype is f32 and other.dtype is f32:
        return ops.subtract(one, other)
    with ops.cast(one, f32) as a, ops.cast(other, f32) as b:
        return ops.subtract(a, b)


def _saturation(operator: str) -> Condition:
    if operator not in RANGES:
        return NEVER
    low, high = RANGES[operator]
    if high is None:
        return Condition(below=low + float(np.finfo(np.float32).tiny))  # GPUs take smaller numbers for 0
    edge = EDGE * (high - low)
    return Condition(below=low + edge, above=high - edge)


def _result(search: Source) -> tuple[str, str] | None:
    try:
        return search.result()
    except GpuError:
        return None
