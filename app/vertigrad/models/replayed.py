"""`ReplayedStep`: a step is recorded once, and replayed as long as it would be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from ..gpu import Plan, Traffic, gpu


class ReplayedStep:
    """Replays what a function recorded, while the `key` of what it depends on stays the same; `close` it.

    A key that comes for the first time is not worth a recording, which costs as much as two steps: a parameter that is
    dragged or animated has another one in each step.
    """

    def __init__(self, name: str):
        self._name = name
        self._plan: Plan | None = None
        self._key: Any = None  # of the plan
        self._last: Any = None  # of the step before

    def take(self, key: Any, work: Callable[[], object]) -> None:
        """Do what `work` does, which must do the same whenever `key` is the same.

        Raises what `work` raises, and `InputError` if it reads values back, on which what it does could depend.
        """
        if self._plan is None or key != self._key:
            if key != self._last:
                self._last = key
                self._without_reading(work)
                return
            self._record(key, work)
        assert self._plan is not None
        self._plan.update()

    def close(self) -> None:
        """Forget what was recorded. Idempotent."""
        plan, self._plan, self._key, self._last = self._plan, None, None, None
        if plan is not None:
            plan.close()

    def _record(self, key: Any, work: Callable[[], object]) -> None:
        self.close()
        plan = Plan(self._name)
        try:
            with plan.recording():
                self._without_reading(work)
        except BaseException:
            plan.close()
            raise
        self._plan, self._key, self._last = plan, key, key

    def _without_reading(self, work: Callable[[], object]) -> None:
        with no_reading(f"{self._name}: {READS}"):
            work()


READS = "a replayed step cannot read values of tensors: it would reuse those of the recording"


@contextmanager
def no_reading(message: str) -> Iterator[None]:
    """Raise `InputError` with this message if values of tensors were read back inside of the context."""
    before = _bytes_read()
    yield
    if _bytes_read() != before:
        raise InputError(message)


def _bytes_read() -> int:
    return gpu().meter.read()[Traffic.GEOMETRY.value]["device_to_host"]
