"""`vertigrad sweep`, with its runs in this process."""

import csv

import pytest

from vertigrad.sweeps import runner
from vertigrad.sweeps.workers import ThisProcess


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr(runner, "opened_workers", lambda jobs, adapter, scheduler: ThisProcess(adapter))


@pytest.mark.turns(2)
@pytest.mark.usefixtures("in_process")
def test_a_sweep_writes_its_folder_and_goes_on_when_started_again(vertigrad, row, tmp_path):
    out = tmp_path / "out"
    command = ["sweep", row, "--frames", "2", "--size", "48x32", "--outcome", "row.position:max", "-o", out]
    done = vertigrad(*command, "--set", "row.height=0:1:4")
    assert (done.code, done.out) == (0, f"{out}: 4 runs, 0 of them failed\n")
    assert len(done.messages) == 4  # not a terminal: a line for each tenth
    again = vertigrad(*command, "--set", "row.height=0:1:4", "--set", "row.count=8")
    assert again.out == f"{out}: 4 runs, 0 of them failed\n"
    assert len((out / "runs.jsonl").read_text().splitlines()) == 8
    assert not vertigrad(*command, "--set", "row.height=0:1:4").messages


@pytest.mark.usefixtures("in_process")
def test_errors_of_runs_are_printed(vertigrad, row, tmp_path):
    (tmp_path / "own.py").write_text("def wrong(run):\n    return 'high'\n")
    done = vertigrad(
        *("sweep", row, "--frames", "1", "--outcome", f"{tmp_path}/own.py:wrong", "-o", tmp_path / "out"),
        *("--set", "row.height=0:1:5"),
    )
    assert done.code == 0
    assert done.out.endswith("5 runs, 5 of them failed\n")
    assert sum("row.height=0.0: outcome wrong: expected a number" in line for line in done.messages) == 1
    assert "and 2 more; the table has their errors" in done.messages


def test_wrong_options_are_reported(vertigrad, row, tmp_path):
    wrong = vertigrad("sweep", row, "--set", "row.height=1,x", "-o", tmp_path / "out")
    assert (wrong.code, "row.height" in wrong.err) == (2, True)
    unknown = vertigrad("sweep", row, "--set", "row.height=0:1", "--samples", "4", "--sampling", "best", "-o", "out")
    assert "expected one of grid, random, latin, sobol" in unknown.err


def test_results_of_another_folder_are_refused(vertigrad, tmp_path):
    done = vertigrad("results", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "has no results of a sweep" in done.err


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("goal", ["--maximize", "--minimize"])
def test_a_search_prints_the_best_run(vertigrad, row, tmp_path, goal):
    pytest.importorskip("optuna")
    options = ("--samples", "4", "--seed", "1", "--sampler", "random", "--frames", "1", "--outcome", "row.position:max")
    done = vertigrad(
        "sweep", row, "--set", "row.height=0.5:1", goal, "row.position:max", *options, "-o", tmp_path / "o"
    )
    assert done.code == 0, done.err
    with (tmp_path / "o" / "runs.csv").open() as table:
        found = [(float(run["row.position:max"]), run["row.height"]) for run in csv.DictReader(table)]
    best = (max if goal == "--maximize" else min)(value for value, _ in found)
    assert len(found) == 4
    shown = done.out.splitlines()[-1]
    assert any(
        shown.startswith(f"best: row.position:max = {best:.6g} with row.height={h}") for v, h in found if v == best
    )


@pytest.mark.usefixtures("in_process")
def test_rows_of_a_table_are_run_several_times(vertigrad, row, tmp_path):
    (tmp_path / "points.csv").write_text("row.height,row.count\n0.5,4\n1.0,8\n")
    command = ["sweep", row, "--table", tmp_path / "points.csv", "--frames", "1", "--outcome", "row.position:max"]
    command += ["--format", "csv", "--include", row, "-o", tmp_path / "out"]
    done = vertigrad(*command, "--repeats", "2")
    assert (done.code, done.out.splitlines()[-1]) == (0, f"{tmp_path / 'out'}: 4 runs, 0 of them failed")
    again = vertigrad(*command, "--seed", "3", "--common-seed", "--retry")
    assert again.code == 0, again.err


def test_processes_and_schedulers_are_passed_on(vertigrad, row, tmp_path, monkeypatch):
    asked = []

    def opened(jobs, adapter, scheduler):
        asked.append((jobs, adapter, scheduler))
        return ThisProcess(adapter)

    monkeypatch.setattr(runner, "opened_workers", opened)
    command = ("sweep", row, "--set", "row.height=0,1", "--frames", "1", "--outcome", "row.position:max")
    assert vertigrad(*command, "--jobs", "3", "-o", tmp_path / "a").code == 0
    assert vertigrad(*command, "--scheduler", "tcp://node:8786", "-o", tmp_path / "b").code == 0
    assert asked == [(3, "", ""), (None, "", "tcp://node:8786")]


def test_runs_are_pruned_in_searches_only(vertigrad, row, tmp_path):
    done = vertigrad("sweep", row, "--set", "row.height=0,1", "--prune", "-o", tmp_path / "out")
    assert (done.code, "ends runs of a search" in done.err) == (2, True)


@pytest.mark.usefixtures("in_process")
def test_a_model_without_gradients_is_not_searched_by_them(vertigrad, row, tmp_path):
    options = ("--maximize", "row.top", "--sampler", "gradient", "--frames", "1", "-o", tmp_path / "out")
    done = vertigrad("sweep", row, "--set", "row.height=0:1", *options)
    assert (done.code, done.out) == (2, "")
    assert "models of the type Rising have no gradients with respect to their parameters" in " ".join(done.err.split())
