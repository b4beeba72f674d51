"""`Cluster`: runs on the workers of a Dask scheduler, which the user started."""

from __future__ import annotations

import logging
import queue
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from .. import __version__
from ..errors import DeviceLost, InputError, VertigradError
from .bundle import Bundle
from .execute import Prepared, Report
from .fingerprint import code_digest
from .job import Finished, Job, Progress, portable
from .workers import Workers

_log = logging.getLogger("vertigrad")
TOPIC = "vertigrad-sweep"
AHEAD = 2  # runs for each thread of the workers that are submitted, so that none waits for us
POLL_S = 0.2  # between two polls of the progress
CONNECT_S = 30
RETRIES = 2  # of a run whose worker lost its GPU
MISSING = "--scheduler takes Dask, which is not installed; install it with pip install 'vertigrad[cluster]'"


class Cluster(Workers):
    """The workers of the scheduler at `address`. A run whose worker dies is computed again by another; that is Dask's.

    The files of the sweep's scene are sent by their content. The workers need the same version of Vertigrad. Raises
    `InputError` if there is no scheduler.
    """

    def __init__(self, address: str, adapter: str = ""):
        self._dask = _distributed()
        try:
            self._client = self._dask.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"--scheduler {address}: no scheduler of Dask answers there ({error})") from error
        self._adapter, self._address = adapter, address
        self._futures: dict[str, Any] = {}
        self._jobs: dict[str, Job] = {}
        self._ended: queue.Queue[Any] = queue.Queue()
        self._progress: queue.Queue[Progress] = queue.Queue()
        self._bundle: Any = None  # a future of the scene's files
        self._client.subscribe_topic(TOPIC, self._note)

    @property
    def slots(self) -> int:
        """More than can be computed at once; it follows the workers as they come and go."""
        return max(1, AHEAD * self._threads())

    @property
    def running(self) -> int:
        return len(self._jobs)

    def prepare(self, job: Job) -> Prepared:
        self._require_workers()
        bundle = Bundle.of(job.work)  # as a task: what is scattered is lost with the worker that has it
        self._bundle = self._client.submit(_unchanged, bundle, key=f"files-{bundle.digest}")
        future = self._client.submit(_prepare, job, self._bundle, self._adapter, code_digest(), pure=False)
        try:
            found = future.result()
        except Exception as error:
            raise VertigradError(f"--scheduler {self._address}: the first worker failed: {error}") from error
        if isinstance(found, VertigradError):
            raise found
        return found

    def submit(self, job: Job) -> None:
        name = f"sweep-{job.key}"
        arguments = job, self._bundle, self._adapter, code_digest()
        future = self._client.submit(_execute, *arguments, key=name, pure=False, retries=RETRIES)
        self._jobs[job.key], self._futures[job.key] = job, future
        future.add_done_callback(lambda done: self._ended.put((job.key, done)))

    def wait(self, report: Report) -> list[Finished]:
        found = []
        while not found:
            self._take_progress(report)
            try:
                found.append(self._finished(*self._ended.get(timeout=POLL_S)))
                while True:
                    found.append(self._finished(*self._ended.get_nowait()))
            except queue.Empty:
                continue
        return found

    def close(self) -> None:
        """Cancel what was submitted; workers and scheduler are the user's, and go on."""
        futures, self._futures = list(self._futures.values()), {}
        self._jobs.clear()
        if self._client.status == "running":
            self._client.cancel(futures, force=True)
            self._client.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _threads(self) -> int:
        return sum(worker["nthreads"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values())

    def _require_workers(self) -> None:
        if not self._threads():
            _log.warning("the scheduler at %s has no workers yet; waiting for one", self._address)
        self._client.wait_for_workers(1)

    def _note(self, event: tuple[Any, Any]) -> None:
        """Store progress that a worker reports; called in Dask's thread."""
        self._progress.put(Progress(*event[1]))

    def _take_progress(self, report: Report) -> None:
        while not self._progress.empty():
            progress = self._progress.get()
            if progress.key in self._jobs and report(progress):
                self._dask.Event(_event(progress.key), client=self._client).set()

    def _finished(self, key: str, future: Any) -> Finished:
        job = self._jobs.pop(key)
        self._futures.pop(key)
        error = future.exception() if future.status == "error" else None
        if error is not None:
            return job.failed(f"{type(error).__name__}: {error}")
        if future.status != "finished":
            return job.failed(f"the run was {future.status} by the scheduler")
        return future.result()


def _event(key: str) -> str:
    return f"prune-{key}"


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(MISSING) from error


# on a worker --------------------------------------------------------------------------------------------------------


@cache
def _gpu_thread() -> ThreadPoolExecutor:
    """The one thread of this worker that has the GPU; Dask's own threads take turns."""
    return ThreadPoolExecutor(1, "vertigrad")


def _unchanged(bundle: Bundle) -> Bundle:
    return bundle


def _prepare(job: Job, bundle: Bundle, adapter: str, code: str) -> Prepared | VertigradError:
    from .execute import prepare

    try:
        _require_same(code)
        return _gpu_thread().submit(_with_gpu, prepare, _local(job, bundle), adapter).result()
    except VertigradError as error:
        return portable(error)


def _execute(job: Job, bundle: Bundle, adapter: str, code: str) -> Finished:
    from .execute import execute

    _require_same(code)
    dask = _distributed()
    worker = dask.get_worker()
    pruned = dask.Event(_event(job.key), client=dask.get_client()) if job.work.report_every else None

    def report(progress: Progress) -> bool:
        worker.log_event(TOPIC, tuple(progress))
        return pruned is not None and pruned.is_set()

    try:
        return _gpu_thread().submit(_with_gpu, execute, _local(job, bundle), adapter, report).result()
    except DeviceLost as error:
        _gpu_thread.cache_clear()
        raise RuntimeError(f"the GPU's device was lost: {error}") from error


def _with_gpu(function: Any, job: Job, adapter: str, *others: Any) -> Any:
    from ..gpu import gpu

    return function(gpu(adapter or None), job, *others)


def _local(job: Job, bundle: Bundle) -> Job:
    return replace(job, work=bundle.unpacked(job.work))


def _require_same(code: str) -> None:
    """Raise `VertigradError` if this worker has another version than the program that sends runs."""
    if code != code_digest():
        raise VertigradError(f"a worker has another version of Vertigrad ({__version__}, or other code of it)")
