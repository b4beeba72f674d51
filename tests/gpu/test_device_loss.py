"""A destroyed device, in subprocesses: objects on it report the loss, and a new device replaces it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import gc, time, weakref
import numpy as np
import vertigrad
from vertigrad import Tensor
from vertigrad.errors import DeviceLost, UseAfterFree, VertigradError
from vertigrad.gpu import Kernel, Plan

gpu = vertigrad.gpu()
values = np.arange(4000, dtype=np.float32)

def raises(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised")
"""


def run(code: str) -> None:
    """Run `code` in a subprocess, after the prelude; fail with its output unless it succeeds."""
    whole = PRELUDE + textwrap.dedent(code) + "\nprint('done')"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


@pytest.mark.turns(3)
@pytest.mark.parametrize("when", ["recorded", "submitted", "arrived"])
def test_device_loss_does_not_abort_the_process(when: str) -> None:
    run(f"""
        when = {when!r}
        x = Tensor.from_numpy(values)
        reading = x.read_async()
        if when != "recorded":
            gpu.submit()
        if when == "arrived":
            time.sleep(0.5)
        x.add_(1.0)
        assert not gpu.lost
        gpu.device.destroy()
        assert gpu.lost
        large = np.zeros(20 << 20, np.float32)
        for call in (gpu.poll, reading.result, gpu.submit, gpu.wait_idle, x.numpy, lambda: Tensor.from_numpy(large),
                     lambda: (x + 1.0).numpy(), lambda: Tensor.empty(1 << 22), gpu.frames.begin):
            try:
                call()
            except VertigradError:
                pass
        raises(DeviceLost, lambda: Tensor.empty(1 << 23))
        gpu.reopen()
        assert not gpu.lost
        with Tensor.from_numpy(values) as again, again + 1.0 as more:
            assert np.array_equal(more.numpy(), values + 1.0)
        """)


def test_the_next_device_is_asked_for_its_subgroups() -> None:
    run("""
        from vertigrad.ops import paths
        paths.subgroup_size()
        assert paths.subgroup_size.cache_info().currsize == 1
        gpu.device.destroy()
        gpu.reopen()
        assert paths.subgroup_size.cache_info().currsize == 0
        """)


def test_objects_of_the_lost_device_report_it_and_can_be_closed() -> None:
    run("""
        x, plan = Tensor.from_numpy(values, name="state"), Plan("step")
        clone, view, lent = x.clone(), x[10:], Tensor.from_blob(values)
        with plan.recording():
            y = x * 2.0
        plan.replay()
        gpu.wait_idle()
        gpu.tracker.frame = 77
        moved, budget, in_flight = gpu.meter.read(), 1 << 30, 3
        vertigrad.gpu(memory=budget)
        gpu.frames.in_flight = in_flight
        gpu.device.destroy()
        gpu.reopen()
        assert vertigrad.gpu() is gpu
        assert (gpu.tracker.frame, gpu.pool.budget, gpu.frames.in_flight) == (77, budget, in_flight)
        assert gpu.meter.read() == moved
        for use in (x.numpy, lambda: x + 1.0, clone.numpy, view.numpy, y.numpy, x.clone, plan.replay, lent.numpy):
            message = raises(UseAfterFree, use)
            assert "lost with the GPU's device" in message, message
        assert "'state'" in raises(UseAfterFree, lambda: x.add_(1.0))
        with Tensor.full(10, 1.0) as z:
            assert z.sum().item() == 10
        for one in (x, clone, view, lent, y, plan):
            one.close()
        held = bytearray(100)
        gc.collect()
        gpu.wait_idle()
        assert gpu.tracker.leak_report() == "", gpu.tracker.leak_report()
        assert gpu.pool.held_bytes == gpu.pool.free_bytes
        """)


def test_lost_tensors_release_borrowed_memory() -> None:
    run("""
        source = bytearray(64)
        lent = Tensor.from_blob(source, dtype="f32")
        gpu.device.destroy()
        gpu.reopen()
        raises(BufferError, lambda: source.append(1))
        lent.close()
        source.append(1)
        """)


def test_the_device_can_be_lost_repeatedly() -> None:
    run("""
        for number in range(3):
            with Tensor.from_numpy(values) as x, x * float(number) as y:
                assert np.array_equal(y.numpy(), values * number)
                x.add_(1.0)
                gpu.device.destroy()
                raises(DeviceLost, gpu.submit)
                gpu.reopen()
        """)
