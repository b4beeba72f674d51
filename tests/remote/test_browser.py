"""The page in headless Chromium: the image arrives as H.264 and without loss, sliders and keys change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from vertigrad.remote import Served

from ..window.driver import Rows
from .browser import Page, browsing, chromium, until
from .driver import driven

SIZE = 1000, 700
READY = "window.vertigrad && vertigrad.exact > 0 && document.getElementById('image').width == 1000"


@pytest.fixture
def served(serving: Callable[..., Served]) -> Served:
    return serving(size=(1280, 800))


@pytest.fixture
def in_browser(served: Served, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Runs a function with a page that shows `served`."""
    if chromium() is None:
        pytest.fail("chromium is not installed; `make setup` says how (Debian: apt-get install chromium)")

    def run(act: Callable[[Page], None], script: str = "") -> None:
        def with_page() -> None:
            with browsing(tmp_path / "profile", SIZE) as page:
                page.command("Page.addScriptToEvaluateOnNewDocument", source=script)
                page.open(served.url)
                page.until(READY)
                act(page)

        driven(served, with_page)

    yield run


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    return Rows(monkeypatch)


@pytest.mark.turns(3)
def test_the_page_shows_the_window_and_drives_it(served: Served, rows: Rows, in_browser: Callable[..., None]):
    session = served.viewer._session
    softening = session.parameters()["models.galaxy"].softening  # pyright: ignore

    images = served.viewer.window._images  # pyright: ignore

    def at_rest(page: Page) -> np.ndarray:
        """The page, once it has the newest image without loss."""
        while True:
            until(lambda: page.evaluate("vertigrad.exact") == images.newest.number)
            newest, shown = images.newest, page.screenshot()
            if newest is images.newest:
                np.testing.assert_array_equal(shown, newest.pixels[..., :3])
                return shown

    def act(page: Page) -> None:
        before = at_rest(page)
        x, y = rows.at("softening", 0.3)
        page.drag((x, y), rows.at("softening", 0.7))
        until(lambda: session.parameters()["models.galaxy"].softening != softening)  # pyright: ignore
        after = at_rest(page)
        assert np.abs(after.astype(int) - before)[int(y) - 8 : int(y) + 8].max() > 60, "the slider is drawn elsewhere"

        page.key("Space", " ")
        until(lambda: session.playing and session.frame > 3)
        page.until("vertigrad.kinds[2] > 2")  # as H.264
        page.key("Space", " ")
        until(lambda: not session.playing)
        moved = at_rest(page)
        left, top, width, height = served.viewer.gui.viewport
        changed = (moved != after)[top : top + height, left : left + width].any(-1)
        assert changed.sum() > 50

    in_browser(act)


@pytest.mark.turns(3)
def test_without_webcodecs_it_is_jpeg_and_a_lost_server_is_found_again(served: Served, in_browser: Callable[..., None]):
    def act(page: Page) -> None:
        assert page.evaluate("vertigrad.kinds[3]") >= 1 and not page.evaluate("vertigrad.kinds[1] || 0")
        page.evaluate("socket.close()")
        page.until("!vertigrad.control")
        page.until("vertigrad.control")

    in_browser(act, "delete window.VideoDecoder")
