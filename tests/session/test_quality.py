"""The quality level is chosen by the frame times, on simulated clocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad.renderer.quality import AUTO, CHOSEN, HIGH, LEVELS, LOW, MEDIUM, NAMES, Level, drawn_size, level_of
from vertigrad.renderer.view import View
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter, SetQuality
from vertigrad.session.quality import AutoQuality, describe_level, level_in_force

TARGET = 1000.0 / 60.0
Cost = Callable[[str, float], float]  # frame time [ms], by the level's name and the time [s]


class Screen:
    """Consecutive frames with a simulated clock; `changes` are (when, level) in order."""

    def __init__(
        self,
        cost: Cost,
        target: float = TARGET,
        vsync: bool = False,
        drawing: Cost | None = None,
        first: Level = HIGH,
    ):
        self.auto, self.now = AutoQuality(first), 100.0
        self._began = self.now
        self._cost, self._target, self._vsync, self._drawing = cost, target, vsync, drawing
        self.changes: list[tuple[float, str]] = []

    def run(self, seconds: float) -> str:
        end = self.now + seconds
        while self.now < end:
            name, since = self.auto.level.name, self.now - self._began
            ms = self._cost(name, since)
            if self._vsync:
                ms = self._target * np.ceil(ms / self._target)
            drawing = self._drawing(name, since) if self._drawing else None
            self.now += max(ms, self._target) / 1e3 if drawing is not None else ms / 1e3
            if self.auto.take(self.now, ms, self._target, drawing):
                self.changes.append((self.now - self._began, self.auto.level.name))
        return self.auto.level.name

    @property
    def levels(self) -> list[str]:
        return [name for _, name in self.changes]


def costs(low: float, medium: float, high: float) -> Cost:
    by_name = {"low": low, "medium": medium, "high": high}
    return lambda name, _: by_name[name]


def test_fast_frames_stay_at_the_finest_level() -> None:
    screen = Screen(costs(4.0, 8.0, 15.0))
    assert screen.run(60.0) == "high" and not screen.changes


@pytest.mark.parametrize("vsync", [False, True])
def test_steadily_slow_frames_go_down_a_level_soon_and_stay_there(vsync: bool) -> None:
    screen = Screen(costs(8.0, 13.0, 25.0), vsync=vsync, drawing=None if vsync else costs(7.0, 12.0, 24.0))
    screen.run(8.0)
    assert screen.levels == ["medium"] and screen.changes[0][0] < 3.0
    screen.run(300.0)
    # With vsync the frame time does not show the time left: the finer level is tried, less and less often.
    assert len(screen.changes) <= (1 if not vsync else 9)
    assert screen.levels[0] == "medium" and "low" not in screen.levels


def test_very_slow_frames_go_down_while_it_helps() -> None:
    screen = Screen(costs(40.0, 90.0, 250.0))
    assert screen.run(20.0) == "low"
    assert screen.levels == ["medium", "low"]
    screen.run(300.0)
    assert len(screen.changes) == 2


def test_a_slow_start_and_hiccups_change_nothing() -> None:
    def cost(_: str, since: float) -> float:
        if since < 0.6:
            return 180.0  # pipelines are created
        return 700.0 if since % 3.0 < 0.02 else 12.0

    screen = Screen(cost)
    assert screen.run(120.0) == "high" and not screen.changes


@pytest.mark.parametrize(("middle", "exact"), [(0.98, False), (1.15, False), (1.25, False), (1.4, False), (1.15, True)])
def test_noise_around_the_border_does_not_oscillate(middle: float, exact: bool) -> None:
    rng = np.random.default_rng(7)
    share = {"low": 0.45, "medium": 0.7, "high": 1.0}

    def cost(name: str, _: float) -> float:
        return float(share[name] * middle * TARGET * rng.lognormal(0.0, 0.25))

    screen = Screen(cost, drawing=(lambda name, since: 10.0) if exact else None)
    screen.run(300.0)
    assert len(screen.changes) <= 7
    assert len([when for when, _ in screen.changes if when > 120.0]) <= 2


def test_the_level_rises_when_frames_become_faster() -> None:
    def cost(name: str, since: float) -> float:
        return costs(10.0, 15.0, 30.0)(name, since) * (1.0 if since < 20.0 else 0.3)

    screen = Screen(cost)
    assert screen.run(19.0) == "medium"
    assert screen.run(15.0) == "high"
    assert screen.levels == ["medium", "high"]


def test_the_level_rises_only_if_its_measured_cost_fits() -> None:
    # 13 ms leave some time, but the next level was measured to take 2.4 times as long.
    screen = Screen(costs(5.0, 9.0, 21.6), drawing=costs(4.0, 8.0, 20.0))
    screen.run(100.0)
    assert screen.levels == ["medium"]


def test_when_drawing_is_not_the_bottleneck_the_finest_level_is_used() -> None:
    screen = Screen(costs(101.0, 102.0, 104.0))
    screen.run(20.0)
    assert screen.levels == ["medium", "low", "high"]
    assert screen.auto.in_vain and "not because of rendering" in describe_level(AUTO, screen.auto.quality)[1]
    screen.run(600.0)
    assert len(screen.changes) == 3


def test_failed_tries_become_rare_under_a_varying_load() -> None:
    screen = Screen(lambda _, since: 12.0 if since % 40.0 < 20.0 else 110.0)
    screen.run(600.0)
    assert len(screen.changes) <= 15
    assert len([when for when, _ in screen.changes if when > 300.0]) <= 3


def test_frames_at_the_display_interval_are_tried_at_a_finer_level_only_with_vsync() -> None:
    cost = costs(10.0, 16.2, 40.0)
    assert Screen(cost, drawing=cost).run(2.5) == "medium"
    screen = Screen(cost, drawing=cost)
    screen.run(60.0)
    assert screen.levels == ["medium"]
    screen = Screen(cost)
    screen.run(60.0)
    assert 1 < len(screen.changes) <= 5


def test_after_a_failed_try_a_much_slower_frame_allows_another() -> None:
    def cost(name: str, since: float) -> float:
        return 101.0 if since < 60.0 else {"low": 60.0, "medium": 150.0, "high": 300.0}[name]

    screen = Screen(cost)
    assert screen.run(59.0) == "high"
    assert screen.run(60.0) == "low"
    assert not screen.auto.in_vain


@pytest.mark.parametrize("ms", [150.0, 350.0, 600.0])
def test_slow_frames_do_not_flicker_through_the_levels_with_each_edit(ms: float) -> None:
    """Cheaper levels bring little; the user changes something every few seconds."""
    screen = Screen(costs(0.93 * ms, 0.96 * ms, ms))
    for _ in range(40):
        assert screen.run(15.0 if not screen.changes else 5.0) == "high"
        screen.auto.forget()
    assert screen.levels == ["medium", "low", "high"]


@pytest.mark.parametrize(("held", "soonest", "latest"), [(5.0, 15.0, 40.0), (45.0, 0.0, 6.0)])
def test_a_level_that_lasted_long_enough_is_tried_like_one_that_never_failed(
    held: float, soonest: float, latest: float
) -> None:
    """Frames at the high level are slow until it is left, once more 5 s later, and again after it lasted that long."""
    holds = iter([0.0, 5.0, held, 1e9])
    entered, hold = 0.0, next(holds)
    before, left = "high", 0.0

    def cost(name: str, since: float) -> float:
        nonlocal entered, hold, before, left
        if name != before:
            before = name
            if name == "high":
                entered, hold = since, next(holds)
            else:
                left = since
        if name == "high":
            return 30.0 if since - entered > hold else 9.0
        return 2.0 if since - left < 2.0 else 0.5  # the cost measured on the way down later predicts that it fits

    screen = Screen(cost)
    screen.run(200.0)
    assert screen.levels == ["medium", "high"] * 3
    (down, _), (up, _) = screen.changes[-2:]
    assert soonest < up - down < latest


def test_frames_with_little_drawing_never_change_the_level() -> None:
    screen = Screen(costs(95.0, 98.0, 100.0), drawing=costs(1.0, 3.0, 5.0))
    assert screen.run(120.0) == "high" and not screen.changes
    assert screen.auto.in_vain


def test_where_the_first_level_is_the_cheapest_it_rises_with_time_left_or_if_drawing_is_little() -> None:
    fast = Screen(costs(3.0, 5.0, 9.0), first=LOW)
    assert fast.run(0.5) == "low" and fast.run(10.0) == "high" and fast.levels == ["medium", "high"]
    models = Screen(costs(500.0, 510.0, 520.0), drawing=costs(10.0, 20.0, 30.0), first=LOW)
    assert models.run(60.0) == "high" and models.levels == ["medium", "high"]
    late = Screen(costs(400.0, 900.0, 2000.0), drawing=costs(390.0, 890.0, 1990.0), first=LOW)
    assert late.run(120.0) == "low" and not late.changes
    some = Screen(costs(500.0, 620.0, 900.0), drawing=costs(45.0, 165.0, 445.0), first=LOW)
    assert some.run(120.0) == "low" and some.levels == ["medium", "low"], "tried once"
    some.auto.restart()
    assert some.auto.level is LOW


def test_frames_before_and_after_a_pause_are_not_averaged_together() -> None:
    auto = AutoQuality()
    now = 0.0
    for _ in range(200):  # slow all the time, but never for long enough
        for _ in range(8):
            now += 0.1
            assert not auto.take(now, 100.0, TARGET)
        auto.rest()
        now += 5.0
    assert auto.level is HIGH


def test_the_default_frame_budget_is_a_sixtieth_of_a_second() -> None:
    assert Screen(costs(5.0, 9.0, 25.0), target=0.0).run(5.0) == "medium"
    assert Screen(costs(5.0, 9.0, 15.0), target=0.0).run(60.0) == "high"
    assert Screen(costs(5.0, 9.0, 25.0), target=33.3).run(60.0) == "high"


def test_a_restart_begins_at_the_finest_level_and_a_reset_of_measurements_keeps_the_level() -> None:
    screen = Screen(costs(5.0, 9.0, 25.0))
    screen.run(5.0)
    screen.auto.forget()
    assert screen.auto.level is MEDIUM
    screen.auto.restart()
    assert screen.auto.level is HIGH and screen.auto.ms == 0.0


def test_one_line_reports_the_level_and_the_reason() -> None:
    screen = Screen(costs(5.0, 9.0, 21.0))
    assert describe_level(AUTO, screen.auto.quality)[0] == "auto: high"
    screen.run(2.5)
    assert describe_level(AUTO, screen.auto.quality)[0] == "auto: medium, 21 ms of 16.7 ms"
    screen.run(5.0)
    assert describe_level(AUTO, screen.auto.quality)[0] == "auto: medium, 9.0 ms of 16.7 ms"
    assert describe_level("ultra", screen.auto.quality)[0] == "ultra"
    assert level_in_force(AUTO, screen.auto.quality) is MEDIUM and level_in_force("low", screen.auto.quality) is LOW


def test_levels_are_in_order_and_files_use_the_best_standard_level() -> None:
    assert NAMES == (AUTO, "low", "medium", "high", "ultra") and tuple(LEVELS.values())[:3] == CHOSEN
    assert level_of(AUTO) is HIGH and View().quality == AUTO
    for cheaper, finer in zip(LEVELS.values(), list(LEVELS.values())[1:], strict=False):
        assert all(a <= b for a, b in zip(cheaper[1:], finer[1:], strict=True)) and cheaper[1:] != finer[1:]
    assert drawn_size((641, 3), LOW) == (320, 2) and drawn_size((1, 1), LOW) == (1, 1)
    assert drawn_size((641, 3), HIGH) == (641, 3)


def test_automatic_changes_are_not_undo_steps_and_leave_the_scene_saved(opened: Callable[..., Session]) -> None:
    session = opened()
    auto, now = AutoQuality(), 0.0
    while auto.level is HIGH:
        now += 0.05
        auto.take(now, 50.0)
    assert session.quality.level is HIGH
    session.post(SetQuality(auto.quality))
    session.apply()
    assert session.view.quality == AUTO and level_in_force(AUTO, session.quality) is MEDIUM
    assert not session.unsaved and not session.scene_edits.history.done
    session.post(SetParameter("view", "quality", "low"))
    session.apply()
    assert session.unsaved and level_in_force(session.view.quality, session.quality) is LOW
    session.scene_edits.undo()
    assert session.view.quality == AUTO and not session.unsaved
