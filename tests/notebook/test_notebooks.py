"""The notebooks in examples/ run in a Jupyter kernel, and leave an image in each cell that shows a viewer."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.remote.events import Button, Focus, Key, Leave, Paste, Pointer, Wheel
from vertigrad.scripting import Viewer
from vertigrad.scripting.widget_events import WidgetEvents

from .jupyter import ROOT, environment

BOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(book: Any, folder: Path) -> Any:
    from nbclient import NotebookClient

    client = NotebookClient(book, timeout=120, kernel_name="python3", store_widget_state=False)
    client.execute(cwd=str(folder), env=environment(folder))
    return book


def images(book: Any) -> list[np.ndarray]:
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    found = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")) for png in found]


@pytest.mark.turns(4)
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_leaves_its_image(path: Path, tmp_path: Path) -> None:
    import nbformat  # takes four seconds

    book = execute(nbformat.read(path, as_version=4), tmp_path)
    found = images(book)
    assert found
    assert all(image.std() > 5.0 for image in found)
    assert path.name in (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")


@pytest.mark.turns(3)
def test_a_cell_that_runs_again_closes_its_viewer_and_the_last_image_stays(tmp_path: Path) -> None:
    import nbformat

    book = nbformat.v4.new_notebook()
    code = [
        "import vertigrad as vg\nviewer = vg.Viewer('one', size=(320, 240))\n"
        "viewer.points('p', position=[[0.0, 0, 0]], size=0.3, color='#ff0000')\nviewer",
        "for step in viewer.frames(2):\n    viewer.points('p', position=[[0.0, 0, 0]], size=0.3, color='#00ff00')",
        "viewer.close()\nother = vg.Viewer('two', size=(320, 240))\nthird = vg.Viewer('three', size=(320, 240))\n"
        "print(viewer.closed, other.closed, third.closed)",
    ]
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in code]
    execute(book, tmp_path)
    (output,) = book.cells[0].outputs
    assert WIDGET not in output.data
    (image,) = images(book)
    viewport = image[40:, :120].astype(int)
    assert (viewport[..., 1] - viewport[..., 0]).max() > 60  # green, as at the end of the loop
    assert book.cells[2].outputs[0].text == "True False False\n"


def test_a_widget_outside_of_a_kernel_is_refused() -> None:
    with pytest.raises(InputError, match="notebook=True needs a Jupyter kernel"):
        Viewer(notebook=True)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from vertigrad.scripting import notebook

    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "vertigrad.scripting.widget", raising=False)
    with pytest.raises(InputError, match=r"anywidget is not installed; `pip install vertigrad\[notebook\]`"):
        Viewer(notebook=True)


MOUSE = {"x": 10, "y": 20.5, "modifiers": ["Shift"], "buttons": [1], "timestamp": 1.0}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "pointer_move", **MOUSE}, Pointer(x=20.0, y=41.0, modifiers=("shift",))),
        ({"type": "pointer_down", "button": 1, **MOUSE}, ("left", True)),
        ({"type": "pointer_up", "button": 2, **MOUSE}, ("right", False)),
        ({"type": "wheel", "dx": 0, "dy": 200, **MOUSE}, Wheel(x=20.0, y=41.0, modifiers=("shift",), dx=0.0, dy=-2.0)),
        ({"type": "key_down", "key": "a"}, Key(code="KeyA", key="a", action="press")),
        ({"type": "key_up", "key": "Shift"}, Key(code="ShiftLeft", key="Shift", action="release")),
        ({"type": "key_down", "key": " "}, Key(code="Space", key=" ", action="press")),
        ({"type": "key_down", "key": "%"}, Key(code="", key="%", action="press")),
        ({"type": "pointer_leave"}, Leave()),
        ({"type": "focus_in"}, Focus(focused=True)),
        ({"type": "char", "data": "pasted"}, Paste(text="pasted")),
        ({"type": "double_click"}, None),
        ({"type": "pointer_down", "button": 5, **MOUSE}, None),
    ],
)
def test_events_of_the_front_end(event: dict[str, Any], expected: Any) -> None:
    events = WidgetEvents()
    events.ratio = 2.0
    if isinstance(expected, tuple):
        number = {"left": 0, "middle": 1, "right": 2}[expected[0]]
        expected = Button(x=20.0, y=41.0, modifiers=("shift",), button=number, pressed=expected[1])
    assert events.read(event) == expected


def test_a_key_types_its_character_once() -> None:
    events = WidgetEvents()
    events.read({"type": "key_down", "key": "x"})
    assert events.read({"type": "char", "data": "x"}) is None
    assert events.read({"type": "char", "data": "x"}) == Paste(text="x")  # the key is held
