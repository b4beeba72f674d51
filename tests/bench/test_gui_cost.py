"""The CPU cost per frame of the GUI and the frame loop, in addition to the image.

Floor: the same session stepped and drawn, acquired and presented in the same window, by a loop of a few lines. What
is added is bounded by the scene's wgpu calls as straight-line Python, whose number test_frame_cost.py limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import vertigrad
from vertigrad import resources
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.viewer import Viewer

from .plain_loop import plain_loop
from .results import Result, report
from .timing import lowest, quiet_quartiles

SIZE = (1280, 800)
ROUNDS, WARM_UP = 60, 10
NONE_OPEN, ALL_OPEN = 1.8, 5.0  # times the CPU time of the scene's bare calls (plain_loop.py), at most
OFFSCREEN = (64, 48)


@pytest.fixture
def viewer(display: str) -> Iterator[Viewer]:
    path = resources.path("scenes", "nbody.toml")
    with (
        Session(vertigrad.gpu(), path, ["galaxy.count=64", "galaxy.softening=1.0", "view.bloom=0"]) as session,
        Viewer(session, SIZE, vsync=False) as viewer,
    ):
        yield viewer


def bare_loop(viewer: Viewer, image: Callable[[], tuple[int, int, int, int]]) -> Callable[[int], None]:
    """Step, draw, present, without a GUI."""
    session, gpu = viewer._session, viewer._gpu

    def frame(_: int) -> None:
        with gpu.frames.frame():
            surface = viewer.window.acquire()
            assert surface is not None
            session.advance()
            left, top, width, height = image()
            session.draw(viewer._renderer, surface.view, (width, height), (left, top))
        viewer.window.present()

    return frame


def bare_calls(viewer: Viewer) -> Callable[[], None]:
    """The wgpu calls of a frame of the same scene, without a window."""
    session, gpu = viewer._session, viewer._gpu
    offscreen, renderer = Offscreen(gpu, OFFSCREEN), Renderer(gpu, FORMAT)

    def encode() -> None:
        session.advance()
        session.draw(renderer, offscreen.view, OFFSCREEN)

    with gpu.frames.frame():
        encode()
    return plain_loop(gpu, encode)


@pytest.mark.turns(3)
@pytest.mark.bench
@pytest.mark.parametrize(("opened", "limit"), [("none", NONE_OPEN), ("all", ALL_OPEN)])
def test_gui_and_loop_cost_little(viewer: Viewer, opened: str, limit: float) -> None:
    gui = viewer.gui
    gui.workspace.visible = opened == "all"
    for title in gui.workspace.opened:
        gui.workspace.opened[title] = opened == "all"

    def full(_: int) -> None:
        assert viewer.frame()

    for number in range(5):
        full(number)
    visible = gui.workspace.visible_panels  # one in each dock: hidden tabs are not drawn
    assert len(visible) == (3 if opened == "all" else 0), visible

    bare = bare_calls(viewer)
    programs = bare_loop(viewer, lambda: gui.viewport), full, lambda _: bare()
    times: list[tuple[float, float, float]] = []

    def share() -> float:
        floor, whole, calls = quiet_quartiles(*programs, rounds=ROUNDS, warm_up=WARM_UP)
        times.append(((whole - floor) / calls, (whole - floor) * 1e3, calls * 1e3))
        return times[-1][0]

    lowest(share, limit)
    _, extra, calls = min(times)
    work = f"{opened} of the panels open"
    report(Result("CPU time of the GUI", work, "ms", extra, {"bare calls": calls}, "bare calls", 1 / limit))
