"""The desktop's file dialog: a fake zenity answers as a user does."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vertigrad import resources
from vertigrad.panels import native_dialog

from .desktop import wait_until
from .shell import Shell

pytestmark = pytest.mark.usefixtures("small_scenes")

Open = Callable[..., Shell]
Desktop = Callable[[str], Path]


@pytest.fixture
def zenity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opener: Path) -> Desktop:
    """Let the dialog program run these shell commands; return the file with its arguments."""
    monkeypatch.setattr(native_dialog, "PROGRAMS", ("zenity",))
    program, arguments = opener / "zenity", tmp_path / "arguments"

    def install(commands: str) -> Path:
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shlex.quote(str(arguments))}\n{commands}\n')
        program.chmod(0o755)
        return arguments

    return install


@pytest.fixture(autouse=True)
def without_zenity_afterwards(opener: Path):
    yield
    (opener / "zenity").unlink(missing_ok=True)


def after(one: Shell, condition: Callable[[], bool]) -> bool:
    """Whether `condition()` becomes true while frames are drawn."""
    return wait_until(lambda: (one.frames(1), condition())[1])


def test_a_scene_is_opened_from_the_desktops_dialog(shell: Open, packaged_copy, zenity: Desktop):
    scene = packaged_copy("neural_field")
    arguments = zenity(f"sleep 0.5; echo {shlex.quote(str(scene))}")
    one = shell()
    one.key("Ctrl+O")
    assert one.gui._dialogs.browser.is_open and not one.gui.covers(300, 300), "the GUI's own dialog opened"
    assert one.gui.waits(one.session), "shortcuts act during the dialog"
    assert after(one, lambda: one.session.scene.path == scene) and not one.gui._dialogs.browser.is_open
    lines = arguments.read_text().splitlines()
    assert f"--filename={resources.path('scenes')}/" in lines
    assert any("*.toml" in line and "*.onnx" in line for line in lines) and "--save" not in lines


def test_a_dialog_that_is_canceled_changes_nothing(shell: Open, zenity: Desktop):
    zenity("sleep 0.5; exit 1")
    one = shell()
    before = one.session.scene.path
    one.key("Ctrl+O")
    assert after(one, lambda: not one.gui._dialogs.browser.is_open)
    assert one.session.scene.path == before and not one.gui.covers(300, 300)


def test_without_a_native_dialog_the_guis_own_opens(shell: Open, zenity: Desktop):
    zenity("exit 1")
    one = shell()
    one.key("Ctrl+O")
    assert after(one, lambda: one.gui.covers(300, 300)) and one.gui._dialogs.browser.is_open


def test_saving_proposes_a_name_and_adds_the_suffix(shell: Open, packaged_copy, tmp_path: Path, zenity: Desktop):
    arguments = zenity(f"sleep 0.5; echo {shlex.quote(str(tmp_path / 'mine'))}")
    scene = packaged_copy("neural_field")
    one = shell(scene)
    one.key("Ctrl+Shift+S")
    assert after(one, lambda: (tmp_path / "mine.toml").is_file())
    assert one.session.scene.path == tmp_path / "mine.toml"
    lines = arguments.read_text().splitlines()
    assert f"--filename={scene}" in lines and "--save" in lines and "--confirm-overwrite" not in lines


def test_the_dialog_is_closed_with_the_window(shell: Open, tmp_path: Path, zenity: Desktop):
    beats = tmp_path / "beats"
    zenity(f"while true; do echo >> {shlex.quote(str(beats))}; sleep 0.02; done")
    one = shell()
    one.key("Ctrl+O")
    assert wait_until(beats.exists)
    one.gui.close()
    assert not one.gui._dialogs.browser.is_open

    def ended() -> bool:
        before = beats.stat().st_size
        time.sleep(0.5)
        return beats.stat().st_size == before

    assert wait_until(ended)
