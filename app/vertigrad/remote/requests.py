"""`Requests`: what other threads ask of the session, carried out between two frames in the thread of the GPU."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeAlias

from ..errors import DeviceLost, InputError
from ..session import Session

_log = logging.getLogger("vertigrad")
MOST = 256  # requests that wait

Answer: TypeAlias = Iterator[None]  # goes on with each frame; its return value is the answer
Work: TypeAlias = Callable[[Session], Any]


class Requests:
    """`ask` is for other threads, `work` for the GPU's. An answer that needs frames is a generator."""

    def __init__(self, wake: Callable[[], None]):
        self._wake = wake
        self._new: deque[tuple[Work, Future[Any]]] = deque()
        self._begun: list[tuple[Answer, Future[Any]]] = []
        self._closed = False

    @property
    def pending(self) -> bool:
        """Whether an answer waits for the next frame."""
        return bool(self._new or self._begun)

    def ask(self, work: Work) -> Future[Any]:
        """Queue work for the session; its result arrives in the future. Raises `InputError` if too much waits."""
        if self._closed:
            raise InputError("the session ended")
        if len(self._new) >= MOST:
            raise InputError(f"{MOST} requests wait already; wait for their answers")
        future: Future[Any] = Future()
        self._new.append((work, future))
        self._wake()
        return future

    def work(self, session: Session) -> None:
        """Answer what can be answered now. Errors go to who asked. Raises `DeviceLost`."""
        self._begun = [(answer, future) for answer, future in self._begun if self._goes_on(answer, future)]
        while self._new:
            work, future = self._new.popleft()
            self._begin(work, future, session)

    def close(self) -> None:
        """End all that wait, with an error."""
        self._closed = True
        for _, future in (*self._new, *self._begun):
            if not future.done():
                future.set_exception(InputError("the session ended"))
        self._new.clear()
        self._begun.clear()

    def _begin(self, work: Work, future: Future[Any], session: Session) -> None:
        if not future.running() and not future.set_running_or_notify_cancel():
            return
        try:
            answer = work(session)
        except Exception as error:
            if session.gpu.lost:  # asked again on the next device
                self._new.appendleft((work, future))
                raise DeviceLost("the GPU's device was lost") from error
            future.set_exception(error)
            return
        if isinstance(answer, Iterator):
            if self._goes_on(answer, future):
                self._begun.append((answer, future))
        else:
            future.set_result(answer)

    def _goes_on(self, answer: Answer, future: Future[Any]) -> bool:
        try:
            next(answer)
            return True
        except StopIteration as end:
            future.set_result(end.value)
        except Exception as error:
            future.set_exception(error)
        return False
