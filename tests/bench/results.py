"""Results of benchmarks: printed, compared with a bound, and written as one JSON file for each machine.

Every result is a speed relative to a named peer: above 1 ours is faster. With the environment variable
VERTIGRAD_BENCH set to a folder, the results of a run are written there with the machine, the versions and the commit
of the run; `tools/benchmarks_page.py` generates the table of docs/benchmarks.md from those files.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import vertigrad

FOLDER = "VERTIGRAD_BENCH"
RATES = ("tokens/s", "steps/s", "frames/s", "GB/s", "TFLOP/s")  # units of which more is better; of the others less is
PACKAGES = ("vertigrad", "wgpu", "numpy", "torch", "triton", "cupy-cuda13x", "taichi", "pygfx", "polyscope")


@dataclass(frozen=True)
class Result:
    """The measurements of one benchmark, ours and those of each peer, in `unit`; `peer` names the one compared with.

    `least` is the speed relative to that peer below which the benchmark fails, or None for a value that is only shown.
    """

    benchmark: str
    work: str
    unit: str
    ours: float
    peers: dict[str, float] = field(default_factory=dict)
    peer: str | None = None
    least: float | None = None

    @property
    def ratio(self) -> float | None:
        """Our speed as a multiple of the peer's."""
        if self.peer is None:
            return None
        theirs = self.peers[self.peer]
        return self.ours / theirs if self.unit in RATES else theirs / self.ours

    @property
    def holds(self) -> bool:
        """Whether the bound is met."""
        return self.least is None or (self.ratio is not None and self.ratio >= self.least)

    def __str__(self) -> str:
        shown = [f"{name} {value:.4g}" for name, value in {"ours": self.ours, **self.peers}.items()]
        ratio = "" if self.ratio is None else f": {self.ratio:.2f}x {self.peer}"
        return f"{self.benchmark}, {self.work} [{self.unit}]: {', '.join(shown)}{ratio}"


_results: list[Result] = []


def report(result: Result) -> Result:
    """Print the result, add it to the file, and fail the test if it does not meet its bound."""
    print(f"\n{result}", end="")
    _results[:] = [old for old in _results if (old.benchmark, old.work) != (result.benchmark, result.work)]
    _results.append(result)
    if not result.holds:
        raise AssertionError(f"{result}; the bound is {result.least}")
    return result


def write() -> Path | None:
    """Write the results of this run, if the environment names a folder and there are any; returns the file.

    What a run before has measured on this adapter and this one has not stays in the file, with the commit of that run.
    """
    folder = os.environ.get(FOLDER)
    if not folder or not _results:
        return None
    adapter = vertigrad.gpu().adapter
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(.*", "", adapter.name).lower()).strip("-")
    path = Path(folder) / f"{slug}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"results": []}
    content = {
        "adapter": adapter.name,
        "backend": adapter.backend,
        "driver": adapter.driver,
        "cpu": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "packages": _versions(),
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "results": merged(before, [{**asdict(each), "ratio": each.ratio} for each in _results]),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def merged(before: dict[str, Any], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`results`, in the order that they had `before`, among what was measured then only: that has a "commit"."""
    now = {(each["benchmark"], each["work"]): each for each in results}
    all_rows = [
        now.pop((old["benchmark"], old["work"]), {"commit": before.get("commit"), **old}) for old in before["results"]
    ]
    return sorted([*all_rows, *now.values()], key=_first_of_benchmark([*all_rows, *now.values()]))


def _first_of_benchmark(results: list[dict[str, Any]]) -> Callable[[dict[str, Any]], int]:
    """A key that keeps the results of a benchmark together, in the order in which benchmarks begin."""
    names = list(dict.fromkeys(each["benchmark"] for each in results))
    return lambda each: names.index(each["benchmark"])


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    """The commit that was measured: of the checkout, or from the environment if there is none."""
    if named := os.environ.get("VERTIGRAD_COMMIT"):
        return named
    here = Path(__file__).parent
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
