"""`Processes`: the same runs in worker processes, of which one is killed; GPUs and their memory are shared."""

import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest

import vertigrad as vg
from vertigrad.errors import VertigradError
from vertigrad.gpu.adapter import AdapterChoice
from vertigrad.results import Run, SweepFolder
from vertigrad.sweeps import processes
from vertigrad.sweeps.job import Finished, Job, Work
from vertigrad.sweeps.loop import run_jobs
from vertigrad.sweeps.processes import Processes


class Killing(Processes):
    """Kills a process in the middle of its second run."""

    killed = 0

    def submit(self, job):
        super().submit(job)
        one = next(one for one in self._all if one.job == job)
        if one is self._all[0] and job.values["cloud.speed"] and not self.killed:
            time.sleep(0.05)
            self.killed = one.process.pid
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.turns(3)
def test_worker_processes_compute_the_same_and_one_that_dies_loses_nothing(steady, cloud, tmp_path):
    values = {"cloud.speed": [0.0, 0.5, 1.0]}
    outcomes = ["diagnostics", "cloud.position:norm", "image"]
    options = {"frames": 8, "size": (32, 24), "outcomes": outcomes, "seed": 3}
    serial = vg.sweep(cloud, values, output=tmp_path / "serial", jobs=0, **options)
    workers = Killing(2)
    found = vg.sweep(cloud, values, output=tmp_path / "out", workers=workers, **options)
    assert workers.killed
    assert not workers.pids  # all have ended
    assert [run.error for run in found] == [""] * 3
    assert [(run.key, run.outcomes) for run in found] == [(run.key, run.outcomes) for run in serial]
    assert len(set(found["cloud.reach"].tolist())) == 3
    for one, other in zip(found, serial, strict=True):
        assert (found.folder / one.files["image"]).read_bytes() == (serial.folder / other.files["image"]).read_bytes()


def test_workers_share_the_gpus_that_are_as_good_as_the_best(monkeypatch):
    def machine(*kinds):
        choices = [AdapterChoice(object(), "GPU", kind, "Vulkan", "", number + 1) for number, kind in enumerate(kinds)]
        monkeypatch.setattr(processes, "candidates", lambda requested: choices)

    machine("discrete", "discrete", "integrated", "software")
    assert processes._gpus("") == [("1", "discrete"), ("2", "discrete")]
    assert processes.usual_jobs() == 2
    machine("discrete", "software")
    assert processes._gpus("gpu") == [("gpu", "discrete")]


class Card:
    """A GPU with memory for so many megabytes, on which the runs of `workers` are computed."""

    workers: Processes

    def __init__(self, megabytes: int):
        self.megabytes = megabytes
        self.submitted = threading.Event()  # all runs that are to be computed at once
        self.most = 0  # runs at once
        self.started = self.released = 0

    def execute(self, job: Job) -> Finished | None:
        """As `sweeps.execute`; None if the process dies."""
        self.submitted.wait()
        together = [one.job.values["megabytes"] for one in self.workers._busy if one.job is not None]
        self.most = max(self.most, len(together))
        if job.values.get("dies"):
            return None
        if sum(together) > self.megabytes:
            return replace(job.failed("out of GPU memory"), short_of_memory=True)
        return Finished(Run(job.key, job.values, job.sets, job.seed))


class OnCard(Processes):
    """Workers whose runs begin when all of them are submitted."""

    def __init__(self, jobs: int, card: Card):
        super().__init__(jobs)
        self.card, card.workers = card, self

    def submit(self, job):
        self.card.submitted.clear()
        super().submit(job)

    def wait(self, report):
        self.card.submitted.set()
        return super().wait(report)

    def _try_alone(self, job):
        super()._try_alone(job)
        self.card.submitted.set()

    def _started(self):
        self.card.started += 1
        ours, theirs = Pipe()
        worker = Worker(self.card, theirs)
        worker.start()
        return processes._Process(worker, ours, "")


class Worker(threading.Thread):
    """A thread that replaces a worker process."""

    exitcode = 1

    def __init__(self, card: Card, pipe):
        super().__init__(daemon=True)
        self.card, self.pipe, self.pid = card, pipe, 0

    def run(self):
        while (message := processes._next(self.pipe)) is not None:
            kind, job = message
            if kind == "release":
                self.card.released += 1
            elif (found := self.card.execute(job)) is None:
                break
            else:
                self.pipe.send(("finished", found))
        self.pipe.close()

    def kill(self):
        """Ends by itself."""


@pytest.fixture
def swept(monkeypatch, tmp_path):
    """Run jobs, with their values, on two workers that share a card; returns the states and errors in order."""

    def run(card: Card, *values: dict) -> list[tuple[str, str]]:
        monkeypatch.setattr(processes, "_gpus", lambda adapter: [("", "discrete")])
        work = Work(Path("scene.toml"), 1, (4, 4), ())
        jobs = [Job(work, f"k{number}", one, (), None) for number, one in enumerate(values)]
        folder = SweepFolder(tmp_path / "out")
        (tmp_path / "out").mkdir()
        with OnCard(2, card) as workers:
            run_jobs(iter(jobs), workers, folder)
        runs = folder.runs()
        return [(runs[job.key].state, runs[job.key].error) for job in jobs]

    return run


def test_a_run_without_enough_memory_is_tried_again_alone_and_then_fewer_run_at_once(swept):
    card = Card(100)
    assert swept(card, *[{"megabytes": 60}] * 6) == [("done", "")] * 6
    assert card.most == 2
    assert card.released or card.started == 3  # both lacked memory, so both processes have ended


def test_a_run_that_needs_more_than_there_is_fails_and_the_others_go_on(swept):
    small, large = {"megabytes": 10}, {"megabytes": 101}
    found = swept(Card(100), small, large, small, large, small)
    assert [state for state, _ in found] == ["done", "failed", "done", "failed", "done"]
    assert found[1][1] == "out of GPU memory"


def test_a_run_that_ends_its_process_twice_fails(swept):
    small, deadly = {"megabytes": 10}, {"megabytes": 10, "dies": True}
    found = swept(Card(100), small, deadly, small)
    assert found == [("done", ""), ("failed", "the worker process ended (exit code 1), twice"), ("done", "")]


def test_a_sweep_whose_processes_all_die_ends(swept):
    with pytest.raises(VertigradError, match="4 runs ended their worker process twice"):
        swept(Card(100), *[{"megabytes": 10, "dies": True}] * 9)
