"""Tests for a process with VERTIGRAD_SHARING=host; `test_sharing.py` runs them.

The framework is NumPy: the software adapter's exported memory is mapped into this process.
"""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from vertigrad import from_dlpack
from vertigrad.errors import GpuError, OutOfMemory, StillInUse
from vertigrad.gpu import Gpu
from vertigrad.sharing import SharingFailed
from vertigrad.tensor import Publication, Tensor, dlpack

pytestmark = pytest.mark.usefixtures("steady")


def shared(values: object, dtype: str = "f4") -> Tensor:
    array = np.asarray(values, dtype)
    tensor = Tensor.empty(array.shape, array.dtype, shared=True)
    with Tensor.from_numpy(array) as source:
        tensor[...] = source
    return tensor


def copies(gpu: Gpu) -> dict[str, int]:
    return gpu.meter.read()["geometry"]


# values -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["f4", "f2", "i4", "u4", "u1"])
def test_both_sides_see_the_same_bytes(gpu: Gpu, code: str) -> None:
    if code == "f2" and "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    with Tensor.empty((2, 3), code, shared="cuda") as x:
        view = np.from_dlpack(x)
        before = copies(gpu)
        view[:] = np.arange(6).reshape(2, 3)
        with x.clone() as copy:
            assert copy.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        x.fill_(7)
        gpu.submit()
        assert view.tolist() == [[7] * 3] * 2
        assert view.dtype == np.dtype(code)
        assert copies(gpu)["host_to_device"] == before["host_to_device"]
        del view


def test_views_of_views_have_their_strides(gpu: Gpu) -> None:
    with shared(np.arange(12).reshape(3, 4)) as x, x[1:, ::2] as cut, x.T as turned:
        view = np.from_dlpack(cut)
        assert view.tolist() == [[4, 6], [8, 10]]
        assert np.from_dlpack(turned).tolist() == np.arange(12).reshape(3, 4).T.tolist()
        view[:] = -1
        assert x.numpy()[1:].tolist() == [[-1, 5, -1, 7], [-1, 9, -1, 11]]


def test_uploads_into_shared_memory_are_seen_at_once(gpu: Gpu) -> None:
    with shared([1, 2, 3]) as x:
        view = np.from_dlpack(x)
        gpu.upload(x.block.buffer, memoryview(np.float32([5, 6, 7])).cast("B"))
        assert view.tolist() == [5, 6, 7]
        del view


def test_booleans_are_copied_through_the_host(gpu: Gpu) -> None:
    with Tensor.empty(3, bool, shared=True) as x:
        x.fill_(True)
        assert np.from_dlpack(x).tolist() == [True] * 3
        assert x.__dlpack_device__() == (1, 0)


def test_new_shared_memory_is_zero_and_stays_as_it_was_written(gpu: Gpu) -> None:
    gpu.wait_idle()
    gpu.pool.trim()
    with Tensor.empty(1000, shared=True) as x:
        view = np.from_dlpack(x)
        assert not view.any()
        view[:] = 4
        with x + 1.0 as y:  # the first use by a kernel is not to clear it
            assert y.numpy().tolist() == [5] * 1000
        del view


# lifetime -----------------------------------------------------------------------------------------------------------


def test_a_view_keeps_the_memory_after_close(gpu: Gpu) -> None:
    x = shared(np.arange(1000))
    block = x.block
    view = np.from_dlpack(x)
    x.close()
    others = [Tensor.empty(1000, shared=True) for _ in range(3)]
    assert all(other.block is not block for other in others)
    for other in others:
        other.fill_(-1).close()
    gpu.wait_idle()
    assert view.tolist() == list(range(1000))
    assert block in gpu.tracker.live
    del view
    gc.collect()
    gpu.wait_idle()
    assert block not in gpu.tracker.live


def test_a_capsule_that_nobody_takes_gives_the_memory_back(gpu: Gpu) -> None:
    live = gpu.tracker.live_bytes
    with shared([1, 2]) as x:
        for version in (None, (1, 0)):
            x.__dlpack__(max_version=version)
    gc.collect()
    gpu.wait_idle()
    assert gpu.tracker.live_bytes == live


def test_many_shares_leak_nothing(gpu: Gpu) -> None:
    gpu.wait_idle()
    gpu.pool.trim()
    files, held = len(os.listdir("/proc/self/fd")), gpu.pool.held_bytes
    for i in range(1000):
        with Tensor.empty(4096, shared=True) as x:
            view = np.from_dlpack(x)
            view[:] = i
        del view
        if i % 10 == 0:
            gpu.wait_idle()
            gpu.pool.trim()
    gpu.wait_idle()
    gpu.pool.trim()
    assert gpu.pool.held_bytes == held
    assert len(os.listdir("/proc/self/fd")) == files
    assert "VERTIGRAD" not in "".join(os.environ.get(name, "") for name in ("VK_INSTANCE_LAYERS", "VK_ADD_LAYER_PATH"))


# order and copy-on-write --------------------------------------------------------------------------------------------


