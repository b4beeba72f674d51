"""`vertigrad sweep`: many runs of a scene with other parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import UntrustedCode
from . import options
from .options import console, errors_console

if TYPE_CHECKING:
    from ..results import Results, Run
    from ..sweeps.definition import Sweep
    from ..sweeps.job import Work
    from ..sweeps.runner import Shown

SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUES",
        help="values of a parameter: galaxy.softening=0.1,0.2,0.5, or a range LOW:HIGH[:COUNT][:log]; may be repeated",
    ),
]
OutcomeOption = Annotated[
    list[str],
    typer.Option(
        metavar="NAME",
        help="what to measure: diagnostics, galaxy.energy, galaxy.position:max, file.py:function, image, video; "
        "may be repeated; by default diagnostics and image",
    ),
]


def command(
    scene: options.SceneArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="where the results are written")],
    set: SetOption = [],  # noqa: B006
    samples: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="run N points of the space instead of all combinations")
    ] = None,
    sampling: Annotated[
        str, typer.Option(metavar="NAME", help="random, latin or sobol (with --samples), or grid")
    ] = "",
    maximize: Annotated[
        str, typer.Option(metavar="OUTCOME", help="search: choose the values of the runs to maximize an outcome")
    ] = "",
    minimize: Annotated[str, typer.Option(metavar="OUTCOME", help="the same, to minimize it")] = "",
    sampler: Annotated[
        str, typer.Option(metavar="NAME", help="of such a search: tpe, cmaes, random or gradient")
    ] = "tpe",
    prune: Annotated[
        bool, typer.Option("--prune", help="end runs early whose diagnostic is below the median of the others")
    ] = False,
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="run the rows of a CSV file, with a column for each parameter")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, metavar="N", help="how many frames, a sixtieth of a second each")] = 600,
    outcome: OutcomeOption = [],  # noqa: B006
    size: options.SizeOption = "640x360",
    camera: options.CameraOption = "",
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="random seed, from which each run gets one of its own")
    ] = None,
    common_seed: Annotated[
        bool, typer.Option("--common-seed", help="all runs have the same seed: --seed, or the scene's")
    ] = False,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="runs of each point, with different seeds")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="worker processes; by default one for each GPU")
    ] = None,
    adapter: options.AdapterOption = "",
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="compute on the workers of a Dask scheduler, such as tcp://node:8786")
    ] = "",
    include: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="a file in the scene's folder that its files name; may be repeated"),
    ] = [],  # noqa: B006
    trust: options.TrustOption = False,
    stop_on_nan: Annotated[
        bool, typer.Option("--stop-on-nan", help="a run fails as soon as an output has NaN or infinity in it")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="compute runs again that failed")] = False,
    format: Annotated[str, typer.Option(metavar="NAME", help="of the table: csv or parquet")] = "csv",
) -> None:
    """Run SCENE with many values of its parameters, and write a table, images and a contact sheet.

    Started again with the same FOLDER, it goes on where it was: a run that has ended is not computed again.
    """
    from ..results.table import require_format
    from ..scene.packaged import scene_path
    from ..sweeps.axes import parse_sets
    from ..sweeps.designs import read_table
    from ..sweeps.job import Work
    from ..sweeps.outcomes import parse_outcome
    from ..sweeps.runner import chosen_points, opened_workers, run_sweep
    from ..sweeps.script import OUTCOMES
    from ..sweeps.search import SAMPLES, metric_of, search

    require_format(format)
    axes, fixed = parse_sets(set)
    work = Work(
        scene=scene_path(scene).absolute(),
        frames=frames,
        size=options.parse_size(size),
        outcomes=tuple(map(parse_outcome, outcome or OUTCOMES)),
        camera=camera,
        stop_on_nan=stop_on_nan,
        files=tuple(path.absolute() for path in include),
    )
    sweep = _checked(work, (axes, fixed, seed, common_seed), trust)
    others = {"sampling": sampling, "table": table is not None, "repeats": repeats != 1, "retry": retry}
    if metric := metric_of(maximize, minimize, prune, others):
        with _progress(sweep.scene.title) as progress, opened_workers(jobs, adapter, scheduler) as workers:
            search_options = samples or SAMPLES, bool(minimize), sampler, prune, format, progress
            results = search(sweep, metric, workers, output, *search_options)
        report(results)
        best = results.best(metric, bool(minimize))
        values = ", ".join(f"{name}={value}" for name, value in best.values.items())
        console.print(f"best: {metric} = {best.outcomes[metric]:.6g} with {values}, seed {best.seed}")
        return
    points = chosen_points(sweep, samples, sampling, None if table is None else read_table(table))
    with _progress(sweep.scene.title) as progress, opened_workers(jobs, adapter, scheduler) as workers:
        results = run_sweep(sweep, points, workers, output, repeats, retry, format, progress)
    report(results)


def report(results: Results) -> None:
    """Print how many runs there are, where they are, and the first errors."""
    from ..results.plots import MISSING, can_plot

    failed = results.failed
    console.print(f"{results.folder}: {len(results)} runs, {len(failed)} of them failed")
    for run in failed[:3]:
        values = ", ".join(f"{name}={value}" for name, value in run.values.items())
        errors_console.print(f"failed: {values}: {run.error}", style="yellow")
    if len(failed) > 3:
        errors_console.print(f"and {len(failed) - 3} more; the table has their errors", style="yellow")
    if not can_plot():
        errors_console.print(MISSING, style="yellow")


def _checked(work: Work, others: tuple, trust: bool) -> Sweep:
    """The sweep, once its names and values are checked, and its Python is allowed to run."""
    from ..sweeps.definition import Sweep
    from .running import allow

    try:
        return Sweep.of(work, *others)
    except UntrustedCode as error:
        allow(error, trust)
        return Sweep.of(work, *others)


@contextmanager
def _progress(title: str) -> Iterator[Shown]:
    """A bar on stderr; a line for each tenth of the runs if that is not a terminal. Says after Ctrl-C how to go on."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    bar = Progress(
        *columns,
        *(TimeElapsedColumn(), TimeRemainingColumn()),
        console=errors_console,
        disable=not errors_console.is_terminal,
    )
    task, failures, last = bar.add_task(title, total=None), 0, (0, 0)

    def shown(run: Run, done: int, total: int) -> None:
        nonlocal failures, last
        failures, last = failures + (run.state == "failed"), (done, total)
        text = f"{title}, {failures} failed" if failures else title
        bar.update(task, completed=done, total=total, description=text)
        if bar.disable and done * 10 // total > (done - 1) * 10 // total:
            errors_console.print(f"{done} of {total} runs")

    try:
        with bar:
            yield shown
    except KeyboardInterrupt:
        errors_console.print(f"interrupted after {last[0]} of {last[1]} runs; the same command goes on from there")
        raise
