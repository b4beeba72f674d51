"""`run_jobs`: the loop of a sweep: runs are handed to workers, and what they return goes into the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..results import Run, SweepFolder
from .execute import Report
from .job import Job, Progress
from .workers import Workers

# Called with each run that has ended, in the order in which they end.
Ended = Callable[[Run], object]


def never(progress: Progress) -> bool:
    """Prune no run."""
    return False


def run_jobs(
    jobs: Iterable[Job],
    workers: Workers,
    folder: SweepFolder,
    ended: Ended = lambda run: None,
    report: Report = never,
) -> None:
    """Compute the jobs, as many at once as there are slots, and write each run as soon as it has ended.

    Jobs are taken from the iterable when a slot is free, so they may depend on the runs before them. Raises what the
    workers raise, and `InputError` if the folder cannot be written.
    """
    waiting = iter(jobs)
    exhausted = False
    while True:
        while not exhausted and workers.running < workers.slots:
            job = next(waiting, None)
            exhausted = job is None
            if job is not None:
                workers.submit(job)
        if not workers.running:
            return
        for finished in workers.wait(report):
            ended(folder.add(finished.run, finished.files))
