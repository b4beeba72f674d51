"""Screenshots and videos of a window: the contents of the files, and the messages."""

import os
import shutil
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import OpenEXR
import pytest
from PIL import Image

from vertigrad.headless import render
from vertigrad.headless.exr import ExrOptions
from vertigrad.panels import capture as panel
from vertigrad.panels.workspace import Workspace
from vertigrad.session import Session
from vertigrad.session.capture import CaptureRequest, RecordingOptions
from vertigrad.session.commands import (
    CopyImage,
    Orbit,
    SetParameter,
    StartRecording,
    StopRecording,
    TakeScreenshot,
    Turntable,
)
from vertigrad.viewer import capture as viewer_capture

from .desktop import wait_until


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image).astype(int)


def played(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]


def written(driver, topic: str) -> Path:
    """The path of the requested file; each is reported once."""

    def there() -> bool:
        driver.frames(1)
        return topic in driver.session.written or topic in driver.session.messages

    assert wait_until(there), "nothing was written"
    assert topic in driver.session.written, driver.session.messages
    return driver.session.written.pop(topic)


def screenshot(driver, request: CaptureRequest) -> np.ndarray:
    driver.session.post(TakeScreenshot(request))
    return pixels(written(driver, "screenshot"))


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(panel, "SHOWN", 0.0)  # notices would cover the images that are compared
    return tmp_path


@pytest.mark.turns(2)
def test_f12_writes_the_displayed_image(opened, here):
    driver = opened(panels=False)
    driver.key("F12")
    path = written(driver, "screenshot")
    assert path.parent == here and path.match("neural_field-????-??-??-??????.png")
    window_image = driver.image()
    driver.frames(2)
    image = pixels(path)
    assert image.shape == (400, 640, 3)
    assert np.abs(image - window_image).max() <= 1
    for _ in range(2):
        driver.key("F12")
        written(driver, "screenshot")
    assert len(list(here.glob("*.png"))) == 3, "none replaces another"


@pytest.mark.turns(2)
def test_images_larger_than_the_window_show_more_detail(opened, here):
    driver = opened(panels=False)
    plain = screenshot(driver, CaptureRequest(folder=here))
    for request, size in (
        (CaptureRequest(2.0), (1280, 800)),
        (CaptureRequest(size=(1000, 300)), (1000, 300)),
        (CaptureRequest(0.5), (320, 200)),
    ):
        assert screenshot(driver, request._replace(folder=here)).shape == (size[1], size[0], 3)
    large = screenshot(driver, CaptureRequest(2.0, folder=here)).astype(float)
    halved = large.reshape(400, 2, 640, 2, 3).mean(axis=(1, 3))
    assert np.abs(halved - plain).mean() < 3
    doubled = np.repeat(np.repeat(plain, 2, axis=0), 2, axis=1)
    assert np.abs(large - doubled).mean() > 0.5, "not merely enlarged"


def test_a_screenshot_equals_the_image_of_the_command_line(opened, here, steady):
    from vertigrad.scene.viewpoints import camera_from, camera_text

    driver = opened(panels=False)
    driver.session.post(Orbit(0.3, 0.1))
    driver.frames()
    image = screenshot(driver, CaptureRequest(size=(320, 200), folder=here))
    with Session(steady, driver.session.scene.path, driver.session.source.sets) as session:
        session.playing = False
        session.cameras.jump(camera_from(camera_text(driver.session.camera), session.scene))
        render(session, 1, (320, 200), [here / "again.png"])
    assert np.abs(pixels(here / "again.png") - image).max() <= 1


def test_a_screenshot_with_panels_is_the_whole_window(opened, here):
    driver = opened()
    driver.key("ctrl+F12")
    image = pixels(written(driver, "screenshot"))
    driver.frames(3)
    window_image = driver.image()
    assert image.shape == (400, 640, 3)
    assert np.abs(image - window_image).mean() < 0.5, "but for numbers that change"
    driver.viewer.gui.workspace.visible = False
    driver.frames()
    assert np.abs(image - driver.image()).mean() > 10


def test_a_screenshot_without_background(opened, here):
    driver = opened("neural_field", "camera.position=[0,1,9]", "view.vignette=0", panels=False)
    cut, plain = (
        screenshot(driver, CaptureRequest(transparent=True, folder=here)),
        screenshot(driver, CaptureRequest(folder=here)),
    )
    assert cut.shape == (400, 640, 4) and plain.shape == (400, 640, 3)
    alpha = cut[..., 3]
    assert (alpha == 0).mean() > 0.5 and (alpha == 255).sum() > 500
    assert np.abs(cut[alpha == 255, :3] - plain[alpha == 255]).max() <= 1


