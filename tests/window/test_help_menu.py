"""The Help menu: documentation, shortcuts, and information for bug reports."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import wgpu
from imgui_bundle import imgui

import vertigrad
from vertigrad import resources
from vertigrad.session import files

from .driver import Driver, Items
from .test_actions import middle_of

SIZE = 1000, 640
MANY = 3000  # frames in which a program starts


@pytest.fixture
def driver(opened: Callable[..., Driver], items: Items) -> Driver:
    return opened(size=SIZE)


def choose(driver: Driver, items: Items, name: str) -> None:
    """Click on an entry of the Help menu."""
    driver.click(middle_of("Help"))
    driver.click(items.at(name))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Replace the program that opens files; return the file with its arguments."""

    def install(ending: str) -> Path:
        noted, script = tmp_path / "noted", tmp_path / "xdg-open"
        script.write_text(f'#!/bin/sh\nprintf %s "$1" > {noted}\n{ending}\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return noted

    return install


def test_documentation_is_opened_by_the_systems_program(driver: Driver, items: Items, program) -> None:
    noted = program("exit 0")
    choose(driver, items, "Documentation")
    driver.frames_until(lambda: noted.exists() and bool(noted.read_text()), MANY)
    opened = Path(noted.read_text())
    assert opened == resources.documentation()
    assert "docs/scene-format.md" in opened.read_text() and (opened.parent / "docs/scene-format.md").is_file()
    assert not driver.session.messages


@pytest.mark.turns(2)
def test_a_running_program_does_not_block(driver: Driver, items: Items, program, monkeypatch) -> None:
    monkeypatch.setattr(files, "WAIT", 0.05)
    noted = program("sleep 0.5; exit 3")
    choose(driver, items, "Documentation")
    driver.frames_until(noted.exists, MANY)
    driver.frames_for(1.0)
    assert not driver.session.messages


@pytest.mark.turns(2)
def test_a_program_that_fails_late_does_not_block_frames(driver, items, program, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "WAIT", 600.0)
    noted = program(f"for _ in $(seq 400); do [ -e {tmp_path}/go ] && break; sleep 0.05; done; exit 3")
    choose(driver, items, "Documentation")
    driver.frames_until(noted.exists, MANY)
    driver.frames(20)
    assert not driver.session.messages, "the program has not ended yet"
    (tmp_path / "go").touch()
    driver.frames_until(lambda: "documentation" in driver.session.messages, MANY)
    assert "ended with 3" in driver.session.messages["documentation"]


@pytest.mark.turns(2)
@pytest.mark.parametrize("ending", ["exit 3", None])
def test_without_a_program_a_message_shows_the_address(driver, items, program, tmp_path, monkeypatch, ending) -> None:
    if ending is None:
        (tmp_path / "xdotool").symlink_to(shutil.which("xdotool") or "")
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        program(ending)
    choose(driver, items, "Documentation")
    driver.frames_until(lambda: "documentation" in driver.session.messages, MANY)
    message = driver.session.messages["documentation"]
    assert str(resources.documentation()) in message and "no program to open it with" in message


@pytest.mark.turns(2)
def test_shortcuts_open_from_the_menu_and_by_f1(driver: Driver, items: Items) -> None:
    workspace = driver.viewer.gui.workspace
    choose(driver, items, "Keyboard shortcuts")
    assert "Help" in workspace.visible_panels
    driver.key("F1")
    assert not workspace.opened["Help"]
    driver.key("F1")
    assert "Help" in workspace.visible_panels


@pytest.mark.turns(2)
def test_about_shows_and_copies_the_system_information(driver: Driver, items: Items, monkeypatch) -> None:
    opened_urls: list[str] = []
    drawn = imgui.text_colored
    monkeypatch.setattr(imgui, "text_colored", lambda tint, text: (opened_urls.append(text), drawn(tint, text)))
    choose(driver, items, "About Vertigrad")
    adapter = driver.session.gpu.adapter
    for part in (vertigrad.__version__, str(adapter), adapter.driver, wgpu.__version__, str(resources.log_file())):
        assert part in opened_urls, part
    copied: list[str] = []
    monkeypatch.setattr(imgui, "set_clipboard_text", copied.append)
    driver.click(items.at("Copy"))
    (text,) = copied
    assert f"GPU: {adapter}\ndriver: {adapter.driver}\nwgpu: {wgpu.__version__}\n" in text
    assert text.startswith(f"Vertigrad: {vertigrad.__version__}\n")


@pytest.mark.turns(2)
@pytest.mark.parametrize("direction", ["button", "Escape"])
def test_about_closes(driver: Driver, items: Items, direction: str) -> None:
    choose(driver, items, "About Vertigrad")
    assert driver.viewer.gui.workspace.about
    if direction == "button":
        driver.click(items.at("Close"))
    else:
        driver.key("Escape")
    assert not driver.viewer.gui.workspace.about and not driver.viewer.closed
