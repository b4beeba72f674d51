"""Scenes that are read by a thread while another one runs: progress, cancellation, errors, and parts of uploads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import onnx
import pytest

from vertigrad import slices
from vertigrad.gpu import Gpu, Plan
from vertigrad.models.data import point_levels, uploads
from vertigrad.models.data.point_formats import table
from vertigrad.progress import Cancelled, Progress, is_followed, pause_until, portion, report
from vertigrad.scene import load
from vertigrad.session import Session, loading
from vertigrad.session.commands import CancelLoading, Home, Open, Reload, SetParameter
from vertigrad.session.hot_reload import ReloadFile
from vertigrad.session.opening import opening

from ..fuzz.splats import splat_files
from ..onnx_import.networks import layered
from .data_files import zarr_volume

COUNT = 5000
Opened = Callable[..., Session]


@pytest.fixture
def ahead(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session that reads ahead even small files, and uploads 1,000 bytes in a frame."""
    monkeypatch.setattr(loading, "LARGE", 0)
    monkeypatch.setattr(loading, "BUDGET", 1000)
    session = opened()
    session.reads_ahead = True
    return session


def cloud(folder: Path) -> Path:
    path = folder / "cloud.npy"
    np.save(path, np.random.default_rng(3).uniform(-1, 1, (COUNT, 3)).astype(np.float32))
    return path