@pytest.mark.turns(2)
def test_an_exr_screenshot_is_that_of_the_command_line(opened, here, steady, items):
    driver = opened("cloth", "cloth.resolution=16", size=(900, 700))
    driver.viewer.gui.workspace.show("Capture")
    driver.session.playing = False
    driver.frames()
    driver.click(items.at("##image format"))
    driver.click(items.entry("##image format", 2))
    driver.click(items.at("##depth"))
    driver.frames(2)
    driver.click(items.at("Take screenshot"))
    path, size = written(driver, "screenshot"), driver.session.viewport_size
    with Session(steady, driver.session.scene.path, driver.session.source.sets) as session:
        session.playing = False
        session.cameras.jump(driver.session.camera)
        render(session, 1, size, [here / "again.exr"], exr=ExrOptions(32, depth=True))
    found, expected = exr(path), exr(here / "again.exr")
    assert path.suffix == ".exr" and list(found) == ["RGB", "Z"]
    assert found["RGB"].dtype == np.float32 and np.isfinite(found["Z"]).mean() > 0.1
    assert all(np.array_equal(found[name], expected[name]) for name in found)


def exr(path: Path) -> dict[str, np.ndarray]:
    with OpenEXR.File(str(path)) as file:
        return {name: channel.pixels for name, channel in file.channels().items()}


def test_a_failed_screenshot_is_reported_and_the_window_continues(opened, here):
    driver = opened(panels=False)
    (here / "file").write_text("")
    refused = (
        (CaptureRequest(folder=here / "file" / "x"), "cannot be written"),
        (CaptureRequest(size=(1 << 15, 10), folder=here), "draws from 1 to"),
        (CaptureRequest(scale=1e9, folder=here), "pixels"),
        (CaptureRequest(scale=float("nan"), folder=here), "times as large"),
        (CaptureRequest(panels=True, suffix=".exr", folder=here), "with panels is a .png file"),
        (CaptureRequest(suffix=".exr", bits=8, folder=here), "have 16 or 32"),
    )
    for request, message in refused:
        driver.session.post(TakeScreenshot(request))
        driver.frames(3)
        assert message in driver.session.messages.pop("screenshot"), request
    assert not list(here.glob("*.png"))
    assert screenshot(driver, CaptureRequest(folder=here)).shape == (400, 640, 3)


def test_a_folder_of_an_unknown_user_is_reported(opened, here):
    driver = opened(panels=False)
    for command, topic in ((TakeScreenshot, "screenshot"), (StartRecording, "recording")):
        folder = Path("~nosuchuser/x")
        request = CaptureRequest(folder=folder) if command is TakeScreenshot else RecordingOptions(folder)
        driver.session.post(command(request))
        driver.frames(2)
        assert driver.session.messages.pop(topic) == "~nosuchuser/x: there is no home folder of that user"


@pytest.mark.turns(2)
def test_the_folder_is_typed_into_the_panel(opened, here, items, monkeypatch):
    driver = opened(size=(900, 700))
    monkeypatch.setenv("HOME", str(here / "home"))
    driver.viewer.gui.workspace.show("Capture")
    driver.frames()
    for text, message in (("~nosuchuser", "no home folder"), ("~/pictures", "")):
        driver.click(items.at("##folder"))
        driver.desktop.key("ctrl+a")
        driver.desktop.type(text)
        driver.frames(8)
        driver.click(items.at("Take screenshot"))
        driver.frames(2)
        assert message in driver.session.messages.pop("screenshot", "")
    assert written(driver, "screenshot").parent == here / "home" / "pictures"


def test_two_screenshots_of_one_frame_are_two_files(opened, here, monkeypatch):
    driver = opened(panels=False)

    class Frozen(viewer_capture.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2030, 1, 2, 3, 4, 5)

    monkeypatch.setattr(viewer_capture, "datetime", Frozen)
    for transparent in (True, False):
        driver.session.post(TakeScreenshot(CaptureRequest(transparent=transparent)))
    driver.frames(1)
    driver.session.post(TakeScreenshot(CaptureRequest(scale=0.5)))

    def there() -> bool:
        driver.frames(1)
        return not driver.viewer._capture.busy

    assert wait_until(there)
    shapes = [pixels(path).shape for path in sorted(here.glob("*.png"))]
    assert sorted(shapes) == [(200, 320, 3), (400, 640, 3), (400, 640, 4)]


