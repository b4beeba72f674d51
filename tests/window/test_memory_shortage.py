"""Out of memory in a window: a message lists the largest holders, nothing is lost, and the window continues."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import wgpu

from vertigrad.session.commands import Play, SetParameter

from .driver import Driver

NO_ROOM = "Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Not enough memory left."


@pytest.fixture
def driver(opened: Callable[..., Driver], tmp_path, monkeypatch) -> Driver:
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "state"))
    return opened("nbody", "galaxy.count=64", size=(900, 600), playing=True)


@pytest.fixture
def exhausted(driver: Driver) -> Callable[[], pytest.MonkeyPatch]:
    """Let the device reject every buffer and texture until the returned patch is undone."""

    def refuse(*arguments: object, **descriptor: object) -> object:
        raise wgpu.GPUValidationError(NO_ROOM)

    def exhaust() -> pytest.MonkeyPatch:
        gpu, patch = driver.session.gpu, pytest.MonkeyPatch()
        gpu.wait_idle()
        gpu.pool.trim()
        for function in ("create_buffer", "create_buffer_with_data", "create_texture"):
            patch.setattr(gpu.device, function, refuse, raising=False)
        return patch

    return exhaust


def require_going_on(driver: Driver) -> None:
    """Check that models move again, and that earlier edits still exist."""
    session, failures = driver.session, len(driver.expected_failures())
    session.post(Play(True))
    before = session.frame
    driver.frames(6)
    assert session.frame > before and len(driver.expected_failures()) == failures
    assert session.stage.instances["galaxy"].params.softening == 0.07 and session.unsaved


def test_a_model_that_does_not_fit_into_memory_is_rejected_with_the_largest_holders(driver: Driver, exhausted):
    session = driver.session
    session.post(SetParameter("models.galaxy", "softening", 0.07))
    driver.frames(3)
    patch = exhausted()
    session.post(SetParameter("models.galaxy", "count", 4096))
    driver.frames(2)
    patch.undo()
    message = session.messages["models.galaxy.count"]
    assert "out of GPU memory" in message
    assert "bytes  galaxy." in message.partition("Largest holders:\n")[2]
    assert session.stage.instances["galaxy"].params.count == 64
    require_going_on(driver)
    session.post(SetParameter("models.galaxy", "count", 96))
    driver.frames(2)
    assert session.stage.instances["galaxy"].params.count == 96 and "models.galaxy.count" not in session.messages


def test_a_frame_that_does_not_fit_into_memory_pauses_with_the_largest_holders(driver: Driver, exhausted):
    session, viewer = driver.session, driver.viewer
    session.post(SetParameter("models.galaxy", "softening", 0.07))
    driver.frames(3)
    patch = exhausted()
    session.post(SetParameter("view", "axes", True))  # labels and the box need buffers
    driver.frames(2)
    patch.undo()
    failures = driver.expected_failures()
    assert failures and not session.playing
    for failure in failures:
        assert failure.message.startswith("OutOfMemory: out of GPU memory"), failure.text
        assert "bytes  galaxy." in failure.message.partition("Largest holders:\n")[2], failure.text
    viewer._retry_at = 0.0
    require_going_on(driver)
    assert session.view.axes
