"""The increase of the frame time in the window during training: no more than the models' budget.

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
TOLERANCE = 1.25  # ratio to the limit of a part: the last part of a frame is granted by its previous time
FRAMES, ROUNDS = 8, 4


@pytest.fixture
def viewer(display: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    monkeypatch.setattr(loop, "IDLE_AFTER", np.inf)  # a paused viewer would draw only ten frames a second
    path = resources.path("scenes", "digits.toml")
    with Session(vertigrad.gpu(), path, ["view.bloom=0", "view.quality=high"]) as session:
        session.set_pacing({"budget": BUDGET})
        with Viewer(session, (320, 200), vsync=False) as viewer:
            viewer.gui.workspace.visible = False
            yield viewer


def milliseconds(viewer: Viewer, playing: bool) -> list[float]:
    """Times of consecutive frames, each with its recorded work."""
    viewer._session.playing = playing
    taken = []
    for number in range(2 + FRAMES):
        vertigrad.gpu().sync()
        begun = time.perf_counter()
        assert viewer.frame()
        vertigrad.gpu().sync()
        if number >= 2:  # the first two still have work of the previous state
            taken.append((time.perf_counter() - begun) * 1e3)
    return taken


@pytest.mark.turns(3)
@pytest.mark.bench
def test_training_uses_its_frame_budget_and_no_more(viewer: Viewer) -> None:
    session = viewer._session
    session.playing = True
    for _ in range(300):  # until the cost of each kernel is known
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
        print(f"\n{np.median(still):.1f} ms a frame, {more:.1f} ms more during training; a step takes {step:.0f} ms")
        return more / max(BUDGET, float(np.median(still)))

    before = session.frame
    assert lowest(growth, TOLERANCE) <= TOLERANCE
    assert session.frame > before, "nothing was learned"
