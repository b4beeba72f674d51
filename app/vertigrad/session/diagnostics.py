"""`Diagnostics`: scalars that show whether the models are stable, over time; `Limits`: those above their bounds."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Mapping
from contextlib import ExitStack
from typing import NamedTuple

from ..errors import GpuError
from ..gpu import Traffic
from ..models.base import Limit
from ..scene.stage import Stage
from ..tensor import Readback
from .statistics import TimeSeries

CAPACITY = 4096  # values stored of each
DROPPED = "dropped_time"  # of models with clocks: the fraction of the last frame's time that was skipped
SLOW = Limit(0.0, "more steps are due in a frame than are taken, so it runs slowly: a lower rate, or longer steps")


class Diagnostics(UserDict[str, float]):
    """The newest value of each by "model.name"; `history` has all values over model time.

    They are read without a stall: `ask` records the readbacks, `collect` takes the results some frames later, all at
    once.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage
        self.history: dict[str, TimeSeries] = {}
        self.revision = 0  # increases with each update of the values
        self._readings: dict[str, Readback] = {}
        self._counted: dict[str, float] = {}  # values that need no readback, at the time of `_readings`
        self._asked = -1, 0.0

    @property
    def pending(self) -> bool:
        """Whether readbacks are pending."""
        return bool(self._readings)

    def ask(self, time: float, changes: int) -> None:
        """Record the models' diagnostics as they are now, at model time `time` [s].

        Does nothing while readbacks are pending, or if `changes` is the same as last time. Raises what a model raises;
        then the next call records all of them.
        """
        if self._readings or self._asked[0] == changes:
            return
        counted = {
            f"{model}.{DROPPED}": max(clock.dropped for clock in instance.model.clocks)
            for model, instance in self._stage.instances.items()
            if instance.model.clocks
        }
        readings: dict[str, Readback] = {}
        for model, instance in self._stage.instances.items():
            tensors = instance.model.diagnostics()
            with ExitStack() as stack:
                for tensor in tensors.values():
                    stack.enter_context(tensor)
                for name, tensor in tensors.items():
                    readings[f"{model}.{name}"] = tensor.read_async(Traffic.DIAGNOSTICS)
        self._readings, self._counted, self._asked = readings, counted, (changes, time)

    def collect(self) -> None:
        """Take the results once all have arrived; if their frame was dropped, the next `ask` records them anew."""
        if not self._readings or not all(reading.done for reading in self._readings.values()):
            return
        readings, self._readings = self._readings, {}
        try:
            read = {name: float(reading.result().item()) for name, reading in readings.items()}
        except GpuError:
            self._asked = -1, 0.0
            return
        self.data = read | self._counted
        self.revision += 1
        for name, value in self.data.items():
            self.history.setdefault(name, TimeSeries(CAPACITY)).append(self._asked[1], value)

    def forget(self) -> None:
        """Drop pending readbacks."""
        self._readings.clear()
        self._asked = -1, 0.0

    def clear(self) -> None:
        """Drop everything: the models were replaced."""
        self.forget()
        self.revision += 1
        self.data.clear()
        self.history.clear()


class Excess(NamedTuple):
    """A diagnostic, by "model.name", whose `value` is above its limit, or not a number."""

    name: str
    value: float
    limit: Limit

    def __str__(self) -> str:
        return f"{self.name} is {self.value:.3g}, above {self.limit.bound:g}: {self.limit.advice}"


class Limits:
    """`exceeded` are the diagnostics that are too large now, in the order of the models; with `stopping` one stops the
    run. `worst` has the largest excess of each so far.
    """

    def __init__(self, stage: Stage, stopping: bool = False) -> None:
        self._stage = stage
        self.exceeded: tuple[Excess, ...] = ()
        self.worst: dict[str, Excess] = {}
        self.stopping = stopping
        self.checked = -1  # the revision of the diagnostics that were checked last

    def check(self, diagnostics: Mapping[str, float]) -> Excess | None:
        """Compare the values that there are; returns the first that was not exceeded before."""
        before = {excess.name for excess in self.exceeded}
        self.exceeded = tuple(
            Excess(name, diagnostics[name], limit)
            for name, limit in limits(self._stage).items()
            if name in diagnostics and not diagnostics[name] <= limit.bound
        )
        for excess in self.exceeded:
            known = self.worst.get(excess.name)
            if known is None or not (excess.value <= known.value or math.isnan(known.value)):
                self.worst[excess.name] = excess
        return next((excess for excess in self.exceeded if excess.name not in before), None)


def limits(stage: Stage) -> dict[str, Limit]:
    """The limits of all models of the scene, by the names of the diagnostics."""
    return {
        f"{model}.{name}": limit
        for model, instance in stage.instances.items()
        for name, limit in {**instance.model.limits, **({DROPPED: SLOW} if instance.model.clocks else {})}.items()
    }
