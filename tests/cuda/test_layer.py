"""The layer of Vulkan under wgpu, on the software driver, whose exported memory the host can map."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

vertigrad_cuda = pytest.importorskip("vertigrad_cuda", reason="vertigrad-cuda is not built here; see tools/setup.sh")

PROGRAMS = Path(__file__).parent / "programs.py"
SKIPPED = 77
LAYER, KHRONOS = "VK_LAYER_VERTIGRAD_cuda", "VK_LAYER_KHRONOS_validation"
VALIDATION = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
VARIABLES = ("VK_ADD_LAYER_PATH", "VK_LAYER_PATH", "VK_INSTANCE_LAYERS")
CHECKED = ["values_in_both_directions", "destroyed_memory", "two_devices", "semaphores"]
needs_validation = pytest.mark.skipif(not VALIDATION.exists(), reason="vulkan-validationlayers is not installed")


def run(name: str, **environment: str) -> str:
    """Run one of the programs; return its output. Skips if it does, fails if it fails."""
    clean = {variable: value for variable, value in os.environ.items() if variable not in VARIABLES}
    done = subprocess.run(
        [sys.executable, str(PROGRAMS), name],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "program",
    [
        "values_in_both_directions",
        "small_placeholders",
        "mapped_buffers",
        "unmarked_buffers",
        "destroyed_memory",
        "many_shares",
        "two_devices",
        "two_threads",
        "marks_of_one_thread",
        "semaphores",
        "exhaustion",
        "outside_the_layer",
    ],
)
def test_under_the_layer(program):
    run(program)


def checked_calls(program: str, order: list[str], **environment: str) -> None:
    """Run it with Khronos's validation where `order` says, from the application down; fails for each invalid call."""
    printed = run(program, VK_LOADER_DEBUG="all", **environment)
    called = printed.partition("vkCreateDevice layer callstack")[2].partition("<Device>")[0]
    assert [name for name in re.findall(r"VK_LAYER_\w+", called) if name in order] == order
    assert not re.findall(r"(?:VUID|UNASSIGNED|SYNC)-[\w-]+", printed)


@pytest.mark.turns(3)
@needs_validation
@pytest.mark.parametrize("program", [*CHECKED, "small_placeholders"])
def test_calls_of_the_layer_are_valid(program):
    checked_calls(program, [LAYER, KHRONOS], VK_INSTANCE_LAYERS=f"{LAYER}:{KHRONOS}")


@pytest.mark.turns(3)
@needs_validation
@pytest.mark.parametrize("program", CHECKED)  # small placeholders would be reported as buffers that overlap
def test_calls_of_wgpu_are_valid_with_the_answers_of_the_layer(program):
    # Old loaders order layers by their folders, new ones as VK_INSTANCE_LAYERS does.
    checked_calls(program, [KHRONOS, LAYER], VK_LAYER_PATH=str(VALIDATION.parent), VK_INSTANCE_LAYERS=KHRONOS)


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ({}, {"VK_ADD_LAYER_PATH": "{}", "VK_INSTANCE_LAYERS": "{layer}"}),
        ({"VK_INSTANCE_LAYERS": "other"}, {"VK_ADD_LAYER_PATH": "{}", "VK_INSTANCE_LAYERS": "other:{layer}"}),
        ({"VK_ADD_LAYER_PATH": "/a:/b"}, {"VK_ADD_LAYER_PATH": "/a:/b:{}", "VK_INSTANCE_LAYERS": "{layer}"}),
        ({"VK_LAYER_PATH": "/a"}, {"VK_LAYER_PATH": "/a:{}", "VK_INSTANCE_LAYERS": "{layer}"}),
        ({"VK_INSTANCE_LAYERS": ""}, {"VK_ADD_LAYER_PATH": "{}", "VK_INSTANCE_LAYERS": "{layer}"}),
    ],
)
def test_the_environment_is_restored(monkeypatch, before, inside):
    folder = str(Path(vertigrad_cuda.__file__).parent)
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in before.items():
        monkeypatch.setenv(variable, value)
    whole = dict(os.environ)

    def changed() -> dict[str, str]:
        return {variable: os.environ[variable] for variable in VARIABLES if variable in os.environ}

    with pytest.raises(KeyError), vertigrad_cuda.layer():
        expected = {name: text.format(folder, layer=LAYER) for name, text in inside.items()}
        assert changed() == expected
        raise KeyError
    assert dict(os.environ) == whole


def test_the_library_needs_no_newer_glibc_than_2_34():
    library = (Path(vertigrad_cuda.__file__).parent / "libvertigrad_cuda.so").read_bytes()
    found = {tuple(map(int, match)) for match in re.findall(rb"GLIBC_(\d+)\.(\d+)", library)}
    assert found
    assert max(found) <= (2, 34)
