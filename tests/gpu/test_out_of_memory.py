"""Exhausted device memory: the error is recognized, unused memory is released, and work continues."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
import wgpu

from vertigrad.errors import DeviceLost, OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.tensor import Tensor

pytestmark = pytest.mark.usefixtures("steady")

NO_ROOM = "Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Not enough memory left."
PRELUDE = """
import os, resource
import numpy as np
import vertigrad, wgpu
from vertigrad import Tensor
from vertigrad.errors import OutOfMemory

MIB = 1 << 20
gpu = vertigrad.gpu()
(Tensor.zeros(16) + 1.0).numpy()  # all that is loaded late has been loaded

def bound(mebibytes):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + mebibytes * MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

def unbound():
    resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)

def sound():
    with Tensor.full(1000, 2.0) as x, x + 1.0 as y:
        assert y.numpy().sum() == 3000

held = []
def fill(mebibytes):
    try:
        while len(held) < 100:
            held.append(Tensor.empty(mebibytes * MIB // 4, name=f"holder{len(held)}"))
    except OutOfMemory as error:
        return str(error)
"""

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds the address space")
software = pytest.mark.skipif(
    "__import__('vertigrad').gpu().adapter.kind != 'software'", reason="the GPU has memory of its own"
)


def run(code: str) -> None:
    """Run `code` in a subprocess, after the prelude; fail with its output unless it succeeds."""
    whole = PRELUDE + textwrap.dedent(code) + "\nprint('done')"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


@on_linux
@software
def test_tensors_exhaust_the_memory() -> None:
    run("""
        bound(1024)
        message = fill(150)
        assert 2 <= len(held) <= 7
        assert f"tensor 'holder{len(held)}' asked for {150 * MIB:,} bytes" in message
        assert f"{150 * MIB:,} bytes  holder0, created at <string>:" in message, message
        sound()
        held.pop().close()
        with Tensor.zeros(150 * MIB // 4) as again:  # there is room for as much as was closed
            assert again[:1000].numpy().sum() == 0
        """)


@on_linux
@software
def test_free_and_recorded_blocks_are_released_for_new_ones() -> None:
    run("""
        bound(1024)
        fill(150)
        size = 150 * MIB // 4
        held.pop().close()
        Tensor.zeros(size).close()  # free, of another size than is asked for next; and the device still writes it
        held.pop().close()
        with Tensor.empty(size + size // 2, name="larger") as larger:
            assert larger.block.buffer.size >= 225 * MIB
        sound()
        """)


@on_linux
@software
def test_textures_release_unused_memory_before_raising_out_of_memory() -> None:
    run("""
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
        def texture(side):
            return gpu.create_texture(size=(side, side, 1), format="rgba8unorm", usage=usage)
        bound(1024)
        fill(150)
        while len(held) > 1:
            held.pop().close()  # kept by the pool, for tensors
        made = [texture(4096) for _ in range(3)]
        try:
            while len(made) < 100:
                made.append(texture(8192))
            raise AssertionError("never")
        except OutOfMemory as error:
            assert "a texture of 8192x8192x1 rgba8unorm was asked for" in str(error)
            assert "holder0" in str(error)
        sound()
        """)


@on_linux
@software
def test_readbacks_release_unused_memory_before_raising_out_of_memory() -> None:
    run("""
        with Tensor.full(120 * MIB // 4, 3.0) as x:
            gpu.wait_idle()
            bound(1024)
            fill(100)
            try:
                x.numpy()
                raise AssertionError("never")
            except OutOfMemory as error:
                assert "a readback asked for" in str(error) or "host memory" in str(error), error
            sound()
            while held:
                held.pop().close()
            assert x.numpy()[::1000].sum() == 3.0 * len(range(0, x.size, 1000))
        sound()
        """)


@on_linux
@software
def test_uploads_release_unused_memory_before_raising_out_of_memory() -> None:
    """Without this check wgpu would lose the device."""
    run("""
        data = np.full(24 * MIB // 4, 5.0, np.float32)
        with Tensor.empty(data.size) as target:
            gpu.wait_idle()
            bound(600)
            fill(100)
            fill(8)
            free = held.pop()
            with Tensor.empty(1): pass
            try:
                gpu.upload(target.block.buffer, memoryview(data).cast("B"))
                raise AssertionError("never")
            except OutOfMemory as error:
                assert "an upload asked for" in str(error), error
            sound()
            while held:
                held.pop().close()
            gpu.upload(target.block.buffer, memoryview(data).cast("B"))
            assert target.numpy()[::1000].sum() == 5.0 * len(range(0, data.size, 1000))
        sound()
        """)


# injected failures ---------------------------------------------------------------------------------------------


@pytest.fixture
def refuse(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], list[int]]:
    """Let the next `count` calls of a device function fail with out of memory."""

    def refuse(function: str, times: int) -> list[int]:
        real, refused = getattr(gpu.device, function), []

        def full(**arguments: object) -> object:
            if len(refused) < times:
                refused.append(1)
                raise wgpu.GPUValidationError(NO_ROOM)
            return real(**arguments)

        monkeypatch.setattr(gpu.device, function, full, raising=False)
        return refused

    gpu.wait_idle()
    return refuse


@pytest.mark.parametrize("refusals", [1, 2, 3, 4])
def test_an_allocation_is_retried_after_each_step_of_freeing(gpu: Gpu, refuse, monkeypatch, refusals: int) -> None:
    spilled: list[int] = []
    gpu.pool.trim()
    monkeypatch.setattr(gpu.pool, "spill", lambda: spilled.append(1))
    with Tensor.full(300, 1.0) as x:
        x.add_(1.0)
        submitted = gpu.tracker.submitted
        refused = refuse("create_buffer", refusals)
        if refusals < 4:
            Tensor.empty(5_000_000).close()
        else:
            with pytest.raises(OutOfMemory, match="asked for 20,000,000 bytes"):
                Tensor.empty(5_000_000)
        assert len(refused) == refusals
        assert (gpu.tracker.submitted > submitted) == (refusals >= 2)
        assert bool(spilled) == (refusals >= 3)
        assert x.numpy().tolist() == [2] * 300


def test_a_texture_allocation_is_retried(gpu: Gpu, refuse) -> None:
    texture = {"size": (4, 4, 1), "format": "rgba8unorm", "usage": wgpu.TextureUsage.COPY_DST}
    refuse("create_texture", 3)
    assert gpu.create_texture(**texture).size == (4, 4, 1)
    refuse("create_texture", 4)
    with pytest.raises(OutOfMemory, match="a texture of 4x4x1 rgba8unorm was asked for"):
        gpu.create_texture(**texture)


def test_a_readback_without_memory_does_not_submit_recorded_commands(gpu: Gpu, refuse) -> None:
    with Tensor.full(1 << 22, 1.0) as x:
        gpu.wait_idle()
        x.add_(1.0)
        submitted = gpu.tracker.submitted
        refuse("create_buffer", 3)
        reading = x.read_async()
        assert gpu.tracker.submitted == submitted
        refuse("create_buffer", 4)
        with pytest.raises(OutOfMemory, match="a readback asked for"):
            x[: x.size // 2 + 1000].read_async()
        assert reading.result()[::1000].sum() == 2.0 * len(range(0, x.size, 1000))


def test_out_of_host_memory_for_a_readback(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    with Tensor.full(70_001, 1.0) as x:
        reading = x.read_async()
        gpu.submit()
        staging = reading._reading.staging  # pyright: ignore[reportOptionalMemberAccess]

        def full(*_: object) -> object:
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(staging, "read_mapped", full, raising=False)
            with pytest.raises(OutOfMemory, match="host memory: no room for 280,004 bytes"):
                gpu.wait_idle()
        assert reading.done
        assert np.all(x.numpy() == 1)


def test_errors_other_than_out_of_memory_are_raised(gpu: Gpu) -> None:
    with pytest.raises(wgpu.GPUValidationError):
        gpu.create_texture(size=(4, 4, 1), format="rgba8unorm", usage=wgpu.TextureUsage.STORAGE_BINDING, sample_count=4)


@pytest.mark.parametrize("what", ["buffer", "texture"])
def test_a_lost_device_is_not_out_of_memory(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def lost(**_: object) -> object:
        raise wgpu.GPUValidationError("Validation Error\n\nCaused by:\n  In wgpu\n    Parent device is lost")

    gpu.wait_idle()
    gpu.pool.trim()
    monkeypatch.setattr(gpu.device, f"create_{what}", lost, raising=False)
    with pytest.raises(DeviceLost, match="Parent device is lost"):
        if what == "buffer":
            Tensor.empty(1 << 20)
        else:
            gpu.create_texture(size=(4, 4, 1), format="rgba8unorm", usage=1)
