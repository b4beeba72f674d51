"""Notebooks in JupyterLab, driven by a real browser: mouse, wheel and keys reach the widgets and change the images."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..remote.browser import Page, browsing, chromium, until
from .jupyter import ROOT, TOKEN, serving, write_notebook

pytestmark = pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")
SETUP = f"""
import sys

import numpy as np
import pytest
import vertigrad as vg

sys.path.append({str(ROOT / "tests")!r})
from window.driver import Items, Rows

rows, items = Rows(pytest.MonkeyPatch()), Items(pytest.MonkeyPatch())
"""
POINTS = """
viewer = vg.Viewer("Points", size=(800, 450))
position = np.random.default_rng(0).normal(size=(500, 3))
cloud = viewer.points("cloud", position=position, color="#ff0000", size=0.01)
size = viewer.slider("size", 0.01, min=0.01, max=0.5)
stop = viewer.button("Stop")
pressed = []
viewer.on_key("k", lambda: pressed.append("k"))
viewers = [viewer]
"""
OTHER = """
other = vg.Viewer("Other", size=(800, 450))
others = other.points("cloud", position=position, color="#00ff00", size=0.01)
width = other.slider("width", 0.01, min=0.01, max=0.5)
bye = other.button("Bye")
heard = []
other.on_key("k", lambda: heard.append("k"))
viewers.append(other)
for each in viewers:
    each.show()
"""
LOOP_OF_TWO = """
async for step in viewer.frames():
    cloud.size = size.value
    if not other.closed:
        others.size = width.value
    if bye.clicked:
        other.close()
    if stop.clicked:
        break
print("stopped with", len(pressed), len(heard), viewer.closed, other.closed)
"""
LOOP = """
async for step in viewer.frames():
    cloud.size = size.value
    if stop.clicked:
        break
print("stopped at", size.value > 0.2)
"""
STATE = """
import json
import threading
import time
from pathlib import Path


def state():
    shown = {"rows": dict(rows.rects), "items": dict(items.rects), "pressed": len(pressed), "size": size.value}
    shown["acknowledged"] = viewer._notebook._view.shown
    shown["cameras"] = [list(each.session.camera.position) for each in viewers]
    shown["viewports"] = [list(each._window.gui.viewport) for each in viewers]
    return shown


def write():
    while True:
        Path("state.new").write_text(json.dumps(state()))
        Path("state.new").replace("state.json")
        time.sleep(0.05)


threading.Thread(target=write, daemon=True).start()
"""
RESIZERS = "document.querySelectorAll('.renderview-resizer')[{}]"
KERNEL = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"


class Notebook:
    """A notebook whose kernel writes where its widgets draw what, and what its values are."""

    def __init__(self, page: Page, folder: Path):
        self.page, self.folder = page, folder

    @property
    def state(self) -> dict[str, Any]:
        return json.loads((self.folder / "state.json").read_text(encoding="utf-8"))

    def until(self, test: Callable[[dict[str, Any]], object], what: str) -> None:
        until(lambda: test(self.state), what)

    def row(self, name: str, share: float, widget: int = 0) -> tuple[float, float]:
        """A position on a slider in the page, at `share` of its width from the left."""
        left, top, right, bottom = self.state["rows"][name]
        return _corner(self.page, image(widget), (left + share * (right - left), (top + bottom) / 2))

    def middle(self, widget: int = 0) -> tuple[float, float]:
        """The middle of a viewport in the page."""
        left, top, width, height = self.state["viewports"][widget]
        return _corner(self.page, image(widget), (left + width / 2, top + height / 2))

    def click(self, label: str, widget: int = 0) -> None:
        """Click on a button of a widget."""
        found = [rect for full, rect in self.state["items"].items() if label in full]
        left, top, right, bottom = found[0]
        self.page.click(*_corner(self.page, image(widget), ((left + right) / 2, (top + bottom) / 2)))

    def show(self, widget: int) -> None:
        """Scroll to a widget."""
        self.page.evaluate(f"{image(widget)}.scrollIntoView({{block: 'center', behavior: 'instant'}})")


def image(widget: int = 0) -> str:
    return f"document.querySelectorAll('.renderview-wrapper img')[{widget}]"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a JupyterLab, and the folder that it shows."""
    folder = tmp_path_factory.mktemp("lab")
    with serving(folder) as url:
        yield url, folder


