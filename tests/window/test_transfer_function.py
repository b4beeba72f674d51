"""The opacity curve of a volume: its points are dragged, added and removed with the mouse, and all of it is undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.panels import curve_editor
from vertigrad.params.curve import parse_curve
from vertigrad.session.commands import Undo

from .driver import Driver, Rows

SCENE = """version = 1
[models.scan]
type = "volume"
file = "ball.npy"
[layers.scan]
type = "volume"
density = "scan.values"
color = "scan.values"
colormap = "viridis"
extinction = 20.0
"""


@pytest.fixture
def edited(opened: Callable[..., Driver], rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A volume in a window, and the pixel of a point of its curve."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 16)], indexing="ij")
    np.save(tmp_path / "ball.npy", np.clip(1 - np.sqrt(x * x + y * y + z * z), 0, 1).astype(np.float32))
    (tmp_path / "ball.toml").write_text(SCENE)
    plots = []
    draw = curve_editor._draw
    monkeypatch.setattr(curve_editor, "_draw", lambda plot, *rest: (plots.append(plot), draw(plot, *rest)))
    driver = opened(tmp_path / "ball.toml", size=(560, 640))
    driver.viewer.gui.workspace.show("Parameters")
    panel = next(one for one in driver.viewer.gui._panels if one.title == "Parameters")
    panel._search, panel._scene = "opacity", None
    driver.frames()

    def at(x: float, y: float) -> tuple[float, float]:
        pixel = plots[-1].pixel((x, y))
        return pixel.x, pixel.y

    return driver, at


def curve(driver: Driver) -> list[tuple[float, float]]:
    return list(parse_curve(driver.session.stage.layers["scan"].style.opacity_curve))


@pytest.mark.turns(2)
def test_points_are_dragged_added_and_removed_and_undone(edited) -> None:
    driver, at = edited
    driver.drag(at(1.0, 1.0), at(0.7, 0.1))
    assert len(curve(driver)) == 2 and curve(driver)[1][0] == 1.0 and abs(curve(driver)[1][1] - 0.1) < 0.03
    driver.drag(at(0.5, 0.6), at(0.4, 0.8))
    assert len(curve(driver)) == 3 and np.allclose(curve(driver)[1], (0.4, 0.8), atol=0.03)
    driver.drag(at(*curve(driver)[1]), at(1.0, 0.5))
    assert 0.9 < curve(driver)[1][0] < 1.0, "not past its neighbor"
    driver.desktop.move(*at(*curve(driver)[1]))
    driver.frames(2)
    driver.desktop.click(3)
    driver.frames()
    assert len(curve(driver)) == 2
    for count in (3, 3, 2, 2):
        driver.session.post(Undo())
        driver.frames(2)
        assert len(curve(driver)) == count
    assert curve(driver) == [(0.0, 0.0), (1.0, 1.0)] and not driver.session.messages
