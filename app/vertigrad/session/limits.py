"""`Limits`: diagnostics above the bounds that their models name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ..models.base import Limit
from ..scene.stage import Stage
from .diagnostics import DROPPED

SLOW = Limit(0.0, "more steps are due in a frame than are taken, so it runs slowly: a lower rate, or longer steps")


class Excess(NamedTuple):
    """A diagnostic, by "model.name", whose `value` is above its limit, or no number."""

    name: str
    value: float
    limit: Limit

    def __str__(self) -> str:
        return f"{self.name} is {self.value:.3g}, above {self.limit.bound:g}: {self.limit.advice}"


class Limits:
    """`exceeded` are those that are too large now, in the order of the models; with `stopping` one stops the run.

    `worst` has the largest excess of each that was ever seen.
    """

    def __init__(self, stopping: bool = False) -> None:
        self.exceeded: tuple[Excess, ...] = ()
        self.worst: dict[str, Excess] = {}
        self.stopping = stopping
        self.checked = -1  # the revision of the diagnostics that were checked last

    def check(self, stage: Stage, diagnostics: Mapping[str, float]) -> Excess | None:
        """Compare the values that there are; returns the first that was not exceeded before."""
        before = {excess.name for excess in self.exceeded}
        self.exceeded = tuple(
            Excess(name, diagnostics[name], limit)
            for name, limit in limits(stage).items()
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
