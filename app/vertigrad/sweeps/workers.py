"""`Workers`: what computes runs: this process, or others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from ..gpu import gpu
from .execute import Prepared, Report, execute, prepare
from .job import Finished, Job


class Workers(ABC):
    """Computes runs, several at once. Use it with `with`."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many runs may be submitted at once."""

    @property
    @abstractmethod
    def running(self) -> int:
        """How many runs were submitted and have not ended."""

    @abstractmethod
    def prepare(self, job: Job) -> Prepared:
        """See `execute.prepare`."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Begin a run, while `running` is below `slots`."""

    @abstractmethod
    def wait(self, report: Report) -> list[Finished]:
        """Wait until at least one run has ended; returns those that have. `report` is called with the progress.

        Raises `VertigradError` if no more runs can be computed.
        """

    @abstractmethod
    def close(self) -> None:
        """End everything; runs that have not ended are dropped. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ThisProcess(Workers):
    """One run after the other, on the GPU of this process."""

    slots = 1  # pyright: ignore[reportAssignmentType]

    def __init__(self, adapter: str = ""):
        self._adapter = adapter
        self._job: Job | None = None

    @property
    def running(self) -> int:
        return int(self._job is not None)

    def prepare(self, job: Job) -> Prepared:
        return prepare(gpu(self._adapter or None), job)

    def submit(self, job: Job) -> None:
        self._job = job

    def wait(self, report: Report) -> list[Finished]:
        assert self._job is not None
        job, self._job = self._job, None
        return [execute(gpu(self._adapter or None), job, report)]

    def close(self) -> None:
        """Does nothing: the GPU belongs to the process."""
