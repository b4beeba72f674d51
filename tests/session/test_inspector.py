"""`Inspector` and the catalog: any tensor of any model, its statistics, rows, a column, a frozen copy."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.session import STEP, Session, inspector
from vertigrad.session.catalog import catalog, find
from vertigrad.session.commands import Freeze, InspectTensor, Play, Reload, SaveTensor, SetParameter, Step, Thaw
from vertigrad.session.inspector import EVERY, TensorRange, columns, page_rows, rows

from .running import LINKED, values

MANY = """
version = 1

[models.row]
type = "rising"
count = 5000

[layers.dots]
type = "points"
position = "row.position"
"""
POSITION = TensorRange("row.position", 0, 20)


def frame(session: Session) -> None:
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
        session.request_readbacks()


def arrive(session: Session) -> None:
    """Run frames until the requested data has arrived."""
    for _ in range(EVERY + 5):
        frame(session)
        session.gpu.sync()
        while session.gpu.readback.in_flight:
            session.gpu.poll()
    session.apply()


def test_the_catalog_has_outputs_state_and_internal_tensors(steady: Gpu):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
        found = catalog(session.stage)
        roles = {name: entry.role for name, entry in found.items()}
        assert roles["galaxy.star_speed"] == "output"
        assert roles["galaxy.accelerations"] in ("state", "inside")
        assert roles["galaxy.first_bodies"] == "inside"
        assert list(roles.values()) == sorted(roles.values(), key=["output", "state", "inside"].index)
    with Session(steady, resources.path("scenes", "neural_field.toml"), ["terrain.resolution=8"]) as session:
        weights = find(session.stage, "terrain.weights")
        assert weights is not None and weights.size > 100
        names = [name for name in catalog(session.stage) if "position" in name]
        assert names == ["terrain.position"], "a tensor is listed once"


def test_a_tensor_is_listed_only_with_its_own_model(opened):
    found = catalog(opened(LINKED).stage)
    assert set(found) == {"row.position", "row.phase", "echo.position", "late.position"}
    assert find(opened(LINKED).stage, "nobody.position") is None


def test_statistics_histogram_and_rows_are_those_of_the_tensor(opened):
    session = opened(MANY)
    session.post(InspectTensor(POSITION))
    session.post(Play(False))
    arrive(session)
    array, result = values(session, "row.position"), session.inspector.result
    assert result is not None and result.shape == (5000, 3) and result.difference is None
    assert (result.summary.min, result.summary.max) == (array.min(), array.max())
    assert result.counts.sum() == array.size
    assert list(session.inspector.pages) == [0]
    assert np.array_equal(session.inspector.pages[0], array[: page_rows(array.shape, 4)])


def test_only_visible_rows_are_read(opened, steady: Gpu):
    session = opened(MANY)
    session.post(Play(False))
    session.post(InspectTensor(TensorRange("row.position", 3000, 3200)))
    before = steady.meter.read()
    arrive(session)
    height = page_rows((5000, 3), 4)
    array, pages = values(session, "row.position"), session.inspector.pages
    assert set(pages) == set(range(3000 // height, 3200 // height + 1))
    for number, page in pages.items():
        assert np.array_equal(page, array[number * height : (number + 1) * height])
    read = steady.meter.read()
    moved = {kind: read[kind]["device_to_host"] - before[kind]["device_to_host"] for kind in read}
    assert moved["diagnostics"] <= len(pages) * height * 12 + 1000 < array.nbytes
    assert moved["geometry"] == array.nbytes, "what this test itself read"


def test_nothing_is_read_while_nothing_changes(opened, steady: Gpu):
    session = opened(MANY)
    session.post(Play(False))
    session.post(InspectTensor(POSITION))
    arrive(session)
    before = steady.meter.read()
    arrive(session)
    assert steady.meter.read() == before
    assert session.idle and not session.inspector.pending


def test_scrolling_reads_new_rows_and_nothing_twice(opened, steady: Gpu):
    session = opened(MANY)
    session.post(Play(False))
    session.post(InspectTensor(POSITION))
    arrive(session)
    before = steady.meter.read()["diagnostics"]["device_to_host"]
    height = page_rows((5000, 3), 4)
    session.post(InspectTensor(TensorRange("row.position", 10, height + 5)))
    arrive(session)
    assert steady.meter.read()["diagnostics"]["device_to_host"] - before == height * 12
    assert set(session.inspector.pages) == {0, 1}


def test_a_tensor_that_changes_is_read_again(opened):
    session = opened(MANY)
    session.post(InspectTensor(TensorRange("row.phase", 0, 5)))
    arrive(session)
    first = session.inspector.pages[0][0, 0]
    arrive(session)
    assert first > 0 and session.inspector.pages[0][0, 0] >= first + EVERY * STEP * 0.9


def test_a_column_is_downsampled_on_the_gpu(opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspector, "POINTS", 100)
    session = opened(MANY)
    session.post(Play(False))
    session.post(InspectTensor(TensorRange("row.position", 0, 5, column=1)))
    arrive(session)
    result = session.inspector.result
    assert result is not None and result.step == 50 and result.column is not None
    assert np.array_equal(result.column, values(session, "row.position")[::50, 1])
    session.post(InspectTensor(TensorRange("row.position", 0, 5, column=0)))
    arrive(session)
    assert session.inspector.result is not None
    assert np.array_equal(session.inspector.result.column, values(session, "row.position")[::50, 0])
    session.post(InspectTensor(TensorRange("row.position", 0, 5)))
    arrive(session)
    assert session.inspector.result.column is None


def test_the_tensor_is_compared_with_a_frozen_copy(opened, steady: Gpu):
    session = opened(MANY)
    session.post(InspectTensor(TensorRange("row.phase", 0, 5)))
    arrive(session)
    session.post(Play(False))
    frame(session)
    before = values(session, "row.phase")
    copied = steady.meter.read()["geometry"]["device_to_device"]
    session.post(Freeze())
    frame(session)
    assert steady.meter.read()["geometry"]["device_to_device"] == copied, "no bytes move"
    session.post(Play(True))
    arrive(session)
    assert steady.meter.read()["geometry"]["device_to_device"] == copied + before.nbytes, "once, when it was written"
    session.post(Play(False))
    arrive(session)
    frozen, result = session.inspector.frozen, session.inspector.result
    assert frozen is not None and np.array_equal(frozen.numpy(), before)
    assert result is not None and result.difference is not None
    less = values(session, "row.phase").astype(np.float64) - before
    assert result.difference.mean == pytest.approx(less.mean(), rel=1e-4) and less.mean() > 0.1
    assert result.difference.std == pytest.approx(0.0, abs=1e-5)
    session.post(Thaw())
    arrive(session)
    assert session.inspector.frozen is None and session.inspector.result.difference is None


def test_a_frozen_copy_of_another_shape_is_not_compared(opened):
    session = opened(MANY)
    session.post(InspectTensor(TensorRange("row.phase", 0, 5)))
    arrive(session)
    session.post(Freeze())
    session.post(SetParameter("models.row", "count", 100))
    arrive(session)
    assert session.inspector.result is not None
    assert session.inspector.result.shape == (100,) and session.inspector.result.difference is None


def test_rows_that_no_longer_exist_are_not_requested(opened):
    session = opened(MANY)
    session.post(InspectTensor(TensorRange("row.position", 4000, 4100)))
    arrive(session)
    session.post(SetParameter("models.row", "count", 100))
    arrive(session)
    assert session.inspector.result is not None and session.inspector.result.shape == (100, 3)
    assert not session.inspector.pages


def test_nothing_is_inspected_in_another_scene(opened):
    session = opened(MANY)
    session.post(InspectTensor(POSITION))
    arrive(session)
    session.post(Freeze())
    frame(session)
    session.post(Reload())  # of the same file: it still exists
    arrive(session)
    assert session.inspector.target == POSITION and session.inspector.result is not None
    session.post(Reload(restart=True))
    frame(session)
    assert session.inspector.target is None and session.inspector.frozen is None and session.inspector.result is None


def test_a_missing_tensor_is_reported(opened):
    session = opened(MANY)
    session.post(InspectTensor(TensorRange("row.speed")))
    session.post(Freeze())
    frame(session)
    assert "choose one" in session.messages["tensors"]
    session.post(InspectTensor(TensorRange("row.positoin")))
    frame(session)
    assert "positoin" in session.messages["tensors"] and "row.position" in session.messages["tensors"]


def test_a_dropped_frame_is_read_again(opened):
    session = opened(MANY)
    session.post(Play(False))
    session.post(InspectTensor(POSITION))
    with pytest.raises(ZeroDivisionError), session.gpu.frames.frame():
        session.apply()
        session.request_readbacks()
        _ = 1 / 0
    arrive(session)
    assert session.inspector.result is not None and 0 in session.inspector.pages


@pytest.mark.turns(3)
@pytest.mark.parametrize("shape", [(), (7,), (0, 3), (4, 2, 3), (3, 40_000)])
@pytest.mark.parametrize("dtype", ["f4", "u4", "?", "u1"])
def test_any_shape_and_type(opened, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str):
    from vertigrad.tensor import Tensor

    session = opened(MANY)
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    with Tensor.from_numpy(array, "given") as source:
        session.stage.instances["row"].model.extra = source
        count = rows(shape)
        column = 1 if columns(shape) > 1 else 0
        session.post(InspectTensor(TensorRange("row.extra", 0, count - 1, column)))
        session.post(Freeze())
        arrive(session)
        result = session.inspector.result
        assert result is not None and result.summary.size == array.size
        flat = array.reshape(count, -1) if array.size else array
        height = page_rows(shape, array.dtype.itemsize)
        if array.size:
            assert np.array_equal(np.concatenate(list(session.inspector.pages.values())), flat)
            assert height * max(len(session.inspector.pages), 1) >= count
            assert np.array_equal(result.column, flat[:, column])
            assert result.difference is not None and result.difference.norm == 0.0
        session.inspector.clear()


def test_a_tensor_is_written_for_numpy(opened, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    session = opened(LINKED)
    frame(session)
    session.post(SaveTensor("late.position", tmp_path / "there.npy"))
    session.post(SaveTensor("row.phase"))
    session.post(SaveTensor("row.phase"))
    session.post(Play(False))
    frame(session)
    assert np.array_equal(np.load(tmp_path / "there.npy"), values(session, "late.position"))
    assert {path.name for path in tmp_path.glob("*.npy")} == {"there.npy", "row.phase.npy", "row.phase-2.npy"}
    assert session.written["save tensor"].name == "row.phase-2.npy"
    session.post(SaveTensor("row.phase", tmp_path / "nowhere" / "x.npy"))
    frame(session)
    assert "x.npy" in session.messages["save tensor"]


def test_closing_releases_all_memory(opened):
    session = opened(MANY)
    session.post(InspectTensor(POSITION))
    arrive(session)
    session.post(Freeze())
    frame(session)
    session.close()
    assert not session.allocations.left_behind()


def test_rewinding_shows_the_earlier_values(opened):
    session = opened(MANY)
    session.clock.set_rewind_memory(1 << 24)
    for _ in range(6):
        frame(session)
    session.post(InspectTensor(TensorRange("row.phase", 0, 5)))
    session.post(Play(False))
    arrive(session)
    assert session.inspector.pages[0][0, 0] == pytest.approx(6 * STEP)
    session.post(Step(-2))
    arrive(session)
    assert session.frame == 4
    assert session.inspector.pages[0][0, 0] == pytest.approx(4 * STEP)
    assert session.inspector.result is not None and session.inspector.result.summary.max == pytest.approx(4 * STEP)
