"""`Frames`: at most k in flight, no longer waits than needed, and a clean state after an error."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.gpu import Gpu, Plan, Sync, native
from vertigrad.tensor import Tensor

from .kernels import AFFINE, SPIN, STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


@pytest.fixture
def three_in_flight(gpu: Gpu):
    before = gpu.frames.in_flight
    yield
    gpu.frames.in_flight = before


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_never_more_than_k_frames_in_flight(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, three_in_flight: None, in_flight: int
) -> None:
    """Submissions retire only when `begin` waits for them, so the count shows what it waited for."""
    gpu.wait_idle()
    gpu.frames.in_flight = in_flight
    gpu.frames._pending.clear()
    with Tensor.zeros(1) as x:
        gpu.wait_idle()
        waited = []
        wait = native.wait
        monkeypatch.setattr(native, "wait", lambda device, index: waited.append(index) or wait(device, index))
        for i in range(10):
            gpu.frames.begin()
            assert gpu.tracker.submitted - gpu.tracker.retired == min(i, in_flight - 1)
            kernel(STEP)(1, x=x, count=1, factor=1.0, value=1.0)
            serial = gpu.frames.end()
            assert serial == gpu.tracker.submitted
            assert gpu.tracker.submitted - gpu.tracker.retired <= in_flight
        assert len(waited) == 10 - in_flight
        assert x.item() == 10


@pytest.mark.parametrize("wrong", [0, 4, -1, 1.5, None])
def test_invalid_numbers_of_frames_in_flight_are_rejected(gpu: Gpu, wrong: object) -> None:
    with pytest.raises(ParameterError, match="frames in flight must be 1, 2 or 3"):
        gpu.frames.in_flight = wrong  # pyright: ignore[reportAttributeAccessIssue]


def test_fewer_frames_in_flight_take_effect_at_the_next_frame(gpu: Gpu, three_in_flight: None) -> None:
    gpu.frames.in_flight = 3
    with Tensor.zeros(1) as x:
        for _ in range(4):
            with gpu.frames.frame():
                x.add_(1.0)
        gpu.frames.in_flight = 1
        gpu.frames.begin()
        assert gpu.tracker.retired == gpu.tracker.submitted
        gpu.frames.end()


def test_frames_are_numbered_and_are_one_submission_each(gpu: Gpu) -> None:
    gpu.submit()
    with Tensor.zeros(1) as x:
        gpu.submit()
        frame, submits = gpu.tracker.frame, gpu.meter.submits
        for i in range(5):
            with gpu.frames.frame() as number:
                assert number == gpu.tracker.frame == frame + i + 1
                assert gpu.frames.open
                for _ in range(20):
                    x.add_(1.0)
        assert gpu.meter.submits == submits + 5
        assert not gpu.frames.open
        assert x.block.last_frame == gpu.tracker.frame


def test_commands_between_frames_are_submitted_before_the_next(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        x.add_(1.0)
        with gpu.frames.frame():
            assert not gpu.recorder.pending
        assert x.item() == 1


def test_a_frame_without_commands_is_no_submission(gpu: Gpu) -> None:
    gpu.submit()
    submitted = gpu.tracker.submitted
    for _ in range(5):
        with gpu.frames.frame():
            pass
    assert gpu.tracker.submitted == submitted


class Broken(Exception):
    pass


def test_an_error_in_a_frame_drops_it_and_every_tensor_keeps_its_values(gpu: Gpu) -> None:
    with Tensor.full(3, 7.0) as x, Tensor.full(3, 1.0) as y, x.clone() as clone:
        gpu.submit()
        blocks = x.block, y.block
        with pytest.raises(Broken), gpu.frames.frame():
            x.add_(1.0)  # shared: moves to a block of its own
            clone.add_(5.0)  # sole owner now: in place
            y.add_(1.0)
            x.mul_(2.0)
            raise Broken
        assert (x.block, y.block) == blocks
        assert x.block is clone.block
        assert x.numpy().tolist() == clone.numpy().tolist() == [7, 7, 7]
        assert y.numpy().tolist() == [1, 1, 1]
        with gpu.frames.frame():
            x.add_(1.0)
        assert x.numpy().tolist() == [8, 8, 8]
        assert clone.numpy().tolist() == [7, 7, 7]


def test_tensors_moved_twice_or_closed_in_a_dropped_frame(gpu: Gpu) -> None:
    x, gone = Tensor.full(2, 1.0), Tensor.full(2, 2.0)
    with x.clone() as a, gone.clone() as b:
        gpu.submit()
        with pytest.raises(Broken), gpu.frames.frame():
            x.add_(1.0)
            with x.clone() as c:
                x.add_(1.0)
                gone.add_(1.0)
                gone.close()
                assert c.block is not x.block
            raise Broken
        assert x.numpy().tolist() == a.numpy().tolist() == [1, 1]
        assert b.numpy().tolist() == [2, 2]
        assert b.block.owners == 1
    x.close()


def test_a_borrowed_tensor_written_in_a_dropped_frame_has_its_values(gpu: Gpu) -> None:
    source = np.array([1, 2, 3], np.float32)
    with Tensor.from_blob(source) as x, Tensor.from_blob(source) as y:
        with pytest.raises(Broken), gpu.frames.frame():
            x.add_(1.0)
            y[...] = 0.0  # overwritten in full, so it was not uploaded
            raise Broken
        assert x.numpy().tolist() == y.numpy().tolist() == [1, 2, 3]


def test_a_submission_in_the_middle_of_a_dispatch_keeps_it_atomic(gpu: Gpu) -> None:
    """y moves to a block to be overwritten; then the uniform ring is full, which submits; then all is dropped."""
    with (
        Tensor.full(2, 5.0) as y,
        y.clone() as clone,
        Tensor.zeros(2) as other,
        Tensor.full(2, 1.0) as x,
        Plan() as plan,
    ):
        plan.dispatch(kernel(AFFINE), 2, overwrites=("y",), x=x, y=y, count=2, scale=1.0, shift=0.0)
        gpu.submit()
        submitted = gpu.tracker.submitted
        with pytest.raises(Broken), gpu.frames.frame():
            other.add_(1.0)
            while gpu.uniforms.fits(gpu.uniforms.alignment):
                gpu.uniforms.push(bytes(gpu.uniforms.alignment))
            plan.replay()
            assert gpu.tracker.submitted == submitted + 1
            assert y.block is not clone.block
            raise Broken
        assert y.block is clone.block
        assert y.numpy().tolist() == clone.numpy().tolist() == [5, 5]
        assert other.numpy().tolist() == [1, 1]  # that was submitted
        plan.replay()
        assert y.numpy().tolist() == [1, 1]


def test_repeated_failing_frames_leak_nothing(gpu: Gpu) -> None:
    """Uses more uniforms than the ring holds, if they were not released."""
    source = SPIN.replace("rounds: u32", "rounds: u32, more: array<vec4u, 4000>")
    with Tensor.zeros(64) as x:
        for _ in range(200):
            with pytest.raises(Broken), gpu.frames.frame():
                kernel(source)(1, x=x, rounds=0, more=[0] * 16000)
                raise Broken
        with gpu.frames.frame():
            kernel(source)(1, x=x, rounds=0, more=[0] * 16000)
        assert x.numpy().sum() == 0


def test_sync_waits_for_all_submitted_work(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        gpu.wait_idle()
        x.add_(1.0)
        gpu.sync(Sync.FLUSH)
        assert not gpu.recorder.pending
        assert gpu.tracker.retired < gpu.tracker.submitted
        for _ in range(5):
            with gpu.frames.frame():
                x.add_(1.0)
        gpu.sync(Sync.FRAME)
        assert gpu.tracker.submitted - gpu.tracker.retired <= gpu.frames.in_flight
        x.add_(1.0)
        gpu.sync()
        assert gpu.tracker.retired == gpu.tracker.submitted
        assert not gpu.recorder.pending
