"""Memory shared with PyTorch, CuPy and JAX, on an NVIDIA GPU that is also the adapter in use."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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


@pytest.mark.turns(3)
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


@pytest.mark.turns(3)
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


@pytest.mark.turns(3)
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


def in_a_stream(torch: Any, view: Any) -> Callable[[float], None]:
    stream = torch.cuda.Stream()  # which does not wait for CUDA's default stream, nor that for it

    def write(value: float) -> None:
        with torch.cuda.stream(stream):
            for _ in range(20):
                view.add_(1.0)
            view.fill_(value)

    return write


def in_a_graph(torch: Any, view: Any) -> Callable[[float], None]:
    value = torch.zeros((), device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(20):
            view.add_(1.0)
        view.copy_(value.expand_as(view))

    def write(number: float) -> None:
        value.fill_(number)
        graph.replay()

    return write


def by_cupy_in_a_stream(torch: Any, view: Any) -> Callable[[float], None]:
    cupy = pytest.importorskip("cupy")
    array, stream = cupy.from_dlpack(view), cupy.cuda.Stream(non_blocking=True)

    def write(value: float) -> None:
        with stream:
            for _ in range(20):
                array[...] += 1.0
            array.fill(value)

    return write


@pytest.mark.turns(3)
@pytest.mark.parametrize("writer", [in_a_stream, in_a_graph, by_cupy_in_a_stream])
def test_all_streams_of_frameworks_take_turns(cuda: Gpu, torch: Any, writer: Callable[..., Any]) -> None:
    with Tensor.empty(1 << 24, shared="cuda") as x:
        x.fill_(0)
        view = x.torch()
        write = writer(torch, view)
        for step in range(30):
            write(float(step))
            with x.clone() as copied:
                write(-1.0)
                with copied.min() as low, copied.max() as high:
                    assert (low.item(), high.item()) == (step, step)
        del view, write


def test_kernels_write_before_a_stream_reads(cuda: Gpu, torch: Any) -> None:
    stream = torch.cuda.Stream()
    with Tensor.empty(1 << 24, shared="cuda") as x:
        x.fill_(0)
        view = x.torch()
        for step in range(30):
            for _ in range(20):
                x.add_(1.0)
            x.fill_(float(step))
            cuda.submit()
            with torch.cuda.stream(stream):
                copied = view.clone()
                low, high = copied.min(), copied.max()
            x.fill_(-1.0)
            cuda.submit()
            assert (low.item(), high.item()) == (step, step)
        del view


FAILING = """
import sys, time
import torch
import vertigrad as vg

x = vg.Tensor.empty(1 << 16, shared="cuda")
x.fill_(0)
view = x.torch()
index = torch.full((1 << 16,), 1 << 40, device="cuda")
torch.cuda.synchronize()
torch.cuda._sleep(int(2e9))  # so that the work is queued, and has not failed yet
view.copy_(view[index])
begin = time.monotonic()
for attempt in range(2):
    try:
        print("values", x.numpy()[:4])
    except vg.errors.GpuError as error:
        print("error:", error)
with vg.Tensor.zeros(4) as other:  # of no framework's concern
    print("goes on:", (other + 1).sum().item(), time.monotonic() - begin < 30)
"""


def test_work_that_fails_is_an_error_and_the_program_goes_on(cuda: Gpu, torch: Any, tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.count("error: another framework's work on shared memory failed") == 2, done.stdout + done.stderr
    assert "values" not in done.stdout
    assert "goes on: 4.0 True" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


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


TWO = """
import os, sys
import numpy as np, torch
import vertigrad as vg

gpu = vg.gpu()
if gpu.frameworks.reason:
    print("reason:", gpu.frameworks.reason)
    x = vg.Tensor.empty(4, shared=True)
    x.fill_(3)
    print(x.torch().tolist())
    sys.exit()
x = vg.Tensor.empty(1000, shared="cuda")
x.fill_(1)
view = x.torch()
view += 2
assert x.numpy().tolist() == [3] * 1000
other = (view.device.index + 1) % torch.cuda.device_count()
foreign = torch.arange(5, dtype=torch.float32, device=f"cuda:{other}")
with vg.from_dlpack(foreign) as copy:
    assert copy.numpy().tolist() == [0, 1, 2, 3, 4]
print("device:", view.device.index, torch.cuda.get_device_properties(view.device.index).uuid)
"""


def on_adapter(number: int, **environment: str) -> str:
    environment = os.environ | {"VERTIGRAD_ADAPTER": str(number)} | environment
    result = subprocess.run([sys.executable, "-c", TWO], env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_cuda_device_is_that_of_the_adapter(cuda: Gpu, torch: Any) -> None:
    """With two GPUs each adapter has its own device; one that CUDA does not see is shared through the host."""
    from vertigrad.gpu import adapters

    numbers = [choice.number for choice in adapters() if choice.kind == "discrete" and choice.backend == "Vulkan"]
    if torch.cuda.device_count() < 2 or len(numbers) < 2:
        pytest.skip("this machine has one GPU")
    found = [on_adapter(number) for number in numbers[:2]]
    assert len({line.split()[1] for line in found}) == 2, found
    hidden = {line.split()[1]: number for line, number in zip(found, numbers, strict=False)}["1"]
    report = on_adapter(hidden, CUDA_VISIBLE_DEVICES="0")
    assert "reason: the adapter in use is none of the 1 CUDA devices" in report
    assert "[3.0, 3.0, 3.0, 3.0]" in report
