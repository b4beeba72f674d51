"""A script's window that browsers see too: its image, their mouse and keys, and what nobody may do meanwhile."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest
from PIL import Image

import vertigrad as vg
from vertigrad.gpu import Gpu
from vertigrad.remote.encoding import Kind
from vertigrad.session import commands, quality

from ..remote.driver import Program, settled
from .desktop import Desktop

T = TypeVar("T")
SIZE = 801, 600  # an odd width: the image has one column less
POINTS = np.float32([[-1, 0, 0], [0, 0, 0], [1, 0.5, 0]])


@pytest.fixture
def viewer(desktop: Desktop, steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[vg.Viewer]:
    monkeypatch.setattr(quality, "FEWEST", float("inf"))
    with vg.Viewer("test", SIZE) as viewer:
        viewer.points("cloud", position=POINTS, size=0.2)
        yield viewer


def looping(viewer: vg.Viewer, act: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(act)
        while not future.done():
            viewer.update()
        return future.result()


@pytest.mark.turns(2)
def test_browsers_see_the_window_and_use_it(viewer: vg.Viewer, desktop: Desktop) -> None:
    url = viewer.serve(port=0)
    viewer.session.playing = False
    before = tuple(viewer.session.camera.position)

    def on_screen() -> np.ndarray:
        left, top = viewer._window.window.position  # pyright: ignore
        width, height = SIZE
        return desktop.screenshot()[top : top + height, left : left + width - 1, :3].astype(int)

    def act() -> None:
        with Program(url) as browser:
            browser.call("watch", codec="h264")
            browser.call("resize", width=300, height=300, scale=1.0)  # the image keeps the window's size
            assert browser.image()[2:4] == (800, 600)
            left, top, width, height = viewer._window.gui.viewport  # pyright: ignore
            x, y = left + width / 2, top + height / 4
            browser.call("button", x=x, y=y, button=0, pressed=True)
            browser.call("pointer", x=x + 60, y=y)
            browser.call("button", x=x + 60, y=y, button=0, pressed=False)
            assert settled(lambda: tuple(viewer.session.camera.position) != before)
            browser.call("key", code="KeyG", key="g", action="press")
            assert settled(lambda: viewer._window.gui.workspace.visible is False)  # pyright: ignore
            browser.call("key", code="KeyG", key="g", action="release")
            while True:  # an exact image from before may still be on its way; if no other one follows, this times out
                shown = np.asarray(Image.open(io.BytesIO(browser.image(Kind.PNG)[4])).convert("RGB")).astype(int)
                if np.abs(on_screen() - shown).max() <= 2:
                    return

    looping(viewer, act)


def test_nobody_opens_files_while_it_is_served_and_the_window_stays(viewer: vg.Viewer) -> None:
    viewer.serve(port=0)
    gui = viewer._window.gui  # pyright: ignore
    viewer.session.post(commands.Save())
    gui.workspace.browser = True
    viewer.update()
    assert "another machine" in viewer.session.messages["save"] and not gui.workspace.browser
    served = viewer._served
    assert served is not None
    served.close()
    assert not gui.remote and viewer.session.refusal is None
    viewer._served = None
    viewer.update()
    assert not viewer.closed
