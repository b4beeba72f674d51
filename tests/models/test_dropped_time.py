"""Every model that cuts its frames into steps says what it drops of them, and drops nothing where that is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from vertigrad.gpu import Gpu
from vertigrad.models import registry
from vertigrad.models.stepping import FixedStep, no_dropped_time

from .test_extremes import SMALL

LONG = 0.5  # a frame [s] in which steps of all of them are due


@pytest.mark.parametrize("name", SMALL)
def test_dropped_time_is_reported_by_the_clocks_of_a_model(
    gpu: Gpu, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[FixedStep] = []
    begin = FixedStep.__init__

    def noted(clock: FixedStep, *options: Any, **named: Any) -> None:
        begin(clock, *options, **named)
        made.append(clock)

    monkeypatch.setattr(FixedStep, "__init__", noted)
    kind = registry.types()[name]
    model = kind("model", kind.Params.parse(SMALL[name]), {}, 0)
    try:
        assert list(model.clocks) == made
        for clock in made:
            clock.max_steps = 0
        model.step(LONG)
        assert [clock.dropped for clock in made] == [1.0] * len(made)
        with no_dropped_time():
            model.step(LONG)
        assert [clock.dropped for clock in made] == [0.0] * len(made)
    finally:
        model.close()