def test_a_clone_is_a_copy_while_a_framework_may_write(gpu: Gpu) -> None:
    with shared([1, 2, 3]) as x:
        view = np.from_dlpack(x)
        with x.clone() as before:
            view[:] = 9
            assert before.numpy().tolist() == [1, 2, 3]
            assert x.numpy().tolist() == [9, 9, 9]
        del view


def test_a_view_of_a_cloned_tensor_leaves_the_clone_alone(gpu: Gpu) -> None:
    with shared([1, 2, 3]) as x, x.clone() as clone:
        view = np.from_dlpack(x)
        view[:] = 9
        assert clone.numpy().tolist() == [1, 2, 3]
        assert x.numpy().tolist() == [9, 9, 9]
        with clone.T as copy:
            assert np.from_dlpack(copy).tolist() == [1, 2, 3]  # the copy's memory is shared as well
        del view


def test_kernels_do_not_write_what_is_drawn_and_seen_by_a_framework(gpu: Gpu) -> None:
    published = Publication()
    with shared([1, 2, 3]) as x:
        view = np.from_dlpack(x)
        published.publish([x])
        with pytest.raises(StillInUse, match="framework"):
            x.fill_(0)
        published.withdraw()
        x.fill_(0)
        gpu.submit()
        assert view.tolist() == [0, 0, 0]
        del view


def test_each_side_waits_for_the_other(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    driver = type(gpu.frameworks.connection.driver)
    monkeypatch.setattr(driver, "wait", lambda self: events.append("frameworks"))
    finish, wait = gpu.recorder.finish, gpu.wait
    monkeypatch.setattr(gpu.recorder, "finish", lambda: (events.append("submit"), finish())[1])
    monkeypatch.setattr(gpu, "wait", lambda serial: (events.append("wait"), wait(serial))[1])
    with shared([1, 2, 3]) as x, Tensor.zeros(3) as other:
        gpu.submit()
        events.clear()
        other.fill_(1)
        x.fill_(1)
        gpu.submit()
        assert events == ["submit"]  # no framework sees it yet
        view = np.from_dlpack(x)
        events.clear()
        other.fill_(2)
        gpu.submit()
        assert events == ["submit"]
        x.fill_(2)
        gpu.submit()
        assert events == ["submit", "frameworks", "submit", "wait"]
        del view


# from_dlpack --------------------------------------------------------------------------------------------------------


def test_memory_of_ours_comes_back_as_a_view(gpu: Gpu) -> None:
    with shared(np.arange(12).reshape(3, 4)) as x:
        view = np.from_dlpack(x)
        before = copies(gpu)
        with from_dlpack(view[1:, ::2]) as y:
            assert y.block is x.block
            y.fill_(-1)
        gpu.submit()
        assert copies(gpu) == before
        assert view[1:].tolist() == [[-1, 5, -1, 7], [-1, 9, -1, 11]]
        x.close()
        with from_dlpack(view) as y:
            assert y.numpy().tolist() == view.tolist()
        del view


def test_memory_of_others_is_copied_once_on_the_device(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dlpack, "_HOST_DEVICES", ())  # as if NumPy's arrays were on the device
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    before = copies(gpu)
    with from_dlpack(array.T[1:]) as x:
        after = copies(gpu)
        assert after["host_to_device"] == before["host_to_device"]
        assert after["device_to_device"] - before["device_to_device"] == 44
        assert x.numpy().tolist() == array.T[1:].tolist()
        assert np.shares_memory(np.from_dlpack(x), np.from_dlpack(x))


# failures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("failure", "error"), [(MemoryError, OutOfMemory), (SharingFailed, GpuError)])
def test_memory_that_cannot_be_imported_is_an_error_and_costs_nothing(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, failure: type[Exception], error: type[Exception]
) -> None:
    gpu.wait_idle()
    gpu.pool.trim()
    held = gpu.pool.held_bytes

    def fail(self: object, fd: int, nbytes: int) -> None:
        os.close(fd)
        raise failure("no")

    with monkeypatch.context() as patched:
        patched.setattr(type(gpu.frameworks.connection.driver), "map", fail)
        with pytest.raises(error):
            Tensor.empty(1000, shared=True)
    assert gpu.pool.held_bytes == held
    with shared([1]) as x:
        assert np.from_dlpack(x).tolist() == [1]


def test_the_budget_bounds_shared_memory_too(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu.pool, "budget", gpu.pool.held_bytes + 1000)
    gpu.pool.trim()
    with pytest.raises(OutOfMemory):
        Tensor.empty(1 << 20, shared=True)


def test_work_of_a_framework_that_failed_is_reported(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise SharingFailed("cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)")

    with shared([1, 2]) as x:
        gpu.submit()
        view = np.from_dlpack(x)
        with monkeypatch.context() as patched:
            patched.setattr(type(gpu.frameworks.connection.driver), "wait", fail)
            x.fill_(3)
            with pytest.raises(GpuError, match="ILLEGAL_ADDRESS"):
                gpu.submit()
        assert view.tolist() == [1, 2]  # what was recorded was dropped
        del view
