"""The scene's file when the user saves, closes the window, or edits the file in another program too."""

from __future__ import annotations

import errno
import subprocess

import numpy as np
import pytest

from vertigrad import atomic_file, resources
from vertigrad.panels.unsaved import suggestion
from vertigrad.session.commands import SetParameter
from vertigrad.session.parameters import Key
from vertigrad.viewer import Viewer

from .driver import Driver, Items, Rows

HEIGHT = Key("models.terrain", "height")


@pytest.fixture
def driver(opened, packaged_copy, rows: Rows, items: Items) -> Driver:
    """A viewer on a copy of the landscape, with a tall parameters panel and no other."""
    driver = opened(packaged_copy("neural_field"), size=(600, 440))
    for panel in driver.viewer.gui.workspace.opened:
        driver.viewer.gui.workspace.opened[panel] = panel == "Parameters"
    driver.frames(6)
    return driver


def text(driver: Driver) -> str:
    return driver.session.scene.path.read_bytes().decode()


def title(driver: Driver) -> str:
    command = ["xdotool", "getwindowname", str(driver.window)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=True).stdout.strip()


def expected(driver: Driver, height: str) -> str:
    """The file with another height, and with what the test's command line had set."""
    packaged = resources.path("scenes", "neural_field.toml").read_text()
    changes = {
        "height = 0.3": f"height = {height}",
        "resolution = 224": "resolution = 24",
        "shadows = 0.7": "shadows = 0.0",
    }
    for old, new in changes.items():
        packaged = packaged.replace(old, new)
    assert packaged.rpartition("\n[")[2].startswith("view]\n"), "the last table"
    return packaged + 'quality = "low"\nbloom = 0.0\n'


def test_a_dragged_slider_is_saved_and_nothing_else_of_the_file_changes(driver: Driver, rows: Rows):
    assert title(driver) == "A landscape remembered by a network – Vertigrad"
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    value = driver.session.scene_edits.value(HEIGHT)
    assert value > 1.0 and title(driver).startswith("● ")
    assert "height = 0.3" in text(driver)
    driver.key("ctrl+s")
    assert text(driver) == expected(driver, repr(value))
    assert not title(driver).startswith("● ")
    driver.key("ctrl+z")
    assert title(driver).startswith("● ")
    driver.key("ctrl+s")
    assert text(driver) == expected(driver, "0.3")


def test_saving_with_nothing_changed_does_nothing(driver: Driver):
    before = driver.session.scene.path.stat()
    driver.key("ctrl+s")
    assert driver.session.scene.path.stat() == before


def close(driver: Driver) -> None:
    driver.desktop.press_close_button(driver.window)
    driver.frames(6)


