"""The window itself: sizes, minimized, hidden, closed, broken, one after another."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import glfw
import pytest
import wgpu
from imgui_bundle import imgui

from vertigrad import resources
from vertigrad.errors import GpuError, InputError
from vertigrad.panels import Gui
from vertigrad.session import Session
from vertigrad.session.commands import Play
from vertigrad.viewer import Viewer, loop, view, window
from vertigrad.viewer.loop import IDLE_WAIT

SIZES = [(640, 400), (333, 217), (1280, 900), (97, 640), (17, 5), (1, 1), (320, 1), (500, 300)]


@pytest.mark.turns(2)
def test_image_follows_the_size_of_the_window(opened):
    driver = opened(size=(400, 300), playing=True, panels=False)
    blocks = {block.id for block in driver.session.gpu.tracker.live}
    for width, height in SIZES * 2:
        driver.desktop.resize(driver.window, width, height)
        driver.frames_until(lambda size=(width, height): driver.viewer.window.size == size)
        assert driver.viewer.frame()
    driver.session.post(Play(False))
    shown = driver.image()
    assert shown.shape == (300, 500, 3)
    corners = shown[[5, 5, -5, -5], [5, -5, 5, -5]]
    assert (corners.max(axis=1) > 60).all(), "the image does not reach the corners"  # its background is light
    assert {block.id for block in driver.session.gpu.tracker.live} == blocks


def test_a_size_that_changes_within_a_frame(opened, monkeypatch):
    """Once its texture is acquired, a frame has that texture's size, whatever the window does."""
    driver = opened(size=(400, 300))
    acquire = driver.viewer.window.acquire
    sizes = iter([(500, 320), (200, 100), (640, 400)])

    def acquire_and_resize():
        image = acquire()
        size = next(sizes, None)
        if size is not None:
            glfw.set_window_size(driver.viewer.window.handle, *size)
        return image

    monkeypatch.setattr(driver.viewer.window, "acquire", acquire_and_resize)
    driver.frames(6)
    assert driver.image().shape == (400, 640, 3)


def test_the_first_frame_shows_the_initial_state(desktop, steady):
    """It does not wait for a step, which may take long."""
    path = resources.path("scenes", "nbody.toml")
    with Session(steady, path, ["galaxy.count=64"]) as session, Viewer(session, (160, 120), vsync=False) as viewer:
        assert session.playing and viewer.frame() and session.time == 0.0
        assert viewer.frame() and session.time > 0.0


def test_a_minimized_window_is_idle_and_can_be_restored(opened):
    driver = opened("nbody", "galaxy.count=64", size=(300, 200), playing=True)
    driver.desktop.minimize(driver.window)
    driver.frames_until(lambda: not driver.viewer.frame())
    at, working, began = driver.session.time, time.thread_time(), time.monotonic()
    while time.monotonic() - began < 0.5:
        assert not driver.viewer.frame()
    assert time.thread_time() - working < 0.1
    assert driver.session.time == at
    driver.desktop.restore(driver.window)
    driver.frames_until(lambda: driver.viewer.frame())
    driver.frames(3)
    assert driver.session.time > at
    driver.session.post(Play(False))
    assert driver.image().max() > 100


def test_a_frame_without_a_texture_is_skipped(opened, monkeypatch):
    """This happens when the window is hidden, or when its surface is lost or outdated."""
    driver = opened(size=(200, 150))
    monkeypatch.setattr(driver.viewer, "_acquired", False)  # as before the first frame: no error could be shown either

    def refuse():
        raise wgpu.DrawCancelled("Outdated (3)")

    context = driver.viewer.window._context
    with monkeypatch.context() as broken:
        broken.setattr(context, "get_current_texture", refuse)
        began = time.monotonic()
        assert [driver.viewer.frame() for _ in range(3)] == [False] * 3
        assert time.monotonic() - began > 1.5 * IDLE_WAIT  # it does not spin
    assert driver.viewer.frame()


def test_a_display_that_the_gpu_cannot_draw_on(desktop, steady, monkeypatch):
    """As with OpenGL on an unsupported display, where configuring the surface would abort the process."""
    monkeypatch.setattr(window, "surface_formats", lambda *_: [])
    path = resources.path("scenes", "nbody.toml")
    with Session(steady, path, ["galaxy.count=64"]) as session, pytest.raises(InputError, match="another --adapter"):
        Viewer(session, (160, 120))
    assert not desktop.windows()


def test_a_surface_that_the_gpu_rejects(opened, monkeypatch):
    driver = opened(size=(200, 150))
    monkeypatch.setattr(driver.viewer, "_acquired", False)  # as before the first frame: no error could be shown either

    def refuse():
        raise wgpu.GPUValidationError("surface is not supported by the adapter")

    monkeypatch.setattr(driver.viewer.window._context, "get_current_texture", refuse)
    with pytest.raises(GpuError, match="try another --adapter"):
        driver.viewer.frame()


