"""Levels of detail of point files that are larger than what may be in GPU memory."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import point_levels, point_pages
from vertigrad.models.data.point_cloud import Params, PointCloud
from vertigrad.models.data.point_file import read
from vertigrad.progress import Cancelled, Progress
from vertigrad.renderer.camera import OrbitCamera
from vertigrad.session.cameras import viewpoint

COUNT, RESIDENT = 30_000, 1 << 12
CHANCE = np.random.default_rng(8)
UTM = np.array([448_262.0, 5_411_932.0, 310.0])
NORMAL = CHANCE.normal(size=(COUNT, 3))


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two clusters, far from the origin, whose rows are in order of x, with a row that is NaN."""
    xyz = CHANCE.normal(size=(COUNT, 3)) * (1.0, 0.4, 1.0) + np.where(np.arange(COUNT) % 5, -3.0, 3.0)[:, None] * (
        1,
        0,
        0,
    )
    xyz = xyz[np.argsort(xyz[:, 0])] + UTM
    xyz[77] = np.nan
    path = tmp_path_factory.mktemp("scan") / "scan.npz"
    rgb = CHANCE.integers(0, 256, (COUNT, 3)).astype(np.uint8)
    np.savez(
        path,
        points=xyz,
        colors=rgb,
        normals=NORMAL,
        intensity=np.arange(COUNT, dtype=np.float64),
        label=np.arange(COUNT) % 5,
    )
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_levels, "LEAF", 1500)
    monkeypatch.setattr(point_levels, "PIECE", 7001)
    monkeypatch.setattr(point_pages, "PAGE", 64)


def reference_leaves(cells: np.ndarray, side: int, most: int) -> dict[tuple[int, ...], np.ndarray]:
    """The rows of each leaf, by recursion from the whole grid."""
    found = {}

    def split(rows: np.ndarray, corner: np.ndarray, size: int) -> None:
        if len(rows) <= most or size == 1:
            found[(size, *corner)] = rows
            return
        half = size // 2
        octant = (cells[rows] - corner) // half
        for one in np.unique(octant, axis=0):
            split(rows[(octant == one).all(axis=1)], corner + one * half, half)

    split(np.arange(len(cells)), np.zeros(3, int), side)
    return found


def test_the_leaves_are_those_of_an_octree(scan: Path, steady: Gpu) -> None:
    found = point_levels.levels(scan)
    xyz = np.delete(np.load(scan)["points"], 77, axis=0)
    rows = np.delete(np.arange(COUNT), 77)
    assert found.dropped == 1 and sorted(found.records["row"]) == rows.tolist()
    assert np.allclose(found.middle, 0.5 * (xyz.min(axis=0) + xyz.max(axis=0)), atol=1e-6, rtol=0)
    origin = xyz[0]
    relative = (xyz - origin).astype(np.float32)
    low = (xyz - origin).min(axis=0).astype(np.float32)
    cells = np.minimum(
        ((relative - low) * np.float32(point_levels.SIDE / found.edge)).astype(int), point_levels.SIDE - 1
    )
    expected = {frozenset(rows[part].tolist()) for part in reference_leaves(cells, point_levels.SIDE, 1500).values()}
    parts = [found.records[a:b] for a, b in zip(found.starts[:-1], found.starts[1:], strict=True)]
    ours = {frozenset(part["row"].tolist()) for part in parts}
    assert len(ours) > 20 and len(ours & expected) >= len(expected) - 2  # float32 rounds a point over an edge of cells
    for part, corner, other in zip(parts, found.low, found.high, strict=True):
        assert np.array_equal(part["position"].min(axis=0), corner) and np.array_equal(
            part["position"].max(axis=0), other
        )
        if len(part) > 200:  # rows are in order of x in the file: in a leaf they are not
            assert abs(np.corrcoef(np.arange(len(part)), part["row"])[0, 1]) < 0.25
    back = found.records["position"] + found.middle
    assert np.abs(back - np.load(scan)["points"][found.records["row"]]).max() < 1e-5


