"""The gallery and the file dialog: scenes are found, shown by their images, and opened with mouse or keys."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from imgui_bundle import imgui
from PIL import Image

from vertigrad import resources
from vertigrad.panels import files, gallery
from vertigrad.panels.files import FileDialog, listed
from vertigrad.panels.rows import wrapped
from vertigrad.panels.thumbnails import entry, existing
from vertigrad.panels.workspace import RECENT, Workspace

from .shell import Shell

pytestmark = pytest.mark.usefixtures("small_scenes")

Open = Callable[..., Shell]


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """Where each card of the gallery was drawn last: its middle, by the file's stem."""
    positions: dict[str, tuple[float, float]] = {}
    drawn = gallery.Gallery._draw_card

    def draw(self, one, image, running):
        corner = imgui.get_cursor_screen_pos()
        positions[one.path.stem] = corner.x + image[0] / 2, corner.y + image[1] / 2
        return drawn(self, one, image, running)

    monkeypatch.setattr(gallery.Gallery, "_draw_card", draw)
    return positions


def test_every_packaged_scene_has_a_card_with_its_image(shell: Open, cards):
    one = shell(size=(1200, 900))
    one.key("Ctrl+G")
    scenes = resources.scenes()
    one.frames(len(scenes) + 3)  # a thumbnail in each frame
    assert set(cards) == {path.stem for path in scenes}
    one.type("landscape")
    one.frames(4)
    image = one.image()
    x, y = (round(coordinate) for coordinate in cards["neural_field"])
    assert image[y - 40 : y + 40, x - 80 : x + 80, :3].std() > 25.0, "the card has no thumbnail"


@pytest.mark.parametrize("path", resources.scenes(), ids=lambda path: path.stem)
def test_every_packaged_scene_has_a_thumbnail_and_a_description(path: Path):
    info = entry(path)
    assert info.title != path.stem and 20 <= len(info.description) <= 120
    with Image.open(path.with_suffix(".png")) as image:
        assert image.size == (640, 360)


def test_a_click_opens_the_scene_and_closes_the_gallery(shell: Open, cards):
    one = shell(size=(1200, 900))
    one.key("Ctrl+G")
    one.type("landscape")  # the cards of all scenes are more than fit
    one.frames(2)
    assert one.gui.covers(*cards["neural_field"])
    one.click(*cards["neural_field"])
    one.frames(2)
    assert one.session.scene.path.stem == "neural_field" and not one.workspace.gallery
    assert not one.session.messages


def test_arrows_and_enter_open_a_scene(shell: Open, monkeypatch):
    two = [entry(resources.path("scenes", f"{name}.toml")) for name in ("nbody", "neural_field")]
    monkeypatch.setattr(gallery, "packaged", lambda: two)
    one = shell("neural_field", size=(1200, 900))
    one.key("Ctrl+G")
    one.key("Down")
    for _ in range(5):
        one.key("Left")
    one.key("Enter")
    one.frames(2)
    assert not one.workspace.gallery
    assert one.session.scene.path == two[0].path
    one.key("Ctrl+G")
    one.key("Down")
    for name in (*["Left"] * 5, "Right", "Enter"):
        one.key(name)
    one.frames(2)
    assert one.session.scene.path == two[1].path


def test_search_shows_matches_and_enter_opens_the_first(shell: Open, cards):
    one = shell(size=(1200, 900))
    one.key("Ctrl+G")
    one.type("Network landSCAPE")
    cards.clear()
    one.frames(1)
    assert set(cards) == {"neural_field"}
    one.key("Enter")
    one.frames(2)
    assert one.session.scene.path.stem == "neural_field"


def test_a_search_without_matches_opens_nothing(shell: Open, cards):
    one = shell(size=(1200, 900))
    one.key("Ctrl+G")
    one.type("zzzz")
    cards.clear()
    one.key("Enter")
    assert not cards and one.workspace.gallery and one.session.scene.path.stem == "nbody"


