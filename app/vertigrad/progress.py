"""`Progress`: how far work in another thread has come, whether it is to stop, and jobs that it leaves to this one."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

POLL = 0.02  # seconds


class Cancelled(Exception):
    """The work was cancelled."""


class Pending(Protocol):
    """A result that arrives later, such as a readback."""

    @property
    def done(self) -> bool: ...

    def result(self) -> Any: ...


class Job:
    """Work for the thread that has the GPU: `start` records it there, and returns what is going to arrive."""

    def __init__(self, start: Callable[[], Sequence[Pending]], progress: Progress | None):
        self._start, self._progress = start, progress
        self._pending: Sequence[Pending] | None = None
        self._results: list[Any] | None = None
        self._error: BaseException | None = None

    def proceed(self) -> bool:
        """Start, or look whether all has arrived: whether it has ended. For the thread that has the GPU."""
        try:
            if self._pending is None:
                self._pending = self._start()
            if not all(one.done for one in self._pending):
                return False
            self._results = [one.result() for one in self._pending]
        except BaseException as error:
            self._error = error
        return True

    def wait(self) -> list[Any]:
        """The results. Raises what the job raised, and `Cancelled`."""
        if self._progress is None:
            self._results = [one.result() for one in self._pending or ()]
        while self._results is None and self._error is None:
            assert self._progress is not None
            if self._progress.cancelled:
                raise Cancelled
            time.sleep(POLL / 10)
        if self._error is not None:
            raise self._error
        assert self._results is not None
        return self._results


class Progress:
    """`fraction` is from 0 to 1, `what` the current activity, such as "reading scan.las"."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.what = ""
        self.cancelled = False
        self.has_worker = False  # whether another thread runs the jobs, by `run_jobs`
        self._new: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._running: list[Job] = []

    @contextmanager
    def followed(self) -> Iterator[None]:
        """What this thread reports within the block is reported here."""
        _current.progress = self
        try:
            yield
        finally:
            _current.progress = None

    def submit(self, job: Job) -> None:
        """Leave a job to the other thread."""
        self._new.put(job)

    def run_jobs(self, seconds: float) -> None:
        """Start the jobs that wait, and end those whose results have arrived; for so long, if there are any."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._running = [job for job in self._running if not job.proceed()]
            try:
                self._running.append(self._new.get(timeout=min(left, POLL / 10)))
            except queue.Empty:
                if self._running:
                    break  # their results arrive with later frames


_current = threading.local()


def report(what: str, done: float, total: float) -> None:
    """Report that `done` of `total` is done, if anybody follows. Raises `Cancelled` if the work is to stop."""
    progress: Progress | None = getattr(_current, "progress", None)
    if progress is None:
        return
    if progress.cancelled:
        raise Cancelled
    progress.what, progress.fraction = what, min(max(done / max(total, 1e-30), 0.0), 1.0)


def is_followed() -> bool:
    """Whether anybody follows what this thread reports."""
    return getattr(_current, "progress", None) is not None


def on_gpu(start: Callable[[], Sequence[Pending]]) -> Job:
    """Have work recorded by the thread that has the GPU: this one, unless another one follows this."""
    progress: Progress | None = getattr(_current, "progress", None)
    if progress is None or not progress.has_worker:
        job = Job(start, None)
        job._pending = start()
        return job
    job = Job(start, progress)
    progress.submit(job)
    return job
