"""Every model with substeps reports the time that it drops, and drops none on request."""

from __future__ import annotations

from typing import Any

import pytest

from vertigrad.gpu import Gpu
from vertigrad.models import registry
from vertigrad.models.stepping import FixedStep, no_dropped_time

from .extremes import SMALL

LONG = 0.5  # frame time [s] in which every model has a step


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_dropped_time_is_reported_by_the_clocks_of_a_model(
    gpu: Gpu, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[FixedStep] = []
    begin = FixedStep.__init__

    def noted(clock: FixedStep, *options: Any, **named: Any) -> None:
        begin(clock, *options, **named)
        created.append(clock)

    monkeypatch.setattr(FixedStep, "__init__", noted)
    kind = registry.types()[name]
    model = kind("model", kind.Params.parse(SMALL[name]), {}, 0)
    try:
        assert list(model.clocks) == created
        for clock in created:
            clock.max_steps = 0
        model.step(LONG)
        assert [clock.dropped for clock in created] == [1.0] * len(created)
        with no_dropped_time():
            model.step(LONG)
        assert [clock.dropped for clock in created] == [0.0] * len(created)
    finally:
        model.close()