def test_escape_closes_the_gallery_and_releases_its_textures(shell: Open):
    one = shell(size=(1200, 900))
    one.image()
    for _ in range(2):
        textures = len(one.gui._drawing.backend._texture_views)
        one.key("Ctrl+G")
        one.frames(8)
        one.image()
        assert len(one.gui._drawing.backend._texture_views) > textures
        one.key("Esc")
        assert not one.workspace.gallery and not one.gui.covers(300, 300)
        one.image()
        assert len(one.gui._drawing.backend._texture_views) == textures


def test_recent_files_are_listed_while_they_exist(shell: Open, cards, packaged_copy):
    scene = packaged_copy("neural_field")
    scene = scene.rename(scene.with_name("mine.toml"))
    shutil.copy(resources.path("scenes", "neural_field.png"), scene.with_suffix(".png"))
    gone = scene.with_name("gone.toml")
    one = shell(size=(1200, 1000), workspace=Workspace(recent=[gone, scene]))
    one.key("Ctrl+G")
    assert "mine" in cards and "gone" not in cards
    one.click(*cards["mine"])
    one.frames(2)
    assert one.session.scene.path == scene
    assert one.workspace.recent == [scene, gone]


def test_opened_files_are_listed_latest_first_without_packaged_scenes(shell: Open, tmp_path):
    from vertigrad.session.commands import Open as OpenFile

    one = shell()
    created = []
    for number in range(RECENT + 3):
        path = tmp_path / f"scene{number}.toml"
        path.write_text(resources.path("scenes", "nbody.toml").read_text().replace("8192", "32"))
        created.append(path)
    for path in [*created, created[5], resources.path("scenes", "neural_field.toml"), created[5]]:
        one.session.post(OpenFile(path))
        one.frames(2)
    assert one.workspace.recent == [created[5], *[path for path in reversed(created) if path != created[5]]][:RECENT]


def test_a_scene_without_thumbnail_or_title_or_with_errors_has_a_card(shell: Open, cards, tmp_path):
    files = {"plain.toml": "version = 1\n", "broken.toml": "title = [[[", "binary.toml": "\x00\x01"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "plain.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing else")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"\n')
    one = shell(size=(1200, 1000), workspace=Workspace(recent=[tmp_path / name for name in [*files, "latin.toml"]]))
    one.key("Ctrl+G")
    one.frames(8)
    one.image()
    assert {"plain", "broken", "binary", "latin"} <= set(cards)
    one.click(*cards["broken"])
    one.frames(3)
    assert one.session.scene.path.stem == "nbody" and "broken.toml" in one.session.messages["scene"]


def test_only_the_header_of_a_scene_is_read(tmp_path):
    scene = tmp_path / "long.toml"
    scene.write_text('title = "A"\ndescription = "b"\n[models.m]\nx = ' + "1" * 200_000 + "broken ]]")
    assert (entry(scene).title, entry(scene).description) == ("A", "b")
    scene.write_text("title = 5\ndescription = [1]\n")
    assert (entry(scene).title, entry(scene).description) == ("long", "")
    assert existing([scene, tmp_path / "none.toml", tmp_path]) == [entry(scene)]


def test_long_descriptions_are_wrapped_and_truncated(shell: Open):
    one = shell()
    _ = one.gui.io
    text = "heights of real mountains kept in the weights of a small network and more"
    lines = wrapped(text, 200.0, 2).splitlines()
    assert len(lines) == 2 and lines[1].endswith("…") and text.startswith(lines[0])
    assert all(imgui.calc_text_size(line).x <= 200.0 for line in lines)
    assert wrapped("short", 200.0, 2) == "short" and wrapped("", 200.0, 2) == ""
    assert len(wrapped("x" * 200, 100.0, 2).splitlines()) == 1


# the file dialog ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("alpha", "Beta", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("z.toml", "A.TOML", "mesh.obj", "notes.txt", ".secret.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "alpha" / "inner.toml").write_text("")
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling")
    return tmp_path


def names(dialog: FileDialog) -> list[str]:
    return [path.name for path, _ in dialog._entries]


def test_folders_are_listed_first_then_files_that_can_be_opened(folder: Path):
    assert [path.name for path, _ in listed(folder, frozenset({".toml"}))] == ["alpha", "Beta", "A.TOML", "z.toml"]
    everything = [path.name for path, _ in listed(folder, frozenset())]
    assert "mesh.obj" in everything and ".secret.toml" not in everything and "dangling" in everything


