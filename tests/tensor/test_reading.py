"""`read_async`, `item` and `numpy`: values at the time of the call, without waiting."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.errors import GpuError
from vertigrad.gpu import Gpu, Traffic
from vertigrad.tensor import Tensor

from ..gpu.kernels import SPIN, kernel, long_rounds, poll_until

pytestmark = pytest.mark.usefixtures("steady")


def test_a_readback_in_a_frame_arrives_some_frames_later(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        readings = []
        for _ in range(8):
            with gpu.frames.frame():
                x.add_(1.0)
                readings.append(x.read_async(Traffic.DIAGNOSTICS))
        assert not gpu.recorder.pending
        poll_until(gpu, lambda: readings[-1].done)
        assert [int(reading.result()[0]) for reading in readings] == list(range(1, 9))


def test_read_async_does_not_block(gpu: Gpu) -> None:
    with Tensor.zeros(1 << 14) as x:
        gpu.wait_idle()
        with gpu.frames.frame():
            kernel(SPIN)(x.size, x=x, rounds=long_rounds(gpu))
            reading = x.read_async()
        assert not reading.done
        assert gpu.tracker.retired < gpu.tracker.submitted  # the request did not wait for it
        assert reading.result().shape == (1 << 14,)
        assert reading.done


def test_a_readback_outlives_its_tensor() -> None:
    x = Tensor.full(3, 2.0)
    reading = x.read_async()
    x.close()
    assert reading.result().tolist() == [2, 2, 2]
    assert reading.result().tolist() == [2, 2, 2]


def test_later_writes_are_not_in_the_readback() -> None:
    with Tensor.full(3, 2.0) as x:
        reading = x.read_async()
        x.fill_(5.0)
        x[...] = np.ones(3, np.float32)
        assert reading.result().tolist() == [2, 2, 2]
        assert x.numpy().tolist() == [1, 1, 1]


def test_a_recorded_read_comes_before_a_later_upload() -> None:
    """Queue writes jump ahead of what is being encoded: they go into new memory only."""
    with Tensor.full(3, 2.0) as x, x * 10.0 as y:
        x[...] = np.full(3, 7.0, np.float32)
        with x * 10.0 as z:
            assert y.numpy().tolist() == [20, 20, 20]
            assert z.numpy().tolist() == [70, 70, 70]


def test_results_are_independent_of_each_other() -> None:
    with Tensor.full(3, 2.0) as x:
        reading = x.read_async()
        a, b = reading.result(), reading.result()
        a[0] = 9
        assert b.tolist() == [2, 2, 2]


def test_empty_tensors_need_no_readback(gpu: Gpu) -> None:
    with Tensor.zeros((0, 3), "bool") as x:
        gpu.submit()
        reading = x.read_async()
        assert reading.done
        assert not gpu.recorder.pending
        assert reading.result().shape == (0, 3)
        assert reading.result().dtype == bool


def test_a_dropped_readback_reports_it(gpu: Gpu) -> None:
    with Tensor.full(1, 2.0) as x:
        gpu.submit()
        reading = x.read_async()
        gpu.abandon()
        assert reading.done
        with pytest.raises(GpuError, match="dropped after an error"):
            reading.result()
        assert x.item() == 2


@pytest.mark.parametrize("dtype", ["u8", "f16"])
def test_slices_that_begin_inside_a_word(dtype: str) -> None:
    values = np.arange(40).astype({"u8": np.uint8, "f16": np.float16}[dtype])
    with Tensor.from_numpy(values) as x:
        for start in range(5):
            for stop in range(start, 12):
                with x[start:stop] as part:
                    assert part.numpy().tolist() == values[start:stop].tolist()