@pytest.mark.turns(2)
def test_a_deleted_working_folder(opened, here, items, monkeypatch):
    """Capture and the dialogs for opening and saving fall back to the home folder."""
    (here / "gone").mkdir()
    (here / "home").mkdir()
    monkeypatch.chdir(here / "gone")
    monkeypatch.setenv("HOME", str(here / "home"))
    driver = opened(size=(900, 700))
    (here / "gone").rmdir()
    driver.viewer.gui.workspace.show("Capture")
    driver.frames()
    assert items.find("##folder")
    driver.key("F12")
    assert written(driver, "screenshot").parent == here / "home"
    for keys in ("ctrl+o", "ctrl+shift+s"):
        driver.key(keys)
        assert items.find("##name")
        driver.key("Escape")
        driver.frames()


@pytest.mark.turns(2)
def test_every_step_is_one_frame_of_the_video(opened, here):
    driver = opened("neural_field", "terrain.amplitude=0.5", "terrain.frequency=1", panels=False)
    driver.session.post(Turntable(60.0))
    driver.key("F10")
    driver.session.playing = True
    driver.frames_until(lambda: driver.session.capture.recording.seconds >= 0.2, most=200)
    recording, first, yaw = driver.session.capture.recording, driver.session.frame, driver.session.camera.yaw
    assert recording.size == (640, 400)
    driver.frames(12)
    passed = driver.session.capture.recording.seconds - recording.seconds
    assert passed == pytest.approx((driver.session.frame - first) / 60) == pytest.approx(0.2)
    assert driver.session.camera.yaw - yaw == pytest.approx(np.radians(60) * passed), "by the video's time"
    count = round(driver.session.capture.recording.seconds * 60)
    driver.key("F10")
    path = written(driver, "recording")
    frames = played(path)
    assert path.parent == here and len(frames) - count in (0, 1)
    changes = [np.abs(b - a).mean() for a, b in pairwise(frames)]
    assert min(changes[2:]) > 0.05, "no frame is there twice"
    assert driver.session.capture.recording is None


@pytest.mark.turns(2)
def test_a_window_resized_during_a_recording(opened, here):
    driver = opened(panels=False)
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(5)
    driver.desktop.resize(driver.window, 501, 333)
    driver.frames_until(lambda: driver.viewer.window.size == (501, 333))
    driver.frames(5)
    driver.session.post(StopRecording())
    frames = played(written(driver, "recording"))
    assert {frame.shape for frame in frames} == {(400, 640, 3)}
    assert np.abs(frames[-1] - frames[0]).mean() < 4, "the same image for any window"
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(4)
    assert driver.session.capture.recording.size == (500, 332), "an even size"
    driver.session.post(StopRecording())
    written(driver, "recording")


def test_a_video_that_cannot_be_written(opened, here):
    driver = opened(panels=False)
    (here / "file").write_text("")
    driver.session.post(StartRecording(RecordingOptions(here / "file" / "x")))
    driver.frames(2)
    assert "cannot be written" in driver.session.messages["recording"] and driver.session.capture.recording is None
    driver.session.post(StopRecording())
    driver.frames(2)
    assert driver.session.messages["recording"] == "nothing is being recorded"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_ends_only_the_video(opened, here, monkeypatch):
    (here / "full.mp4").symlink_to("/dev/full")
    monkeypatch.setattr(viewer_capture, "new_file", lambda *_: here / "full.mp4")
    driver = opened(panels=False)
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(3)
    driver.session.post(StopRecording())

    def message() -> bool:
        driver.frames(1)
        return "No space left" in driver.session.messages.get("recording", "")

    assert wait_until(message)
    assert driver.session.capture.recording is None


def test_closing_the_window_finishes_the_video(opened, here, steady):
    from vertigrad.viewer import Viewer

    driver = opened(panels=False)
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(8)
    viewer: Viewer = driver.viewer
    viewer._capture.close()
    (path,) = here.glob("*.mp4")
    assert len(played(path)) in (7, 8)
    driver.session.apply()
    assert driver.session.written["recording"] == path


@pytest.mark.turns(2)
def test_a_recording_continues_in_an_idle_window(opened, here, monkeypatch):
    from vertigrad.viewer import loop

    monkeypatch.setattr(loop, "IDLE_AFTER", 0.0)
    driver = opened(panels=False)

    def comes_to_rest() -> bool:
        driver.frames(1)
        return driver.viewer._is_idle()

    assert wait_until(comes_to_rest)
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(3)
    for _ in range(10):
        assert not comes_to_rest()
    driver.session.post(StopRecording())
    written(driver, "recording")
    assert wait_until(comes_to_rest)


