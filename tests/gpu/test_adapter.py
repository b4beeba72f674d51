"""The choice of the adapter, and the message if there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import wgpu

from vertigrad import gpu as the_gpu
from vertigrad.errors import NoAdapter, StillInUse
from vertigrad.gpu import Gpu, adapter, adapters, tensor_cores


def fake(device: str, kind: str, backend: str) -> SimpleNamespace:
    info = {"device": device, "adapter_type": kind, "backend_type": backend, "description": "1.0"}
    return SimpleNamespace(info=info, summary=f"summary of {device}", features=set())


MACHINE = [
    fake("llvmpipe (LLVM 15)", "CPU", "Vulkan"),
    fake("Arc", "IntegratedGPU", "OpenGL"),
    fake("GeForce", "DiscreteGPU", "OpenGL"),
    fake("Odd", "Unknown", "Vulkan"),
    fake("Arc", "IntegratedGPU", "Vulkan"),
    fake("GeForce", "DiscreteGPU", "Vulkan"),
    fake("llvmpipe (LLVM 15)", "Unknown", "OpenGL"),
    fake("GeForce", "DiscreteGPU", "Newest"),
]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    present = list(MACHINE)
    monkeypatch.setattr(wgpu.gpu, "enumerate_adapters_sync", lambda: present)
    return present


def test_discrete_before_integrated_before_software_and_vulkan_before_gl(machine: list) -> None:
    assert [str(choice) for choice in adapters()] == [
        "GeForce (discrete, Vulkan)",
        "GeForce (discrete, OpenGL)",
        "GeForce (discrete, Newest)",
        "Arc (integrated, Vulkan)",
        "Arc (integrated, OpenGL)",
        "Odd (other, Vulkan)",
        "llvmpipe (LLVM 15) (software, Vulkan)",
        "llvmpipe (LLVM 15) (software, OpenGL)",
    ]


@pytest.mark.parametrize(
    ("requested", "chosen"),
    [
        ("", "GeForce (discrete, Vulkan)"),
        ("integrated", "Arc (integrated, Vulkan)"),
        ("opengl", "GeForce (discrete, OpenGL)"),
        ("LLVMpipe", "llvmpipe (LLVM 15) (software, Vulkan)"),
        ("software", "llvmpipe (LLVM 15) (software, Vulkan)"),
        ("5", "Arc (integrated, OpenGL)"),
        ("15", "llvmpipe (LLVM 15) (software, Vulkan)"),
    ],
)
def test_the_best_match_is_chosen(machine: list, requested: str, chosen: str) -> None:
    assert str(adapter.candidates(requested)[0]) == chosen


def test_without_an_adapter_the_message_says_how_to_get_one(machine: list) -> None:
    machine.clear()
    with pytest.raises(NoAdapter, match=r"no GPU adapter.*apt install mesa-vulkan-drivers.*vertigrad info") as caught:
        adapter.candidates()
    assert caught.value.exit_code == 4


def test_without_a_match_the_message_lists_the_adapters(machine: list) -> None:
    del machine[2:]
    with pytest.raises(NoAdapter) as caught:
        adapter.candidates("radeon")
    assert str(caught.value).splitlines() == [
        "no adapter matches 'radeon'; this machine has:",
        "  1: Arc (integrated, OpenGL)",
        "  2: llvmpipe (LLVM 15) (software, Vulkan)",
    ]


def test_a_nameless_adapter_is_called_by_its_summary(machine: list) -> None:
    machine[:] = [fake("", "DiscreteGPU", "OpenGL")]
    assert adapters()[0].name == "summary of "


def test_the_device_has_the_adapters_limits_and_features(gpu: Gpu) -> None:
    limits = gpu.adapter.adapter.limits
    for name in ("max-buffer-size", "max-storage-buffer-binding-size", "max-compute-workgroup-storage-size"):
        assert gpu.limits[name] == limits[name]
    for name in adapter.OPTIONAL_FEATURES:
        assert (name in gpu.features) == (name in gpu.adapter.adapter.features)
    assert set(adapter.FALLBACKS) == set(adapter.OPTIONAL_FEATURES)


def test_there_is_one_gpu(gpu: Gpu) -> None:
    assert the_gpu() is gpu
    assert the_gpu(adapter=gpu.adapter.kind.upper()) is gpu
    with pytest.raises(StillInUse, match=r"the GPU of this process is .*; 'quantum' cannot be opened next to it"):
        the_gpu(adapter="quantum")
    assert gpu.adapter.name in gpu.report()
    assert gpu.adapter.driver in gpu.report()


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=900, env={**os.environ, **environment}
    )


def test_the_environment_chooses_too_and_a_process_can_end_with_work_in_flight() -> None:
    expected = adapters()[-1]
    done = run(
        "import vertigrad as v\n"
        "x = v.Tensor.zeros(100) + 1\n"
        "v.gpu().submit()\n"
        "y = x + 1\n"
        "r = y.read_async()\n"
        "print(v.gpu().adapter)\n",
        VERTIGRAD_ADAPTER=expected.backend,
    )
    if "cannot be opened" in done.stderr:  # a driver that lists an unusable adapter
        assert "NoAdapter" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert expected.backend in done.stdout
    assert "Traceback" not in done.stderr


def test_an_unknown_adapter() -> None:
    done = run(
        "import vertigrad as v\ntry: v.gpu()\nexcept v.errors.NoAdapter as e: print(e)", VERTIGRAD_ADAPTER="none such"
    )
    assert "no adapter matches 'none such'; this machine has:" in done.stdout


def test_an_adapter_that_cannot_be_opened_is_skipped_and_logged(monkeypatch, caplog) -> None:
    def opened(choice: str) -> str:
        if choice == "broken":
            raise NoAdapter("broken cannot be opened: its driver is lost")
        return f"device of {choice}"

    monkeypatch.setattr(adapter, "open_device", opened)
    assert adapter.open_first(["broken", "sound"]) == ("sound", "device of sound")
    assert "passed over: broken cannot be opened: its driver is lost" in caplog.text
    with pytest.raises(NoAdapter, match="its driver is lost"):
        adapter.open_first(["broken"])


class _Matrices:
    """An adapter that lists cooperative matrices, and opens devices with them or not."""

    features = frozenset({tensor_cores.FEATURE})

    def __init__(self, refusal: str = ""):
        self.refusal, self.destroyed = refusal, False

    def request_device_sync(self, required_features: list[str]) -> _Matrices:
        assert required_features == [tensor_cores.FEATURE]
        if self.refusal:
            raise RuntimeError(self.refusal)
        return self

    def destroy(self) -> None:
        self.destroyed = True


def test_why_there_are_no_tensor_cores(gpu: Gpu) -> None:
    def reason(adapter: Any) -> str | None:
        return tensor_cores.unavailable(replace(gpu.adapter, adapter=adapter))

    accepting = _Matrices()
    assert reason(accepting) is None and accepting.destroyed
    assert reason(_Matrices("experimental\n  features")) == (
        "the adapter lists cooperative-matrix, but no device with it is opened: experimental features"
    )
    if tensor_cores.FEATURE not in gpu.adapter.adapter.features:
        assert tensor_cores.unavailable(gpu.adapter) == "the adapter does not list the feature cooperative-matrix"
