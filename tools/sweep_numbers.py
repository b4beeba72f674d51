"""Measure sweeps: 200 points on 4 processes of which one is killed, and the cost of a point on 1 to 8 processes.

Prints the numbers of docs/sweeps.md. Costs are processor time, which other programs hardly change; only runs per second
need a machine that is idle. Takes about three minutes on two idle cores. Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import vertigrad as vg
from vertigrad.sweeps.processes import Processes
from vertigrad.sweeps.workers import ThisProcess

OUTCOMES = ["diagnostics", "galaxy.position:norm", "image"]
JOBS = 1, 2, 4, 8


class Measured(Processes):
    """Measures what runs cost, and kills one process when `kill_after` runs have ended."""

    def __init__(self, jobs: int, kill_after: int = -1):
        super().__init__(jobs)
        self.kill_after, self.killed, self.ended = kill_after, 0, 0
        self.began = self.first_ended = 0.0
        self.first: dict[int, float] = {}  # core seconds of each process when it had its first result
        self.last: dict[int, float] = {}

    @property
    def start_s(self) -> float:
        """Core seconds of a process until its first result."""
        return sum(self.first.values()) / len(self.first)

    @property
    def marginal_s(self) -> float:
        """Core seconds of the processes for each further run."""
        return (sum(self.last.values()) - sum(self.first.values())) / max(self.ended - len(self.first), 1)

    def submit(self, job):
        self.began = self.began or time.perf_counter()
        super().submit(job)

    def wait(self, report):
        finished = super().wait(report)
        self.first_ended = self.first_ended or time.perf_counter()
        self.ended += len(finished)
        if not self.killed and 0 <= self.kill_after <= self.ended:
            self.killed = next(one.process.pid for one in self._busy)
            os.kill(self.killed, signal.SIGKILL)
        return finished

    def _ended(self, one, job, finished):
        spent = core_seconds(one.process.pid)
        self.first.setdefault(one.process.pid, spent)
        self.last[one.process.pid] = spent
        return super()._ended(one, job, finished)


class Alone(ThisProcess):
    """Measures the core seconds of runs without anything around them."""

    def __init__(self):
        super().__init__()
        self._spent: list[float] = []

    @property
    def run_s(self) -> float:
        """The mean, without the first run, which compiles shaders."""
        return sum(self._spent[1:]) / len(self._spent[1:])

    def wait(self, report):
        before = time.process_time()
        finished = super().wait(report)
        self._spent.append(time.process_time() - before)
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
    """Print one table: a column for each number of processes."""
    points, alone = arguments.scaling, Alone()
    vg.sweep("nbody", values(points), output=folder / "alone", workers=alone, **options(arguments))
    columns, rates = [], []
    for jobs in JOBS:
        rate, column = measured(jobs, points, alone.run_s, folder / f"jobs{jobs}", arguments)
        rates.append(rate)
        columns.append({"speed-up": f"{rate / rates[0]:.2f}", **column})
    print(f"\n| {points} runs on so many processes | " + " | ".join(map(str, JOBS)) + " |")
    print("|---|" + "---|" * len(JOBS))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")
    images, others = size_of(folder / f"jobs{JOBS[0]}")
    print(
        f"\na run alone takes {alone.run_s:.3f} s of a core; in the folder {images // points:,} bytes of its image and"
    )
    print(f"{others // points:,} in the tables")


def measured(
    jobs: int, points: int, run_s: float, output: Path, arguments: argparse.Namespace
) -> tuple[float, dict[str, str]]:
    """Runs per second, and what there is to say about a sweep on so many processes."""
    workers, before = Measured(jobs), time.process_time()
    found = vg.sweep("nbody", values(points), output=output, workers=workers, **options(arguments))
    ended, own_s = time.perf_counter(), (time.process_time() - before) / points
    assert not found.failed
    cost_s = own_s + workers.marginal_s
    wall_s = ended - workers.first_ended
    rate = (points - 1) / wall_s
    overhead_s = cost_s - run_s
    return rate, {
        "runs per second after the first": f"{rate:.2f}",
        "core seconds per run, program included": f"{cost_s:.3f}",
        "of which in the program that hands out runs [ms]": f"{own_s * 1e3:.0f}",
        "overhead per run [core ms]": f"{overhead_s * 1e3:.0f}",
        "overhead as a part of a run of 10 s": f"{overhead_s / 10:.2%}",
        "core seconds until a process has its first result": f"{workers.start_s:.1f}",
    }


def core_seconds(pid: int) -> float:
    """The time that a process spent on processors so far, by /proc: it does not depend on what else runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200, help="of the sweep in which a process is killed; 0: none")
    parser.add_argument("--scaling", type=int, default=24)
    parser.add_argument("--frames", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.points:
            killed_and_resumed(Path(folder), arguments)
        scaling(Path(folder), arguments)


if __name__ == "__main__":
    main()
