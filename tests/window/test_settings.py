"""Settings that persist between runs, and damaged settings files."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad import resources
from vertigrad.panels.workspace import RECENT
from vertigrad.session import Session
from vertigrad.viewer import Viewer, settings_file, view
from vertigrad.viewer.settings import NewerSettings, Settings, load_settings, save_settings

from .desktop import Desktop
from .driver import Driver

FULL = Settings(
    size=(900, 600),
    position=(40, 30),
    zoom=1.25,
    opened={"Log": True, "Run": False},
    layout="[Window][Run]\nPos=1,2\n",
    layout_scale=2.0,
    recent=[Path("/some/where.toml")],
)


def test_saved_settings_are_loaded(tmp_path: Path):
    file = tmp_path / "deep" / "er" / "viewer.json"
    assert load_settings(file) == Settings()
    save_settings(FULL, file)
    assert load_settings(file) == FULL
    assert [entry.name for entry in file.parent.iterdir()] == ["viewer.json"]
    workspace = FULL.workspace()
    assert workspace.zoom == 1.25 and workspace.opened["Log"] and workspace.recent == FULL.recent


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "17",
        '{"version": 0}',
        '{"version": "one"}',
        '{"zoom": 900}',
        '{"zoom": NaN}',
        '{"size": [1]}',
        '{"size": "wide"}',
        '{"opened": {"Run": "perhaps"}}',
        '{"layout_scale": 0}',
        '{"layout_scale": 1e-308}',
        '{"size": [0, 0]}',
        '{"size": [-5, 400]}',
        '{"size": [1000000000, 1000000000]}',
        '{"position": [1e400, 0]}',
        "[" * 100_000,
        '{"recent": [5]}',
    ],
)
def test_an_invalid_file_is_renamed_and_reported(tmp_path: Path, caplog, text: str):
    file = tmp_path / "viewer.json"
    file.write_text(text)
    with caplog.at_level(logging.WARNING, "vertigrad"):
        assert load_settings(file) == Settings()
    assert not file.exists() and (tmp_path / "viewer.json.broken").read_text() == text
    assert len(caplog.records) == 1 and "viewer.json" in caplog.text
    assert load_settings(file) == Settings()


def test_valid_entries_next_to_invalid_ones_are_used(tmp_path: Path, caplog):
    file = tmp_path / "viewer.json"
    file.write_text('{"version": 1, "size": [0, 0], "zoom": 1.25, "recent": ["/a.toml"]}')
    with caplog.at_level(logging.WARNING, "vertigrad"):
        assert load_settings(file) == Settings(zoom=1.25, recent=[Path("/a.toml")])
    assert "viewer.json.broken" in caplog.text and (tmp_path / "viewer.json.broken").exists()


@pytest.mark.parametrize(
    "layout",
    [
        "[Window][Run]\nPos=1,2\nSize=99999999999999999999,1\nDockId=0x00000001,0\n",
        "[Window][Run]\nDockId=0x00000001\n[Docking][Data]\nDockNode ID=0x00000001 Parent=0x00000099 Split=X\n",
        "[Docking][Data]\nDockSpace ID=0x00005EED Split=Y\n  DockNode ID=0x00005EED Parent=0x00005EED Split=X\n",
        "\0[[[Docking]\nDockSpace ID=zzz Pos=nan,inf",
    ],
)
def test_a_damaged_panel_layout_does_not_prevent_the_start(shell, layout: str):
    workspace = Settings(layout=layout, layout_scale=0.1).workspace()
    shown = shell(workspace=workspace).windows()
    assert "Run" in shown and "Parameters" in shown


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_arbitrary_bytes_do_not_end_the_program(tmp_path: Path, data: bytes):
    file = tmp_path / "viewer.json"
    file.write_bytes(data)
    load_settings(file)


def test_unknown_entries_are_ignored(tmp_path: Path):
    file = tmp_path / "viewer.json"
    file.write_text('{"version": 1, "zoom": 1.5, "from_a_later_version": {"a": 1}}')
    assert load_settings(file).zoom == 1.5


def test_a_file_of_a_later_version_is_not_changed(tmp_path: Path, desktop: Desktop, steady):
    file = tmp_path / "viewer.json"
    text = '{"version": 2, "zoom": {"x": 1, "y": 1}}'
    file.write_text(text)
    with pytest.raises(NewerSettings):
        load_settings(file)
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=32"]) as session:
        view(session, (160, 120), frames=2, vsync=False, memory=file)
    assert file.read_text() == text


def test_an_unwritable_folder_is_only_reported(tmp_path: Path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "vertigrad"):
        save_settings(FULL, tmp_path / "file" / "viewer.json")
    assert "cannot be written" in caplog.text


def test_a_crash_while_saving_leaves_the_old_file(tmp_path: Path, monkeypatch):
    file = tmp_path / "viewer.json"
    save_settings(FULL, file)
    before = file.read_bytes()

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        save_settings(Settings(), file)
    assert file.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == ["viewer.json"]


def test_the_folder_of_the_settings(monkeypatch, tmp_path: Path):
    assert settings_file().parent == Path(os.environ["VERTIGRAD_CONFIG_DIR"]), "the user's own files are in danger"
    monkeypatch.delenv("VERTIGRAD_CONFIG_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert settings_file() == tmp_path / "vertigrad" / "viewer.json"


def test_the_window_is_restored(desktop: Desktop, steady, tmp_path: Path):
    file = tmp_path / "viewer.json"
    path = resources.path("scenes", "nbody.toml")
    with Session(steady, path, ["galaxy.count=32"]) as session:
        frames = session.apply
        viewers: list[Viewer] = []

        def change():
            frames()
            (window,) = desktop.windows()
            if len(viewers) == 2:
                desktop.resize(window, 700, 500)
                desktop.xdotool("windowmove", window, 60, 45)
            viewers.append(window)

        session.apply = change
        view(session, frames=12, vsync=False, memory=file)
    stored = load_settings(file)
    assert stored.size == (700, 500) and stored.position == (60, 45)
    stored.zoom, stored.opened["Log"], stored.opened["Run"] = 1.5, True, False
    save_settings(stored, file)
    with Session(steady, path, ["galaxy.count=32"]) as session, Viewer(session, settings=load_settings(file)) as viewer:
        driver = Driver(viewer, session, desktop)
        driver.frames()
        assert viewer.window.size == (700, 500) and viewer.window.position == (60, 45)
        assert viewer.gui.scale == 1.5 and viewer.gui.workspace.visible_panels == {"Parameters", "Log"}


@pytest.mark.parametrize("position", [(-5000, 40), (40, -30), (100_000, 10), (1275, 20)])
def test_a_window_is_not_opened_outside_the_screen(desktop: Desktop, steady, position: tuple[int, int]):
    path = resources.path("scenes", "nbody.toml")
    with (
        Session(steady, path, ["galaxy.count=32"]) as session,
        Viewer(session, (200, 150), settings=Settings(position=position)) as viewer,
    ):
        viewer.frame()
        assert viewer.window.position != position
        x, y = viewer.window.position
        assert 0 <= x < 1280 and 0 <= y < 900


def test_fullscreen_is_entered_and_left(opened: Callable[..., Driver]):
    driver = opened(size=(500, 400))
    before = driver.viewer.window.logical_size, driver.viewer.window.position
    driver.key("F11")
    driver.frames_until(lambda: driver.viewer.window.size == (1280, 900))
    assert (driver.viewer.window.logical_size, driver.viewer.window.position) == before, "that is to be remembered"
    driver.key("F11")
    driver.frames_until(lambda: driver.viewer.window.size == (500, 400))


@pytest.mark.turns(2)
def test_runs_with_a_number_of_frames_write_no_settings(desktop: Desktop, tmp_path: Path):
    environment = {**os.environ, "VERTIGRAD_CONFIG_DIR": str(tmp_path)}
    program = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())", "run", "nbody"]
    command = [*program, "--set", "galaxy.count=32", "--size", "200x150", "--no-vsync", "--frames", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_file_is_json_with_a_version(tmp_path: Path):
    save_settings(FULL, tmp_path / "viewer.json")
    assert json.loads((tmp_path / "viewer.json").read_text())["version"] == 1
    assert len(FULL.model_copy(update={"recent": [Path(f"/{n}") for n in range(99)]}).workspace().recent) == RECENT
