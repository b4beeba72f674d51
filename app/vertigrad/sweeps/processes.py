"""`Processes`: runs in worker processes of this machine, each with a GPU of its own or a share of one."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from ..errors import DeviceLost, VertigradError
from ..gpu.adapter import candidates
from .execute import Prepared, Report, execute, prepare
from .job import Finished, Job, Progress, portable
from .workers import Workers

_log = logging.getLogger("vertigrad")
DEATHS = 4  # of runs whose process died although it was alone, one after the other: then something else is wrong
PATIENCE_S = 5.0  # until a process that is to end is killed


def usual_jobs(adapter: str = "") -> int:
    """How many processes are started by default: one for each GPU, on a software adapter half as many as processors.

    Raises `NoAdapter`.
    """
    chosen = _gpus(adapter)
    return max(1, (os.cpu_count() or 1) // 2) if chosen[0][1] == "software" else len(chosen)


def _gpus(adapter: str) -> list[tuple[str, str]]:
    """The text that `gpu` takes for each GPU to use, and its kind: all that are as good as the best one."""
    adapter = adapter or os.environ.get("VERTIGRAD_ADAPTER", "")
    fitting = candidates(adapter)
    equal = [choice for choice in fitting if choice.rank == fitting[0].rank]
    if len(equal) == 1:
        return [(adapter, equal[0].kind)]
    return [(str(choice.number), choice.kind) for choice in equal]


@dataclass
class _Process:
    """A worker process, the other end of its pipe, and what it is doing.

    `shared` is whether the GPU had another process at any time of its last run.
    """

    process: Any
    pipe: Connection
    adapter: str
    job: Job | None = None
    shared: bool = False


class Processes(Workers):
    """`jobs` processes, which share the GPUs evenly.

    A run whose process dies, or whose GPU has no memory left, is tried once more while nothing else runs. After a
    shortage of memory a process less is used, down to one for each GPU.
    """

    def __init__(self, jobs: int, adapter: str = ""):
        self._adapters = [text for text, _ in _gpus(adapter)]
        self._software = _gpus(adapter)[0][1] == "software"
        self._jobs = jobs
        self._all: list[_Process] = []
        self._again: list[Job] = []  # to be tried alone
        self._alone = ""  # the key of the run that is
        self._deaths = 0

    @property
    def slots(self) -> int:
        """How many runs may be submitted at once; none while one is tried alone, or waits for that."""
        return 0 if self._again or self._alone else self._jobs

    @property
    def running(self) -> int:
        return len(self._busy) + len(self._again)

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [one.process.pid for one in self._all]

    def prepare(self, job: Job) -> Prepared:
        one = self._idle()
        one.pipe.send(("prepare", job))
        try:
            kind, content = one.pipe.recv()
        except EOFError:
            raise VertigradError(f"the worker process ended while it built the scene ({_end(one)})") from None
        if kind == "error":
            raise content
        return content

    def submit(self, job: Job) -> None:
        one = self._idle()
        one.job, neighbors = job, [other for other in self._all if other is not one and other.adapter == one.adapter]
        one.shared = bool(neighbors)
        for other in neighbors:
            other.shared = True
        _send(one, ("run", job))

    def wait(self, report: Report) -> list[Finished]:
        while True:
            if self._again and not self._busy:
                self._try_alone(self._again.pop(0))
            busy = {one.pipe: one for one in self._busy}
            finished = [found for pipe in wait(list(busy)) if (found := self._received(busy[pipe], report))]  # pyright: ignore
            if finished:
                return finished

    def close(self) -> None:
        """End the processes; those that compute are killed."""
        for one in self._all:
            if one.job is not None:
                one.process.kill()
            else:
                _send(one, None)
        for one in self._all:
            one.process.join(PATIENCE_S)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.pipe.close()
        self._all.clear()
        self._again.clear()

    # inside -----------------------------------------------------------------------------------------------------

    @property
    def _busy(self) -> list[_Process]:
        return [one for one in self._all if one.job is not None]

    def _try_alone(self, job: Job) -> None:
        """Submit a run, with the memory of the other processes free."""
        self._alone = job.key
        for one in self._all:
            _send(one, ("release", None))
        self.submit(job)

    def _idle(self) -> _Process:
        """A process without a run; a new one if there is none."""
        found = next((one for one in self._all if one.job is None), None)
        if found is None:
            found = self._started()
            self._all.append(found)
        return found

    def _started(self) -> _Process:
        shares = {text: sum(one.adapter == text for one in self._all) for text in self._adapters}
        adapter = min(shares, key=lambda text: shares[text])
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        threads = max(1, (os.cpu_count() or 1) // self._jobs) if self._software else 0
        process = context.Process(target=_serve, args=(theirs, adapter, threads), name="vertigrad sweep", daemon=True)
        process.start()
        theirs.close()
        return _Process(process, ours, adapter)

    def _received(self, one: _Process, report: Report) -> Finished | None:
        """What a process sent: a run that ended, if it is that."""
        assert one.job is not None
        try:
            kind, content = one.pipe.recv()
        except (EOFError, OSError):
            return self._died(one)
        if kind == "progress":
            if report(Progress(*content)):
                _send(one, ("prune", one.job.key))
            return None
        if kind == "error":
            raise content
        return self._ended(one, one.job, content)

    def _ended(self, one: _Process, job: Job, finished: Finished) -> Finished | None:
        """A run has ended; it is tried again if others had the memory that it takes."""
        one.job, was_alone = None, self._was_alone(job)
        if was_alone or not one.shared or not finished.short_of_memory:
            self._deaths = 0
            return finished
        self._jobs = max(1, self._jobs - 1)
        _log.warning("no GPU memory was left for a run; it is computed again alone, then %d at once", self._jobs)
        self._again.append(job)
        self._remove(one)
        return None

    def _died(self, one: _Process) -> Finished | None:
        """The run is tried again; it fails if it was its last try. Raises `VertigradError` if too many died."""
        job, end = one.job, _end(one)
        assert job is not None
        self._remove(one)
        if not self._was_alone(job):
            _log.warning("a worker process ended (%s); its run is computed again, alone", end)
            self._again.append(job)
            return None
        self._deaths += 1
        if self._deaths >= DEATHS:
            raise VertigradError(f"{self._deaths} runs ended their worker process twice ({end}); see its messages")
        return job.failed(f"the worker process ended ({end}), twice")

    def _remove(self, one: _Process) -> None:
        """End a process that computes nothing, or has ended."""
        self._all.remove(one)
        _send(one, None)
        one.pipe.close()

    def _was_alone(self, job: Job) -> bool:
        """Whether the run, which has ended, was tried alone."""
        found = self._alone == job.key
        self._alone = "" if found else self._alone
        return found


def _end(one: _Process) -> str:
    """How a process ended."""
    one.process.join()
    code = one.process.exitcode or 0
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _send(one: _Process, message: Any) -> None:
    with suppress(OSError):  # it has died, which `wait` finds out
        one.pipe.send(message)


# in the worker process ----------------------------------------------------------------------------------------------


def _serve(pipe: Connection, adapter: str, threads: int) -> None:
    """Compute what is sent until the pipe is closed. Ctrl-C in the terminal is the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if threads:
        os.environ.setdefault("LP_NUM_THREADS", str(threads))  # Mesa would take all processors for each process
    from ..gpu import gpu

    while (message := _next(pipe)) is not None:
        kind, job = message
        try:
            if kind == "prepare":
                pipe.send(("prepared", prepare(gpu(adapter or None), job)))
            elif kind == "release":
                gpu(adapter or None).pool.trim()
            elif kind == "run":  # else "prune", for a run that has ended
                pipe.send(("finished", execute(gpu(adapter or None), job, lambda progress: _report(pipe, progress))))
        except DeviceLost as error:
            raise SystemExit(f"vertigrad: a worker process ends: {error}") from error
        except VertigradError as error:
            pipe.send(("error", portable(error)))


def _next(pipe: Connection) -> Any:
    try:
        return pipe.recv()
    except EOFError:
        return None


def _report(pipe: Connection, progress: Progress) -> bool:
    """Send the progress of a run; whether it is to be pruned, as far as that has arrived."""
    pipe.send(("progress", tuple(progress)))
    while pipe.poll():
        message = pipe.recv()
        if message is None:
            raise SystemExit
        if message == ("prune", progress.key):
            return True
    return False
