"""How much longer an image takes in the window while a network learns beside it: no more than the models' budget.

Where drawing takes longer than the budget, a part of a step may take as long as drawing does.

Floor: the same window, with the same scene in it, while it is paused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

import vertigrad
from vertigrad import resources
from vertigrad.session import Session
from vertigrad.viewer import Viewer, loop

from .timing import lowest

BUDGET = 25.0  # ms
TOLERANCE = 1.25  # times what a part may take: the last part of an image is granted by what it took before
FRAMES, ROUNDS = 8, 4


@pytest.fixture
def viewer(display: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    monkeypatch.setattr(loop, "IDLE_AFTER", np.inf)  # a paused viewer would show only ten images a second
    path = resources.path("scenes", "digits.toml")
    with Session(vertigrad.gpu(), path, ["view.bloom=0", "view.quality=high"]) as session:
        session.set_pacing({"budget": BUDGET})
        with Viewer(session, (320, 200), vsync=False) as viewer:
            viewer.gui.workspace.visible = False
            yield viewer


def milliseconds(viewer: Viewer, playing: bool) -> list[float]:
    """Of some images in a row, each with all that was recorded for it."""
    viewer._session.playing = playing
    taken = []
    for number in range(2 + FRAMES):
        vertigrad.gpu().sync()
        begun = time.perf_counter()
        assert viewer.frame()
        vertigrad.gpu().sync()
        if number >= 2:  # the first two still have what the state before left to do
            taken.append((time.perf_counter() - begun) * 1e3)
    return taken


@pytest.mark.bench
def test_learning_takes_its_budget_of_an_image_and_no_more(viewer: Viewer) -> None:
    session = viewer._session
    session.playing = True
    for _ in range(300):  # until it is known what each kernel costs
        assert viewer.frame()
        if session.frame >= 3:
            break

    def growth() -> float:
        still: list[float] = []
        learning: list[float] = []
        for _ in range(ROUNDS):
            still += milliseconds(viewer, False)
            learning += milliseconds(viewer, True)
        more = float(np.median(learning) - np.median(still))
        step = session.clock.pacer.step_ms or 0.0
        print(f"\n{np.median(still):.1f} ms a picture, {more:.1f} ms more while it learns; a step takes {step:.0f} ms")
        return more / max(BUDGET, float(np.median(still)))

    before = session.frame
    assert lowest(growth, TOLERANCE) <= TOLERANCE
    assert session.frame > before, "nothing was learned"
