"""A notebook in JupyterLab, driven by a real browser: a slider in the widget changes the image."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ..remote.browser import Page, browsing, chromium, until
from .jupyter import TOKEN, serving, write_notebook

pytestmark = pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")
SETUP = """
import numpy as np
import vertigrad as vg

viewer = vg.Viewer("Points", size=(800, 450))
position = np.random.default_rng(0).normal(size=(500, 3))
cloud = viewer.points("cloud", position=position, color="#ff0000", size=0.01)
size = viewer.slider("size", 0.01, min=0.01, max=0.5)
stop = viewer.button("Stop")
"""
LOOP = """
async for step in viewer.frames():
    cloud.size = size.value
    if stop.clicked:
        break
print("stopped at", size.value > 0.2)
"""
SLIDER, STOP, VIEWPORT = (720.0, 355.0), (695.0, 238.0), (250.0, 250.0)  # in the widget
IMAGE = "document.querySelector('.renderview-wrapper img')"
KERNEL = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"


def test_a_slider_in_the_widget_changes_the_image_while_a_cell_runs(tmp_path: Path) -> None:
    file = write_notebook(tmp_path / "points.ipynb", SETUP, LOOP)
    browser = tmp_path / "browser"
    with serving(tmp_path) as url, browsing(browser, (1200, 900)) as page:
        page.open(f"{url}/doc/tree/points.ipynb?token={TOKEN}")
        page.until("!!window.jupyterapp && !!document.querySelector('.jp-CodeCell .jp-InputPrompt')")
        page.click(*_corner(page, "document.querySelector('.jp-CodeCell .jp-InputPrompt')", (5.0, 5.0)))
        page.until(f"{KERNEL} == 'idle'")
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.until(f"!!{IMAGE} && {IMAGE}.naturalWidth == 800")
        until(lambda: _red(page) > 0, "points")
        before = _red(page)
        x, y = _corner(page, IMAGE, SLIDER)
        page.drag((x, y), (x + 55.0, y))
        until(lambda: _red(page) > 3 * before, "larger points")
        page.click(*_corner(page, IMAGE, STOP))
        page.until(f"{KERNEL} == 'idle' && document.body.innerText.includes('stopped at True')")
        shown = _viewport(page)
        page.drag(_corner(page, IMAGE, VIEWPORT), _corner(page, IMAGE, (VIEWPORT[0] + 80.0, VIEWPORT[1])))
        until(lambda: (_viewport(page) != shown).any(-1).mean() > 0.02, "the camera turned, with no cell running")
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save').then(() => 1)")
        until(lambda: _has_image(file), "the image in the saved notebook")
    shutil.rmtree(browser, ignore_errors=True)


def _has_image(file: Path) -> bool:
    outputs = json.loads(file.read_text(encoding="utf-8"))["cells"][1]["outputs"]
    return any("image/png" in output.get("data", {}) for output in outputs)


def _corner(page: Page, element: str, offset: tuple[float, float]) -> tuple[float, float]:
    x, y = page.evaluate(f"(() => {{const r = {element}.getBoundingClientRect(); return [r.x, r.y]}})()")
    return x + offset[0], y + offset[1]


def _viewport(page: Page) -> np.ndarray:
    x, y = (int(value) for value in _corner(page, IMAGE, (0.0, 0.0)))
    return page.screenshot()[y + 30 : y + 400, x : x + 450].astype(int)


def _red(page: Page) -> int:
    image = _viewport(page)
    return int(((image[..., 0] > 60) & (image[..., 1] < image[..., 0] // 2)).sum())
