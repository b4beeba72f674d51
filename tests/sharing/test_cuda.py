"""Memory shared with PyTorch, CuPy and JAX, on an NVIDIA GPU that is also the adapter in use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import from_dlpack
from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
pytestmark = pytest.mark.usefixtures("steady")
CODES = ["f4", "f2", "i4", "u4", "u1"]


@pytest.fixture
def cuda(gpu: Gpu) -> Gpu:
    if gpu.frameworks.reason:
        pytest.skip(gpu.frameworks.reason)
    if gpu.frameworks.device[0] != 2:
        pytest.skip("memory is shared with the host here")
    return gpu


@pytest.fixture
def torch(cuda: Gpu) -> Any:
    return pytest.importorskip("torch")


def counts(gpu: Gpu) -> dict[str, int]:
    return gpu.meter.read()["geometry"]


def random(code: str, shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(7)
    if code[0] == "f":
        return generator.standard_normal(shape).astype(code)
    limits = np.iinfo(code)
    return generator.integers(limits.min, limits.max, shape, code, endpoint=True)


def by_torch(tensor: Tensor) -> tuple[int, Callable[[], np.ndarray]]:
    view = tensor.torch()
    return view.data_ptr(), lambda: view.cpu().numpy()


def by_cupy(tensor: Tensor) -> tuple[int, Callable[[], np.ndarray]]:
    view = tensor.cupy()
    return view.data.ptr, view.get


def by_cuda_array_interface(tensor: Tensor) -> tuple[int, Callable[[], np.ndarray]]:
    import cupy

    view = cupy.asarray(tensor)
    return view.data.ptr, view.get


def by_jax(tensor: Tensor) -> tuple[int, Callable[[], np.ndarray]]:
    view = tensor.jax()
    return view.unsafe_buffer_pointer(), lambda: np.asarray(view)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("package", "view"),
    [("torch", by_torch), ("cupy", by_cupy), ("cupy", by_cuda_array_interface), ("jax", by_jax)],
    ids=["torch", "cupy", "__cuda_array_interface__", "jax"],
)
def test_frameworks_see_the_same_memory(cuda: Gpu, package: str, view: Callable[..., Any], code: str) -> None:
    pytest.importorskip(package)
    values = random(code, (1 << 10, 96))
    with Tensor.empty(values.shape, code, shared="cuda") as x, Tensor.from_numpy(values) as source:
        x[...] = source
        cuda.submit()
        before = counts(cuda)
        pointer, read = view(x)
        assert pointer == cuda.storage.mapped(x.block.buffer).pointer
        assert read().tobytes() == values.tobytes()
        assert counts(cuda) == before
        del read


@pytest.mark.parametrize("code", CODES)
def test_what_torch_writes_is_what_kernels_read(cuda: Gpu, torch: Any, code: str) -> None:
    values = random(code, (1 << 10, 96))
    with Tensor.empty(values.shape, code, shared="cuda") as x:
        view = x.torch()
        view.copy_(torch.from_numpy(values), non_blocking=True)
        before = counts(cuda)
        with x.clone() as copied:
            assert counts(cuda)["host_to_device"] == before["host_to_device"]
            assert copied.numpy().tobytes() == values.tobytes()
        del view


@pytest.mark.parametrize("code", CODES)
def test_a_tensor_of_torch_is_copied_once_on_the_device(cuda: Gpu, torch: Any, code: str) -> None:
    values = random(code, (64, 96))
    before = counts(cuda)
    with from_dlpack(torch.from_numpy(values).cuda().T[3:]) as x:
        after = counts(cuda)
        assert after["host_to_device"] == before["host_to_device"]
        assert after["device_to_host"] == before["device_to_host"]
        assert after["device_to_device"] > before["device_to_device"]
        assert x.numpy().tolist() == values.T[3:].tolist()


def test_a_view_of_ours_comes_back_without_a_copy(cuda: Gpu, torch: Any) -> None:
    with Tensor.zeros(1) as warm, warm + 1.0:
        pass
    with Tensor.empty((8, 4), shared="cuda") as x:
        x.fill_(1)
        view = x.torch()
        before = counts(cuda)
        with from_dlpack(view[2:, 1:3]) as y:
            assert y.block is x.block
            y.fill_(5)
            cuda.submit()
        assert counts(cuda) == before
        assert view.sum().item() == 8 * 4 + 6 * 2 * 4
        del view


def test_frames_in_turns_see_whole_steps(cuda: Gpu, torch: Any) -> None:
    """Each step of torch is long and ends with the value of the step; what kernels copy is never in between."""
    with Tensor.empty(1 << 24, shared="cuda") as x:
        view = x.torch()
        for step in range(60):
            for _ in range(20):
                view.add_(1.0)
            view.fill_(float(step))
            with x.clone() as copied:  # a kernel reads; then torch writes on at once
                view.fill_(-1.0)
                low, high = copied.min(), copied.max()
                assert (low.item(), high.item()) == (step, step)
                low.close()
                high.close()
        del view


def test_memory_of_torch_outlives_the_tensor(cuda: Gpu, torch: Any) -> None:
    x = Tensor.empty(1 << 20, shared="cuda")
    view = x.torch()
    view.fill_(3)
    x.close()
    for _ in range(4):
        with Tensor.empty(1 << 20, shared="cuda") as other:
            other.fill_(-1)
            cuda.wait_idle()
    cuda.pool.trim()
    assert bool((view == 3).all())
    del view
    gc.collect()
    cuda.tracker.collect()


def test_a_thousand_shares_leak_nothing(cuda: Gpu, torch: Any) -> None:
    def share(i: int) -> None:
        with Tensor.empty(1 << 20, shared="cuda") as x:
            view = x.torch()
            view.fill_(i)
            assert view[-1].item() == i
            del view
        cuda.wait_idle()
        cuda.pool.trim()

    for i in range(10):
        share(i)
    gc.collect()
    before = counts(cuda)
    files, held, free = len(os.listdir("/proc/self/fd")), cuda.pool.held_bytes, torch.cuda.mem_get_info()[0]
    for i in range(1000):
        share(i)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == files
    assert cuda.pool.held_bytes == held
    assert free - torch.cuda.mem_get_info()[0] <= 16 << 20
    assert counts(cuda) == before