def test_the_recording_indicator_is_displayed_but_not_recorded(opened, here):
    driver = opened(panels=False)
    plain = driver.image()
    driver.session.post(StartRecording(RecordingOptions(here)))

    def window_image() -> bool:
        driver.frames(1)
        return np.abs(driver.grab() - plain)[10:60, 220:420].mean() > 5

    assert wait_until(window_image), "a mark over the middle"
    driver.session.post(StopRecording())
    frames = played(written(driver, "recording"))
    assert np.abs(frames[-1] - plain).mean() < 4


def test_a_parameter_can_be_changed_during_a_recording(opened, here):
    driver = opened(panels=False)
    driver.session.post(StartRecording(RecordingOptions(here)))
    driver.frames(4)
    driver.session.post(SetParameter("models.terrain", "height", 0.9))
    driver.frames(4)
    driver.session.post(StopRecording())
    frames = played(written(driver, "recording"))
    assert np.abs(frames[-1] - frames[0]).mean() > 3


@pytest.mark.parametrize(
    ("seconds", "message"), [(0, "0:00.0"), (7.25, "0:07.2"), (59.96, "1:00.0"), (754.1, "12:34.1")]
)
def test_clock(seconds, message):
    assert panel.clock(seconds) == message


def test_a_custom_size_is_limited():
    capture = panel.CapturePanel(Workspace())
    assert capture._request().size is None
    capture._choice = len(panel.SCALES)
    assert capture._request().size == (3840, 2160)
    capture._width, capture._height = 10**9, 0
    assert capture._request().size == (65536, 1)


@pytest.fixture
def xclip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that replaces xclip; its input and arguments are in the files `copied` and `arguments`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "xclip").write_text(f'#!/bin/sh\necho "$@" > {folder}/arguments\ncat > {folder}/copied\n')
    (folder / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return folder


def test_an_image_is_copied_to_the_clipboard(opened, here, xclip):
    driver = opened(panels=False)
    driver.session.post(CopyImage(CaptureRequest(size=(320, 200))))
    copied = xclip / "copied"
    assert wait_until(lambda: (driver.frames(1), copied.exists() and copied.stat().st_size > 0)[1])
    assert wait_until(lambda: (driver.frames(1), not driver.session.capture.busy)[1])
    assert (xclip / "arguments").read_text().split() == ["-selection", "clipboard", "-t", "image/png"]
    expected = screenshot(driver, CaptureRequest(size=(320, 200), folder=here))
    assert np.array_equal(pixels(copied), expected)
    assert len(list(here.glob("*.png"))) == 1 and "clipboard" not in driver.session.messages


def test_an_image_that_cannot_be_copied_is_reported(opened, here, xclip):
    driver = opened(panels=False)
    (xclip / "xclip").write_text("#!/bin/sh\nexit 3\n")
    driver.session.post(CopyImage())
    assert wait_until(lambda: (driver.frames(1), "clipboard" in driver.session.messages)[1])
    assert driver.session.messages["clipboard"] == "the image was not copied: xclip ended with 3"
    (xclip / "xclip").unlink()
    if shutil.which("xclip") is not None:
        pytest.skip("xclip is installed")
    driver.session.post(CopyImage())
    driver.frames(2)
    assert "xclip, which is not installed; install the package xclip" in driver.session.messages["clipboard"]


def test_a_recording_has_the_format_the_rate_and_the_length_that_were_chosen(opened, here):
    driver = opened(panels=False)
    driver.session.post(StartRecording(RecordingOptions(here, ".webm", 30.0, "vp9", 60, frames=8)))
    path = written(driver, "recording")
    assert path.suffix == ".webm" and len(played(path)) == 4 and driver.session.capture.recording is None
    driver.session.post(StartRecording(RecordingOptions(here, ".gif", 60.0)))
    driver.frames(2)
    assert "a GIF shows at most 50 frames per second" in driver.session.messages["recording"]


def test_the_panel_asks_for_what_it_shows():
    capture = panel.CapturePanel(Workspace())
    assert capture._recording_options() == RecordingOptions(codec="h264")
    capture._video, capture._rate, capture._quality, capture._frames = 5, 20.0, 50, 90
    assert capture._recording_options() == RecordingOptions(None, ".gif", 20.0, "", 50, 90)