@pytest.mark.turns(2)
def test_closing_asks_if_something_is_unsaved_and_cancel_continues(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    before = text(driver)
    for cancel in ("button", "key"):
        close(driver)
        assert not driver.viewer.closed and items.find("Save") and items.find("Don't save")
        driver.click((200, 400))  # the question is modal
        assert driver.session.questions.first
        driver.click(items.at("Cancel")) if cancel == "button" else driver.key("Escape")
        assert not driver.viewer.closed and driver.session.questions.first is None
    driver.drag(rows.at("height", 0.7), rows.at("height", 0.5))
    assert len(driver.session.scene_edits.history.done) == 2 and text(driver) == before


def test_closing_can_save(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    close(driver)
    driver.click(items.at("Save"))
    assert driver.viewer.closed
    assert text(driver) == expected(driver, repr(driver.session.scene_edits.value(HEIGHT)))


def test_enter_saves_and_closes(driver: Driver, rows: Rows):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    close(driver)
    driver.key("Return")
    assert driver.viewer.closed and "height = 0.3" not in text(driver)


@pytest.mark.turns(2)
def test_closing_can_discard_the_changes(driver: Driver, rows: Rows, items: Items):
    before = text(driver)
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    close(driver)
    driver.click(items.at("Don't save"))
    assert driver.viewer.closed and text(driver) == before


@pytest.mark.turns(2)
def test_closing_without_changes_asks_nothing(driver: Driver, rows: Rows):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    driver.key("ctrl+z")
    close(driver)
    assert driver.viewer.closed


def test_the_question_is_shown_without_panels(driver: Driver, items: Items):
    driver.session.post(SetParameter(*HEIGHT, 1.0))
    driver.key("g")
    close(driver)
    assert not driver.viewer.closed and items.find("Don't save")
    driver.click(items.at("Don't save"))
    assert driver.viewer.closed


@pytest.mark.turns(2)
def test_a_file_changed_by_another_program(driver: Driver, rows: Rows, items: Items):
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    value = driver.session.scene_edits.value(HEIGHT)
    theirs = text(driver).replace("amplitude = 0.1", "amplitude = 0.2")
    driver.session.scene.path.write_text(theirs)
    driver.key("ctrl+s")
    assert text(driver) == theirs
    driver.click(items.at("Cancel"))
    driver.key("ctrl+s")
    driver.click(items.at("Reload"))
    assert driver.session.questions.first is None and driver.session.scene_edits.value(HEIGHT) == value
    assert driver.session.parameters()["models.terrain"].amplitude == 0.2
    driver.key("ctrl+s")
    assert text(driver) == expected(driver, repr(value)).replace("amplitude = 0.1", "amplitude = 0.2")
    driver.drag(rows.at("height", 0.7), rows.at("height", 0.5))
    driver.session.scene.path.write_text("nonsense")
    driver.key("ctrl+s")
    driver.click(items.at("Overwrite"))
    again = repr(driver.session.scene_edits.value(HEIGHT))
    assert text(driver) == expected(driver, again).replace("amplitude = 0.1", "amplitude = 0.2")


@pytest.mark.turns(2)
def test_save_as_asks_for_a_name(driver: Driver, rows: Rows, items: Items, tmp_path):
    before, path = text(driver), driver.session.scene.path
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    driver.key("ctrl+shift+s")
    driver.frames(4)
    driver.key("ctrl+a")
    driver.desktop.type("mine")
    driver.frames(10)
    driver.key("Return")
    assert driver.session.scene.path == tmp_path / "mine.toml" and driver.session.questions.first is None
    assert text(driver) == expected(driver, repr(driver.session.scene_edits.value(HEIGHT)))
    assert path.read_text() == before and not driver.session.unsaved
    driver.drag(rows.at("height", 0.7), rows.at("height", 0.3))
    driver.key("ctrl+shift+s")
    driver.frames(4)
    driver.key("ctrl+a")
    driver.desktop.type(path.name)
    driver.frames(20)
    driver.key("Return")
    assert path.read_text() == before and items.find("Replace")
    driver.click(items.at("Replace"))
    assert driver.session.scene.path == path
    assert text(driver) == expected(driver, repr(driver.session.scene_edits.value(HEIGHT)))


@pytest.mark.parametrize(
    ("file", "name"),
    [("ball.obj", "ball.toml"), ("a.b.npy", "a.b.toml"), ("galaxy.v2", "galaxy.v2.toml"), ("mine.toml", "mine.toml")],
)
def test_the_suggested_name_is_in_the_folder_of_the_file(tmp_path, monkeypatch, file: str, name: str):
    assert suggestion(tmp_path / file) == (tmp_path, name)
    (tmp_path / name).touch()
    assert suggestion(tmp_path / file) == (tmp_path, name), "the dialog asks before it replaces a file"
    monkeypatch.chdir(tmp_path)
    assert suggestion(resources.path("scenes") / file) == (tmp_path, name), "what is packaged is copied"
    assert suggestion(resources.path("assets", "data") / file) == (tmp_path, name)


@pytest.fixture
def raw(opened, items: Items, tmp_path) -> Driver:
    """A viewer on an array file, with the dialog that asks for a name."""
    np.save(tmp_path / "a.npy", np.ones((8, 8), np.float32))
    driver = opened(tmp_path / "a.npy", size=(600, 440))
    driver.key("ctrl+shift+s")
    driver.frames(4)
    return driver


def test_data_is_saved_as_a_scene_with_its_name(raw: Driver, tmp_path):
    before = (tmp_path / "a.npy").read_bytes()
    raw.key("Return")
    assert raw.session.scene.path == tmp_path / "a.toml" and not raw.session.messages
    assert 'file = "a.npy"' in text(raw) and (tmp_path / "a.npy").read_bytes() == before


def test_an_existing_file_with_the_suggested_name_is_asked_about(raw: Driver, items: Items, tmp_path):
    (tmp_path / "a.toml").write_text("of somebody else")
    raw.key("Return")
    assert items.find("Replace") and (tmp_path / "a.toml").read_text() == "of somebody else"
    raw.click(items.at("Replace"))
    assert raw.session.scene.path == tmp_path / "a.toml" and 'file = "a.npy"' in text(raw)


def test_a_folder_that_cannot_be_written_is_reported(raw: Driver, tmp_path, monkeypatch):
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as context:  # instead of permissions, which do not apply to root
        context.setattr(atomic_file, "open", refused, raising=False)
        raw.key("Return")
    assert raw.session.messages["save"] == f"{tmp_path / 'a.toml'}: cannot be written (Permission denied)"
    assert raw.session.scene.path == tmp_path / "a.npy" and [*tmp_path.glob("*.toml")] == []


@pytest.mark.turns(2)
def test_save_as_can_be_canceled(driver: Driver, items: Items):
    driver.key("ctrl+shift+s")
    driver.frames(4)
    assert driver.session.questions.first
    driver.click(items.at("Cancel"))
    driver.frames(4)
    assert driver.session.questions.first is None
    driver.key("ctrl+shift+s")
    driver.frames(4)
    driver.key("Escape")
    driver.frames(4)
    assert driver.session.questions.first is None


@pytest.mark.turns(2)
def test_a_read_only_file_asks_for_another_name_and_then_closes(driver: Driver, rows: Rows, items: Items, tmp_path):
    driver.session.scene.path.chmod(0o444)
    driver.drag(rows.at("height", 0.2), rows.at("height", 0.7))
    close(driver)
    driver.click(items.at("Save"))
    assert (
        not driver.viewer.closed
        and driver.session.questions.first
        and "read-only" in driver.session.questions.first.reason
    )
    driver.click(items.at("Save as"))
    driver.frames(4)
    driver.key("ctrl+a")
    driver.desktop.type("other.toml")
    driver.frames(14)
    driver.key("Return")
    driver.frames(4)
    assert driver.viewer.closed and (tmp_path / "other.toml").exists()


def test_a_viewer_with_a_number_of_frames_ends_with_unsaved_changes(driver: Driver):
    """With `--frames` there is no user to answer."""
    driver.session.post(SetParameter(*HEIGHT, 1.0))
    driver.frames(2)
    assert isinstance(driver.viewer, Viewer) and not driver.session.questions.first
