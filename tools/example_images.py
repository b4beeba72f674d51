"""Write docs/images/examples.jpg: what each program in examples/ shows after some frames, without a window.

`python tools/example_images.py [NAME ...]`; with names, only these are run, and each is written as NAME.png instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vertigrad import scripting

ROOT = Path(__file__).parent.parent
SHEET = ROOT / "docs" / "images" / "examples.jpg"
SIZE, ACROSS = (480, 300), 3
FRAMES = {
    "show_mesh": 1,
    "sweep": 2,
    "harmonics": 2,
    "orbitals": 2,
    "field_lines": 3,
    "graph": 200,
    "lorenz": 160,
    "random_walk": 15,
}
USUAL = 60


class Offscreen(scripting.Viewer):
    """A viewer without a window whose loop ends after some frames."""

    opened: scripting.Viewer | None = None
    most = USUAL

    def __init__(self, title: str = "", size: tuple[int, int] | None = None, offscreen: bool = False) -> None:
        super().__init__(title, SIZE, offscreen=True)
        Offscreen.opened = self

    def frames(self, count: int | None = None) -> Iterator[scripting.Step]:
        return super().frames(min(count or self.most, self.most))

    def show(self, block: bool = True) -> None:
        for _ in self.frames():
            pass


def image(path: Path) -> np.ndarray:
    """What a program shows at its end, (height, width, 3) u8."""
    Offscreen.most = FRAMES.get(path.stem, USUAL)
    scripting.Viewer = sys.modules["vertigrad.scripting.show"].Viewer = Offscreen  # pyright: ignore
    program: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), program)
    assert Offscreen.opened is not None, f"{path.name} opened no viewer"
    found = Offscreen.opened.image()
    Offscreen.opened.close()
    return found


def main(names: list[str]) -> None:
    paths = [path for path in sorted((ROOT / "examples").glob("*.py")) if not names or path.stem in names]
    images = []
    for path in paths:
        images.append(image(path))
        if names:
            Image.fromarray(images[-1]).save(f"{path.stem}.png")
    if not names:
        rows = [np.concatenate(images[at : at + ACROSS], axis=1) for at in range(0, len(images), ACROSS)]
        Image.fromarray(np.concatenate(rows)).save(SHEET, quality=88)


if __name__ == "__main__":
    main(sys.argv[1:])
