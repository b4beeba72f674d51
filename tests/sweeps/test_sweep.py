"""`sweep`: rows, files, seeds, resuming, errors."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vertigrad as vg
from vertigrad.cli import main
from vertigrad.errors import CodeError, InputError, ParameterError, SceneError
from vertigrad.results import SweepFolder
from vertigrad.sweeps.workers import ThisProcess

from ..session.running import SCENE, use_models, written

SIZE = 48, 32


@pytest.fixture
def row(steady, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_models(monkeypatch)
    return written(tmp_path, SCENE)


@pytest.fixture
def swept(row, tmp_path):
    """Sweep the scene in this process."""

    def run(values, **options):
        options = {"frames": 3, "size": SIZE, "jobs": 0, "outcomes": ["row.position:max"]} | options
        return vg.sweep(row, values, output=tmp_path / "out", **options)

    return run


class Counted(ThisProcess):
    """Counts the runs that it computes."""

    def __init__(self):
        super().__init__()
        self.jobs = []

    def submit(self, job):
        self.jobs.append(job)
        super().submit(job)


def highest(run):
    return {"highest": float(run.outputs["row.position"].numpy()[:, 1].max()), "time": run.time}


def test_a_grid_is_a_table_with_the_outcomes_of_each_run(swept, tmp_path, plotted):
    found = swept({"row.height": [0.0, 1.0, 2.0], "row.count": "2:4:2"}, outcomes=["row.position:max", highest])
    assert found.parameters == ("row.height", "row.count")
    assert [run.values for run in found[:2]] == [
        {"row.height": 0.0, "row.count": 2},
        {"row.height": 0.0, "row.count": 4},
    ]
    np.testing.assert_allclose(found["highest"], found["row.height"] + 3 / 60, rtol=1e-6)
    np.testing.assert_array_equal(found["row.position:max"][2:], found["highest"][2:])
    assert not found.failed
    assert list(SweepFolder(tmp_path / "out").definition().files) == [str(tmp_path / "scene.toml")]
    with (tmp_path / "out" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(one["highest"]) for one in rows] == found["highest"].tolist()
    assert plotted == [found]


def test_images_are_those_of_render(swept, row, tmp_path):
    found = swept({"row.height": [0.0, 0.4]}, outcomes=["image"], seed=7)
    assert found[0].seed != found[1].seed
    for run in found:
        file = tmp_path / "image.png"
        sets = [word for text in run.sets for word in ("--set", text)]
        code = main(
            ["render", str(row), *sets, "--seed", str(run.seed), "--frames", "3", "--size", "48x32", "-o", str(file)]
        )
        assert code == 0
        with Image.open(file) as rendered, Image.open(found.folder / run.files["image"]) as image:
            np.testing.assert_array_equal(np.asarray(image), np.asarray(rendered))
    with Image.open(found.folder / "contact_sheet.png") as sheet:
        assert sheet.size > (2 * SIZE[0], SIZE[1])


def test_a_finished_run_is_not_computed_again(swept, row):
    values, workers = {"row.height": [0.0, 1.0]}, Counted()
    first = swept(values, workers=workers)
    again = swept(values, workers=workers)
    assert len(workers.jobs) == 2
    assert again["row.position:max"].tolist() == first["row.position:max"].tolist()
    grown = swept({"row.height": [0.0, 0.5, 1.0]}, workers=workers)
    assert [job.values["row.height"] for job in workers.jobs[2:]] == [0.5]
    assert [run.key for run in grown][::2] == [run.key for run in first]
    row.write_text(row.read_text() + "\n# another scene\n")
    swept(values, workers=workers)
    assert len(workers.jobs) == 5


@pytest.mark.parametrize("change", [{"frames": 4}, {"outcomes": ["row.phase:max"]}, {"seed": 1}, {"stop_on_nan": True}])
def test_whatever_determines_a_run_is_part_of_its_key(swept, change):
    workers = Counted()
    swept({"row.height": [0.0]}, workers=workers)
    swept({"row.height": [0.0]}, workers=workers, **change)
    assert len({job.key for job in workers.jobs}) == 2


def test_a_run_that_fails_is_a_row_with_its_error(swept):
    values, workers = {"row.count": [2, 4], "row.height": [0.0, 1.0]}, Counted()

    def some(run):
        if run.outputs["row.position"].shape[0] == 4:
            raise ValueError("no measure of four")
        return run.time

    found = swept(values, outcomes=[some], workers=workers)
    assert [run.state for run in found] == ["done", "done", "failed", "failed"]
    assert "no measure of four" in found[2].error
    assert np.isnan(found["some"][2:]).all()
    swept(values, outcomes=[some], workers=workers)
    assert len(workers.jobs) == 4
    swept(values, outcomes=[some], workers=workers, retry=True)
    assert len(workers.jobs) == 6


def test_a_run_that_was_cut_off_while_it_was_written_is_computed_again(swept, tmp_path):
    values, workers = {"row.height": [0.0, 1.0]}, Counted()
    first = swept(values, workers=workers)
    log = tmp_path / "out" / "runs.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    again = swept(values, workers=workers)
    assert len(workers.jobs) == 3
    assert again["row.position:max"].tolist() == first["row.position:max"].tolist()
    assert len(SweepFolder(tmp_path / "out").runs()) == 2


def test_repeats_differ_in_their_seeds_and_common_seeds_do_not(swept):
    found = swept({"row.height": [0.0, 1.0]}, repeats=3, seed=4)
    assert len(set(found["seed"].tolist())) == 6
    common = swept({"row.height": [0.0, 1.0]}, common_seed=True, seed=4)
    assert common["seed"].tolist() == [4, 4]


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        ({"rwo.height": [1.0]}, {}, InputError, "rwo"),
        ({"row.hieght": [1.0]}, {}, SceneError, "height"),
        ({"row.height": [0.0, 99.0]}, {}, InputError, "maximum"),
        ({"row.height": [0.0]}, {"outcomes": ["row.energy"]}, InputError, "unknown diagnostic"),
        ({"row.height": [0.0]}, {"outcomes": ["row.positoin:max"]}, ParameterError, "position"),
        ({"row.height": [0.0]}, {"outcomes": ["row.position:maxi"]}, InputError, "max"),
        ({"row.height": [0.0]}, {"outcomes": ["images"]}, InputError, "expected"),
        ({"row.height": [0.0]}, {"outcomes": ["none.py:f"]}, InputError, "there is no file"),
        ({"row.height": "0:1"}, {}, InputError, "needs a count"),
        ({"row.height": [0.0]}, {"table": [{"row.height": 1.0}]}, InputError, "--table"),
    ],
)
def test_wrong_input_is_refused_before_the_first_run(swept, tmp_path, values, options, error, message):
    with pytest.raises((error, InputError), match=message):
        swept(values, **options)
    assert not (tmp_path / "out").exists()


def test_functions_of_files_are_outcomes(swept, tmp_path):
    file = tmp_path / "measures.py"
    file.write_text("def late(run):\n    return run.time\n\ndef wrong(run):\n    return run.time / 0\n")
    found = swept({"row.height": [0.0]}, outcomes=[f"{file}:late", f"{file}:wrong"])
    assert "measures.py:5" in found[0].error
    assert swept({"row.height": [0.0]}, outcomes=[f"{file}:late"])["late"][0] == pytest.approx(3 / 60)
    with pytest.raises(CodeError, match="unknown function"):
        swept({"row.height": [0.0]}, outcomes=[f"{file}:lat"])


def test_nothing_is_drawn_if_no_image_is_asked_for(swept, monkeypatch):
    drawn = []
    monkeypatch.setattr("vertigrad.session.Session.draw", lambda *arguments, **options: drawn.append(1))
    swept({"row.height": [0.0]})
    assert not drawn


class Editing(ThisProcess):
    """Edits the scene before its second run."""

    runs = 0

    def submit(self, job):
        super().submit(job)
        self.runs += 1
        if self.runs == 2:
            job.work.scene.write_text(SCENE + "\n# edited")


def test_a_scene_that_changes_during_the_sweep_fails_its_runs(swept):
    found = swept({"row.height": [0.0, 1.0]}, workers=Editing())
    assert [run.state for run in found] == ["done", "failed"]
    assert "changed during the sweep" in found[1].error
