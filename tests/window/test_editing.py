"""Undo, presets, compare A/B, randomized and animated values, search and copying, with mouse and keys."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from imgui_bundle import imgui

from vertigrad.scene import load
from vertigrad.session import STEP
from vertigrad.session.parameters import Key

from .desktop import RIGHT
from .driver import Driver, Items, Rows

HEIGHT = Key("models.terrain", "height")
MIDDLE = slice(60, 430), slice(20, 380)


@pytest.fixture
def driver(opened, packaged_copy, rows: Rows, items: Items) -> Driver:
    """A viewer on a copy of the landscape, with a tall parameters panel and no other."""
    driver = opened(packaged_copy("neural_field"), size=(600, 440))
    for panel in driver.viewer.gui.workspace.opened:
        driver.viewer.gui.workspace.opened[panel] = panel == "Parameters"
    driver.frames(6)
    return driver


def height(driver: Driver) -> float:
    return driver.session.scene_edits.value(HEIGHT)


def menu(driver: Driver, position: tuple[float, float]) -> None:
    driver.desktop.move(*position)
    driver.frames(3)
    driver.desktop.click(RIGHT)
    driver.frames()


def steps(driver: Driver) -> list[str]:
    return [step.label for step in driver.session.scene_edits.history.done]


@pytest.mark.turns(2)
def test_a_drag_is_undone_and_redone_as_one_step(driver: Driver, rows: Rows):
    driver.frames(2)
    before = driver.image()
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    dragged, moved = height(driver), driver.image()
    assert dragged > 1.0 and steps(driver) == ["height"]
    assert np.abs(moved - before)[MIDDLE].mean() > 3.0
    driver.drag(rows.at("height", 0.7), rows.at("height", 0.4))
    assert steps(driver) == ["height", "height"]
    driver.key("ctrl+z")
    assert height(driver) == dragged
    assert np.array_equal(driver.image()[MIDDLE], moved[MIDDLE])
    driver.key("ctrl+z")
    assert height(driver) == 0.3
    assert np.array_equal(driver.image()[MIDDLE], before[MIDDLE])
    driver.key("ctrl+z")
    driver.key("ctrl+shift+z")
    assert height(driver) == dragged
    driver.key("ctrl+y")
    assert height(driver) < dragged and steps(driver) == ["height", "height"]


@pytest.mark.turns(2)
def test_undo_applies_to_the_text_field_while_typing(driver: Driver, rows: Rows):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    dragged = height(driver)
    driver.type_into(rows.at("fine"), "2")
    driver.key("ctrl+z")
    assert height(driver) == dragged, "Ctrl+Z took back what was typed"
    driver.key("Escape")
    driver.key("ctrl+z")
    assert height(driver) == 0.3


def test_buttons_undo_too_and_name_the_step(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    driver.click(items.at("\uf2ea"))  # the arrow to the left
    assert height(driver) == 0.3
    driver.click(items.at("\uf2f9"))
    assert height(driver) > 1.0


@pytest.mark.turns(2)
def test_a_typed_value_and_a_rebuild_are_one_step_each(driver: Driver, rows: Rows):
    driver.frames(2)
    driver.type_into(rows.at("height"), "1.25")
    driver.key("Return")
    driver.type_into(rows.at("resolution"), "40")
    driver.key("Return")
    driver.type_into(rows.at("resolution"), "100000")  # rejected
    driver.key("Return")
    assert steps(driver) == ["height", "resolution"]
    driver.key("ctrl+z")
    assert driver.session.scene_edits.value(Key("models.terrain", "resolution")) == 24
    assert driver.session.stage.instances["terrain"].outputs["position"].shape[0] == 24
    driver.key("ctrl+z")
    assert height(driver) == 0.3


@pytest.mark.turns(2)
def test_a_color_dragged_in_its_picker_is_one_step(driver: Driver, rows: Rows, items: Items):
    view = driver.session.view
    driver.click(items.at("##search"))
    driver.desktop.type("background")
    driver.frames(14)
    was = view.background
    driver.click(rows.at("background", 0.95))
    x, y = rows.at("background", 0.95)
    driver.drag((x - 120, y + 60), (x - 200, y + 150))
    assert view.background != was and len(steps(driver)) == 1
    assert all(float(part * 255).is_integer() or abs(part * 255 - round(part * 255)) < 1e-9 for part in view.background)
    driver.key("Escape")
    driver.key("ctrl+z")
    assert view.background == was


@pytest.mark.turns(2)
def test_search_shows_matches_and_is_cleared(driver: Driver, rows: Rows, items: Items):
    driver.click(items.at("##search"))
    driver.desktop.type("sun elev")
    driver.frames(12)
    rows.rects.clear()
    driver.frames(2)
    assert list(rows.rects) == ["sun_elevation"]
    driver.key("ctrl+a")
    driver.desktop.type("nothing like it")
    driver.frames(18)
    rows.rects.clear()
    driver.frames(2)
    assert not rows.rects
    driver.key("ctrl+a")
    driver.key("BackSpace")
    driver.frames(4)
    assert "height" in rows.rects and "sun_elevation" not in rows.rects, "the view is closed as before"


@pytest.mark.turns(2)
def test_the_menu_of_a_parameter(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    menu(driver, rows.at("height"))
    driver.click(items.at("Copy value"))
    assert float(imgui.get_clipboard_text()) == height(driver)
    menu(driver, rows.at("height"))
    driver.click(items.at("Copy as --set"))
    assert imgui.get_clipboard_text() == f"--set terrain.height={height(driver)!r}"
    menu(driver, rows.at("height"))
    driver.click(items.at("Reset"))
    assert height(driver) == 0.3
    found = []
    for _ in range(2):
        menu(driver, rows.at("height"))
        driver.click(items.at("Randomize"))
        found.append(height(driver))
    assert found[0] != found[1] and all(0.0 <= value <= 2.0 for value in found)
    driver.key("ctrl+z", "ctrl+z")
    assert height(driver) == 0.3


def test_a_right_click_sets_nothing(driver: Driver, rows: Rows):
    driver.frames(2)
    for name in ("height", "resolution"):
        menu(driver, rows.at(name, 0.9))
        driver.key("Escape")
    assert steps(driver) == []


@pytest.mark.turns(2)
def test_animate_with_the_menu(driver: Driver, rows: Rows, items: Items):
    driver.frames(2)
    menu(driver, rows.at("height"))
    driver.click(items.at("Animate: ramp"))
    assert driver.session.scene_edits.extras.animations[HEIGHT].shape == "ramp"
    for _ in range(3):
        driver.key("n")
    frequency = driver.session.scene_edits.extras.animations[HEIGHT].frequency
    assert driver.session.parameters()["models.terrain"].height == pytest.approx(2.0 * 3 * STEP * frequency)
    assert rows.values["height"] == driver.session.parameters()["models.terrain"].height
    menu(driver, rows.at("height"))
    driver.drag(rows.at("frequency", 0.5), rows.at("frequency", 0.9))
    assert driver.session.scene_edits.extras.animations[HEIGHT].frequency > 2 * frequency
    assert len(steps(driver)) == 2
    driver.click(items.at("Stop animation"))
    assert driver.session.scene_edits.extras.animations == {}
    driver.key("ctrl+z", "ctrl+z", "ctrl+z")
    assert driver.session.scene_edits.extras.animations == {} and height(driver) == 0.3


@pytest.mark.turns(2)
def test_a_color_is_animated_with_the_menu(driver: Driver, rows: Rows, items: Items):
    key = Key("view", "background")
    driver.click(items.at("##search"))
    driver.desktop.type("background")
    driver.frames(14)
    menu(driver, rows.at("background"))
    driver.click(items.at("Animate: sine"))
    low, high = driver.session.scene_edits.extras.animations[key].range
    assert low == driver.session.scene_edits.value(key) and high == tuple(1.0 - part for part in low)
    assert len(steps(driver)) == 1
    driver.session.scene_edits.apply_animations(1.0)
    assert driver.session.parameters()["view"].background != low
    menu(driver, rows.at("background"))
    driver.click(items.at("Stop animation"))
    assert driver.session.scene_edits.extras.animations == {} and len(steps(driver)) == 2


@pytest.mark.turns(2)
def test_menu_of_a_group(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    menu(driver, items.at("terrain##"))
    driver.click(items.at("Copy changes as --set"))
    assert shlex.split(imgui.get_clipboard_text()) == ["--set", f"terrain.height={height(driver)!r}"]
    menu(driver, items.at("terrain##"))
    driver.click(items.at("Randomize all in this group"))
    assert driver.session.scene_edits.value(Key("models.terrain", "resolution")) == 24, "it would rebuild the model"
    assert len(driver.session.scene_edits.differing()) > 3
    menu(driver, items.at("terrain##"))
    driver.click(items.at("Reset all in this group"))
    assert driver.session.scene_edits.differing() == {}


@pytest.mark.turns(2)
def test_presets_from_the_list(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    dragged = height(driver)
    driver.click(items.at("##presets"))
    driver.click(items.at("##new"))
    driver.desktop.type("high up")
    driver.frames(10)
    driver.key("Return")
    driver.key("Escape")
    assert [preset.name for preset in driver.session.scene_edits.extras.presets] == ["high up"]
    for keys in ("ctrl+z", "ctrl+z", "ctrl+shift+z", "ctrl+shift+z"):
        driver.key(keys)
    assert [preset.name for preset in driver.session.scene_edits.extras.presets] == ["high up"]
    driver.drag(rows.at("height", 0.7), rows.at("height", 0.3))
    driver.click(items.at("##presets"))
    driver.click(items.at("high up"))
    driver.key("Escape")
    assert height(driver) == dragged
    driver.click(items.at("##presets"))
    driver.click(items.at("\uf304"))  # the pencil
    driver.key("ctrl+a")
    driver.desktop.type("higher")
    driver.frames(10)
    driver.key("Return")
    assert [preset.name for preset in driver.session.scene_edits.extras.presets] == ["higher"]
    driver.click(items.at("\uf1f8"))  # the bin
    assert driver.session.scene_edits.extras.presets == ()
    driver.key("Escape")
    driver.key("ctrl+z")
    assert [preset.name for preset in driver.session.scene_edits.extras.presets] == ["higher"]


@pytest.mark.turns(2)
def test_compare_a_b_by_key_and_by_button(driver: Driver, rows: Rows, items: Items):
    driver.frames(2)
    before = driver.image()
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    dragged, moved = height(driver), driver.image()
    driver.key("x")
    assert height(driver) == 0.3 and driver.session.scene_edits.extras.side == "B"
    assert np.array_equal(driver.image()[MIDDLE], before[MIDDLE])
    left, top, right, bottom = items.rects["A"]
    driver.click(((left + right) / 2, (top + bottom) / 2))
    assert height(driver) == dragged and driver.session.scene_edits.extras.side == "A"
    assert np.array_equal(driver.image()[MIDDLE], moved[MIDDLE])


@pytest.mark.turns(2)
def test_the_command_line_of_the_displayed_scene(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    driver.drag((200, 300), (260, 320))  # the camera
    driver.key("ctrl+shift+c")
    words = shlex.split(imgui.get_clipboard_text())
    sets = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    scene: Path = driver.session.scene.path
    assert words[:3] == ["vertigrad", "render", str(scene)] and "--camera" in words
    assert load(scene, sets=sets).models["terrain"].params.height == height(driver)


def test_rows_beyond_the_window_are_reached_by_scrolling(opened, packaged_copy, rows: Rows):
    driver = opened(packaged_copy("neural_field"), size=(700, 200))
    for panel in driver.viewer.gui.workspace.opened:
        driver.viewer.gui.workspace.opened[panel] = panel == "Parameters"
    rows.rects.clear()
    driver.frames(6)
    first = [name for name, position in rows.rects.items() if position[3] < 195]
    assert "resolution" in first
    driver.desktop.move(*rows.at(first[0]))
    driver.frames(2)
    driver.desktop.click(5, times=4)
    rows.rects.clear()
    driver.frames(20)
    last = [name for name, position in rows.rects.items() if position[3] < 195][-1]
    assert "resolution" not in rows.rects and last not in first
    driver.drag(rows.at(last, 0.2), rows.at(last, 0.6))
    assert steps(driver) == [last.replace("_", " ")]
