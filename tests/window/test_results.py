"""The Results panel: runs are opened, compared and saved as presets, with the mouse."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui
from PIL import Image

from vertigrad.panels import comparison, plots, result_details, result_plots, result_sheet, result_table
from vertigrad.panels import results as result_panel
from vertigrad.results import Definition, Run, SweepFolder
from vertigrad.results.scene_files import fingerprints
from vertigrad.session.commands import Step
from vertigrad.session.parameters import Key
from vertigrad.viewer.settings import Settings, save_settings

from .desktop import wait_until

SOFTENING = 0.05, 0.1, 0.15, 0.2
PLOT_LOW = plots.PADDING / (1 + 2 * plots.PADDING)  # where the smallest value is in a plot
SMALL = 640, 480  # of a window that is drawn in a process of its own
VIEWS = "Table", "Parallel coordinates", "Scatter matrix", "Contact sheet"


@pytest.fixture
def folder(tmp_path, packaged_copy) -> Path:
    """Results of six runs of a scene, the last one failed, with an image of its own color for each of the others."""
    scene = packaged_copy("nbody")
    folder = SweepFolder(tmp_path / "out")
    names = ("galaxy.softening", "galaxy.time_scale")
    points = [(softening, rate) for softening in SOFTENING[:3] for rate in (1.0, 2.0)]
    definition = Definition(
        str(scene), "N-body", "", names, 10, (64, 36), keys=tuple("abcdef"), files=fingerprints([scene])
    )
    folder.write(definition)
    for index, (key, point) in enumerate(zip("abcdef", points, strict=True)):
        values = dict(zip(names, point, strict=True))
        sets = ("galaxy.count=64", *(f"{name}={value}" for name, value in values.items()))
        if key == "f":
            folder.add(Run(key, values, sets, 7, "failed", "it went wrong"), {})
            continue
        Image.new("RGB", (64, 36), (40 * index, 200, 30)).save(tmp_path / "image.png")
        outcomes = {"galaxy.energy": float(index), "galaxy.kinetic": float(-index)}
        run = Run(key, values, sets, index, outcomes=outcomes, seconds=1.0)
        folder.add(run, {"image.png": (tmp_path / "image.png").read_bytes()})
    return folder.path


@pytest.fixture
def panel(shell, folder, monkeypatch):
    """A window with the results, its panel large enough for all views."""
    one = shell(Path(SweepFolder(folder).definition().scene), "galaxy.count=64", size=(1400, 1000))
    for title in one.workspace.opened:
        one.workspace.opened[title] = False
    one.workspace.results = folder
    one.workspace.show("Results")
    one.frames(6)
    return one


def chosen(panel) -> list[str]:
    found = next(one for one in panel.gui._panels if one.title == "Results")
    return found._selection.chosen


def test_a_click_opens_a_run_with_its_parameters_and_seed(panel, monkeypatch):
    rows = positions(monkeypatch, result_table.imgui, "selectable")
    panel.frames(2)
    panel.click(*rows["done##2"])
    panel.frames(3)
    session = panel.session
    assert not session.messages
    values = session.scene_edits.values()
    assert values[Key("models.galaxy", "softening")] == 0.1
    assert values[Key("models.galaxy", "time_scale")] == 1.0
    assert (session.stage.specs["galaxy"].seed, session.frame) == (2, 0)
    assert chosen(panel) == ["c"]


def test_two_runs_are_compared_and_one_becomes_a_preset(panel, monkeypatch):
    rows = positions(monkeypatch, result_table.imgui, "selectable")
    panel.frames(2)
    panel.click(*rows["done##0"])
    panel.gui.io.add_key_event(imgui.Key.mod_ctrl, True)
    panel.click(*rows["done##3"])
    panel.gui.io.add_key_event(imgui.Key.mod_ctrl, False)
    panel.frames(4)
    assert chosen(panel) == ["a", "d"]
    assert panel.session.stage.specs["galaxy"].seed == 0  # the second is compared only
    image = panel.image()
    assert all((np.abs(image[..., :3].astype(int) - (40 * index, 200, 30)).max(-1) < 3).sum() > 500 for index in (0, 3))
    buttons = positions(monkeypatch, result_details, "text_button")
    panel.frames(2)
    panel.click(*buttons[f"{icons.ICON_FA_SWATCHBOOK}  Save as preset"])  # of the run drawn last
    (preset,) = panel.session.scene_edits.extras.presets
    assert preset.name == "softening 0.1, time_scale 2"
    assert preset.values[Key("models.galaxy", "softening")] == 0.1
    assert panel.session.unsaved


def test_two_runs_are_shown_side_by_side(panel, monkeypatch, tmp_path):
    rows = positions(monkeypatch, result_table.imgui, "selectable")
    buttons = positions(monkeypatch, result_details, "text_button")
    ends = positions(monkeypatch, comparison, "flat_button")
    panel.frames(2)
    panel.click(*rows["done##0"])
    panel.gui.io.add_key_event(imgui.Key.mod_ctrl, True)
    panel.click(*rows["done##3"])
    panel.gui.io.add_key_event(imgui.Key.mod_ctrl, False)
    panel.frames(2)
    panel.click(*buttons[f"{icons.ICON_FA_TABLE_COLUMNS}  Run side by side"])
    panel.session.post(Step(30))
    panel.frames(34)
    session, other = panel.session, panel.session.comparison.running
    assert not session.messages
    assert [one.stage.specs["galaxy"].seed for one in (session, other)] == [0, 3]
    assert [one.stage.instances["galaxy"].params.softening for one in (session, other)] == [0.05, 0.1]
    assert session.comparison.labels == ("softening 0.05, time_scale 1, seed 0", "softening 0.1, time_scale 2, seed 3")
    assert session.frame == other.clock.frame == 30
    left, right = panel.gui.panes
    assert (left.width + right.width, left.left + left.width) == (panel.gui.viewport.width - 2, right.left - 2)
    assert panel.gui.pane(right.left + 5, right.top + 5) == right
    panel.click(*ends[f"{icons.ICON_FA_XMARK}##stop comparing"])
    panel.frames(2)
    assert session.comparison is None
    assert panel.gui.panes == (panel.gui.viewport,)


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_chooses_the_run_that_is_clicked(panel, view, monkeypatch):
    tabs = positions(monkeypatch, result_panel.imgui, "begin_tab_item")
    tiles = positions(monkeypatch, result_sheet.imgui, "invisible_button")
    rows = positions(monkeypatch, result_table.imgui, "selectable")
    lines, cells = [], {}
    monkeypatch.setattr(result_plots, "_draw_lines", recorded(result_plots._draw_lines, lines.append))
    monkeypatch.setattr(result_plots, "_draw_cell", with_corner(result_plots._draw_cell, cells))
    panel.frames(2)
    panel.click(*tabs[view])
    panel.frames(8)
    if view == "Parallel coordinates":
        _, xs, ys, _ = lines[-1]
        panel.click(xs[2], ys[4, 2])
    elif view == "Scatter matrix":
        (x, y), (width, height) = cells["matrix 2 0"]  # energy over softening: the lowest is at the lower left
        panel.click(x + width * PLOT_LOW, y + height * (1 - PLOT_LOW))
    else:
        panel.click(*(tiles["##e"] if view == "Contact sheet" else rows["done##4"]))
    panel.frames(3)
    assert chosen(panel) == ["a" if view == "Scatter matrix" else "e"]
    assert panel.session.stage.specs["galaxy"].seed == (0 if view == "Scatter matrix" else 4)


def test_a_scene_that_has_changed_since_the_sweep_is_reported(panel, folder, monkeypatch):
    monkeypatch.setattr(result_panel, "READ_S", 0.0)
    texts: list[str] = []
    monkeypatch.setattr(result_panel, "paragraph", lambda text, *others: texts.append(text))
    scene = Path(SweepFolder(folder).definition().scene)
    before = scene.read_text()
    panel.frames(2)
    assert not texts
    scene.write_text(before + "# another scene")
    panel.frames(2)
    assert "nbody.toml: changed since the sweep, so what is opened may not be what was computed" in texts[-1]
    scene.write_text(before)
    panel.frames(2)
    texts.clear()
    panel.frames(2)
    assert not texts


def test_runs_that_are_added_meanwhile_appear(panel, folder, monkeypatch):
    monkeypatch.setattr(result_panel, "READ_S", 0.0)
    SweepFolder(folder).add(Run("f", {"galaxy.softening": 0.15, "galaxy.time_scale": 2.0}, (), 7), {})
    panel.frames(2)
    found = next(one for one in panel.gui._panels if one.title == "Results")
    assert found._selection.results[5].state == "done"


def test_a_folder_that_has_no_results_is_reported(panel, tmp_path):
    panel.workspace.results = tmp_path
    panel.frames(3)
    found = next(one for one in panel.gui._panels if one.title == "Results")
    assert "has no results of a sweep" in found._error
    assert panel.workspace.results is None


def positions(monkeypatch, module, name: str) -> dict[str, tuple[float, float]]:
    """Where the items of a function were drawn last: their middles, by label."""
    found: dict[str, tuple[float, float]] = {}
    draw = getattr(module, name)

    def drawn(label, *arguments, **others):
        result = draw(label, *arguments, **others)
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        found[label] = (low.x + min(high.x - low.x, 120) / 2, (low.y + high.y) / 2)
        return result

    monkeypatch.setattr(module, name, drawn)
    return found


def recorded(function, note):
    def call(*arguments):
        note(arguments)
        return function(*arguments)

    return call


def with_corner(function, cells):
    def call(name, axes, size, *others):
        corner = imgui.get_cursor_screen_pos()
        cells[name] = (corner.x, corner.y), size
        return function(name, axes, size, *others)

    return call


@pytest.mark.turns(3)
def test_the_program_opens_a_run_that_is_clicked(shell, desktop, packaged_copy, tmp_path, monkeypatch):
    """`vertigrad results` in a process of its own; the runs differ in the color of the background."""
    scene, folder = packaged_copy("nbody"), SweepFolder(tmp_path / "out")
    folder.write(Definition(str(scene), "N-body", "", ("view.background",), 1, (64, 36), keys=("a", "b")))
    for key, background in (("a", "#000000"), ("b", "#3060c0")):
        sets = ("galaxy.count=64", f'view.background="{background}"', "view.vignette=0")
        folder.add(Run(key, {"view.background": background}, sets, 1, outcomes={"galaxy.energy": 1.0}), {})
    rows = positions(monkeypatch, result_table.imgui, "selectable")
    same = shell(scene, "galaxy.count=64", size=SMALL)  # to find out where the row is
    closed = dict.fromkeys(same.workspace.opened, False)
    same.workspace.opened.update(closed)
    same.workspace.results = folder.path
    same.workspace.show("Results")
    same.frames(8)
    program = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())"]
    environment = {**os.environ, "VERTIGRAD_CONFIG_DIR": str(tmp_path)}
    save_settings(Settings(size=SMALL, opened=closed), tmp_path / "viewer.json")
    command = [*program, "results", str(folder.path)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)

    def middle(channel: int) -> float:
        time.sleep(0.2)  # a screenshot takes longer than a frame
        return float(desktop.screenshot()[60:160, 200:400, channel].mean())

    try:
        assert wait_until(lambda: desktop.windows() or running.poll() is not None)
        (window,) = desktop.windows()
        desktop.move(*rows["done##1"])
        assert wait_until(lambda: 0 < middle(1) < 30), "the first run is not shown"
        desktop.click()
        assert wait_until(lambda: middle(2) > 100, 100.0), "the second run is not shown"
        desktop.press_close_button(window)
        _, errors = running.communicate(timeout=900)
    finally:
        running.kill()
        running.communicate()
    assert (running.returncode, "Traceback" in errors) == (0, False), errors


def test_a_tile_of_the_contact_sheet_is_clicked_with_the_real_mouse(opened, folder, monkeypatch):
    tabs = positions(monkeypatch, result_panel.imgui, "begin_tab_item")
    tiles = positions(monkeypatch, result_sheet.imgui, "invisible_button")
    one = opened(Path(SweepFolder(folder).definition().scene), "galaxy.count=64", size=(1000, 800))
    workspace = one.viewer.gui.workspace
    workspace.opened.update(dict.fromkeys(workspace.opened, False))
    workspace.results = folder
    workspace.show("Results")
    one.frames(8)
    one.click(tabs["Contact sheet"])
    one.frames(8)
    one.click(tiles["##e"])
    one.frames_until(lambda: one.session.stage.specs["galaxy"].seed == 4)
    assert one.session.scene_edits.values()[Key("models.galaxy", "softening")] == 0.15
    assert not one.session.messages
