"""Tests that take turns from commit to commit."""

from __future__ import annotations

import pytest

from .turns import COMMIT, takes_turn

pytest_plugins = ["pytester"]

MODULE = """
import pytest

@pytest.mark.turns(3)
@pytest.mark.parametrize("case", range(7))
def test_many(case):
    pass

@pytest.mark.turns(3)
def test_one():
    pass

def test_always():
    pass
"""
CONFTEST = """
from tests import turns

def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true")

def pytest_collection_modifyitems(config, items):
    turns.deselect(config, items)
"""


@pytest.fixture
def names(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """The tests that run at the commit of a number, with the given arguments."""
    pytester.makepyfile(test_some=MODULE)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = turns")

    def names(number: int, *arguments: str) -> list[str]:
        monkeypatch.setenv(COMMIT, str(number))
        passed, *others = pytester.inline_run(*arguments).listoutcomes()
        assert others == [[], []]
        return [report.nodeid.partition("::")[2] for report in passed]

    return names


def test_every_case_runs_once_in_as_many_commits(names):
    runs = [names(number) for number in range(40, 43)]
    assert all("test_always" in run for run in runs)
    together = sorted(name for run in runs for name in run if name != "test_always")
    assert together == sorted(["test_one", *(f"test_many[{case}]" for case in range(7))])


@pytest.mark.parametrize("arguments", [["--exhaustive"], ["-k", "test_"]])
def test_all_run_if_requested(names, arguments: list[str]):
    assert len(names(40, *arguments)) == 9


def test_leaving_some_out_names_none(names):
    assert names(40, "-k", "not always") == [name for name in names(40) if name != "test_always"]


def test_a_test_that_is_named_runs(names):
    assert [names(number, "test_some.py::test_one") for number in range(3)] == [["test_one"]] * 3


def test_functions_do_not_all_wait_at_the_same_commit():
    turn = [sum(takes_turn(f"test_{name}", 0, 4, number) for name in range(100)) for number in range(4)]
    assert sum(turn) == 100 and min(turn) > 15
