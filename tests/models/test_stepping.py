"""Frames of any length are divided into steps of one length."""

from __future__ import annotations

import pytest

from vertigrad.models.stepping import FixedStep, no_dropped_time


@pytest.mark.parametrize("frames", [1, 7, 60, 1000])
def test_the_number_of_steps_for_a_time(frames: int) -> None:
    stepping = FixedStep()
    taken = sum(stepping.due(1.0 / frames, 1e-2) for _ in range(frames)) if frames > 2 else stepping.due(0.5, 1e-2) * 2
    assert taken in (99, 100)
    assert 0.0 <= stepping.remainder < 1e-2 * (1 + 1e-6)


def test_an_integer_number_of_steps_has_no_remainder() -> None:
    stepping = FixedStep()
    assert [stepping.due(1.0 / 60.0, 1.0 / 240.0) for _ in range(600)] == [4] * 600


def test_time_beyond_the_maximum_is_dropped() -> None:
    stepping = FixedStep(max_steps=10)
    assert stepping.due(1.0, 1e-2) == 10
    assert stepping.remainder == 0.0
    assert stepping.dropped == pytest.approx(0.9)
    stepping.due(0.0, 1e-2)
    assert stepping.dropped == pytest.approx(0.9), "a frame without time says nothing about the speed"
    assert stepping.due(0.05, 1e-2) == 5
    assert stepping.dropped == 0.0


def test_no_time_is_dropped_on_request() -> None:
    stepping = FixedStep(max_steps=10)
    with no_dropped_time():
        assert stepping.due(1.005, 1e-2) == 100
        assert stepping.remainder == pytest.approx(5e-3)
        assert stepping.divide(1.0, 1e-2) == (100, pytest.approx(1e-2))
        assert stepping.dropped == 0.0
    assert stepping.due(1.0, 1e-2) == 10


@pytest.mark.parametrize(("time", "steps"), [(0.05, 1), (0.02, 1), (0.051, 2), (0.5, 10), (-0.125, 3), (0.0, 1)])
def test_a_frame_is_divided_into_equal_steps(time: float, steps: int) -> None:
    stepping = FixedStep()
    assert stepping.divide(time, 0.05) == (steps, pytest.approx(time / steps))
    assert stepping.remainder == 0.0


def test_the_remainder_of_a_division_is_dropped() -> None:
    stepping = FixedStep(max_steps=4)
    assert stepping.divide(1.0, 0.125) == (4, 0.125)
    assert stepping.dropped == 0.5
