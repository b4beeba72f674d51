"""Long exports of the window: the window continues, their progress is shown, and Cancel leaves no file."""

import threading
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from vertigrad import export
from vertigrad.errors import InputError
from vertigrad.headless.video import Video
from vertigrad.panels import capture as panel
from vertigrad.session.capture import RecordingOptions
from vertigrad.session.commands import CancelExport, CancelRecording, ExportGeometry, StartRecording

from .test_capture import written


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(panel, "SHOWN", 0.0)
    return tmp_path


def until_idle(driver) -> None:
    driver.frames_until(lambda: not driver.viewer._capture.busy, most=2000)


@pytest.mark.turns(3)
def test_a_run_is_recorded_as_usd(opened, here):
    driver = opened("cloth", size=(900, 700))
    driver.session.playing = True
    driver.session.post(StartRecording(RecordingOptions(suffix=".usdc", frames=8, layers=("cloth",))))
    driver.frames(1)
    parts = []
    while driver.session.capture.recording is not None:
        parts.append(driver.session.capture.recording.part)
        driver.frames(1)
    path = written(driver, "recording")
    assert parts == sorted(parts) and parts[0] < 1.0
    stage = Usd.Stage.Open(str(path))
    points = UsdGeom.Mesh(stage.GetPrimAtPath("/World/cloth")).GetPointsAttr()
    assert points.GetTimeSamples() == list(range(8)) and stage.GetFramesPerSecond() == 60
    first, last = (np.array(points.Get(frame)) for frame in (0, 7))
    assert first.shape == last.shape and np.abs(last - first).max() > 1e-4
    assert UsdGeom.Camera(stage.GetPrimAtPath("/World/_camera")).GetFocalLengthAttr().GetNumTimeSamples() == 8


@pytest.mark.turns(3)
@pytest.mark.parametrize("suffix", [".mp4", ".usdc"])
def test_a_canceled_recording_leaves_no_file(opened, here, suffix):
    driver = opened("cloth", panels=False)
    driver.session.playing = True
    driver.session.post(StartRecording(RecordingOptions(suffix=suffix, frames=1000)))
    driver.frames_until(lambda: list(here.iterdir()), most=2000)
    driver.session.post(CancelRecording())
    until_idle(driver)
    assert not list(here.iterdir()) and not driver.session.messages and "recording" not in driver.session.written
    driver.session.post(CancelRecording())
    driver.frames(2)
    assert "nothing is being recorded" in driver.session.messages["recording"]


def test_a_recording_that_fails_leaves_no_file(opened, here, monkeypatch):
    driver = opened("cloth", panels=False)

    def fails(self, frame, pixels):
        raise InputError("the disk is full")

    monkeypatch.setattr(Video, "put", fails)
    driver.session.post(StartRecording())
    driver.frames_until(lambda: "recording" in driver.session.messages, most=500)
    assert driver.session.messages["recording"] == "the disk is full"
    assert not list(here.iterdir())


@pytest.mark.turns(3)
def test_an_export_does_not_block_the_window(opened, here, monkeypatch, items):
    """Frames are shown meanwhile, with a button that cancels; the file that would be replaced stays."""
    driver, path = opened("cloth", size=(900, 700)), here / "slow.ply"
    path.write_text("precious")
    real, go = export.snapshot, threading.Event()

    def slow(layer):
        make = real(layer)

        def wait_and_make():
            go.wait(60)
            return make()

        return wait_and_make

    monkeypatch.setattr(export, "snapshot", slow)
    driver.session.post(ExportGeometry(path, ("cloth",), overwrite=True))
    driver.frames(2)
    (status,) = driver.session.capture.exports
    assert status == (path, 0.0)
    driver.frames(5)
    driver.click(items.at("##cancel export"))
    driver.frames(2)
    go.set()
    until_idle(driver)
    assert path.read_text() == "precious" and "export" not in driver.session.written
    monkeypatch.undo()
    monkeypatch.chdir(here)
    driver.session.post(ExportGeometry(path, ("cloth",), overwrite=True))
    assert written(driver, "export") == path and path.read_bytes().startswith(b"ply")
    driver.session.post(CancelExport(path))
    driver.frames(2)
    assert "is not being written" in driver.session.messages["export"]


def test_an_export_that_fails_says_so(opened, here):
    driver = opened("cloth", panels=False)
    driver.session.post(ExportGeometry(here / "none" / "a.glb"))
    driver.frames_until(lambda: "export" in driver.session.messages, most=500)
    assert "cannot be written" in driver.session.messages["export"] and not list(here.iterdir())
