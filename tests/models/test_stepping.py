"""Frames of any length are cut into steps of one length."""

from __future__ import annotations

import pytest

from vertigrad.models.stepping import FixedStep


@pytest.mark.parametrize("frames", [1, 7, 60, 1000])
def test_as_many_steps_as_the_time_holds(frames: int) -> None:
    stepping = FixedStep()
    taken = sum(stepping.due(1.0 / frames, 1e-2) for _ in range(frames)) if frames > 2 else stepping.due(0.5, 1e-2) * 2
    assert taken in (99, 100)
    assert 0.0 <= stepping.rest < 1e-2 * (1 + 1e-6)


def test_a_whole_number_of_steps_leaves_no_rest() -> None:
    stepping = FixedStep()
    assert [stepping.due(1.0 / 60.0, 1.0 / 240.0) for _ in range(600)] == [4] * 600


def test_time_beyond_the_most_is_dropped() -> None:
    stepping = FixedStep(most=10)
    assert stepping.due(1.0, 1e-2) == 10
    assert stepping.rest == 0.0
