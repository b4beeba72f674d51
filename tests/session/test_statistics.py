"""Series of numbers, histories over model time, and their statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad.session.statistics import GpuTimes, Series, TimeSeries, computes, statistics


@given(st.integers(1, 40), st.lists(st.floats(allow_nan=False), max_size=700), st.integers(0, 50))
def test_a_series_keeps_the_last_numbers_in_their_order(capacity: int, numbers: list[float], newest: int):
    series = Series(capacity)
    for number in numbers:
        series.append(number)
    last = numbers[-capacity:]
    assert list(series) == last == series.values.tolist()
    assert len(series) == len(last)
    assert np.array_equal(series.newest(newest), np.array(last[max(len(last) - newest, 0) :]))
    assert series.values.flags.c_contiguous and series.newest(newest).flags.c_contiguous


def test_a_long_series_keeps_only_its_last_numbers():
    series = Series(1000)
    for number in range(100_000):
        series.append(float(number))
    assert len(series) == 1000
    assert series.values[0] == 99_000.0


def test_statistics_of_a_series_and_of_a_list_are_the_same():
    series = Series(50)
    for number in range(200):
        series.append(number**1.5)
    assert statistics(series) == statistics(list(series))
    assert statistics(Series(5)) is None


def test_a_history_drops_values_after_the_time_of_a_rewind():
    history = TimeSeries(10)
    for time in (0.0, 1.0, 2.0, 3.0):
        history.append(time, 10 * time)
    history.append(1.5, 7.0)
    assert list(history.times) == [0.0, 1.0, 1.5]
    assert list(history.values) == [0.0, 10.0, 7.0]
    history.append(1.5, 8.0)  # the same time, measured again
    assert list(history.values) == [0.0, 10.0, 8.0]
    history.append(0.0, 1.0)
    assert (list(history.times), len(history)) == ([0.0], 1)


def test_a_history_is_bounded():
    history = TimeSeries(3)
    for time in range(10):
        history.append(float(time), float(-time))
    assert list(history.times) == [7.0, 8.0, 9.0]
    assert list(history.values) == [-7.0, -8.0, -9.0]


def test_gpu_times_are_recorded_once_and_reported_separately():
    first = {"row.step": 9.0}
    times = GpuTimes(10, first)
    assert not times.take(first), "it was there before"
    newer = {"row.step": 1.0, "compute": 0.5, "layers": 4.0, "gui": 1.0}
    assert times.take(newer) and not times.take(newer)
    assert (list(times.compute_ms), list(times.draw_ms)) == ([1.5], [5.0])
    assert {group: list(ms) for group, ms in times.groups.items()} == {group: [ms] for group, ms in newer.items()}


@pytest.mark.parametrize(("group", "is_computing"), [("a.step", True), ("compute", True), ("layers", False)])
def test_groups_that_compute(group: str, is_computing: bool):
    assert computes(group) == is_computing
