"""Exports of the window: the dialog that asks for a file, and the question before one is replaced."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh

from vertigrad.panels.action_table import BY_NAME
from vertigrad.session.commands import Ask, ExportGeometry

from .shell import Shell
from .test_native_dialog import after, without_zenity_afterwards, zenity  # noqa: F401

Open = Callable[..., Shell]


def perform(one: Shell, name: str) -> None:
    action = BY_NAME[name]
    assert action.perform(one.session, one.gui.workspace)
    one.frames(2)


def test_geometry_is_exported_to_the_file_of_the_dialog(shell: Open, tmp_path: Path, zenity):  # noqa: F811
    arguments = zenity(f"sleep 0.5; echo {shlex.quote(str(tmp_path / 'mine'))}")
    one = shell()
    perform(one, "Export geometry…")
    assert after(one, lambda: "export" in one.session.written or bool(one.session.messages))
    assert one.session.written["export"] == tmp_path / "mine.glb", one.session.messages
    assert list(trimesh.load_scene(tmp_path / "mine.glb").geometry) == list(one.session.stage.layers)
    message = arguments.read_text()
    assert f"{one.session.scene.path.stem}.glb" in message and "*.ply" in message


def test_an_existing_file_is_replaced_only_after_confirmation(shell: Open, tmp_path: Path):
    one, path = shell(), tmp_path / "a.glb"
    path.write_text("precious")
    one.session.post(ExportGeometry(path))
    one.frames(2)
    question = one.session.questions.first
    assert question is not None and question.about == "overwrite" and "a.glb already exists" in question.reason
    assert path.read_text() == "precious"
    one.session.post(Ask(None))
    one.session.post(question.then)
    one.frames(2)
    assert one.session.questions.first is None and path.read_bytes().startswith(b"glTF")


@pytest.mark.parametrize(
    ("name", "message"), [("a.stl", "geometry is written as"), ("none/a.glb", "cannot be written")]
)
def test_an_export_that_fails_is_reported(shell: Open, tmp_path: Path, name: str, message: str):
    one = shell()
    one.session.post(ExportGeometry(tmp_path / name))
    one.frames(2)
    assert message in one.session.messages["export"]
    assert not (tmp_path / name).exists() and "export" not in one.session.written


def test_diagnostics_are_exported_once_something_was_measured(shell: Open, tmp_path: Path, zenity):  # noqa: F811
    zenity(f"sleep 0.5; echo {shlex.quote(str(tmp_path / 'mine.npz'))}")
    one = shell()
    assert not BY_NAME["Export diagnostics and watches…"].perform(one.session, one.gui.workspace)
    with one.gpu.frames.frame():
        one.session.measure()
    assert after(one, lambda: bool(one.session.diagnostics.history))
    perform(one, "Export diagnostics and watches…")
    assert after(one, lambda: "export" in one.session.written or bool(one.session.messages))
    with np.load(tmp_path / "mine.npz") as file:
        assert set(file) == {"time", *one.session.diagnostics.history}
