"""Measure sweeps: 200 points on 4 processes of which one is killed, and the cost of a point on 1 to 8 processes.

Prints the tables of docs/sweeps.md. Takes some minutes; `--points` and `--frames` make it shorter or longer.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import tempfile
import time
from pathlib import Path

import vertigrad as vg
from vertigrad.sweeps.processes import Processes
from vertigrad.sweeps.workers import ThisProcess

OUTCOMES = ["diagnostics", "galaxy.position:norm", "image"]


class Measured(Processes):
    """Notes when the first run begins, and kills one process when `kill_after` runs have ended."""

    def __init__(self, jobs: int, kill_after: int = -1):
        super().__init__(jobs)
        self.kill_after, self.killed, self.ended = kill_after, 0, 0
        self.began = 0.0

    def submit(self, job):
        self.began = self.began or time.perf_counter()
        super().submit(job)

    def wait(self, report):
        finished = super().wait(report)
        self.ended += len(finished)
        if not self.killed and 0 <= self.kill_after <= self.ended:
            self.killed = next(one.process.pid for one in self._all if one.job is not None)
            os.kill(self.killed, signal.SIGKILL)
        return finished


class Stopping(ThisProcess):
    """Ends with an error after some runs, as a program that is stopped."""

    def __init__(self, runs: int):
        super().__init__()
        self.left = runs

    def submit(self, job):
        super().submit(job)
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def options(arguments: argparse.Namespace) -> dict:
    return {"frames": arguments.frames, "size": (160, 90), "outcomes": OUTCOMES, "seed": 1}


def values(points: int) -> dict:
    return {"galaxy.count": 256, "galaxy.softening": f"0.05:0.5:{points // 2}", "galaxy.time_scale": [0.5, 1.0]}


def size_of(folder: Path) -> tuple[int, int]:
    """Bytes of images, and of all else but the sheet and the plots."""
    images = sum(file.stat().st_size for file in (folder / "images").glob("*.png"))
    return images, sum((folder / name).stat().st_size for name in ("runs.csv", "runs.jsonl", "sweep.json"))


def killed_and_resumed(folder: Path, arguments: argparse.Namespace) -> None:
    points = arguments.points
    begun = time.perf_counter()
    serial = vg.sweep("nbody", values(points), output=folder / "serial", jobs=0, **options(arguments))
    serial_s = time.perf_counter() - begun
    workers, begun = Measured(4, kill_after=points // 3), time.perf_counter()
    found = vg.sweep("nbody", values(points), output=folder / "four", workers=workers, **options(arguments))
    four_s = time.perf_counter() - begun
    same = [
        (one.key, one.seed, one.outcomes) == (other.key, other.seed, other.outcomes)
        and (found.folder / one.files["image"]).read_bytes() == (serial.folder / other.files["image"]).read_bytes()
        for one, other in zip(found, serial, strict=True)
    ]
    print(
        f"{len(found)} rows, {len(found.failed)} failed, process {workers.killed} killed; {sum(same)} equal bit by bit"
    )
    begin_s = workers.began - begun
    print(f"this process alone {serial_s:.1f} s, 4 processes {four_s:.1f} s, of which {begin_s:.1f} s to begin")
    shutil.rmtree(folder / "four")
    try:
        stopping = Stopping(points // 4)
        vg.sweep("nbody", values(points), output=folder / "four", workers=stopping, **options(arguments))
    except KeyboardInterrupt:
        left = len((folder / "four" / "runs.jsonl").read_text().splitlines())
    workers = Measured(4)
    resumed = vg.sweep("nbody", values(points), output=folder / "four", workers=workers, **options(arguments))
    equal = [run.outcomes for run in resumed] == [run.outcomes for run in serial]
    print(f"stopped after {left} runs, then {workers.ended} more: {len(resumed)} rows, equal: {equal}")


def scaling(folder: Path, arguments: argparse.Namespace) -> None:
    print("| processes | s | s until the first run | runs/s after that | ms of ours per run | waiting per run [ms] |")
    print("|---|---|---|---|---|---|")
    points = arguments.scaling
    for jobs in (1, 2, 4, 8):
        output, workers = folder / f"jobs{jobs}", Measured(jobs)
        before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        found = vg.sweep("nbody", values(points), output=output, workers=workers, **options(arguments))
        ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        ours = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / points
        run_s, computing = ended - workers.began, sum(run.seconds for run in found)
        waiting = (jobs * run_s - computing) / points
        print(
            f"| {jobs} | {ended - begun:.1f} | {workers.began - begun:.1f} | {points / run_s:.2f} | {ours * 1e3:.1f} | "
            f"{waiting * 1e3:.0f} |",
            flush=True,
        )
    images, others = size_of(output)
    print(f"bytes of a run: {images // points:,} image, {others // points:,} in the tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--scaling", type=int, default=64)
    parser.add_argument("--frames", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        killed_and_resumed(Path(folder), arguments)
        scaling(Path(folder), arguments)


if __name__ == "__main__":
    main()
