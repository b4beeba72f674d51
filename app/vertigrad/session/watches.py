"""`Watches`: statistics of tensors over time, and conditions that stop the run, computed on the GPU without a stall.

A guard checks every float output for NaN and infinity, one output after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..errors import GpuError, ParameterError
from ..gpu import Traffic
from ..ops.summary import WORDS, Condition, Summary, summarize
from ..params import unknown
from ..scene.schema import OutputRef
from ..scene.stage import Stage
from ..tensor import DType, Readback, Tensor
from ..tensor.shape import Shape
from . import catalog
from .statistics import TimeSeries

Statistic = Literal["min", "max", "mean", "std", "norm", "nan", "infinite"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
CAPACITY = 4096  # values of each watch
EVERY = 4  # steps between two checks of a watch
GUARD_EVERY = 20  # steps between two checks of the guard, each at one output
NOT_FINITE = Condition(nan=True, infinite=True)


class Watch(NamedTuple):
    """A statistic of a tensor (by its name in the catalog), and the condition that stops the run."""

    tensor: str
    statistic: Statistic = "mean"
    stop: Condition = Condition()

    @property
    def label(self) -> str:
        """A short description."""
        return f"{self.statistic} of {self.tensor}"


class Alarm(NamedTuple):
    """A condition was met: in which tensor, what was found, how often, and where first.

    `row` counts along the first axis, `element` is the index along all axes of the tensor, whose shape was `shape`;
    `frame` and `time` [s] are the model's.
    """

    tensor: str
    condition: Condition
    met: int
    row: int
    element: tuple[int, ...]
    shape: Shape
    frame: int
    time: float

    def __str__(self) -> str:
        others = f", and {self.met - 1:,} more" if self.met > 1 else ""
        where = ", ".join(map(str, self.element))
        return f"{self.tensor}[{where}] is {self.condition}{others} (step {self.frame}, {self.time:.2f} s)"


class _Check(NamedTuple):
    """One tensor that is being summarized: for which watches (none: for the guard), and what it was then."""

    watches: tuple[Watch, ...]
    tensor: str
    condition: Condition
    shape: Shape
    dtype: DType


class Watches:
    """`history` has the values of every watch over model time; `alarm` is what stopped the run last.

    `observe` records what is due into one small tensor, `collect` takes the values when they have been read back. With
    `thorough` the guard checks all outputs after every step. If the `same` scene is rebuilt, the watches `before` go
    on; for another scene only the settings of the guard do.
    """

    def __init__(self, stage: Stage, before: Watches | None = None, same: bool = False) -> None:
        self._stage = stage
        self.history: dict[Watch, TimeSeries] = dict(before.history) if before and same else {}
        self.latest: dict[Watch, Summary] = dict(before.latest) if before and same else {}
        self.guarding = before.guarding if before else True
        self.thorough = before.thorough if before else False
        self.alarm: Alarm | None = None
        self._met: set[tuple[str, Condition]] = set()  # conditions that already stopped the run, and hold since
        self._checked = -1  # changes at the last check
        self._steps = self._guarded = 0  # steps, and outputs that the guard has checked
        self._fresh = False  # a watch has no value yet
        self._reading: tuple[Readback, list[_Check], int, float] | None = None

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return self._reading is not None

    @property
    def over(self) -> bool:
        """Whether the run is to end: it is `thorough`, and something was found."""
        return self.thorough and self.alarm is not None

    def __iter__(self) -> Iterator[Watch]:
        return iter(self.history)

    def __len__(self) -> int:
        return len(self.history)

    def add(self, watch: Watch) -> None:
        """Add a watch. Raises `ParameterError` for an unknown tensor or statistic."""
        catalog.require(self._stage, watch.tensor)
        if watch.statistic not in STATISTICS:
            raise ParameterError(unknown("statistic", watch.statistic, STATISTICS))
        self.history.setdefault(watch, TimeSeries(CAPACITY))
        self._checked, self._fresh = -1, True

    def remove(self, watch: Watch) -> None:
        """Remove a watch, if there is such a one."""
        self.history.pop(watch, None)
        self.latest.pop(watch, None)

    def observe(self, changes: int, frame: int, time: float) -> None:
        """Record what is due in this frame; `changes` counts how often tensors changed.

        While a readback is pending this check is skipped, unless it is `thorough`.
        """
        if changes == self._checked:
            return
        if self._reading is not None and self.thorough:
            self._reading[0].result()
            self.collect()
        if self._reading is not None:
            return
        self._checked = changes
        self._steps += 1
        due = [*self._watched(), *self._guard()]
        if not due:
            return
        self._fresh = False
        with Tensor.empty((len(due), WORDS), "u32", "watches") as records:
            for (check, tensor), record in zip(due, records, strict=True):
                summarize(tensor, check.condition, out=record)
            self._reading = (records.read_async(Traffic.DIAGNOSTICS), [check for check, _ in due], frame, time)

    def collect(self) -> Alarm | None:
        """Take the values that have been read back; returns a new alarm, if any."""
        if self._reading is None or not self._reading[0].done:
            return None
        (reading, checks, frame, time), self._reading = self._reading, None
        try:
            words = reading.result()
        except GpuError:  # the frame they were recorded in was dropped
            self._checked, self._fresh = -1, True
            return None
        found: Alarm | None = None
        for check, record in zip(checks, words, strict=True):
            summary = Summary.of(record, check.dtype)
            self._note(check, summary, time)
            alarm = self._judged(check, summary, frame, time)
            found = found or alarm
        self.alarm = found or self.alarm
        return found

    def dismiss_alarm(self) -> None:
        """Dismiss the alarm: the run may continue, and stops only for something new."""
        self.alarm = None

    def forget(self) -> None:
        """Drop pending readbacks and the alarm: the simulation was reset."""
        self._reading = self.alarm = None
        self._met.clear()
        self._checked = -1

    def clear(self) -> None:
        """Drop everything, for other models."""
        self.forget()
        self.history.clear()
        self.latest.clear()

    # inside -----------------------------------------------------------------------------------------------------

    def _watched(self) -> Iterator[tuple[_Check, Tensor]]:
        if not self.history or not (self._fresh or self._steps % EVERY == 0):
            return
        entries = catalog.catalog(self._stage)
        together: dict[tuple[str, Condition], list[Watch]] = {}  # one readback of a tensor gives all its statistics
        for watch in self.history:
            if watch.tensor in entries:
                together.setdefault((watch.tensor, watch.stop), []).append(watch)
        for (name, stop), watches in together.items():
            tensor = entries[name].tensor
            yield _Check(tuple(watches), name, stop, tensor.shape, tensor.dtype), tensor

    def _guard(self) -> Iterator[tuple[_Check, Tensor]]:
        if not self.guarding or (not self.thorough and self._steps % GUARD_EVERY):
            return
        outputs = list(guarded(self._stage).items())
        if not self.thorough and outputs:
            self._guarded += 1
            outputs = [outputs[self._guarded % len(outputs)]]
        for name, tensor in outputs:
            yield _Check((), name, NOT_FINITE, tensor.shape, tensor.dtype), tensor

    def _note(self, check: _Check, summary: Summary, time: float) -> None:
        for watch in check.watches:
            if watch in self.history:
                self.latest[watch] = summary
                value = getattr(summary, watch.statistic)
                self.history[watch].append(time, math.nan if value is None else float(value))

    def _judged(self, check: _Check, summary: Summary, frame: int, time: float) -> Alarm | None:
        key = check.tensor, check.condition
        if summary.first is None:
            self._met.discard(key)
            return None
        if key in self._met:
            return None
        self._met.add(key)
        return _alarm(check.tensor, check.condition, check.shape, summary, frame, time)


def not_finite(stage: Stage, frame: int, time: float) -> Alarm | None:
    """NaN or infinity in an output of a model that has a state, which data have not. Waits for the GPU."""
    for name, tensor in guarded(stage).items():
        if stage.instances[name.partition(".")[0]].model.state():
            with summarize(tensor, NOT_FINITE) as record:
                summary = Summary.of(record.read_async(Traffic.DIAGNOSTICS).result(), tensor.dtype)
            if summary.first is not None:
                return _alarm(name, NOT_FINITE, tensor.shape, summary, frame, time)
    return None


def _alarm(tensor: str, condition: Condition, shape: Shape, summary: Summary, frame: int, time: float) -> Alarm:
    element = tuple(map(int, np.unravel_index(summary.first or 0, shape)))
    return Alarm(tensor, condition, summary.met, element[0] if element else 0, element, shape, frame, time)


def shown_in(stage: Stage, alarm: Alarm) -> tuple[str, int] | None:
    """The layer and row that draw the element of an alarm: of its tensor, else of another output of its model."""
    tensor = catalog.find(stage, alarm.tensor)
    model = alarm.tensor.partition(".")[0]
    of_model: tuple[str, int] | None = None
    for name, layer in stage.layers.items():
        refs = [ref for ref in stage.scene.layers[name].attributes.values() if isinstance(ref, OutputRef)]
        row = _row(alarm, layer.attributes.rows)
        if row is not None and alarm.tensor in map(str, refs):
            return name, row
        if row is not None and any(ref.model == model for ref in refs):
            of_model = of_model or (name, row)
        parts = [stage.instances[ref.model].outputs[ref.output] for ref in refs if ref.model == model]
        if tensor is not None and alarm.row < layer.attributes.rows and any(_part(part, tensor) for part in parts):
            return name, alarm.row
    return of_model


def _row(alarm: Alarm, rows: int) -> int | None:
    """The row of a layer of `rows` rows that the element of an alarm is in; None if the shapes do not match."""
    axes = catalog.row_axes(alarm.shape, rows)
    return None if axes is None else int(np.ravel_multi_index(alarm.element[:axes], alarm.shape[:axes]))


def guarded(stage: Stage) -> Mapping[str, Tensor]:
    """The outputs of floats, without those that are a part of another output, which contains them."""
    outputs = {
        f"{model}.{name}": tensor
        for model, instance in stage.instances.items()
        for name, tensor in instance.outputs.items()
        if tensor.dtype.kind == "float" and tensor.size
    }
    return {
        name: tensor
        for name, tensor in outputs.items()
        if not any(_part(tensor, whole) for other, whole in outputs.items() if other != name)
    }


def _part(part: Tensor, whole: Tensor) -> bool:
    """Whether `part` is the beginning of `whole` along its axes, and smaller."""
    if part.owner is not whole.owner or part.dtype is not whole.dtype or part.ndim != whole.ndim:
        return False
    same_start = part.offset == whole.offset and part.strides == whole.strides
    within = all(n <= m for n, m in zip(part.shape, whole.shape, strict=True))
    return same_start and within and part.shape != whole.shape