class Asking:
    """A file dialog in a shell, with its answers."""

    def __init__(self, one: Shell, dialog: FileDialog):
        self.one, self.dialog, self.answers = one, dialog, list[Path]()
        drawn = one.gui._dialogs.draw

        def draw(session, workspace):
            drawn(session, workspace)
            answer = dialog.draw()
            if answer is not None:
                self.answers.append(answer)

        one.gui._dialogs.draw = draw


def test_a_file_is_opened_through_folders_with_keys_only(shell: Open, folder: Path):
    asking = Asking(shell(), FileDialog("Test", "Take", {".toml"}))
    dialog, one = asking.dialog, asking.one
    dialog.ask(folder)
    one.frames(4)
    assert dialog.is_open and names(dialog) == ["alpha", "Beta", "A.TOML", "z.toml"]
    one.type("alpha")
    one.key("Enter")
    assert dialog._folder == folder / "alpha" and names(dialog) == ["inner.toml"] and not asking.answers
    one.type("inner.toml")
    one.key("Enter")
    assert asking.answers == [folder / "alpha" / "inner.toml"] and not dialog.is_open


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("z.toml", "z.toml"),
        ("  z.toml ", "z.toml"),
        ("alpha/../z.toml", "alpha/../z.toml"),
        ("none.toml", None),
        ("alpha/none.toml", None),
        ("\0", None),
        ("x" * 5000, None),
        ("~nobody-of-this-name/x", None),
        ("dangling", None),
        ("", None),
    ],
)
def test_typed_paths(shell: Open, folder: Path, typed: str, found: str | None):
    shell()
    dialog = FileDialog("Test", "Take", {".toml"})
    dialog.ask(folder)
    dialog._typed = typed
    answer = dialog._answer()
    assert answer == (folder / found if found else None)
    assert bool(dialog._error) == (found is None and bool(typed))


def test_a_new_file_needs_an_existing_folder(folder: Path):
    dialog = FileDialog("Test", "Save", {".toml"}, saving=True)
    dialog.ask(folder, "new.toml")
    assert dialog._answer() == folder / "new.toml"
    dialog._typed = "no/such/folder.toml"
    assert dialog._answer() is None and "no folder" in dialog._error
    dialog._typed = str(folder / "alpha")
    assert dialog._answer() is None and dialog._folder == folder / "alpha"


def test_an_unreadable_folder_is_reported(folder: Path, monkeypatch):
    dialog = FileDialog("Test", "Take", {".toml"})
    dialog.ask(folder)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "listed", refuse)
    dialog._go(folder / "alpha")
    assert dialog._folder == folder and "Permission denied" in dialog._error


def test_each_bookmarked_folder_is_listed_once(folder: Path):
    dialog = FileDialog("Test", "Take", {".toml"})
    recent = [folder / "a.toml", folder / "b.toml", Path.home() / "c.toml"]
    dialog.ask(folder, recent=recent)
    positions = [path for _, path in dialog._sidebar]
    assert len(positions) == len(set(positions)) and folder in positions and resources.path("scenes") in positions


def test_open_file_from_the_menu_to_the_scene(shell: Open, packaged_copy):
    scene = packaged_copy("neural_field")
    one = shell()
    one.key("Ctrl+O")
    assert one.gui._dialogs.browser.is_open
    assert one.gui._dialogs.browser._folder == resources.path("scenes")
    one.type(str(scene))
    one.key("Enter")
    one.frames(2)
    assert one.session.scene.path == scene and not one.gui._dialogs.browser.is_open
    one.key("Ctrl+O")
    one.key("Esc")
    assert not one.gui._dialogs.browser.is_open and not one.gui.covers(300, 300)


def test_the_gallery_leads_to_the_file_dialog(shell: Open):
    one = shell(size=(1000, 700))
    one.key("Ctrl+G")
    gallery_window = next(coordinate for name, coordinate in one.windows().items() if name == gallery.NAME)
    one.click(gallery_window[2] - 60, gallery_window[1] + 30)
    one.frames(3)
    assert one.gui._dialogs.browser.is_open and not one.workspace.gallery