def model_of(scan: Path, **values: object) -> PointCloud:
    return PointCloud("cloud", Params(file=scan, size=0.0, resident=RESIDENT, **values), {}, 0)


def camera(position: tuple[float, float, float], target: tuple[float, float, float]) -> OrbitCamera:
    return OrbitCamera.from_position(position, target, fov=40.0)


@pytest.mark.turns(3)
@pytest.mark.parametrize("color", ["auto", "intensity", "label", "height", "normals"])
def test_what_is_resident_is_of_the_file(scan: Path, steady: Gpu, color: str) -> None:
    model = model_of(scan, color=color, up="z")
    model.look(viewpoint(camera((3.0, 1.0, 4.0), (3.0, 0.0, 0.0)), (640, 480)), wait=True)
    assert all(one.holds for one in model.compare_with_reference())
    position, shade = model.outputs()["position"].numpy(), model.outputs()["color"].numpy()
    assert len(position) == RESIDENT and position.shape == PointCloud.output_specs(model._params)["position"].shape
    whole = read(scan, 0.0, "z", color)
    there = np.isfinite(position).all(axis=1)
    assert there.sum() > 0.7 * RESIDENT
    index = {tuple(row): number for number, row in enumerate(np.round(whole.positions, 3).tolist())}
    rows = [index.get(tuple(row)) for row in np.round(position[there], 3).tolist()]
    known = np.array([row is not None for row in rows])
    assert known.mean() > 0.9  # the others round differently
    expected = whole.colors[[row for row in rows if row is not None]]
    assert np.isclose(shade[there][known], expected, atol=1e-3).mean() > 0.999
    found = model.diagnostics()
    assert found["dropped"].numpy() == 1 and np.isclose(found["highest"].numpy(), np.nanmax(position[:, 1]))
    for tensor in found.values():
        tensor.close()
    model.close()


def density(model: PointCloud, x: float) -> float:
    position = model.outputs()["position"].numpy()
    return float((np.abs(position[:, 0] - x) < 1.0).sum())


def test_there_is_more_where_the_camera_is(scan: Path, steady: Gpu) -> None:
    model = model_of(scan)
    near_left = viewpoint(camera((-3.0, 0.0, 1.5), (-3.0, 0.0, 0.0)), (900, 900))
    near_right = viewpoint(camera((3.0, 0.0, 1.5), (3.0, 0.0, 0.0)), (900, 900))
    model.look(near_left, wait=True)
    left = density(model, -3.0), density(model, 3.0)
    model.look(near_right, wait=True)
    right = density(model, -3.0), density(model, 3.0)
    assert left[0] > 1.5 * right[0] and right[1] > 1.5 * left[1]
    far = viewpoint(camera((0.0, 0.0, 3000.0), (0.0, 0.0, 0.0)), (900, 900))
    model.look(far, wait=True)
    assert model._pages is not None
    pages = np.bincount(model._pages._leaf_of[model._pages._needed])
    assert pages.max() == 1, "few pixels, few points"
    model.close()


def test_pages_arrive_without_waiting(scan: Path, steady: Gpu) -> None:
    model = model_of(scan)
    view = viewpoint(camera((-3.0, 0.0, 1.5), (-3.0, 0.0, 0.0)), (900, 900))
    end, frames = time.monotonic() + 20, 0
    while model.look(view, wait=False):
        frames += 1
        assert time.monotonic() < end
        time.sleep(0.002)
    waited = model_of(scan)
    waited.look(view, wait=True)
    assert frames >= 1 and all(one.holds for one in model.compare_with_reference())
    assert model._pages is not None and waited._pages is not None
    assert set(model._pages._page_in) >= set(np.flatnonzero(waited._pages._needed))
    model.close()
    waited.close()


def test_too_little_room_and_cancellation(scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.npz"
    other.write_bytes(scan.read_bytes())
    progress = Progress()
    progress.cancelled = True
    with progress.followed(), pytest.raises(Cancelled):
        point_levels.levels(other)
    monkeypatch.setattr(point_levels.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(InputError, match=r"30,000 points need 960,000 bytes for temporary files.*TMPDIR"):
        point_levels.levels(other)
