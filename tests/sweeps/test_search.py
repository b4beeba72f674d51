"""`search`: Optuna chooses the values; studies continue, and hopeless runs are pruned."""

import math

import pytest

import vertigrad as vg
from vertigrad.errors import InputError

from ..session.running import SCENE, use_models, written

optuna = pytest.importorskip("optuna")


def closeness(run):
    """Largest at a height of 0.7."""
    height = float(run.outputs["row.position"].numpy()[0, 1]) - run.time
    return -((height - 0.7) ** 2)


@pytest.fixture
def searched(steady, tmp_path, monkeypatch):
    use_models(monkeypatch)
    scene = written(tmp_path, SCENE)

    def run(values=None, **options):
        options = {"frames": 1, "jobs": 0, "outcomes": [closeness], "maximize": "closeness", "seed": 1} | options
        return vg.sweep(scene, values or {"row.height": "-10:10"}, output=tmp_path / "out", **options)

    return run


@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_a_search_comes_closer_than_random_points(searched, tmp_path, sampler):
    values = {"row.height": "-10:10", "row.wrong_by": "0:1"}
    found = searched(values, sampler=sampler, samples=26)
    distances = [math.sqrt(-run.outcomes["closeness"]) for run in found]
    assert len(found) == 26
    assert min(distances) < 0.5
    assert sorted(distances[-10:])[5] < 3.0  # the median; of random points it is 5


def test_a_study_goes_on_where_it_was(searched):
    first = searched(samples=5)
    more = searched(samples=8)
    assert [run.key for run in more[:5]] == [run.key for run in first]
    assert len({run.values["row.height"] for run in more}) == 8
    assert len(searched(samples=8)) == 8


def test_known_runs_are_not_computed_again(searched):
    found = searched({"row.height": [0.0, 1.0, 0.7, 0.3]}, samples=12)
    assert len(found) <= 4
    assert found.best("closeness").values == {"row.height": 0.7}


def test_runs_below_the_median_are_pruned(searched):
    options = {"frames": 10, "outcomes": ["diagnostics"], "maximize": "row.top", "prune": True, "samples": 12}
    found = searched({"row.height": "0:1"}, sampler="random", **options)
    heights = {state: [run.values["row.height"] for run in found if run.state == state] for state in ("done", "pruned")}
    assert len(heights["done"]) + len(heights["pruned"]) == 12
    assert min(heights["done"][5:]) > sorted(heights["done"])[2] >= max(heights["pruned"])
    assert not any(run.outcomes for run in found if run.state == "pruned")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": {"row.height": 0.5}}, "there is no parameter to search"),
        ({"outcomes": ["row.position:max"]}, "add --outcome closeness"),
        ({"sampler": "best"}, "expected one of tpe, cmaes, random"),
        ({"prune": True}, "is none"),
        ({"minimize": "closeness"}, "exclude each other"),
        ({"maximize": "", "prune": True}, "ends runs of a search"),
        ({"repeats": 2, "sampling": "sobol"}, "--sampling, --repeats: a search chooses the points itself"),
    ],
)
def test_wrong_searches_are_refused(searched, options, message):
    with pytest.raises(InputError, match=message):
        searched(**options)
