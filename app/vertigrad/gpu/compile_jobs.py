"""`CompileJob`: what a driver compiles, in a thread: when it is needed, or else after the first frame."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_CLAIMING = Lock()
_THREADS = ThreadPoolExecutor(min(16, os.cpu_count() or 1), "pipelines")  # drivers compile in the calling thread


class CompileJob(Generic[T]):
    """One of them. It waits for `start`: the first image is shown before the pipelines of steps are compiled."""

    def __init__(self, create: Callable[[], T]):
        self._create = create
        self._future: Future[T] | None = None
        _waiting.add(self)

    def start(self) -> Future[T]:
        """Have a thread compile it, side by side with others, unless that was done before."""
        with _CLAIMING:
            return self._started()

    def result(self) -> T:
        """What was compiled; waits for it, or compiles it here if no thread has begun. Raises what the driver does.

        An interruption, as by Ctrl+C, is no result: the next use compiles it again.
        """
        with _CLAIMING:
            future = self._started()
            is_ours = future.cancel()
            if is_ours:
                future = self._future = Future()
                future.set_running_or_notify_cancel()
        if is_ours:
            try:
                future.set_result(self._create())
            except BaseException as error:
                if not isinstance(error, Exception):
                    self._future = None
                future.set_exception(error)
        return future.result()

    def _started(self) -> Future[T]:
        if self._future is None:
            _waiting.discard(self)
            self._future = _THREADS.submit(self._create)
        return self._future


def start_waiting() -> None:
    """Have threads compile all that was not needed so far."""
    if len(_waiting):  # in most frames nothing waits; iterating over a weak set takes as long as a call of wgpu
        for job in list(_waiting):
            job.start()


def forget_waiting() -> None:
    """The device is gone for which they were."""
    _waiting.clear()


_waiting: WeakSet[CompileJob] = WeakSet()
