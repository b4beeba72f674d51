"""Memory that a framework sees too; here the framework is NumPy, which maps what the software adapter exports."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "tests/gpu", "tests/tensor", "tests/models/test_torch_model.py"
NO_MEMORY = [f"tests/gpu/test_{name}.py" for name in ("shaders_compile", "shader", "packing", "wgsl", "adapter")] + [
    f"tests/tensor/test_{name}.py" for name in ("shape", "dtype")
]  # these allocate none
WITH_LAYER = os.environ | {"VERTIGRAD_SHARING": "host"}

pytest.importorskip("vertigrad_cuda", reason="vertigrad-cuda is not built here")


def pytest_with_layer(*arguments: str) -> str:
    """The report of a run of pytest in a process whose memory can be shared."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    result = subprocess.run(command, cwd=ROOT, env=WITH_LAYER, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    return result.stdout


@pytest.mark.turns(3)
def test_shared_memory_in_a_process_with_the_layer() -> None:
    report = pytest_with_layer("tests/sharing/shared_memory.py", "tests/sharing/double_buffers.py")
    assert "passed" in report
    assert "skipped" not in report


@pytest.mark.turns(6)
def test_buffers_lifetimes_and_tensors_work_with_the_layer() -> None:
    assert "passed" in pytest_with_layer(*FOLDERS, *(f"--ignore={file}" for file in NO_MEMORY), "--maxfail=5")


def test_views_alive_at_exit_do_no_harm() -> None:
    code = (
        "import numpy as np, vertigrad as vg\n"
        "t = vg.Tensor.empty(8, shared=True); t.fill_(2)\n"
        "view = np.from_dlpack(t); import sys; sys.kept = view; print(view.sum())"
    )
    result = subprocess.run([sys.executable, "-c", code], env=WITH_LAYER, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "16.0", "")


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("setting", "reason"), [("off", "VERTIGRAD_SHARING=off"), ("", "libcuda")], ids=["switched off", "no CUDA here"]
)
def test_info_says_why_memory_is_not_shared(setting: str, reason: str) -> None:
    from vertigrad.sharing import cuda

    if not setting and cuda.is_present():
        pytest.skip("this machine has CUDA")
    command = [sys.executable, "-m", "vertigrad", "info"]
    environment = os.environ | {"VERTIGRAD_SHARING": setting}
    report = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120).stdout
    assert "memory shared with CUDA: no: " in report
    assert reason in report


@pytest.mark.turns(2)
def test_info_says_that_memory_is_shared() -> None:
    command = [sys.executable, "-m", "vertigrad", "info"]
    report = subprocess.run(command, env=WITH_LAYER, capture_output=True, text=True, timeout=120).stdout
    assert "memory shared with CUDA: yes" in report
    gc.collect()
