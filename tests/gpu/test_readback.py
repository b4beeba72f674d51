"""`ReadbackRing`: bytes arrive in order, once, without waiting; staging buffers are reused."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

from vertigrad.errors import DeviceLost, GpuError
from vertigrad.gpu import Gpu, Traffic
from vertigrad.gpu import readback as readback_module
from vertigrad.gpu.readback import SPARE
from vertigrad.tensor import Tensor

from .kernels import SPIN, everything_arrives, kernel, long_rounds, poll_until

pytestmark = pytest.mark.usefixtures("steady")


def read(gpu: Gpu, x: Tensor, then=None):
    return gpu.recorder.read(x.block, x.offset, x.nbytes, Traffic.DIAGNOSTICS, then)


def test_readbacks_arrive_in_the_order_of_recording(gpu: Gpu) -> None:
    order = []
    with Tensor.from_numpy(np.arange(300, dtype=np.uint32)) as x:
        for i in range(30):
            with x[i * 10 : i * 10 + 1 + i % 7] as part:
                read(gpu, part, lambda data: order.append(np.frombuffer(data, np.uint32)[0] // 10))
            if i % 4 == 0:
                gpu.submit()
        gpu.wait_idle()
        everything_arrives(gpu)
    assert order == list(range(30))


def test_values_are_those_at_the_time_of_recording(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        readings = []
        for _ in range(10):
            readings.append(x.read_async())
            x.add_(1.0)
        assert [int(reading.result()[0]) for reading in readings] == list(range(10))


def test_waiting_for_a_later_readback_delivers_the_earlier_ones_first(gpu: Gpu) -> None:
    order = []
    with Tensor.full(1, 1.0) as x:
        readings = [read(gpu, x, lambda data, i=i: order.append(i)) for i in range(4)]
        gpu.submit()
        gpu.readback.wait(readings[2])
        assert order == [0, 1, 2]
        assert [reading.done for reading in readings[:3]] == [True] * 3
        gpu.readback.wait(readings[3])
        assert order == [0, 1, 2, 3]


def test_staging_buffers_are_reused(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    created = []
    create = gpu.device.create_buffer
    monkeypatch.setattr(gpu.device, "create_buffer", lambda **w: created.append(w) or create(**w), raising=False)
    with Tensor.full(5000, 1.0) as x:
        gpu.wait_idle()
        gpu.readback._spare.clear()
        created.clear()
        for i in range(40):
            with gpu.frames.frame(), x[: 5000 - i] as part:  # of one size class
                read(gpu, part)
            if i % 4 == 3:
                everything_arrives(gpu)
    assert 1 <= len(created) <= 4
    assert {w["label"] for w in created} == {"readback"}


def test_few_staging_buffers_and_bytes_are_cached(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    with Tensor.full(1 << 16, 1.0) as x:
        for _ in range(2 * SPARE):
            read(gpu, x)
        gpu.wait_idle()
        everything_arrives(gpu)
        assert len(gpu.readback._spare) == SPARE
        monkeypatch.setattr(readback_module, "SPARE_BYTES", 600_000)
        x.numpy()
        assert sum(buffer.size for buffer in gpu.readback._spare) <= 600_000


def test_a_readback_does_not_block(gpu: Gpu) -> None:
    """The readback is in flight while a long dispatch before it still runs."""
    with Tensor.zeros(1 << 14) as x:
        kernel(SPIN)(x.size, x=x, rounds=long_rounds(gpu))
        reading = x.read_async()
        gpu.submit()
        gpu.poll()
        assert not reading.done
        poll_until(gpu, lambda: reading.done)
        assert reading.result().shape == (1 << 14,)


def test_rows_of_a_texture_come_without_padding(gpu: Gpu) -> None:
    usage = wgpu.TextureUsage.COPY_DST | wgpu.TextureUsage.COPY_SRC
    for width, height in ((5, 3), (64, 2), (65, 2)):
        texture = gpu.device.create_texture(size=(width, height, 1), format="rgba8unorm", usage=usage)
        image = np.random.default_rng(width).integers(0, 255, (height, width, 4), np.uint8)
        layout = {"offset": 0, "bytes_per_row": width * 4, "rows_per_image": height}
        gpu.queue.write_texture({"texture": texture}, image, layout, (width, height, 1))
        got = []
        gpu.readback.copy_texture(gpu.recorder.encoder, texture, width * 4, got.append)
        gpu.wait_idle()
        everything_arrives(gpu)
        assert np.array_equal(np.frombuffer(got[0], np.uint8).reshape(height, width, 4), image)


def test_a_dropped_readback_reports_it(gpu: Gpu) -> None:
    with Tensor.full(1, 1.0) as x:
        gpu.submit()
        with pytest.raises(ZeroDivisionError), gpu.frames.frame():
            dropped = x.read_async()
            _ = 1 / 0
        assert dropped.done  # nothing to wait for
        pending = x.read_async()
        for _ in range(2):
            with pytest.raises(GpuError, match="this reading never happened"):
                dropped.result()
        assert pending.result().tolist() == [1]


def test_a_lost_device_is_reported(gpu: Gpu) -> None:
    class Lost:
        def sync_wait(self) -> None:
            raise RuntimeError("Could not map buffer")

    with Tensor.full(1, 1.0) as x:
        gpu.wait_idle()
        everything_arrives(gpu)
        reading = read(gpu, x)
        gpu.submit()
        mapping, reading.mapping = reading.mapping, Lost()
        with pytest.raises(DeviceLost, match="could not be read back: Could not map buffer"):
            gpu.readback.wait(reading)
        assert reading.done
        with pytest.raises(GpuError):
            gpu.readback.wait(reading)
        mapping.sync_wait()
        assert x.item() == 1


def test_an_error_in_a_receiver_does_not_stop_the_ring(gpu: Gpu) -> None:
    got = []

    def fail(data: memoryview) -> None:
        raise ZeroDivisionError

    with Tensor.full(1, 1.0) as x:
        read(gpu, x, fail)
        read(gpu, x, got.append)
        gpu.submit()
        with pytest.raises(ZeroDivisionError):
            everything_arrives(gpu)
        everything_arrives(gpu)
    assert len(got) == 1


def test_a_receiver_can_start_the_next_readback(gpu: Gpu) -> None:
    observed = []
    with Tensor.full(1, 1.0) as x:

        def again(data: memoryview) -> None:
            observed.append(np.frombuffer(data, np.float32)[0])
            if len(observed) < 4:
                x.add_(1.0)
                read(gpu, x, again)
                gpu.submit()

        read(gpu, x, again)
        gpu.submit()
        everything_arrives(gpu)
    assert observed == [1, 2, 3, 4]


def test_bytes_stay_valid_when_their_staging_buffer_is_used_again(gpu: Gpu) -> None:
    with Tensor.full(1000, 1.0) as x:
        reading = read(gpu, x)
        gpu.submit()
        first = gpu.readback.wait(reading)
        for i in range(10):
            x.fill_(float(i + 2))
            x.numpy()
        assert set(np.frombuffer(first, np.float32)) == {1.0}
