"""The parts of a network's cold start, each process new: seconds from the import of Vertigrad to the first result.

    python -m tests.bench.cold_start layout.onnx --size image=1,3,800,608 --processes 3
    python -m tests.bench.cold_start layout.onnx --profile

Every process reads the network, records it, waits for its pipelines, and runs it twice. Half of the processes have no
caches on disk (of the driver, NVIDIA's and Mesa's, and of templates). `--profile` shows the functions of Python by
their own time instead.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NO_CACHE = {"__GL_SHADER_DISK_CACHE": "0", "MESA_SHADER_CACHE_DISABLE": "true"}
CACHE = {"__GL_SHADER_DISK_CACHE": "1", "MESA_SHADER_CACHE_DISABLE": "false"}
PARTS = ("import", "adapter", "read", "record", "pipelines", "first run", "second run")


def cold_start(file: Path, sizes: dict[str, list[int]]) -> dict[str, Any]:
    """Seconds of each part; `pipelines` is the wait for those that threads still compile after the recording."""
    times, begun = {}, time.perf_counter()

    def ended(part: str) -> None:
        nonlocal begun
        now = time.perf_counter()
        times[part], begun = now - begun, now

    import numpy as np

    from vertigrad import gpu
    from vertigrad.onnx_import import Network

    ended("import")
    device = gpu()
    ended("adapter")
    network = Network(file)
    ended("read")
    random = np.random.default_rng(0)
    inputs = {}
    for name, (dtype, shape) in network.inputs.items():
        shape = sizes.get(name) or [size if isinstance(size, int) else 1 for size in shape or ()]
        inputs[name] = (random.random(shape) if dtype.kind == "f" else np.zeros(shape)).astype(dtype)
    begun = time.perf_counter()
    program = network.program(inputs)
    ended("record")
    kernels = {use.kernel for plan in program._stages.plans for use in plan.first_uses}
    for kernel in kernels:
        kernel.wait()
    ended("pipelines")
    network.run(inputs)
    ended("first run")
    network.run(inputs)
    ended("second run")
    counts = {"nodes": len(network._model.graph.node), "dispatches": len(program._stages), "kernels": len(kernels)}
    network.close()
    return {"total": sum(times[part] for part in PARTS[:-1]), **times, **counts, "adapter name": device.report()}


def main() -> None:
    """Parse the arguments, and run the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--size", action="append", default=[], metavar="INPUT=1,3,…", help="of an input")
    parser.add_argument("--processes", type=int, default=3, help="of each kind")
    parser.add_argument("--profile", action="store_true", help="functions of Python by their own time")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = {name: [int(n) for n in text.split(",")] for name, _, text in (one.partition("=") for one in given.size)}
    if given.once:
        print(json.dumps(cold_start(given.file, sizes)))
    elif given.profile:
        profile = cProfile.Profile()
        found = profile.runcall(cold_start, given.file, sizes)
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        print(found)
    else:
        _compare(given.processes)


def _compare(processes: int) -> None:
    command = [sys.executable, "-m", "tests.bench.cold_start", *sys.argv[1:], "--once"]
    print(f"{'':12}{''.join(f'{part:>12}' for part in ('total', *PARTS))}")
    for name, cache in (("no cache", NO_CACHE), ("cache", CACHE)) * processes:
        with tempfile.TemporaryDirectory() as folder:
            templates = {"VERTIGRAD_CACHE": folder} if cache is NO_CACHE else {}
            environment = os.environ | cache | templates
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"{name:12}{''.join(f'{found[part]:12.3f}' for part in ('total', *PARTS))}", flush=True)
    print({key: found[key] for key in found.keys() - {"total", *PARTS}})


if __name__ == "__main__":
    main()
