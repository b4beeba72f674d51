"""Values set in the parameters panel reach the model and the image: immediately, or at the release."""

from __future__ import annotations

import numpy as np
import pytest
from imgui_bundle import imgui

from vertigrad.panels import parameters
from vertigrad.session.commands import SetParameter

from .driver import Driver, Rows

MIDDLE = slice(60, 380), slice(40, 380)  # of the window, without the panel


@pytest.fixture
def opened(opened):
    """A viewer in a tall window, with no other panel."""

    def open_(*arguments, **options) -> Driver:
        driver = opened(*arguments, size=(600, 440), **options)
        for panel in driver.viewer.gui.workspace.opened:
            driver.viewer.gui.workspace.opened[panel] = panel == "Parameters"
        driver.frames(6)
        return driver

    return open_


def params(driver: Driver, owner: str = "models.terrain"):
    return driver.session.parameters()[owner]


def test_a_slider_takes_effect_while_it_is_dragged(opened, rows: Rows):
    driver = opened()
    before = driver.image()
    driver.hold(rows.at("height", 0.2))
    driver.carry(rows.at("height", 0.2), rows.at("height", 0.75))
    held = params(driver).height
    assert held == pytest.approx(1.5, abs=0.1)
    assert np.abs(driver.image() - before)[MIDDLE].mean() > 5.0  # shown although paused
    driver.carry(rows.at("height", 0.75), rows.at("height", 0.5))
    driver.desktop.release()
    driver.frames()
    assert params(driver).height == pytest.approx(1.0, abs=0.1)


@pytest.mark.turns(2)
def test_a_slider_that_rebuilds_the_model_takes_effect_at_the_release(opened, rows: Rows):
    driver = opened()
    layer, block = driver.session.stage.layers["ground"], driver.session.stage.instances["terrain"].outputs["position"]
    first = block.block.id, block.block.generation
    driver.hold(rows.at("resolution", 0.3))
    driver.carry(rows.at("resolution", 0.3), rows.at("resolution", 0.5))
    assert params(driver).resolution == 24
    assert 60 < rows.values["resolution"] < 160  # what the slider shows meanwhile
    driver.desktop.release()
    driver.frames()
    positions = driver.session.stage.instances["terrain"].outputs["position"]
    assert params(driver).resolution == rows.values["resolution"] == positions.shape[0] > 60
    assert (positions.block.id, positions.block.generation) != first
    assert layer.report()["position"]["block"] == positions.block.id


def test_ctrl_click_types_an_exact_value(opened, rows: Rows):
    driver = opened()
    driver.type_into(rows.at("height"), "0.12345")
    assert params(driver).height == 0.3  # not before Enter: an incomplete number is another one
    driver.key("Return")
    assert params(driver).height == 0.12345


def test_escape_cancels_typing(opened, rows: Rows):
    driver = opened()
    driver.type_into(rows.at("height"), "1.5")
    driver.key("Escape")
    assert params(driver).height == rows.values["height"] == 0.3
    assert not driver.session.messages


def test_a_typed_value_is_set_when_the_field_is_left(opened, rows: Rows):
    driver = opened()
    driver.type_into(rows.at("resolution"), "30")
    assert params(driver).resolution == 24
    driver.click((320, 300))
    assert params(driver).resolution == 30


@pytest.mark.turns(2)
@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "-1e60", "--", ""])
def test_invalid_numbers_are_not_set(opened, rows: Rows, text: str):
    driver = opened()
    driver.type_into(rows.at("height"), text) if text else driver.type_into(rows.at("height"), " ")
    driver.key("Return")
    assert params(driver).height == 0.3


@pytest.mark.turns(2)
def test_an_invalid_value_is_reported_until_a_valid_one_is_set(opened, rows: Rows):
    driver = opened()
    before = driver.image()
    driver.type_into(rows.at("resolution"), "100000")
    driver.key("Return")
    assert params(driver).resolution == rows.values["resolution"] == 24
    assert "100000 is above the maximum 4096" in driver.session.messages["models.terrain.resolution"]
    lower = slice(390, 430), slice(60, 340)
    assert np.abs(driver.image() - before)[lower].mean() > 10.0
    driver.drag((320, 200), (330, 200))
    assert driver.session.messages, "moving the camera mends nothing"
    driver.type_into(rows.at("resolution"), "25")
    driver.key("Return")
    assert params(driver).resolution == 25 and not driver.session.messages


def test_a_choice_and_a_boolean_take_effect_immediately(opened, rows: Rows, monkeypatch):
    driver = opened()
    open_section(driver, monkeypatch, "ground")
    style, before = params(driver, "layers.ground"), driver.image()
    was_flipped = style.colormap_flip
    driver.click(rows.at("colormap_flip", 0.05))
    assert style.colormap_flip != was_flipped
    flipped = driver.image()
    assert np.abs(flipped - before)[MIDDLE].mean() > 5.0
    was = style.colormap
    driver.click(rows.at("colormap"))
    x, y = rows.at("colormap")
    driver.click((x, y + 60))  # in the list that opened below
    assert style.colormap != was and style.colormap == rows.values["colormap"]
    assert np.abs(driver.image() - flipped)[MIDDLE].mean() > 5.0


@pytest.mark.turns(2)
def test_a_range_is_set_to_automatic_and_back(opened, rows: Rows, monkeypatch):
    driver = opened()
    open_section(driver, monkeypatch, "ground")
    style = params(driver, "layers.ground")
    for word in ("auto", "symmetric"):
        driver.click(rows.at("range", 0.93))
        assert style.range == word
    driver.click(rows.at("range", 0.93))
    assert style.range == (0.0, 1.0)
    driver.type_into(rows.at("range", 0.2), "0.75")
    driver.key("Return")
    assert style.range == (0.75, 1.0)
    driver.type_into(rows.at("range", 0.2), "2")  # above the other end
    driver.key("Return")
    assert style.range == (0.75, 1.0)


