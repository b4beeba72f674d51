"""A run as a USD file with time samples, opened by usd-core."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.export import UsdFile, geometry
from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.renderer.camera import OrbitCamera
from vertigrad.scene.packaged import scene_path
from vertigrad.session import Session

SIZE = (32, 24)
CLOTH = ["cloth.resolution=8"]
POINTS = np.random.default_rng(4).uniform(-1, 1, (20, 3)).astype(np.float32)


def samples(prim: Any, name: str, frame: float) -> np.ndarray:
    return np.array(prim.GetAttribute(name).Get(frame))


@pytest.mark.turns(2)
@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
def test_a_run_has_the_points_of_every_frame(steady: Gpu, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"new/run{suffix}"
    with Session(steady, scene_path("cloth"), CLOTH) as session:
        render(session, 4, SIZE, [path])
    stage = Usd.Stage.Open(str(path))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0.0, 3.0, 60.0)
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert [child.GetName() for child in stage.GetDefaultPrim().GetChildren()] == ["cloth", "ball", "_camera"]
    prim = stage.GetPrimAtPath("/World/cloth")
    with vg.Scene.load("cloth", sets=CLOTH) as scene:
        for frame in range(4):
            scene.step()
            expected = geometry(scene.session.stage.layers["cloth"])
            assert np.array_equal(samples(prim, "points", frame), expected.positions)
            assert np.array_equal(samples(prim, "normals", frame), expected.normals)
            assert np.allclose(samples(prim, "primvars:displayColor", frame), expected.linear_colors()[:, :3])
    assert np.array_equal(samples(prim, "faceVertexIndices", 0).reshape(-1, 3), expected.index)
    assert not prim.GetAttribute("faceVertexIndices").GetNumTimeSamples(), "the mesh keeps its topology"
    assert set(samples(prim, "faceVertexCounts", 0)) == {3}
    assert list(tmp_path.glob("new/.*")) == []


def test_every_kind_of_geometry(steady: Gpu, tmp_path: Path) -> None:
    grid = np.random.default_rng(1).random((5, 5, 5)).astype(np.float32)
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        cloud = viewer.points("my-cloud", position=POINTS, color=(1.0, 0.5, 0.0, 0.5), size=0.25)
        viewer.lines("paths", position=POINTS.reshape(2, 10, 3), color=POINTS[:, 0])
        viewer.isosurface("surface", values=grid, level=0.5)
        layers = viewer.session.stage.layers
        file, found = UsdFile(tmp_path / "a.usda", "z", 60), []
        for frame in (0, 5):
            cloud.position = POINTS + np.float32(frame)
            layers["surface"].style.level = 0.5 + 0.02 * frame
            found.append([geometry(layer) for layer in layers.values()])
            file.add(frame, found[-1], viewer.session.camera)
        file.close()
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    points, lines, surface, _ = stage.GetDefaultPrim().GetChildren()
    assert [prim.GetName() for prim in (points, lines, surface)] == ["my_cloud", "paths", "surface"]
    assert [prim.GetTypeName() for prim in (points, lines, surface)] == ["Points", "BasisCurves", "Mesh"]
    assert points.GetDisplayName() == "my-cloud"
    for frame, (cloud_then, _, iso) in zip((0, 5), found, strict=True):
        assert np.array_equal(samples(points, "points", frame), cloud_then.positions)
        assert np.array_equal(samples(surface, "points", frame), iso.positions)
        assert np.array_equal(samples(surface, "faceVertexIndices", frame).reshape(-1, 3), iso.index)
    assert len(found[0][2].positions) != len(found[1][2].positions), "the topology changes"
    assert set(samples(points, "widths", 0)) == {0.5} and set(samples(points, "primvars:displayOpacity", 0)) == {0.5}
    segments = samples(lines, "points", 0).reshape(-1, 2, 3)
    assert (
        np.array_equal(segments[0], POINTS[:2]) and len(segments) == len(samples(lines, "curveVertexCounts", 0)) == 18
    )
    iso = found[0][2].positions
    assert np.allclose(samples(surface, "extent", 0), [iso.min(axis=0), iso.max(axis=0)])


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("up", ["y", "z"])
def test_the_camera_sees_what_the_scene_shows(tmp_path: Path, orthographic: bool, up: str) -> None:
    camera = OrbitCamera((1.0, 2.0, 3.0), 7.0, 0.5, 0.3, 35.0, up, orthographic)
    file = UsdFile(tmp_path / "a.usdc", up, 60)
    file.add(0, [], camera)
    file.close()
    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    frustum = UsdGeom.Camera(stage.GetPrimAtPath("/World/_camera")).GetCamera(0).frustum
    matrix = frustum.ComputeViewMatrix() * frustum.ComputeProjectionMatrix()
    for point in POINTS[:5]:
        clip = camera.projection(16 / 9) @ camera.view() @ np.append(point, 1.0)
        expected = matrix.Transform(Gf.Vec3d(*map(float, point)))
        assert np.allclose(clip[:2] / clip[3], expected[:2], atol=1e-5)


def test_the_camera_moves_in_it(steady: Gpu, tmp_path: Path) -> None:
    text = scene_path("nbody").read_text() + "".join(
        f"\n[camera.keyframes.{frame}]\nposition = [{x}, 0, 9]\ntarget = [{x}, 0, 0]\n" for frame, x in ((1, 0), (3, 5))
    )
    (tmp_path / "a.toml").write_text(text)
    with Session(steady, tmp_path / "a.toml", ["galaxy.count=64"]) as session:
        render(session, 3, SIZE, [tmp_path / "a.usdc"])
    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    prim = UsdGeom.Camera(stage.GetPrimAtPath("/World/_camera"))
    places = [prim.ComputeLocalToWorldTransform(frame).ExtractTranslation() for frame in range(3)]
    assert np.allclose(places, [(0, 0, 9), (2.5, 0, 9), (5, 0, 9)], atol=1e-5)


def test_what_cannot_be_written(steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        viewer.points("cloud", position=POINTS)
        with pytest.raises(InputError, match=r"a USD file holds a run; in a script .*SCENE --frames N -o a\.usd`"):
            viewer.export(tmp_path / "a.usd")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"b\.usda: cannot be written"):
        UsdFile(tmp_path / "file" / "b.usda", "y", 60)
    monkeypatch.setitem(sys.modules, "pxr", None)
    monkeypatch.setitem(sys.modules, "pxr.Usd", None)
    with pytest.raises(InputError, match=r"not installed; install it with pip install 'vertigrad\[usd\]'"):
        UsdFile(tmp_path / "b.usdc", "y", 60)


def test_splats_are_points_with_their_shape_as_primvars(steady: Gpu, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        viewer.splats(
            "scan",
            position=POINTS,
            scale=random.uniform(0.01, 0.1, (20, 3)).astype(np.float32),
            rotation=random.normal(size=(20, 4)).astype(np.float32),
            opacity=random.uniform(0.2, 1.0, 20).astype(np.float32),
            color=random.random((20, 3)).astype(np.float32),
        )
        render(viewer.session, 2, SIZE, [tmp_path / "a.usdc"])
        expected = geometry(viewer.session.stage.layers["scan"])
    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    prim = stage.GetPrimAtPath("/World/scan")
    assert prim.GetTypeName() == "Points" and np.array_equal(samples(prim, "points", 1), expected.positions)
    assert np.allclose(samples(prim, "widths", 0), 2 * expected.extras["scale"].max(axis=1))
    assert np.allclose(samples(prim, "primvars:displayOpacity", 0), expected.extras["opacity"])
    assert np.allclose(samples(prim, "primvars:displayColor", 0), expected.linear_colors()[:, :3])
    for name in ("scale", "rotation"):
        assert np.array_equal(samples(prim, f"primvars:{name}", 1), expected.extras[name])
