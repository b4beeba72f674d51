"""Recorder and submit: order, pins, the preflight, and errors of the device."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

from vertigrad.errors import GpuError, StillInUse, UseAfterFree
from vertigrad.gpu import Gpu, device
from vertigrad.gpu.device import EAGER_BYTES, EAGER_DISPATCHES, EAGER_IN_FLIGHT, FIRST_DISPATCHES
from vertigrad.gpu.native import queue
from vertigrad.memory import State
from vertigrad.tensor import Tensor

from ..headless.measures import resident
from .kernels import SPIN, STEP, everything_arrives, kernel, long_rounds, poll_until

pytestmark = pytest.mark.usefixtures("steady")


def invalid(gpu: Gpu) -> None:
    """Record a command that the device rejects: a copy beyond the end of a buffer."""
    buffers = [
        gpu.device.create_buffer(size=16, usage=wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST) for _ in "ab"
    ]
    gpu.recorder.encoder.copy_buffer_to_buffer(buffers[0], 0, buffers[1], 0, 1024)


def color_target(gpu: Gpu, size: int = 4) -> wgpu.GPUTexture:
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    return gpu.device.create_texture(size=(size, size, 1), format="rgba8unorm", usage=usage)


def attachment(target: wgpu.GPUTexture) -> dict:
    return {"view": target.create_view(), "load_op": "clear", "store_op": "store", "clear_value": (1, 0, 0, 1)}


# pins and stamps ------------------------------------------------------------------------------------------------


def test_an_empty_tensor_keeps_its_block_after_the_submission(gpu: Gpu) -> None:
    """Nothing is recorded to copy an empty tensor, but its old block is held for a recording that might be dropped."""
    with Tensor.empty(0) as x, x.clone() as copy:
        gpu.submit()
        old = x.block
        gpu.make_writable(copy.owner)
        gpu.submit()
        assert copy.block is not old and old.pins == 0
        with copy.resource():
            gpu.abandon()
        assert copy.block is not old


def test_recorded_blocks_are_pinned_once_until_submitted(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        gpu.submit()
        for _ in range(3):
            kernel(STEP)(1, x=x, count=1, factor=1.0, value=1.0)
        assert x.block.pins == 1
        serial = gpu.submit()
        assert x.block.pins == 0
        assert x.block.last_serial == serial == gpu.tracker.submitted


def test_a_tensor_closed_after_recording_lives_until_the_gpu_is_done(gpu: Gpu) -> None:
    x = Tensor.full(1, 1.0)
    with Tensor.empty(1) as y:
        block = x.block
        y[...] = x
        x.close()
        assert block.state is State.LIVE
        gpu.submit()
        assert block.state is State.RETIRING
        gpu.wait_idle()
        assert block.state is State.FREE
        assert y.item() == 1


def test_both_sides_of_a_copy_stay_until_it_is_submitted(gpu: Gpu) -> None:
    """If one of them were destroyed before, the submission would abort the process."""
    source, target = Tensor.full(70_000, 3.0), Tensor.empty(70_000)
    gpu.wait_idle()
    blocks = source.block, target.block
    gpu.recorder.copy(blocks[0], 0, blocks[1], 0, 280_000)
    source.close()
    target.close()
    assert [(block.state, block.pins) for block in blocks] == [(State.LIVE, 1)] * 2
    gpu.pool.trim()
    serial = gpu.submit()
    assert [(block.state, block.last_serial) for block in blocks] == [(State.RETIRING, serial)] * 2
    gpu.wait_idle()
    assert [block.state for block in blocks] == [State.FREE] * 2


def test_a_block_being_read_stays_until_the_copy_is_submitted(gpu: Gpu) -> None:
    x = Tensor.full(70_000, 3.0)
    gpu.wait_idle()
    block = x.block
    reading = x.read_async()
    x.close()
    assert (block.state, block.pins) == (State.LIVE, 1)
    gpu.pool.trim()
    serial = gpu.submit()
    assert (block.state, block.last_serial) == (State.RETIRING, serial)
    assert np.all(reading.result() == 3)


def test_an_empty_submit_is_no_submission(gpu: Gpu) -> None:
    gpu.wait_idle()
    submits = gpu.meter.submits
    serial = gpu.submit()
    assert gpu.submit() == serial == gpu.tracker.submitted
    assert gpu.meter.submits == submits


def test_waiting_for_a_submission_releases_what_it_held_and_no_more(gpu: Gpu) -> None:
    gpu.wait_idle()
    first, second = Tensor.full(1, 1.0), Tensor.full(1, 2.0)
    blocks = first.block, second.block
    gpu.wait_idle()
    first.add_(1.0)
    serial = gpu.submit()
    second.add_(1.0)
    gpu.submit()
    first.close()
    second.close()
    gpu.wait(serial)
    assert [block.state for block in blocks] == [State.FREE, State.RETIRING]
    gpu.wait(serial)  # a second wait returns immediately
    gpu.wait_idle()
    assert blocks[1].state is State.FREE


def test_polling_retires_only_submissions_proven_finished_by_a_readback(gpu: Gpu) -> None:
    """wgpu-native reports an empty queue while a long dispatch runs; a block must not be reused because of that."""
    with Tensor.zeros(1 << 14) as x:
        gpu.sync()
        kernel(SPIN)(x.size, x=x, rounds=long_rounds(gpu))
        serial = gpu.submit()
        gpu.poll()
        assert gpu.tracker.retired < serial, "it was called finished at once"
        block = x.block
        reading = x.read_async()
    last = gpu.submit()
    assert block.state is State.RETIRING
    poll_until(gpu, lambda: reading.done)
    assert gpu.tracker.retired == last
    assert block.state is State.FREE


def test_a_long_loop_outside_of_frames_keeps_few_submissions_in_flight(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        for _ in range(6 * EAGER_DISPATCHES):
            x.add_(1.0)
        assert gpu.tracker.submitted - gpu.tracker.retired <= EAGER_IN_FLIGHT + 1
        assert x.item() == 6 * EAGER_DISPATCHES


def test_undivided_work_is_one_submission_and_later_work_is_split_again(gpu: Gpu) -> None:
    def submissions() -> int:
        before = gpu.tracker.submitted
        for _ in range(EAGER_DISPATCHES + 1):
            x.add_(1.0)
        return gpu.tracker.submitted - before

    with Tensor.zeros(1) as x:
        gpu.submit()
        with gpu.undivided():
            with gpu.undivided():
                assert submissions() == 0
            assert submissions() == 0
        gpu.submit()
        assert submissions() > 0


def test_an_idle_gpu_starts_early(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """And gets twice as many commands each time, while it works on those before."""
    monkeypatch.setattr(device, "EAGER_DISPATCHES", 5 * FIRST_DISPATCHES)

    def dispatches_until_submitted() -> int:
        before, count = gpu.tracker.submitted, 0
        while gpu.tracker.submitted == before:
            x.add_(1.0)
            count += 1
        return count

    with Tensor.zeros(1) as x:
        for _ in range(2):
            gpu.sync()
            assert [dispatches_until_submitted() for _ in range(5)] == [FIRST_DISPATCHES * n for n in (1, 2, 4, 5, 5)]


@pytest.mark.turns(3)
@pytest.mark.parametrize("mebibytes", [1, 16, 48])
def test_results_that_are_dropped_outside_of_frames_take_bounded_memory(gpu: Gpu, mebibytes: int) -> None:
    """Recorded commands keep their blocks, which must not accumulate until there are enough dispatches."""
    nbytes = mebibytes << 20
    with Tensor.full(nbytes // 4, 1.0) as x:
        gpu.wait_idle()
        gpu.pool.trim()
        before = gpu.pool.held_bytes
        gpu.pool.peak_bytes = before
        for _ in range(1 + (960 << 20) // nbytes if mebibytes > 1 else 200):
            (x + 1.0).close()
        assert gpu.pool.peak_bytes - before <= (EAGER_IN_FLIGHT + 2) * max(EAGER_BYTES, nbytes)
        assert gpu.tracker.submitted - gpu.tracker.retired <= EAGER_IN_FLIGHT + 1


def test_waiting_for_a_submission_that_does_not_exist(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        x.add_(1.0)
        gpu.submit()
        with pytest.raises(StillInUse, match="was never made"):
            gpu.wait(gpu.tracker.submitted + 1)
        assert x.item() == 1


def test_consecutive_dispatches_share_a_pass_and_copies_end_it(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x, Tensor.zeros(1) as y:
        gpu.submit()
        kernel(STEP)(1, x=x, count=1, factor=1.0, value=1.0)
        first = gpu.recorder._pass
        kernel(STEP)(1, x=y, count=1, factor=1.0, value=5.0)
        assert gpu.recorder._pass is first
        gpu.recorder.copy(x.block, 0, y.block, 0, 4)
        assert gpu.recorder._pass is None
        kernel(STEP)(1, x=y, count=1, factor=10.0, value=0.0)
        assert y.item() == 10


# uploads --------------------------------------------------------------------------------------------------------


def test_an_upload_does_not_overtake_earlier_commands(gpu: Gpu) -> None:
    with Tensor.full(4, 1.0) as x, Tensor.empty(4) as y:
        y[...] = x
        gpu.upload(x.block.buffer, memoryview(np.full(4, 2.0, np.float32)).cast("B"))
        assert y.numpy().tolist() == [1, 1, 1, 1]
        assert x.numpy().tolist() == [2, 2, 2, 2]


def test_new_tensors_from_arrays_in_a_frame_need_no_extra_submission(gpu: Gpu) -> None:
    lent = np.array([3], np.float32)
    with Tensor.full(1, 1.0) as x, Tensor.empty(1) as y, Tensor.from_blob(lent) as w:
        gpu.submit()
        submits = gpu.meter.submits
        with gpu.frames.frame():
            x.add_(1.0)
            with Tensor.from_numpy(np.array([10], np.float32)) as z:
                x.mul_(z)
            y[...] = x
            x.add_(w)
        assert gpu.meter.submits == submits + 1
        assert (x.item(), y.item()) == (23, 20)


def test_a_dropped_frame_also_drops_commands_before_an_upload(gpu: Gpu) -> None:
    held: list[Tensor] = []
    with Tensor.full(1, 1.0) as x:
        gpu.submit()
        with pytest.raises(ZeroDivisionError), gpu.frames.frame():
            x.add_(1.0)
            held.append(Tensor.from_numpy(np.array([10], np.float32)))
            x.mul_(held[0])
            _ = 1 / 0
        assert x.item() == 1
        with held[0] as z:
            assert z.item() == 10  # created outside of the commands, so it exists


def test_many_uploads_without_a_submission_take_bounded_staging_memory(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vertigrad.gpu import native, upload

    monkeypatch.setattr(upload, "CHUNK", 1 << 12)
    staged, most = [0], [0]
    flushes: list[int] = []
    waits: list[int] = []
    write, flush, wait = gpu.queue.write_buffer, native.submit_writes, native.wait

    def counted(buffer: object, offset: int, data: memoryview, start: int, size: int) -> None:
        write(buffer, offset, data, start, size)  # pyright: ignore[reportArgumentType]
        staged[0] += size
        most[0] = max(most[0], staged[0])

    def flushed(device: wgpu.GPUDevice) -> int:
        staged[0] = 0
        flushes.append(flush(device))
        return flushes[-1]

    def waited(device: wgpu.GPUDevice, index: int) -> None:
        waits.append(index)
        wait(device, index)

    gpu.submit()
    monkeypatch.setattr(gpu.queue, "write_buffer", counted, raising=False)
    monkeypatch.setattr(native, "submit_writes", flushed)
    monkeypatch.setattr(native, "wait", waited)
    data = np.random.default_rng(2).random(256, np.float32)
    tensors = [Tensor.from_numpy(data) for _ in range(30)]
    assert most[0] == 1 << 12  # four of them fill a chunk
    own = [index for index in waits if index in flushes]  # not of an earlier test
    assert len(flushes) == 7 and own == flushes[:-1]  # the last one may be in flight
    for tensor in tensors:
        assert np.array_equal(tensor.numpy(), data)
        tensor.close()


def test_new_tensors_are_uploaded_without_submitting_recorded_commands(gpu: Gpu) -> None:
    with Tensor.full(4, 1.0) as x:
        gpu.submit()
        before = gpu.tracker.submitted
        x.add_(1.0)
        with Tensor.from_numpy(np.full(4, 5, np.float32)) as y, Tensor.from_blob(np.full(4, 7, np.float32)) as z:
            x.add_(y)
            x.add_(z)
            assert gpu.tracker.submitted == before
            assert x.numpy().tolist() == [14, 14, 14, 14]
        gpu.upload(x.block.buffer, memoryview(np.ones(1, np.float32)).cast("B"))
        x.add_(1.0)
        gpu.upload(x.block.buffer, memoryview(np.full(1, 3, np.float32)).cast("B"), offset=4)
        assert x.numpy().tolist() == [2, 3, 15, 15]


@pytest.mark.parametrize("nbytes", [1, 2, 3, 4, 5, 7, 8, 4097])
def test_uploads_of_any_number_of_bytes(gpu: Gpu, nbytes: int) -> None:
    data = np.arange(nbytes, dtype=np.uint8)
    before = gpu.meter.read()["geometry"]["host_to_device"]
    with Tensor.from_numpy(data) as x:
        assert np.array_equal(x.numpy(), data)
    assert gpu.meter.read()["geometry"]["host_to_device"] == before + nbytes


def test_uploads_in_several_chunks(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    from vertigrad.gpu import upload

    gpu.submit()
    monkeypatch.setattr(upload, "CHUNK", 1 << 12)
    sizes = []
    write = gpu.queue.write_buffer
    monkeypatch.setattr(
        gpu.queue,
        "write_buffer",
        lambda *a: sizes.append(a[4] if len(a) > 4 else len(a[2])) or write(*a),
        raising=False,
    )
    data = np.random.default_rng(1).integers(0, 255, 5 * (1 << 12) + 3, np.uint8)
    with Tensor.from_numpy(data) as x:
        assert sizes == [1 << 12] * 5 + [4]
        assert np.array_equal(x.numpy(), data)


def test_an_upload_to_an_offset(gpu: Gpu) -> None:
    with Tensor.zeros(4) as x:
        gpu.upload(x.block.buffer, memoryview(np.array([5, 6], np.float32)).cast("B"), offset=4)
        assert x.numpy().tolist() == [0, 5, 6, 0]


# preflight ------------------------------------------------------------------------------------------------------


def test_a_buffer_of_a_block_cannot_be_destroyed_from_outside(gpu: Gpu) -> None:
    """wgpu-native would abort the process at the next submit."""
    with Tensor.full(1, 1.0) as x:
        x.add_(1.0)
        with pytest.raises(StillInUse, match=r"belongs to a tensor .* close\(\)"):
            x.block.buffer.destroy()
        assert x.item() == 2


def test_a_destroyed_buffer_in_a_submission_raises_instead_of_ending_the_process(gpu: Gpu) -> None:
    """No public call leads here, so the test destroys the buffer of a block that commands use."""
    x, y = Tensor.full(1, 1.0, name="doomed"), Tensor.full(1, 5.0)
    gpu.submit()
    block = x.block
    y[...] = x
    buffer, block.storage = block.storage, None
    type(buffer).destroy(buffer)
    with pytest.raises(UseAfterFree, match="'doomed'"):
        gpu.submit()
    assert not gpu.recorder.pending
    assert block.pins == y.block.pins == 0
    assert y.item() == 5  # its block and the device still work
    x.close()
    y.close()
    gpu.pool.held_bytes -= block.capacity  # the pool did not destroy its memory


def test_trimming_does_not_affect_recorded_or_running_commands(gpu: Gpu) -> None:
    gpu.wait_idle()
    x = Tensor.full(1000, 3.0)
    with Tensor.empty(1000) as y:
        y[...] = x
        x.close()
        gpu.pool.trim()
        gpu.submit()
        gpu.pool.trim()
        assert y.numpy().tolist() == [3] * 1000


# errors of the device -------------------------------------------------------------------------------------------


def test_refused_commands_are_dropped_and_the_next_recording_is_clean(gpu: Gpu) -> None:
    with Tensor.full(2, 1.0) as x, x.clone() as clone:
        gpu.submit()
        block, used = x.block, gpu.uniforms._used
        x.add_(1.0)
        invalid(gpu)
        with pytest.raises(GpuError, match=r"(?s)the device refused the recorded commands.*1024 bytes") as caught:
            gpu.submit()
        assert isinstance(caught.value.__cause__, wgpu.GPUError)
        assert not gpu.recorder.pending
        assert gpu.uniforms._used == used == 0
        assert x.block is clone.block is block
        assert (block.owners, block.pins) == (2, 0)
        assert x.numpy().tolist() == [1, 1]
        x.add_(1.0)
        assert x.numpy().tolist() == [2, 2]
        assert clone.numpy().tolist() == [1, 1]


def test_commands_refused_in_a_frame(gpu: Gpu) -> None:
    with Tensor.full(2, 1.0) as x:
        gpu.submit()
        with pytest.raises(GpuError), gpu.frames.frame():
            x.add_(1.0)
            invalid(gpu)
        assert not gpu.frames.open
        with gpu.frames.frame():
            x.add_(1.0)
        assert x.numpy().tolist() == [2, 2]


def test_a_rejected_submission_keeps_uploads(gpu: Gpu) -> None:
    source = bytearray(np.array([1, 2], np.float32))
    with Tensor.from_blob(source, dtype="f32") as x, Tensor.from_numpy(np.array([3, 4], np.float32)) as y:
        invalid(gpu)
        gpu.make_resident(x.owner)
        with pytest.raises(GpuError):
            gpu.submit()
        x.add_(y)
        assert x.numpy().tolist() == [4, 6]


def test_from_numpy_leaks_nothing_if_it_fails(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise wgpu.GPUValidationError("queue")

    leaks = gpu.tracker.leak_count
    with monkeypatch.context() as patch:
        patch.setattr(gpu.queue, "write_buffer", fail, raising=False)
        with pytest.raises(wgpu.GPUError):
            Tensor.from_numpy(np.zeros(10, np.float32))
    gpu.submit()
    assert gpu.tracker.leak_count == leaks


def test_errors_of_the_queue_leave_nothing_pinned(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    from vertigrad.gpu import native

    def fail(*_: object) -> int:
        raise wgpu.GPUValidationError("queue")

    with Tensor.full(1, 1.0) as x:
        gpu.submit()
        x.add_(1.0)
        reading = x.read_async()
        with monkeypatch.context() as patch:
            patch.setattr(native, "submit", fail)
            with pytest.raises(GpuError, match="queue"):
                gpu.submit()
        assert x.block.pins == 0
        assert gpu.readback.in_flight == 0
        assert reading.done
        assert x.item() == 1


def test_abandoning_an_empty_recording_is_allowed(gpu: Gpu) -> None:
    gpu.submit()
    gpu.abandon()
    gpu.abandon()
    assert not gpu.recorder.pending


def test_an_interrupt_while_submitting_leaves_nothing_pinned(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with Tensor.full(1, 1.0) as x:
        gpu.submit()
        x.add_(1.0)
        with monkeypatch.context() as patch:
            patch.setattr(gpu.tracker, "preflight", interrupt)
            with pytest.raises(KeyboardInterrupt):
                gpu.submit()
        assert x.block.pins == 0
        assert x.item() == 1


# render passes --------------------------------------------------------------------------------------------------


def test_a_render_pass_and_dispatches_in_one_submission(gpu: Gpu) -> None:
    target = color_target(gpu)
    with Tensor.zeros(1) as x:
        gpu.submit()
        submits = gpu.meter.submits
        x.add_(1.0)
        with gpu.recorder.render_pass(color_attachments=[attachment(target)]):
            pass
        x.add_(1.0)
        pixels = []
        gpu.readback.copy_texture(gpu.recorder.encoder, target, 16, pixels.append)
        gpu.submit()
        everything_arrives(gpu)
        assert gpu.meter.submits == submits + 1
        assert bytes(pixels[0]) == bytes([255, 0, 0, 255]) * 16
        assert x.item() == 2


def test_compute_inside_a_render_pass_is_rejected_and_the_pass_continues(gpu: Gpu) -> None:
    target = color_target(gpu)
    with Tensor.full(2, 1.0) as x, x.clone() as clone, Tensor.from_blob(np.ones(2, np.float32)) as lent:
        gpu.submit()
        block, counted, leaks = x.block, gpu.meter.read(), gpu.tracker.leak_count
        with gpu.recorder.render_pass(color_attachments=[attachment(target)]):
            for misuse in (
                lambda: x.add_(1.0),
                lambda: x.__setitem__(..., 0.0),
                lambda: clone.fill_(0.0),
                x.numpy,
                gpu.submit,
                lambda: Tensor.zeros(3),
                lambda: gpu.make_resident(lent.owner),
                lambda: gpu.recorder.encoder,
                lambda: gpu.recorder.copy(x.block, 0, clone.block, 0, 8),
            ):
                with pytest.raises(StillInUse, match="a render pass is open"):
                    misuse()
        assert x.block is clone.block is block
        assert (gpu.meter.read(), block.pins) == (counted, 0)
        pixels = []
        gpu.readback.copy_texture(gpu.recorder.encoder, target, 16, pixels.append)
        gpu.submit()
        everything_arrives(gpu)
        assert bytes(pixels[0]) == bytes([255, 0, 0, 255]) * 16
        assert x.numpy().tolist() == [1, 1]
        assert gpu.tracker.leak_count == leaks


def test_an_error_inside_a_render_pass_ends_it(gpu: Gpu) -> None:
    target = color_target(gpu)
    with Tensor.full(1, 1.0) as x:
        drawing = gpu.recorder.render_pass(color_attachments=[attachment(target)])
        with pytest.raises(ZeroDivisionError), gpu.frames.frame(), drawing:
            _ = 1 / 0
        x.add_(1.0)
        assert x.item() == 2


def test_a_clone_of_a_tensor_moved_in_a_dropped_recording_has_the_old_values(steady: Gpu) -> None:
    with Tensor.from_numpy(np.arange(4, dtype=np.float32)) as x, x.clone() as other:
        steady.submit()
        x.add_(1.0)  # moves x to a block that this recording fills
        with x.clone() as clone, clone.clone() as second:
            steady.abandon()
            for tensor in (x, other, clone, second):
                np.testing.assert_array_equal(tensor.numpy(), [0, 1, 2, 3])


def test_submissions_of_writes_only_leak_nothing(gpu: Gpu) -> None:
    """An unreleased encoder costs a kilobyte each time, and is in no count of wgpu's objects.

    The least growth of three rounds counts: in one of them a driver may take memory for something else.
    """
    growth = list[int]()
    for _ in range(4):
        before = resident()
        for _ in range(50):
            for _ in range(100):
                queue.submit_writes(gpu.device)
            gpu.wait_idle()  # a shared GPU falls behind, and each running submission holds memory
        growth.append(resident() - before)
    assert min(growth[1:]) < 2 << 20