def test_a_color_is_set_when_it_is_complete(opened, rows: Rows, monkeypatch):
    driver = opened("nbody", "galaxy.count=64")
    open_section(driver, monkeypatch, "view")
    view, before = params(driver, "view"), driver.image()
    driver.click(rows.at("background", 0.4))
    driver.key("ctrl+a")
    driver.desktop.type("#40c")
    driver.frames(8)
    first = view.background
    driver.desktop.type("080")
    driver.frames(8)
    assert view.background == first, "half of a color is another one"
    driver.key("Return")
    assert view.background == pytest.approx((64 / 255, 192 / 255, 128 / 255), abs=1e-6)
    red, green, blue = (driver.image() - before)[MIDDLE].mean((0, 1))
    assert green > blue > red > 10.0


@pytest.mark.turns(2)
def test_a_file_is_set_with_enter(opened, rows: Rows, tmp_path, packaged_copy):
    scene = packaged_copy("neural_field")
    weights = tmp_path / "mine.safetensors"
    driver = opened(scene)
    weights.write_bytes(params(driver).weights.read_bytes())
    packaged = params(driver).weights
    assert rows.values["weights"] == "assets/weights/neural_field.safetensors"

    def enter(name: str) -> None:
        driver.click(rows.at("weights"))
        driver.key("ctrl+a")
        driver.desktop.type(name)
        driver.frames(len(name) + 4)
        driver.key("Return")

    enter("minne.safetensors")
    assert params(driver).weights == packaged
    assert 'weights: there is no file "minne.safetensors"' in "".join(driver.session.messages.values())
    enter("mine.safetensors")
    assert params(driver).weights == weights.resolve() and not driver.session.messages
    assert rows.values["weights"] == "mine.safetensors"


@pytest.mark.turns(2)
def test_a_dot_marks_changed_values_and_resets_them(opened, rows: Rows):
    driver = opened("neural_field", "terrain.height=0.4")
    _, top, _, bottom = rows.rects["height"]
    dot = parameters_left(driver), (top + bottom) / 2
    assert not is_accent(driver.image(), dot)  # as the command line has it
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    assert params(driver).height > 1.0
    assert is_accent(driver.image(), dot)
    driver.click(dot)
    assert params(driver).height == 0.4
    assert not is_accent(driver.image(), dot)


@pytest.mark.turns(2)
def test_the_panel_shows_values_of_the_command_line_and_hints_of_the_scene(
    opened, rows: Rows, packaged_copy, monkeypatch
):
    labels: set[str] = set()
    fitted = parameters.fitted
    monkeypatch.setattr(parameters, "fitted", lambda label, room: labels.add(label) or fitted(label, room))
    scene = packaged_copy("neural_field")
    hints = '[models.terrain.ui.height]\nlabel = "relief"\nmin = 0.5\nmax = 0.6\n'
    hints += '[models.terrain.ui.extent]\nmin = 0.01\nmax = 1\nscale = "log"\n'
    scene.write_text(scene.read_text() + hints)
    driver = opened(scene, "terrain.fine=2.5")
    assert rows.values["fine"] == 2.5
    assert "relief" in labels and "height" not in labels
    driver.drag(rows.at("height", 0.2), rows.at("height", 1.2))
    assert params(driver).height == pytest.approx(0.6)
    driver.drag(rows.at("height", 0.9), rows.at("height", -0.2))
    assert params(driver).height == pytest.approx(0.5)
    driver.drag(rows.at("extent", 0.7), rows.at("extent", 0.5))
    assert params(driver).extent == pytest.approx(0.1, rel=0.05)


def open_section(driver: Driver, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Open a section, as a click on its heading does."""
    section = parameters.section
    monkeypatch.setattr(
        parameters, "section", lambda label, note, opened: section(label, note, opened=label.startswith(name))
    )
    driver.frames(2)


def parameters_left(driver: Driver) -> float:
    """Where the dots of the parameters panel are, in pixels from the left."""
    return imgui.internal.find_window_by_name("Parameters").pos.x + 12.0 + 2.6


def is_accent(image: np.ndarray, position: tuple[float, float]) -> bool:
    """Whether the pixel has the panels' accent color."""
    x, y = (round(coordinate) for coordinate in position)
    red, _, blue = image[y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3).max(axis=0)
    return bool(red > 180 and blue < 120)


@pytest.mark.turns(2)
def test_a_parameter_without_effect_is_gray_and_gives_the_reason(opened, rows: Rows, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(parameters, "show_tooltip", shown.append)
    monkeypatch.setattr(parameters, "TOOLTIP_DELAY", 0.0)
    driver = opened("gray_scott", "skin.resolution=16")
    before = params(driver, "models.skin").feed
    driver.drag(rows.at("feed", 0.2), rows.at("feed", 0.7))
    driver.frames(3)
    assert params(driver, "models.skin").feed == before
    assert shown[-1].startswith('no effect: pattern = "eta"')
    driver.session.post(SetParameter("models.skin", "pattern", "own"))
    driver.frames(2)
    driver.drag(rows.at("feed", 0.2), rows.at("feed", 0.7))
    driver.frames(3)
    assert params(driver, "models.skin").feed != before
    assert "no effect" not in shown[-1]
