"""`vertigrad sweep`, with its runs in this process."""

import pytest

from vertigrad.sweeps import runner
from vertigrad.sweeps.workers import ThisProcess


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr(runner, "opened_workers", lambda jobs, adapter, scheduler: ThisProcess(adapter))


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