def test_an_idle_window_is_drawn_rarely_and_changes_immediately(opened, monkeypatch):
    driver = opened(size=(200, 150))
    monkeypatch.setattr(loop, "IDLE_AFTER", 0.3)
    driver.frames_until(lambda: driver.session.idle)
    driver.frames_for(0.5)
    began = time.monotonic()
    driver.frames(5)
    assert time.monotonic() - began > 4 * IDLE_WAIT
    yaw = driver.session.camera.yaw
    driver.desktop.move(100, 140)
    driver.frames(1)
    began = time.monotonic()
    driver.frames(5)
    assert time.monotonic() - began < 4 * IDLE_WAIT
    assert driver.session.camera.yaw == yaw


def test_close_button_ends_the_view(desktop, steady):
    path = resources.path("scenes", "nbody.toml")
    with Session(steady, path, ["galaxy.count=64"]) as session:
        apply, frames = session.apply, []

        def apply_and_close():
            frames.append(len(frames))
            if len(frames) == 5:
                desktop.press_close_button(desktop.windows()[0])
            apply()

        session.apply = apply_and_close
        record = view(session, (200, 150), frames=500, vsync=False)
        assert 5 <= record.frames < 100


def test_view_ends_after_a_number_of_frames_with_and_without_vsync(desktop, steady):
    """Two sessions, one after the other, in one process."""
    for vsync in (True, False):
        with Session(steady, resources.path("scenes", "neural_field.toml"), ["terrain.resolution=8"]) as session:
            record = view(session, (160, 120), frames=7, vsync=vsync)
            assert record.frames == 7 and not desktop.windows()
            report = record.finish(session)
        assert report["memory"]["leaked_blocks"] == report["memory"]["never_closed"] == 0
        assert report["bytes_per_frame"]["host_to_device"] == 0
        assert report["submits_per_frame"] == 1
        assert report["ms_per_frame"]["frame"]["p50"] > 0


def test_an_error_in_a_run_of_n_frames_closes_the_window_and_the_gpu_stays_usable(desktop, steady, monkeypatch):
    path, sets = resources.path("scenes", "neural_field.toml"), ["terrain.resolution=8"]
    timed = steady.timer.enabled
    with Session(steady, path, sets) as session:
        with monkeypatch.context() as broken:
            broken.setattr(Gui, "draw", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                view(session, (160, 120), frames=5)
        assert not desktop.windows() and imgui.get_current_context() is None
        assert steady.timer.enabled == timed and not steady.frames.open and not steady.recorder.pending
        assert view(session, (160, 120), frames=3, vsync=False).frames == 3  # the same session, in another window


def test_an_error_while_the_window_is_opened_closes_it(desktop, steady, monkeypatch):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
        monkeypatch.setattr(Gui, "__init__", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Viewer(session, (160, 120))
        assert not desktop.windows()


def test_text_is_copied_to_and_from_other_programs(opened):
    driver = opened(size=(200, 150))
    _ = driver.viewer.gui.io
    imgui.set_clipboard_text("0.25 κ")
    assert glfw.get_clipboard_string(None) == "0.25 κ".encode()
    assert imgui.get_clipboard_text() == "0.25 κ"


@pytest.mark.turns(2)
def test_a_high_resolution_screen(desktop, steady, tmp_path):
    """The screen's settings are read when a program starts, so this runs in a subprocess."""
    desktop.set_resources("Xft.dpi: 192")
    try:
        program = (
            "import sys; from pathlib import Path; import vertigrad; from vertigrad.session import Session\n"
            "from vertigrad.viewer import Viewer\n"
            "with Session(vertigrad.gpu(), Path(sys.argv[1]), ['galaxy.count=64']) as session:\n"
            "    with Viewer(session, (300, 200), vsync=False) as viewer:\n"
            "        assert all(viewer.frame() for _ in range(4))\n"
            "        print(viewer.window.scale, viewer.window.size)\n"
        )
        scene = resources.path("scenes", "nbody.toml")
        done = subprocess.run(
            [sys.executable, "-c", program, scene], capture_output=True, text=True, timeout=900, env=os.environ
        )
        assert done.stdout.strip() == "2.0 (600, 400)", done.stderr
    finally:
        desktop.set_resources("")


def test_a_missing_display_is_reported(steady, monkeypatch):
    program = (
        "import sys; from pathlib import Path; import vertigrad; from vertigrad.session import Session\n"
        "from vertigrad.viewer import view; from vertigrad.errors import InputError\n"
        "with Session(vertigrad.gpu(), Path(sys.argv[1]), ['galaxy.count=64']) as session:\n"
        "    try: view(session, (300, 200), frames=1)\n"
        "    except InputError as error: print(error)\n"
    )
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    scene = resources.path("scenes", "nbody.toml")
    done = subprocess.run([sys.executable, "-c", program, scene], capture_output=True, text=True, timeout=900)
    assert "no display to open a window on" in done.stdout and "vertigrad render" in done.stdout
    assert "GLFWError" not in done.stderr and "Traceback" not in done.stderr
