"""The folder of a sweep, its table, and how a contact sheet is arranged."""

import itertools
import os

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.results import Definition, Results, Run, SweepFolder, scene_files
from vertigrad.results.arrangement import arranged
from vertigrad.results.contact_sheet import contact_sheet
from vertigrad.results.plots import write_plots


def runs(**values: list) -> list[Run]:
    points = [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]
    return [
        Run(f"{index:03}", point, (), index, outcomes={"energy": float(sum(point.values()))})
        for index, point in enumerate(points)
    ]


def test_runs_are_read_as_they_were_written(tmp_path):
    folder = SweepFolder(tmp_path / "out")
    folder.write(Definition("a.toml", "A", "d", ("a.x",), 3, (4, 5), keys=("k2", "k1", "k3")))
    written = [
        folder.add(
            Run("k1", {"a.x": [1, 2]}, ("a.x=[1, 2]",), None, outcomes={"e": float("nan")}), {"image.png": b"p"}
        ),
        folder.add(Run("k2", {"a.x": 3}, ("a.x=3",), 5, "failed", "why"), {}),
    ]
    found = folder.results()
    assert [run.key for run in found] == ["k2", "k1"]
    assert found[0] == written[1]
    assert (folder.path / found[1].files["image"]).read_bytes() == b"p"
    assert np.isnan(found["e"]).all()
    assert found.failed == (written[1],)


def test_files_that_were_changed_or_removed_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(scene_files, "LARGEST", 10)
    names = _, changed, gone, large = [tmp_path / name for name in ("same", "changed", "gone", "large")]
    for file in names:
        file.write_text("before" * (1 + 9 * (file == large)))
    files = scene_files.SceneFiles(scene_files.fingerprints(names))
    assert files.changed() == []
    changed.write_text("behind")
    os.utime(changed, (1, 1))
    gone.unlink()
    large.write_text("before" * 11)
    assert files.changed() == [changed, gone, large]
    changed.write_text("before")
    assert files.changed() == [gone, large]


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no results of a sweep"):
        SweepFolder(tmp_path).results()
    (tmp_path / "sweep.json").write_text('{"version": 9}')
    with pytest.raises(InputError, match="has version 9"):
        SweepFolder(tmp_path).results()
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(InputError, match="is damaged"):
        SweepFolder(tmp_path).results()


def test_parquet_and_csv_have_the_same_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = Results(tmp_path, ("x",), runs(x=[1.0, 2.0]))
    found.write(tmp_path / "runs.parquet")
    found.write(tmp_path / "runs.csv")
    table = parquet.read_table(tmp_path / "runs.parquet")
    header, *lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert header.split(",") == table.column_names
    assert table["energy"].to_pylist() == [1.0, 2.0]
    assert len(lines) == 2
    with pytest.raises(InputError, match="csv or parquet"):
        found.write(tmp_path / "runs.xlsx")


def test_the_best_run_is_among_those_that_were_measured(tmp_path):
    measured = runs(x=[1.0, 5.0, 3.0])
    found = Results(tmp_path, ("x",), [*measured, Run("f", {"x": 9.0}, (), 0, "failed")])
    assert (found.best("energy"), found.best("energy", minimize=True)) == (measured[1], measured[0])
    with pytest.raises(InputError, match="there are energy"):
        found.best("enrgy")


def test_a_grid_is_arranged_by_its_parameters():
    found = arranged(runs(a=[1, 2, 3], b=[0.5, 0.25], c=[7, 8]), ("a", "b", "c"))
    assert found.shape == (2, 6)
    assert found.axes == ("a / c", "b")
    assert found.rows == ("0.25", "0.5")
    assert found.columns[:4] == ("1 / 7", "2 / 7", "3 / 7", "1 / 8")
    assert found.cells[0, 1] == 6  # a=2, b=0.25, c=7
    assert sorted(found.cells.values()) == list(range(12))


def test_a_sample_is_sorted_along_its_parameters():
    x, y = np.random.default_rng(0).random((2, 16))
    sample = [Run(f"{i}", {"x": a, "y": b}, (), 0) for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True))]
    found = arranged(sample, ("x", "y"))
    assert found.shape == (4, 4)
    columns = [[sample[found.cells[row, column]] for row in range(4)] for column in range(4)]
    assert all(run.values["y"] <= below.values["y"] for runs in columns for run, below in itertools.pairwise(runs))
    assert max(run.values["x"] for run in columns[0]) < min(run.values["x"] for run in columns[1])


def test_a_failed_run_has_its_error_on_the_contact_sheet(tmp_path):
    from PIL import Image

    Image.new("RGB", (64, 36), (0, 200, 0)).save(tmp_path / "a.png")
    done, failed = Run("a", {"x": 1}, (), 0, files={"image": "a.png"}), Run("b", {"x": 2}, (), 0, "failed", "NaN")
    sheet = contact_sheet(Results(tmp_path, ("x",), [done, failed]))
    pixels = np.asarray(sheet)
    assert (pixels == (0, 200, 0)).all(-1).sum() == 64 * 36
    assert (pixels == (74, 34, 38)).all(-1).sum() > 64 * 36 / 2


def test_plots_are_drawn_for_grids_and_samples(tmp_path):
    pytest.importorskip("matplotlib")
    grid = Results(tmp_path / "grid", ("a", "b"), runs(a=[1, 2, 3], b=[0.5, 0.25]))
    line = Results(tmp_path / "line", ("a",), runs(a=[1, 2, 3]))
    assert [path.name for path in write_plots(grid) + write_plots(line)] == ["energy.png", "energy.png"]
