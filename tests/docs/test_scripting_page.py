"""The programs of docs/scripting.md, of the README and of examples/ run, each for a few frames and without a window."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from vertigrad import scripting
from vertigrad.gpu import Gpu

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scripting.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8").partition("## As a library")[0]
PROGRAMS = {
    f"page, {number}": code
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", README + PAGE, re.M | re.S))
} | {
    **{path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.py"))},
}
FRAMES = 3
SMALLER = {"COUNT = 1_000_000": "COUNT = 20_000", "SIDE, FRAMES = 64, 27": "SIDE, FRAMES = 32, 3"}  # of examples


def smaller(code: str) -> str:
    """The program with fewer elements where it has many."""
    for whole, few in SMALLER.items():
        code = code.replace(whole, few)
    return code


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[scripting.Viewer]]:
    """The viewers that a program opens: small, without windows, with a few frames each."""
    viewers: list[scripting.Viewer] = []

    class Small(scripting.Viewer):
        def __init__(self, title: str = "", size: tuple[int, int] | None = None, offscreen: bool = False) -> None:
            super().__init__(title, (160, 120), offscreen=True)
            viewers.append(self)

        def frames(self, count: int | None = None) -> Iterator[scripting.Step]:
            return super().frames(min(count or FRAMES, FRAMES))

        def show(self, block: bool = True) -> None:
            assert block
            for _ in self.frames():
                pass

    monkeypatch.setattr(scripting, "Viewer", Small)
    monkeypatch.setattr(sys.modules["vertigrad.scripting.show"], "Viewer", Small)
    yield viewers
    for viewer in viewers:
        viewer.close()


def test_each_replaced_constant_is_in_an_example() -> None:
    assert all(any(whole in code for code in PROGRAMS.values()) for whole in SMALLER)


def test_the_page_has_every_example_and_the_image_of_all() -> None:
    names = [path.stem for path in sorted((ROOT / "examples").glob("*.py"))]
    assert re.findall(r"^\| \[`(\w+)\.py`\]", PAGE, re.M) == names
    assert len(names) == 12
    with Image.open(ROOT / "docs" / "images" / "examples.jpg") as sheet:
        assert sheet.size == (3 * 480, 4 * 300)  # by tools/example_images.py


def use(viewer: scripting.Viewer) -> None:
    """Every button, every key, and a click into the middle."""
    script = viewer.session.script
    for label in script.buttons:
        script.press_button(label)
    for key in script.keys:
        script.press_key(key)
    viewer.pick(80, 60)
    viewer.update()


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_runs_and_draws(name: str, gpu: Gpu, opened, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(smaller(PROGRAMS[name]), name, "exec", dont_inherit=True), {"__name__": "__main__"})
    for viewer in opened:
        if not viewer.closed:
            assert viewer.session.frame == FRAMES - (viewer._served is not None)  # browsers see the start first
            assert viewer.image().std() > 2.0
            use(viewer)
    assert opened or "(2048, 3) (360, 640, 3)" in capsys.readouterr().out
    assert name in PAGE or name.startswith("page")