@contextmanager
def opened(server: tuple[str, Path], folder: Path, *cells: str) -> Iterator[Notebook]:
    """A notebook of these cells, all of which are run."""
    url, root = server
    own = root / folder.name
    own.mkdir()
    write_notebook(own / "points.ipynb", SETUP, *cells)
    with browsing(folder / "browser", (1200, 1700)) as page:
        page.open(f"{url}/doc/tree/{own.name}/points.ipynb?token={TOKEN}")
        page.until("!!window.jupyterapp && !!document.querySelector('.jp-CodeCell .jp-InputPrompt')")
        page.click(*_corner(page, "document.querySelector('.jp-CodeCell .jp-InputPrompt')", (5.0, 5.0)))
        page.until(f"{KERNEL} == 'idle'")
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.until(f"!!{image()} && {image()}.naturalWidth == 800")
        yield Notebook(page, own)
        page.evaluate("void window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    shutil.rmtree(folder / "browser", ignore_errors=True)


@pytest.mark.turns(6)
def test_a_slider_in_the_widget_changes_the_image_while_a_cell_runs(server: tuple[str, Path], tmp_path: Path) -> None:
    with opened(server, tmp_path, POINTS + STATE, LOOP) as notebook:
        page = notebook.page
        notebook.show(0)
        until(lambda: _red(page) > 0, "points")
        before = _red(page)
        page.drag(notebook.row("size", 0.1), notebook.row("size", 0.8))
        until(lambda: _red(page) > 3 * before, "larger points")
        acknowledged = notebook.state["acknowledged"]
        page.key("KeyK", "k")
        notebook.until(lambda state: state["pressed"] == 1, "the key reaches the script")
        notebook.until(lambda state: state["acknowledged"] > acknowledged, "images are acknowledged while a cell runs")
        distance = np.linalg.norm(notebook.state["cameras"][0])
        page.wheel(*notebook.middle(), -100.0)
        notebook.until(lambda state: np.linalg.norm(state["cameras"][0]) < 0.98 * distance, "nearer by the wheel")
        notebook.click("Stop")
        page.until(f"{KERNEL} == 'idle' && document.body.innerText.includes('stopped at True')")
        notebook.show(0)
        shown, (x, y) = _viewport(page), notebook.middle()
        page.drag((x, y), (x + 80.0, y))
        until(lambda: (_viewport(page) != shown).any(-1).mean() > 0.02, "the camera turned, with no cell running")
        page.key("KeyK", "k")
        notebook.until(lambda state: state["pressed"] == 2, "the key reaches the script, with no cell running")
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save').then(() => 1)")
        until(lambda: _has_image(notebook.folder / "points.ipynb"), "the image in the saved notebook")


@pytest.mark.turns(6)
def test_two_widgets_of_one_notebook_have_their_own_gui_mouse_keys_and_size(
    server: tuple[str, Path], tmp_path: Path
) -> None:
    with opened(server, tmp_path, POINTS + OTHER + STATE, LOOP_OF_TWO) as notebook:
        page = notebook.page
        notebook.show(1)
        until(lambda: _green(page) > 0, "points of the other widget")
        green, cameras = _green(page), notebook.state["cameras"]
        page.drag(notebook.row("width", 0.1, 1), notebook.row("width", 0.8, 1))
        until(lambda: _green(page) > 3 * green, "larger points in the other widget")
        page.key("KeyK", "k")
        page.wheel(*notebook.middle(1), -100.0)
        notebook.until(lambda state: state["cameras"][1] != cameras[1], "the wheel reaches the other widget")
        before = notebook.state["viewports"]
        x, y = _corner(page, RESIZERS.format(1), (7.0, 7.0))
        page.drag((x, y), (x - 100.0, y - 50.0))
        page.until(f"{image(1)}.naturalWidth == 700 && {image(1)}.naturalHeight == 400")
        notebook.until(lambda state: state["viewports"][1][3] == before[1][3] - 50.0, "the other viewport is smaller")
        state = notebook.state
        assert (state["cameras"][0], state["viewports"][0], state["size"]) == (cameras[0], before[0], 0.01)

        notebook.click("Bye", 1)
        page.until("document.querySelectorAll('.renderview-wrapper img').length == 1")
        notebook.show(0)
        red = _red(page)
        page.drag(notebook.row("size", 0.1), notebook.row("size", 0.8))
        until(lambda: _red(page) > 3 * red, "larger points in the widget that is left")
        page.key("KeyK", "k")
        notebook.until(lambda state: state["pressed"] == 1, "a key for the widget that is left")
        notebook.click("Stop")
        page.until("document.body.innerText.includes('stopped with 1 1 False True')")


def _has_image(file: Path) -> bool:
    try:
        outputs = json.loads(file.read_text(encoding="utf-8"))["cells"][-1]["outputs"]
    except ValueError:  # it is being written
        return False
    return any("image/png" in output.get("data", {}) for output in outputs)


def _corner(page: Page, element: str, offset: tuple[float, float]) -> tuple[float, float]:
    x, y = page.evaluate(f"(() => {{const r = {element}.getBoundingClientRect(); return [r.x, r.y]}})()")
    return x + offset[0], y + offset[1]


def _viewport(page: Page, widget: int = 0) -> np.ndarray:
    x, y = (int(value) for value in _corner(page, image(widget), (0.0, 0.0)))
    return page.screenshot()[y + 30 : y + 400, x : x + 450].astype(int)


def _red(page: Page) -> int:
    pixels = _viewport(page)
    return int(((pixels[..., 0] > 60) & (pixels[..., 1] < pixels[..., 0] // 2)).sum())


def _green(page: Page) -> int:
    pixels = _viewport(page, 1)
    return int(((pixels[..., 1] > 60) & (pixels[..., 0] < pixels[..., 1] // 2)).sum())
