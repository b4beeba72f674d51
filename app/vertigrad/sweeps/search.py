"""`search`: runs whose values are chosen to maximize an outcome, by Optuna or along its gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..results import Results, Run, SweepFolder
from .definition import Sweep
from .descent import Descent, require_ranges
from .job import Job, Progress
from .loop import run_jobs
from .outcomes import Diagnostic
from .runner import Shown, write_results
from .workers import Workers

GRADIENT = "gradient"
SAMPLERS = ("tpe", "cmaes", "random", GRADIENT)
STUDY = "study.log"  # Optuna's journal, in the folder of the results
SAMPLES = 64  # runs, by default
REPORTS = 10  # of a run's diagnostics, by which it may be pruned
MISSING = "--maximize searches with Optuna, which is not installed; install it with pip install 'vertigrad[search]'"


class Search:
    """A study of Optuna over the axes of a sweep; `jobs` are its trials, which `ended` and `report` inform about.

    A trial whose key has ended before takes that run's value without computing it.
    """

    def __init__(self, sweep: Sweep, metric: str, minimize: bool, sampler: str, folder: SweepFolder):
        self._optuna = _optuna()
        self._sweep, self._metric, self._sign = sweep, metric, -1.0 if minimize else 1.0
        prunes = sweep.work.report_every > 0
        self._known = {key: run for key, run in folder.runs().items() if prunes or run.state != "pruned"}
        self._trials: dict[str, list[Any]] = {}
        self._study = self._opened(sampler, folder.path, minimize)

    @property
    def trials(self) -> int:
        """How many trials of the study have ended, in earlier calls as well."""
        return sum(trial.state.is_finished() for trial in self._study.get_trials(deepcopy=False))

    def jobs(self, count: int) -> Iterator[Job]:
        """The runs of the next `count` trials that have to be computed."""
        for _ in range(count):
            trial = self._study.ask()
            job = self._sweep.job({axis.name: self._suggested(trial, axis) for axis in self._sweep.axes})
            run = self._known.get(job.key)
            if run is not None:
                self._report(trial, run)
                continue
            self._trials.setdefault(job.key, []).append(trial)
            if len(self._trials[job.key]) == 1:  # else the same run is being computed
                yield job

    def ended(self, run: Run) -> None:
        """Report a run that has ended to the study."""
        self._known[run.key] = run
        for trial in self._trials.pop(run.key):
            self._report(trial, run)

    def prunes(self, progress: Progress) -> bool:
        """Report the diagnostics of a run to the study; whether it is to be pruned."""
        value = progress.diagnostics.get(self._metric, math.nan)
        trial = self._trials[progress.key][0]
        if math.isfinite(value):
            trial.report(value, progress.frame)
        return trial.should_prune()

    def best(self, results: Results) -> Run:
        """The best run so far. Raises `InputError` if there is none."""
        return results.best(self._metric, minimize=self._sign < 0)

    # inside -----------------------------------------------------------------------------------------------------

    def _opened(self, sampler: str, folder: Path, minimize: bool) -> Any:
        optuna = self._optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        folder.mkdir(parents=True, exist_ok=True)
        journal = import_module("optuna.storages.journal")
        storage = optuna.storages.JournalStorage(journal.JournalFileBackend(str(folder / STUDY)))
        study = optuna.create_study(
            study_name=f"{'minimize' if minimize else 'maximize'} {self._metric} {self._sweep.identity}",
            direction="minimize" if minimize else "maximize",
            storage=storage,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
            load_if_exists=True,
        )
        ended = len(study.get_trials(deepcopy=False))
        # Another seed than at first: it must not suggest the first ones again.
        seed = None if self._sweep.seed is None else self._sweep.seed + ended
        study.sampler = _sampler(optuna, sampler, seed)
        for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)  # of a search that was interrupted
        return study

    def _suggested(self, trial: Any, axis: Any) -> Any:
        if axis.values and _is_rising(axis.values):
            return axis.values[trial.suggest_int(axis.name, 0, len(axis.values) - 1)]
        if axis.values:
            return axis.values[trial.suggest_categorical(axis.name, list(range(len(axis.values))))]
        if axis.whole:
            return trial.suggest_int(axis.name, round(axis.low), round(axis.high), log=axis.log)
        return trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log)

    def _report(self, trial: Any, run: Run) -> None:
        state, value = self._optuna.trial.TrialState, run.outcomes.get(self._metric, math.nan)
        if run.state == "pruned":
            self._study.tell(trial, state=state.PRUNED)
        elif run.state == "failed" or not math.isfinite(value):
            self._study.tell(trial, state=state.FAIL)
        else:
            self._study.tell(trial, value)


def search(
    sweep: Sweep,
    metric: str,
    workers: Workers,
    output: Path,
    samples: int = SAMPLES,
    minimize: bool = False,
    sampler: str = "tpe",
    prune: bool = False,
    format: str = "csv",
    progress: Shown = lambda run, done, total: None,
) -> Results:
    """Run trials of a study until it has `samples`, to maximize the outcome `metric`, or `minimize` it.

    `sampler` is "tpe" (tree-structured Parzen estimator), "cmaes", "random", or "gradient": `Descent`. With `prune`, a
    run whose `metric`, then a diagnostic, is below the median of the others' at the same frame ends early. Optuna's
    study is in `STUDY` in the folder `output`, and goes on from there. Raises `InputError`.
    """
    if not sweep.axes:
        raise InputError("--maximize: there is no parameter to search; add --set NAME=LOW:HIGH")
    if sampler not in SAMPLERS:
        raise InputError(f"--sampler {sampler}: expected one of {', '.join(SAMPLERS)}")
    by_gradient = sampler == GRADIENT
    if by_gradient and prune:
        raise InputError("--prune: a search by gradients needs each run to its end; leave this out")
    if prune:
        sweep = replace(sweep, work=replace(sweep.work, report_every=max(1, sweep.work.frames // REPORTS)))
    if by_gradient:
        require_ranges(sweep.axes)
        sweep = replace(sweep, work=replace(sweep.work, gradient_of=metric))
    folder, names = SweepFolder(output.absolute()), [axis.name for axis in sweep.axes]
    _require(sweep, metric, prune)
    sweep = sweep.with_settings(workers.prepare(sweep.job({axis.name: axis.at(0.5) for axis in sweep.axes})).sets)
    study = (
        Descent(sweep, metric, minimize, folder.runs())
        if by_gradient
        else Search(sweep, metric, minimize, sampler, folder)
    )
    folder.write(sweep.definition(names, metric=metric, minimize=minimize))
    before = study.trials

    def ended(run: Run) -> None:
        study.ended(run)
        progress(run, study.trials, samples)

    try:
        run_jobs(study.jobs(max(0, samples - before)), workers, folder, ended, study.prunes)
    finally:
        results = write_results(folder, format)
    return results


def metric_of(maximize: str, minimize: str, prune: bool, others: Mapping[str, object]) -> str:
    """The outcome that is searched for; empty if there is no search. `others` are options that a search does not take.

    Raises `InputError` for options that exclude each other.
    """
    if maximize and minimize:
        raise InputError("--maximize and --minimize exclude each other")
    metric = maximize or minimize
    if prune and not metric:
        raise InputError("--prune: ends runs of a search; add --maximize OUTCOME")
    refused = [f"--{name}" for name, value in others.items() if value]
    if metric and refused:
        raise InputError(f"{', '.join(refused)}: a search chooses the points itself; leave this out")
    return metric


def _require(sweep: Sweep, metric: str, prune: bool) -> None:
    """Raise `InputError` if no outcome can be the metric."""
    identities = [outcome.identity.partition("@")[0] for outcome in sweep.work.outcomes]
    is_diagnostic = any(isinstance(one, Diagnostic) and one.name in ("", metric) for one in sweep.work.outcomes)
    if prune and not is_diagnostic:
        raise InputError(f"--prune: follows a diagnostic during the run, and {metric} is none")
    if not (is_diagnostic or metric in identities or any("@" in one.identity for one in sweep.work.outcomes)):
        raise InputError(f"--maximize {metric}: is not among the outcomes; add --outcome {metric}")


def _sampler(optuna: Any, name: str, seed: int | None) -> Any:
    if name == "cmaes":
        try:
            import_module("cmaes")
        except ImportError as error:
            raise InputError(f"--sampler cmaes: {MISSING}") from error
        return optuna.samplers.CmaEsSampler(seed=seed)
    return optuna.samplers.TPESampler(seed=seed) if name == "tpe" else optuna.samplers.RandomSampler(seed=seed)


def _is_rising(values: tuple[Any, ...]) -> bool:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)


def _optuna() -> Any:
    try:
        return import_module("optuna")
    except ImportError as error:
        raise InputError(MISSING) from error
