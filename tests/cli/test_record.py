"""`vertigrad record`."""

from contextlib import closing

import pytest

from vertigrad.models.data.recording_file import open_recording

pytest.importorskip("zarr")


def test_outputs_are_recorded_and_played(vertigrad, row, tmp_path):
    path = tmp_path / "run.vgz"
    options = ("--frames", "6", "--every", "2", "--tensor", "row.position", "--tensor", "row.phase", "--seed", "3")
    done = vertigrad("record", row, *options, "--set", "row.height=0.5", "--stop-on-nan", "-o", path)
    assert (done.code, done.out.startswith(f"{path}: 3 frames, ")) == (0, True), done.err
    with closing(open_recording(path)) as found:
        assert list(found.tensors) == ["row.phase", "row.position"]
        assert found.frame("row.position", 2)[0, 1] == pytest.approx(0.5 + 6 / 60)
        assert (found.recorded.sets, found.recorded.seed) == (("row.height=0.5",), 3)
    played = vertigrad("render", path, "--frames", "4", "--size", "32x24", "-o", tmp_path / "image.png")
    assert played.code == 0, played.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "run.mp4"), "recordings are .vgz or .zarr"),
        (("-o", "run.vgz", "--tensor", "row.positoin"), 'did you mean "row.position"'),
        (("-o", "run.vgz", "--frames", "2", "--every", "3"), "is more than the 2 frames"),
    ],
)
def test_wrong_options_are_reported(vertigrad, row, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    done = vertigrad("record", row, *options)
    assert (done.code, message in " ".join(done.err.split())) == (2, True), done.err
    assert not list(tmp_path.glob("run*"))
