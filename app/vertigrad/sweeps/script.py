"""`sweep`: what scripts call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..results import Results
from ..scene.packaged import scene_path
from .axes import axes_of
from .definition import Sweep
from .designs import table_points
from .job import Work
from .outcomes import FinishedRun, parse_outcome
from .runner import Shown, at_least_1, chosen_points, opened_workers, run_sweep
from .search import SAMPLES, metric_of, search
from .workers import Workers

OUTCOMES = ("diagnostics", "image")
SIZE = 640, 360


def sweep(
    scene: str | Path,
    set: Mapping[str, Any] | None = None,
    *,
    output: str | Path,
    frames: int = 600,
    samples: int | None = None,
    sampling: str = "",
    maximize: str = "",
    minimize: str = "",
    sampler: str = "tpe",
    prune: bool = False,
    table: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | None = None,
    outcomes: Sequence[str | Callable[[FinishedRun], Any]] = OUTCOMES,
    size: tuple[int, int] = SIZE,
    camera: str = "",
    seed: int | None = None,
    common_seed: bool = False,
    repeats: int = 1,
    jobs: int | None = None,
    adapter: str = "",
    scheduler: str = "",
    include: Sequence[str | Path] = (),
    stop_on_nan: bool = False,
    retry: bool = False,
    format: str = "csv",
    workers: Workers | None = None,
    progress: Shown | None = None,
) -> Results:
    """Run a scene with many values of its parameters, and write the results into the folder `output`.

    `set` has parameters by name: a list or array is swept, a text such as "0:1:20" is read as by `--set`, other values
    hold for all runs. All combinations are run, or `samples` points by `sampling`: "random", "latin" or "sobol", the
    default; or the rows of a `table`, a mapping each or a sequence for each column. `outcomes` are names such as
    "diagnostics", "galaxy.energy", "galaxy.position:max", "image", "video", or functions of a `FinishedRun` that return
    a number or numbers by name. `repeats` are runs of each point with different seeds, which are derived from `seed`
    and the values; with `common_seed` all first runs have `seed` itself.

    With an outcome to `maximize` or `minimize`, Optuna chooses the values of `samples` runs by its `sampler`: "tpe",
    "cmaes" or "random"; "gradient" follows the gradient of the outcome by L-BFGS-B instead. With `prune` a run whose
    outcome, then a diagnostic, is below the median of the others ends early.

    `progress` is called with each run that has ended, how many have, and how many there are.

    `jobs` worker processes compute, by default one for each GPU; with 0 this process does. With `scheduler`, the
    address of a Dask scheduler, its workers do; the scene's files are sent to them, and files to `include` that others
    name. Runs that are in the folder already are not computed again, those that failed only with `retry`. The script
    needs `if __name__ == "__main__"`.
    Raises `SceneError`, `InputError` and, if no runs can be computed, `VertigradError`; a run that fails is a row with
    its error.
    """
    shown = progress or (lambda run, done, total: None)
    axes, fixed = axes_of(set or {})
    work = Work(
        scene=scene_path(str(scene)).absolute(),
        frames=at_least_1("frames", frames),
        size=size,
        outcomes=tuple(map(parse_outcome, outcomes)),
        camera=camera,
        stop_on_nan=stop_on_nan,
        files=tuple(Path(path).absolute() for path in include),
    )
    found = Sweep.of(work, axes, fixed, seed, common_seed)
    others = {"sampling": sampling, "table": table is not None, "repeats": repeats != 1, "retry": retry}
    metric = metric_of(maximize, minimize, prune, others)
    if metric:
        with workers or opened_workers(jobs, adapter, scheduler) as opened:
            options = samples or SAMPLES, bool(minimize), sampler, prune, format, shown
            return search(found, metric, opened, Path(output), *options)
    design = chosen_points(found, samples, sampling, None if table is None else table_points(table))
    with workers or opened_workers(jobs, adapter, scheduler) as opened:
        return run_sweep(found, design, opened, Path(output), repeats, retry, format, shown)
