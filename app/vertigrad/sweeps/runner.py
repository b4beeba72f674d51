"""`run_sweep`: the points of a design, computed by workers, into a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import InputError
from ..results import Results, Run, SweepFolder
from ..results.contact_sheet import write_contact_sheet
from ..results.plots import can_plot, write_plots
from ..results.table import require_format
from .cluster import Cluster
from .definition import Sweep
from .designs import Point, points
from .job import Job
from .loop import run_jobs
from .processes import Processes, usual_jobs
from .workers import ThisProcess, Workers

# Called with each run that has ended, how many of the runs have, and how many there are.
Shown = Callable[[Run, int, int], object]


def chosen_points(sweep: Sweep, samples: int | None, sampling: str, table: Sequence[Point] | None) -> list[Point]:
    """The points of a sweep. Raises `InputError`."""
    if table is not None:
        if sweep.axes or samples is not None or sampling:
            raise InputError("--table: has all points; leave out --samples, --sampling and --set with several values")
        return list(table)
    return points(sweep.axes, sampling or ("grid" if samples is None else "sobol"), samples, sweep.seed or 0)


def opened_workers(jobs: int | None, adapter: str = "", scheduler: str = "") -> Workers:
    """Processes of this machine; this process itself if `jobs` is 0; the workers of a `scheduler` of Dask.

    Raises `NoAdapter`, and `InputError` if there is no scheduler at its address.
    """
    if scheduler:
        if jobs is not None:
            raise InputError("--jobs: with --scheduler the workers are those of the scheduler; leave --jobs out")
        return Cluster(scheduler, adapter)
    if jobs == 0:
        return ThisProcess(adapter)
    return Processes(usual_jobs(adapter) if jobs is None else at_least_1("jobs", jobs), adapter)


def run_sweep(
    sweep: Sweep,
    design: Sequence[Point],
    workers: Workers,
    output: Path,
    repeats: int = 1,
    retry: bool = False,
    format: str = "csv",
    progress: Shown = lambda run, done, total: None,
) -> Results:
    """Compute what the folder does not have yet, and write table, contact sheet and plots, after Ctrl-C as well."""
    require_format(format)
    folder, names = SweepFolder(output.absolute()), list(dict.fromkeys(name for point in design for name in point))
    known, _ = folder.runs(), at_least_1("repeats", repeats)
    jobs = {job.key: job for job in sweep.jobs(design, repeats)}
    if sweep.is_automatic or not all(_has(known, job, retry) for job in jobs.values()):
        sweep = sweep.with_settings(workers.prepare(next(iter(jobs.values()))).sets)
        jobs = {job.key: job for job in sweep.jobs(design, repeats)}
    folder.write(sweep.definition(names, list(jobs)))
    left = [job for job in jobs.values() if not _has(known, job, retry)]
    done = len(jobs) - len(left)

    def ended(run: Run) -> None:
        nonlocal done
        done += 1
        progress(run, done, len(jobs))

    try:
        run_jobs(left, workers, folder, ended)
    finally:
        results = write_results(folder, format)
    return results


def write_results(folder: SweepFolder, format: str) -> Results:
    """Write the table, the contact sheet and, where Matplotlib is installed, the plots. Raises `InputError`."""
    results = folder.results()
    results.write(folder.path / f"runs.{format}")
    write_contact_sheet(results)
    if can_plot():
        write_plots(results)
    return results


def _has(known: Mapping[str, Run], job: Job, retry: bool) -> bool:
    run = known.get(job.key)
    return run is not None and (run.state == "done" or (run.state == "failed" and not retry))


def at_least_1(name: str, value: int) -> int:
    """The value, if it is at least 1. Raises `InputError`."""
    if value < 1:
        raise InputError(f"{name}: expected an integer of at least 1, not {value}")
    return value