def until(session: Session, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end, session.loading and (session.loading.progress.what, session.loading.fraction)
        session.apply()
        session.advance()
        session.gpu.poll()  # as each frame of a window does
        time.sleep(0.002)


def test_the_old_scene_runs_until_the_new_one_is_uploaded_in_parts(ahead: Session, tmp_path: Path, steady: Gpu) -> None:
    path, before = cloud(tmp_path), ahead.scene
    ahead.post(Open(path))
    ahead.apply()
    assert ahead.loading is not None and ahead.scene is before and not ahead.idle
    fractions: list[float] = []
    while ahead.loading is not None:
        fractions.append(ahead.loading.fraction)
        uploading = ahead.loading._upload is not None
        ahead.apply()
        ahead.advance()
        assert (ahead.scene is before) == (ahead.loading is not None)
        time.sleep(0.0 if uploading else 0.002)
    assert not ahead.messages and ahead.scene.path == path
    assert fractions == sorted(fractions) and len([one for one in fractions if one > 0.8]) >= 60  # 80 kB by 1,000 bytes
    instance = ahead.stage.instances["data"]
    assert all(one.holds for one in instance.model.compare_with_reference())
    assert instance.outputs["position"].name == "data.position" and not uploads._uploaded


def test_a_canceled_scene_is_not_opened_and_leaves_nothing(
    ahead: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ahead.scene
    for moment in ("reading", "uploading"):
        hold = threading.Event()
        monkeypatch.setattr(table.PointTable, "require_count", lambda self, hold=hold: hold.wait(20))
        (tmp_path / moment).mkdir()
        ahead.post(Open(cloud(tmp_path / moment)))
        ahead.apply()
        one = ahead.loading
        assert one is not None
        if moment == "uploading":
            hold.set()
            until(ahead, lambda one=one: one._upload is not None and one._upload.done > 5000)
        ahead.post(CancelLoading())
        ahead.apply()
        hold.set()
        assert ahead.loading is None and ahead.scene is before and not ahead.messages
        one._thread.join(20)
        assert not one._thread.is_alive() and not uploads._uploaded
        assert moment == "uploading" or one._scene is None, "it stops at the next piece"


@pytest.mark.turns(3)
def test_levels_of_detail_are_built_for_the_thread_and_follow_the_camera(
    ahead: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_levels, "SIDE", 16)
    cloud(tmp_path)
    scene = tmp_path / "cloud.toml"
    model = '[models.data]\ntype = "point_cloud"\nfile = "cloud.npy"\nresident = 4096\n'
    layer = '[layers.dots]\ntype = "marks"\nposition = "data.position"\ncolor = "data.color"\n'
    scene.write_text(f"version = 1\n{model}{layer}")
    ahead.post(Open(scene))
    until(ahead, lambda: ahead.scene.path == scene)
    data = ahead.stage.instances["data"].model
    assert data.follows_camera and data.outputs()["position"].shape == (4096, 3) and not ahead.messages
    ahead.gpu.submit()
    ahead.look((400, 300))
    end = time.monotonic() + 90
    while ahead.stage.fetching:
        assert time.monotonic() < end and not ahead.idle
        ahead.look((400, 300))
    assert all(one.holds for one in data.compare_with_reference())


def test_an_error_is_shown_and_the_old_scene_stays(ahead: Session, tmp_path: Path) -> None:
    before = ahead.scene
    (tmp_path / "a.npy").write_bytes(cloud(tmp_path).read_bytes()[:-40])
    ahead.post(Open(tmp_path / "a.npy"))
    until(ahead, lambda: ahead.loading is None and bool(ahead.messages))
    assert "not a readable NumPy file" in ahead.messages["scene"] and ahead.scene is before
    ahead.post(Open(cloud(tmp_path)))
    until(ahead, lambda: ahead.scene is not before)
    assert not ahead.messages


def test_a_window_opens_before_its_scene_was_read(steady: Gpu, tmp_path: Path) -> None:
    path = cloud(tmp_path)
    with opening(steady, path, ["layers.points.roughness=0.125"], 7) as session:
        assert session.scene.title == "cloud.npy" and not session.scene.layers and session.loading is not None
        until(session, lambda: session.scene.path == path)
        assert session.stage.layers["points"].style.roughness == 0.125 and session.source.seed == 7
        assert all(one.holds for one in session.stage.instances["data"].model.compare_with_reference())
        assert not session.unsaved and not session.messages
    path.write_bytes(path.read_bytes()[:-40])
    with opening(steady, path) as session:
        until(session, lambda: bool(session.messages))
        assert "not a readable NumPy file" in session.messages["scene"] and not session.scene.layers


def test_splats_are_read_ahead_as_well(ahead: Session, tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    path.write_bytes(splat_files()["a.ply"])
    ahead.post(Open(path))
    until(ahead, lambda: ahead.scene.path == path)
    assert all(one.holds for one in ahead.stage.instances["data"].model.compare_with_reference())


def test_only_large_files_without_python_are_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cloud(tmp_path)
    scene = tmp_path / "scene.toml"
    models = '[models.data]\ntype = "point_cloud"\nfile = "cloud.npy"\n'
    for text, expected in ((models, True), (models + '[models.own]\ntype = "own.py:Own"\n', False), ("][", False)):
        (tmp_path / "own.py").touch()
        scene.write_text(f"version = 1\n{text}")
        monkeypatch.setattr(loading, "LARGE", COUNT * 12)
        assert loading.takes_long(scene) == expected
    assert loading.takes_long(path)
    monkeypatch.setattr(loading, "LARGE", COUNT * 13)
    assert not loading.takes_long(path) and not loading.takes_long(tmp_path / "missing.npy")


def test_reports_reach_who_follows_and_end_the_work_when_canceled(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(table, "PIECE", 1000)
    report("reading", 1, 2)  # nobody follows
    progress = Progress()
    with progress.followed():
        load(cloud(tmp_path))
        assert progress.what == "reading cloud.npy" and progress.fraction == 1.0
        progress.cancelled = True
        with pytest.raises(Cancelled):
            report("reading", 1, 2)
    report("reading", 1, 2)


def test_of_a_folder_of_zarr_all_chunks_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr_volume(tmp_path / "stack.zarr")
    sizes = [file.stat().st_size for file in (tmp_path / "stack.zarr").rglob("*") if file.is_file()]
    monkeypatch.setattr(loading, "LARGE", sum(sizes))
    assert len(sizes) > 10 and loading.takes_long(tmp_path / "stack.zarr" / "zarr.json")
    monkeypatch.setattr(loading, "LARGE", sum(sizes) + 1)
    assert not loading.takes_long(tmp_path / "stack.zarr" / "zarr.json")


@pytest.fixture
def network(ahead: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network of 120 nodes, one recorded in each frame."""
    monkeypatch.setattr(slices, "LEAST", 0.0)
    monkeypatch.setattr(slices, "MOST", 0.0)
    onnx.save(layered(60), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def frames(session: Session) -> list[tuple[float, str, int]]:
    """Run until nothing is in progress: fraction, activity and step of each frame."""
    found = []
    while (work := session.loading or session.commands.current) is not None:
        session.apply()
        session.advance()
        found.append((work.fraction, work.what, session.frame))
        time.sleep(0.001)
    return found


def test_a_network_is_recorded_while_the_old_scene_runs(ahead: Session, network: Path) -> None:
    before, ahead.playing = ahead.scene, True
    ahead.post(Open(network))
    ahead.apply()
    found = frames(ahead)
    assert ahead.scene.path == network and before is not ahead.scene and not ahead.messages
    fractions, activities, steps = zip(*found[:-1], strict=True)
    assert list(fractions) == sorted(fractions) and len({one for one in activities if "of 120 nodes" in one}) == 120
    assert activities[-1] == "building bars" and steps[-1] >= len(steps) - 1
    assert all(one.holds for one in ahead.stage.instances["net"].model.compare_with_reference())


@pytest.mark.parametrize("moment", ["building net", "building bars"])
def test_a_network_that_is_canceled_leaves_nothing(
    ahead: Session, network: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, blocks = ahead.running, len(ahead.gpu.tracker.live)
    for command in (Open(network), None):
        if command is None:  # the same by the command alone, for files that are read at once
            monkeypatch.setattr(loading, "takes_long", lambda path: False)
        ahead.post(command or Open(network))
        until(ahead, lambda: moment in (((work := ahead.loading or ahead.commands.current) and work.what) or ""))
        ahead.post(CancelLoading())
        ahead.apply()
        ahead.advance()
        assert ahead.loading is None and ahead.commands.current is None and not ahead.messages
        ahead.gpu.sync()
        assert ahead.running is before and len(ahead.gpu.tracker.live) == blocks


@pytest.mark.turns(2)
@pytest.mark.parametrize("file", [True, False])
def test_while_a_network_is_reloaded_models_pause_and_other_commands_wait(
    ahead: Session, network: Path, file: bool
) -> None:
    ahead.post(Open(network))
    ahead.apply()
    frames(ahead)
    ahead.playing = True
    onnx.save(layered(61), network)
    ahead.post(ReloadFile(network) if file else Reload(restart=True))
    instance, frame = ahead.stage.instances["net"], ahead.frame
    ahead.post(SetParameter("view", "exposure", 2.0))
    ahead.apply()
    exposure = ahead.view.exposure
    ahead.post(Home())
    for _ in range(3):
        assert ahead.commands.current is not None and ahead.commands.current.path == network and not ahead.idle
        ahead.apply()
        ahead.advance()
    assert ahead.view.exposure == exposure != 2.0 and ahead.cameras.moving and ahead.frame == frame
    assert ahead.stage.instances["net"] is instance
    found = frames(ahead)
    assert len(found) > 100 and not ahead.messages and ahead.view.exposure == 2.0
    assert ahead.stage.instances["net"] is not instance
    assert all(one.holds for one in ahead.stage.instances["net"].model.compare_with_reference())


def test_what_is_wrong_with_a_network_is_shown_after_some_frames(ahead: Session, network: Path) -> None:
    broken = layered(60)
    broken.graph.node.append(onnx.helper.make_node("MatMul", ["s59", "s59"], ["y"]))
    broken.graph.output[0].name = "y"
    onnx.save(broken, network)
    before = ahead.running
    ahead.post(Open(network))
    until(ahead, lambda: bool(ahead.messages))
    assert "MatMul" in ahead.messages["scene"] and ahead.running is before and ahead.loading is None


def test_work_in_slices_waits_for_others_and_has_a_context_of_its_own(steady: Gpu) -> None:
    other: Future[int] = Future()

    def work() -> int:
        with Plan("sliced").recording(), portion(0.5, 1.0), portion(0.0, 0.5):
            report("waiting", 1, 2)
            pause_until(other.done)
        if other.result() < 0:
            raise ValueError("below 0")
        return other.result()

    for result in (7, -7):
        sliced, other = slices.Sliced(work), Future()
        assert not sliced.proceed() and not sliced.proceed() and sliced.progress.fraction == 0.625
        assert steady.recording is None and not is_followed()
        pause_until(other.done)  # nothing to wait for where nobody slices
        other.set_result(result)
        if result < 0:
            with pytest.raises(ValueError, match="below 0"):
                sliced.proceed()
        else:
            assert sliced.proceed() and sliced.result == 7
        sliced.close()
