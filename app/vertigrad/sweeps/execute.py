"""`execute`: one run in this process, as `vertigrad render` does it."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import DeviceLost, OutOfMemory, VertigradError
from ..gpu import Gpu
from ..headless import render
from ..results import Run
from ..scene import trust
from ..scene.viewpoints import camera_from
from ..session import Session
from ..session.commands import FollowKeyframes, JumpTo, StopOnNan
from ..session.readbacks import wait_for_readbacks
from ..session.sizing import autos
from .axes import setting
from .fingerprint import digest_of
from .gradient import column, gradient, require_same
from .job import Finished, Job, Progress
from .outcomes import File, FinishedRun, measure

_log = logging.getLogger("vertigrad")

# Called with the progress of a run; returns whether to prune it.
Report = Callable[[Progress], bool]


class Pruned(Exception):
    """The run is to end early, because the search expects nothing of it."""


@dataclass(frozen=True)
class Prepared:
    """What was found out before the first run: settings that replace "auto", and the name of the GPU."""

    sets: tuple[str, ...]
    adapter: str


def prepare(gpu: Gpu, job: Job) -> Prepared:
    """Build the scene once, as in the first run, and check the names of the outcomes.

    Raises `InputError` and what a model raises.
    """
    with _session(gpu, job) as session:
        run = _finished(session, job)
        for outcome in job.work.outcomes:
            outcome.require(run)
        chosen = [
            setting(f"{name}.{spec.name}", int(getattr(instance.params, spec.name)))
            for name, instance in session.stage.instances.items()
            for spec in autos(instance.params)
        ]
    if job.work.gradient_of:
        _gradient(gpu, job, frames=1)
    return Prepared(tuple(chosen), str(gpu.adapter))


def execute(gpu: Gpu, job: Job, report: Report = lambda progress: False) -> Finished:
    """Compute a run. Its errors are in the result; raises `DeviceLost`, after which this process computes no more."""
    begun = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="vertigrad-run-") as folder:
            finished = _computed(gpu, job, report, Path(folder))
    except Pruned:
        finished = _ended(job, "pruned")
    except DeviceLost:
        raise
    except OutOfMemory as error:
        finished = replace(job.failed(str(error)), short_of_memory=True)
    except VertigradError as error:
        finished = job.failed(str(error))
    except Exception as error:
        _log.exception("%s: the run %s failed", job.work.scene, job.key)
        finished = job.failed(f"{type(error).__name__}: {error}")
    gpu.sync()
    return replace(finished, run=replace(finished.run, seconds=time.perf_counter() - begun, adapter=str(gpu.adapter)))


def _computed(gpu: Gpu, job: Job, report: Report, folder: Path) -> Finished:
    work = job.work
    files = [folder / outcome.name for outcome in work.outcomes if isinstance(outcome, File)]
    with _session(gpu, job) as session:

        def progress(frame: int) -> None:
            if work.report_every and frame % work.report_every == 0 and frame < work.frames:
                _measure(session)
                if report(Progress(job.key, frame, dict(session.diagnostics))):
                    raise Pruned

        render(session, work.frames, work.size, files, progress, draw=bool(files))
        if session.watches.thorough:
            session.inspect_now()
            if session.watches.alarm is not None:
                return job.failed(f"the run was stopped: {session.watches.alarm}")
        outcomes = measure(work.outcomes, _finished(session, job))
    if work.gradient_of:
        value, derivatives = _gradient(gpu, job, work.frames)
        require_same(work.gradient_of, outcomes[work.gradient_of], value)
        outcomes |= {column(work.gradient_of, name): one for name, one in derivatives.items()}
    return Finished(_ended(job, "done", outcomes).run, {file.name: file.read_bytes() for file in files})


def _gradient(gpu: Gpu, job: Job, frames: int) -> tuple[float, dict[str, float]]:
    """The outcome whose gradient is asked for, and its derivatives by parameter: the run once more."""
    with _session(gpu, job) as session:
        return gradient(session, job.work.gradient_of, job.work.outcomes, list(job.values), frames, job.seed)


def _ended(job: Job, state: str, outcomes: dict[str, float] | None = None) -> Finished:
    return Finished(Run(job.key, job.values, job.sets, job.seed, state, outcomes=outcomes or {}))  # pyright: ignore


@contextmanager
def _session(gpu: Gpu, job: Job) -> Iterator[Session]:
    """The scene of a run, before its first step. Raises `InputError` if its files have changed since the start."""
    work = job.work
    trust.allow_texts(dict(work.trusted))
    if digest_of(work.files) != work.digest:
        raise VertigradError(f"{work.scene}: the scene or a file that it names was changed during the sweep")
    with Session(gpu, work.scene, job.sets, job.seed) as session:
        session.carry_out(StopOnNan(work.stop_on_nan))
        if work.camera:
            session.carry_out(FollowKeyframes(False))
            session.carry_out(JumpTo(camera_from(work.camera, session.scene)))
        yield session


def _finished(session: Session, job: Job) -> FinishedRun:
    _measure(session)
    return FinishedRun(session, job.seed)


def _measure(session: Session) -> None:
    """Measure the diagnostics now; waits for the GPU."""
    wait_for_readbacks(session.gpu)
    session.diagnostics.collect()
    session.measure()
    wait_for_readbacks(session.gpu)
    session.diagnostics.collect()
