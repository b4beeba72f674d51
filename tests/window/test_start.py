"""From the command to the first picture of the default scene: two seconds, on a machine that has nothing else to do."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from .desktop import Desktop, wait_until

SECONDS = 2.0
FACTOR = 4.0  # of what no program of this kind can do without; holds on a machine that is busy as well
ROUNDS = 3
PROGRAM = "import sys; from vertigrad.cli import main; sys.exit(main())"
# Python, the libraries, and a device: as many lines as that takes.
REFERENCE = (
    "import numpy, wgpu, glfw; from imgui_bundle import imgui\n"
    "import wgpu.backends.wgpu_native\n"
    "adapter = wgpu.gpu.enumerate_adapters_sync()[0]\n"
    "print(adapter.request_device_sync().limits is not None, flush=True)"
)


def first_picture(desktop: Desktop) -> float:
    """Seconds from starting the program until there is something to see in its window."""
    began = time.perf_counter()
    running = subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        seen = wait_until(lambda: desktop.screenshot().max() > 60 or running.poll() is not None, 60)
        took = time.perf_counter() - began
        assert seen and running.poll() is None, running.communicate()[1]
    finally:
        running.terminate()
        running.communicate()
    assert wait_until(lambda: not desktop.windows() and desktop.screenshot().max() == 0)
    return took


def least_possible() -> float:
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", REFERENCE], capture_output=True, text=True, env=os.environ, timeout=60)
    assert "True" in done.stdout, done.stderr
    return time.perf_counter() - began


def test_first_picture_is_there_soon(desktop: Desktop):
    """The quickest of a few, none after the first that is quick enough: other programs can only add to a time."""
    times: list[tuple[float, float]] = []
    ours = limit = 0.0
    for _ in range(ROUNDS):
        times.append((least_possible(), first_picture(desktop)))
        reference, ours = (min(column) for column in zip(*times, strict=True))
        limit = max(SECONDS, FACTOR * reference)
        print(f"\nfirst picture after {ours:.2f} s; libraries and device alone take {reference:.2f} s")
        if ours <= limit:
            break
    assert ours <= limit, times


def test_what_is_slow_to_import_is_not_imported_before_the_first_picture(desktop: Desktop):
    program = (
        "import sys\n"
        "from vertigrad.viewer import loop\n"
        "from vertigrad.cli import main\n"
        "present = loop.Window.present\n"
        "def present_and_tell(self):\n"
        "    present(self)\n"
        "    print(*sorted(sys.modules), flush=True)\n"
        "    sys.exit(0)\n"
        "loop.Window.present = present_and_tell\n"
        "sys.exit(main(['run', '--set', 'galaxy.count=64', '--no-vsync']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, timeout=60)
    modules = set(done.stdout.split())
    assert "imgui_bundle" in modules, done.stderr
    slow = {"av", "onnx", "tomlkit", "matplotlib", "scipy", "pandas", "trimesh"}
    assert not modules & slow
