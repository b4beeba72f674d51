"""`vertigrad run` in a subprocess, with simulated mouse and keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping

import numpy as np
import pytest

from vertigrad import resources

from .desktop import LEFT, Desktop, wait_until

FLOOR = 'floor = "under"'


def test_run_with_mouse_and_keys_and_a_report(desktop: Desktop, tmp_path):
    report = tmp_path / "report.json"
    running = start("nbody", "--set", "galaxy.count=300", "--report", str(report), "--require-zero-copy")
    try:
        assert wait_until(lambda: desktop.windows() or running.poll() is not None)
        (window,) = desktop.windows()
        assert wait_until(lambda: desktop.screenshot()[:400, :640].max() > 100), "nothing was drawn"
        desktop.key("space", "space")
        desktop.move(320, 250)
        desktop.press(LEFT)
        for x in range(330, 430, 10):
            desktop.move(x, 250)
        desktop.release(LEFT)
        for width, height in ((500, 300), (90, 70), (640, 400)):
            desktop.resize(window, width, height)
        desktop.key("n", "F5", "r", "g")
        before = desktop.screenshot()
        desktop.key("space")
        assert wait_until(lambda: not np.array_equal(desktop.screenshot(), before)), "the window does not change"
        desktop.press_close_button(window)
        _, output = running.communicate(timeout=900)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 0, output
    assert "Traceback" not in output and "leaked" not in output
    numbers = json.loads(report.read_text())
    assert numbers["frames"] > 2
    assert numbers["memory"]["leaked_blocks"] == numbers["memory"]["never_closed"] == 0
    drawn = numbers["layers"]["stars"]["position"]
    assert drawn["block"] == numbers["models"]["galaxy"]["star_position"]["block"]


@pytest.mark.turns(3)
def test_edits_survive_a_killed_window(desktop: Desktop, tmp_path):
    """SIGKILL, as by a system that runs out of memory; the next start offers the unsaved edits."""
    scene = tmp_path / "mine.toml"
    scene.write_text(resources.path("scenes", "nbody.toml").read_text().replace("count = 8192", "count = 64"))
    before, unsaved = scene.read_text(), tmp_path / "state" / "unsaved"

    def saved_files() -> list[str]:
        return [file.read_text() for file in unsaved.glob("mine-*.toml") if ".base" not in file.name]

    def named() -> str:
        windows = desktop.windows()
        return desktop.xdotool("getwindowname", windows[0]) if windows else ""

    environment = {**os.environ, "VERTIGRAD_CONFIG_DIR": str(tmp_path / "state")}
    running = start(str(scene), environment=environment)
    try:
        assert wait_until(lambda: desktop.screenshot()[:400, :640].max() > 100), "nothing was drawn"
        desktop.key("shift+g")
        assert wait_until(lambda: saved_files() and FLOOR in saved_files()[0]), "it is not stored"
    finally:
        running.kill()
        running.communicate()
    assert scene.read_text() == before
    running = start(str(scene), environment=environment)
    try:
        assert wait_until(lambda: named() and desktop.screenshot()[:400, :640].max() > 100)
        time.sleep(1.0)  # wait for the question
        desktop.key("Return")
        assert wait_until(lambda: named().startswith("●")), "the edits are there, and not saved"
        desktop.key("ctrl+s")
        assert wait_until(lambda: FLOOR in scene.read_text() and not saved_files())
        desktop.key("ctrl+q")
        _, output = running.communicate(timeout=900)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 0 and "Traceback" not in output, output
    assert not list(unsaved.iterdir())


@pytest.mark.turns(2)
def test_a_run_of_a_number_of_frames(desktop: Desktop, tmp_path):
    report = tmp_path / "report.json"
    running = start("neural_field", "--set", "terrain.resolution=12", "--frames", "12", "--report", str(report))
    _, output = running.communicate(timeout=900)
    assert running.returncode == 0, output
    assert json.loads(report.read_text())["frames"] == 12


@pytest.mark.turns(3)
def test_a_scene_is_opened_from_the_gallery_and_the_window_is_restored(desktop: Desktop, tmp_path):
    """`vertigrad` alone, with keys only."""
    environment = {**os.environ, "VERTIGRAD_CONFIG_DIR": str(tmp_path)}
    program = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())"]
    running = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert wait_until(lambda: desktop.screenshot().max() > 100 or running.poll() is not None)
        (window,) = desktop.windows()
        assert "Colliding galaxies" in desktop.xdotool("getwindowname", window)
        desktop.type("landscape")
        time.sleep(3.0)  # frames of the default scene are slow here, and Enter must follow the typed text
        desktop.key("Return")
        assert wait_until(lambda: "landscape" in desktop.xdotool("getwindowname", window))
        desktop.resize(window, 900, 600)
        desktop.key("F1")
        assert wait_until(lambda: desktop.screenshot()[:600, :900].std() > 20.0)
        time.sleep(0.5)
        desktop.key("ctrl+q")
        _, output = running.communicate(timeout=900)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 0, output
    assert "Traceback" not in output and "leaked" not in output
    saved_files = json.loads((tmp_path / "viewer.json").read_text())
    assert saved_files["size"] == [900, 600] and saved_files["opened"]["Help"] and "[Docking]" in saved_files["layout"]


def start(*arguments: str, environment: Mapping[str, str] = os.environ) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())", "run"]
    command = [*program, *arguments, "--size", "640x400", "--no-vsync"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
