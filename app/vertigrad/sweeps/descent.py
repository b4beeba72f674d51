"""`Descent`: the runs of a search by gradients: L-BFGS-B from several starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InputError
from ..results import Run
from .axes import Axis
from .definition import Sweep
from .gradient import column
from .job import Job, Progress

MISSING = (
    "--sampler gradient searches with SciPy, which is not installed; install it with pip install 'vertigrad[sweep]'"
)


class Descent:
    """Runs of a sweep whose outcome `metric` rises, or falls with `minimize`; `known` are runs that have ended, by key.

    The first start is the middle of the ranges, the others are random. Each follows L-BFGS-B (Byrd, Lu, Nocedal and Zhu
    1995, A limited memory algorithm for bound constrained optimization) until that has converged. Its only state are
    the runs: after each it is repeated from its start, with the results of known runs, up to the first one that is not;
    so a search that was stopped goes on where it was. Raises `InputError` without SciPy.
    """

    def __init__(self, sweep: Sweep, metric: str, minimize: bool, known: Mapping[str, Run]):
        self._minimize = _minimizer()
        self._sweep, self._metric, self._sign = sweep, metric, 1.0 if minimize else -1.0
        self._known = dict(known)
        self._random = np.random.default_rng(sweep.seed or 0)
        self._used: set[str] = set()  # the keys of the runs of this search
        self._next_start = np.full(len(sweep.axes), 0.5)
        self._starts: list[np.ndarray] = []
        while self._job(self._next_start).key in known:
            self._begin()

    @property
    def trials(self) -> int:
        """How many runs of the search have ended, in earlier calls as well."""
        return len(self._used & self._known.keys())

    def jobs(self, count: int) -> Iterator[Job]:
        """The next `count` runs to compute. While all starts wait for theirs, another one begins."""
        for _ in range(count):
            while (job := self._due()) is None:
                self._begin()
            self._used.add(job.key)
            yield job

    def ended(self, run: Run) -> None:
        """Note a run that has ended."""
        self._known[run.key] = run

    def prunes(self, progress: Progress) -> bool:
        """Prune no run."""
        return False

    # inside -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._starts.append(self._next_start)
        self._needed(self._next_start)
        self._next_start = self._random.random(len(self._sweep.axes))

    def _due(self) -> Job | None:
        """A run that a start needs and nobody computes; starts that have ended are dropped."""
        for start in list(self._starts):
            job = self._needed(start)
            if job is None:
                self._starts = [other for other in self._starts if other is not start]
            elif job.key not in self._used:
                return job
        return None

    def _needed(self, start: np.ndarray) -> Job | None:
        """The next run of a start; None if it has converged, or if a run failed."""
        try:
            self._minimize(self._value, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(start))
        except _Needed as needed:
            return needed.job
        except _Failed:
            pass
        return None

    def _value(self, fractions: np.ndarray) -> tuple[float, np.ndarray]:
        """What is minimized at a point of the unit cube, and its gradient."""
        job = self._job(fractions)
        run = self._known.get(job.key)
        if run is None:
            raise _Needed(job)
        self._used.add(job.key)
        columns = [self._metric, *(column(self._metric, axis.name) for axis in self._sweep.axes)]
        value, *slopes = (run.outcomes.get(name, math.nan) for name in columns)
        if run.state != "done" or not np.isfinite([value, *slopes]).all():
            raise _Failed
        slopes = [
            slope * _slope(axis, job.values[axis.name]) for slope, axis in zip(slopes, self._sweep.axes, strict=True)
        ]
        return self._sign * value, self._sign * np.array(slopes)

    def _job(self, fractions: np.ndarray) -> Job:
        return self._sweep.job(
            {axis.name: axis.at(float(u)) for axis, u in zip(self._sweep.axes, fractions, strict=True)}
        )


def require_ranges(axes: Iterable[Axis]) -> None:
    """Raise `InputError` if a parameter is not searched in a range of numbers."""
    for axis in axes:
        if not axis.is_range or axis.whole:
            raise InputError(f"--set {axis.name}: gradients take a range of numbers, such as {axis.name}=0.0:1.0")


def _slope(axis: Axis, value: float) -> float:
    """The derivative of `Axis.at`."""
    return value * math.log(axis.high / axis.low) if axis.log else axis.high - axis.low


class _Needed(Exception):
    """A run whose result is not known."""

    def __init__(self, job: Job):
        super().__init__(job.key)
        self.job = job


class _Failed(Exception):
    """A run has no value or no gradient."""


def _minimizer() -> Callable[..., Any]:
    try:
        return import_module("scipy.optimize").minimize
    except ImportError as error:
        raise InputError(MISSING) from error
