"""Scenes that are read by a thread while another one runs: progress, cancellation, errors, and parts of uploads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.models.data import point_levels, uploads
from vertigrad.models.data.point_formats import table
from vertigrad.progress import Cancelled, Progress, report
from vertigrad.scene import load
from vertigrad.session import Session, loading
from vertigrad.session.commands import CancelLoading, Open
from vertigrad.session.opening import opening

from ..fuzz.splats import splat_files
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
