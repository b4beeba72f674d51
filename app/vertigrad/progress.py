"""`Progress`: how far long work has come, whether it is to stop, and jobs that it leaves to another thread."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
    """`fraction` is from 0 to 1, `what` the current activity, such as "reading scan.las".

    `pause` is called after each report, and while the work waits: with whether it waits.
    """

    def __init__(self, pause: Callable[[bool], object] | None = None) -> None:
        self.pause = pause
        self.fraction = 0.0
        self.what = ""
        self.cancelled = False
        self.has_worker = False  # whether another thread runs the jobs, by `run_jobs`
        self._new: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._running: list[Job] = []

    @contextmanager
    def followed(self) -> Iterator[None]:
        """What is reported within the block, in its context, is reported here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

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


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)
_range: ContextVar[tuple[float, float]] = ContextVar("part of the whole", default=(0.0, 1.0))


def report(what: str, done: float, total: float) -> None:
    """Report that `done` of `total` is done, if anybody follows. Raises `Cancelled` if the work is to stop."""
    progress = _current.get()
    if progress is None:
        return
    if progress.cancelled:
        raise Cancelled
    begin, end = _range.get()
    progress.what = what
    progress.fraction = begin + (end - begin) * min(max(done / max(total, 1e-30), 0.0), 1.0)
    if progress.pause is not None:
        progress.pause(False)


@contextmanager
def portion(begin: float, end: float) -> Iterator[None]:
    """What is reported within the block is that part of the whole: the end of the block is `end`, of 1."""
    first, last = _range.get()
    token = _range.set((first + (last - first) * begin, first + (last - first) * end))
    try:
        yield
    finally:
        _range.reset(token)


def pause_until(done: Callable[[], bool]) -> None:
    """Let the frames of a window be drawn until `done`, if the work is done in slices; else return at once."""
    progress = _current.get()
    while progress is not None and progress.pause is not None and not done():
        progress.pause(True)


def is_followed() -> bool:
    """Whether anybody follows what is reported here."""
    return _current.get() is not None


def on_gpu(start: Callable[[], Sequence[Pending]]) -> Job:
    """Have work recorded by the thread that has the GPU: this one, unless another one follows this."""
    progress = _current.get()
    if progress is None or not progress.has_worker:
        job = Job(start, None)
        job._pending = start()
        return job
    job = Job(start, progress)
    progress.submit(job)
    return job
