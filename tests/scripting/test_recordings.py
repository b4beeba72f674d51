"""Images, recordings and keyframes of a script's viewer and of scenes: contents of the files, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import OpenEXR
import pytest
import trimesh
from PIL import Image
from pxr import Usd, UsdGeom

import vertigrad as vg
from vertigrad.errors import InputError, ParameterError, VertigradError
from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.scene.packaged import scene_path
from vertigrad.session import Session
from vertigrad.session.watches import Watch
from vertigrad.viewer import image_clipboard

from .conftest import SIZE

POINTS = np.random.default_rng(4).uniform(-1, 1, (20, 3)).astype(np.float32)
SMALL = ["galaxy.count=64"]


def exr(path: Path) -> dict[str, np.ndarray]:
    with OpenEXR.File(str(path)) as file:
        return {name: channel.pixels for name, channel in file.channels().items()}


def usd_points(path: Path, layer: str, frame: float) -> np.ndarray:
    stage = Usd.Stage.Open(str(path))
    return np.array(stage.GetPrimAtPath(f"/World/{layer}").GetAttribute("points").Get(frame))


# geometry of a run ----------------------------------------------------------------------------------------------------


def test_a_run_of_a_loop_is_a_usd_file(viewer: vg.Viewer, tmp_path: Path) -> None:
    cloud = viewer.points("cloud", position=POINTS, size=0.1)
    viewer.points("other", position=POINTS[:4])
    viewer.camera(position=(0, 0, 7))
    path = tmp_path / "run.usdc"
    with viewer.record(path, fps=24, layers=["cloud"]) as recording:
        for _ in viewer.frames(3):
            cloud.position += 1.0
    assert (recording.frames, recording.size) == (3, None)
    viewer.update()
    stage = Usd.Stage.Open(str(path))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0.0, 2.0, 24.0)
    assert [prim.GetName() for prim in stage.GetDefaultPrim().GetChildren()] == ["cloud", "_camera"]
    for frame in range(3):
        assert np.allclose(usd_points(path, "cloud", frame), POINTS + frame + 1, atol=1e-6)
    camera = UsdGeom.Camera(stage.GetPrimAtPath("/World/_camera"))
    assert np.allclose(camera.ComputeLocalToWorldTransform(0).ExtractTranslation(), (0, 0, 7), atol=1e-5)


def test_a_scene_records_what_render_writes(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene_path("nbody"), SMALL) as session:
        render(session, 3, SIZE, [tmp_path / "a.usdc", tmp_path / "a_%d.png", tmp_path / "a_%d.exr"])
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        with (
            scene.record(tmp_path / "b.usdc"),
            scene.record(tmp_path / "b_%d.png", SIZE),
            scene.record(tmp_path / "b_%d.exr", SIZE),
            scene.record(tmp_path / "b_%d.ply", layers=("stars",)) as clouds,
        ):
            scene.step(2)
            scene.step()
        scene.step()
        assert clouds.frames == 3
    for frame in range(3):
        expected = usd_points(tmp_path / "a.usdc", "stars", frame)
        assert np.array_equal(usd_points(tmp_path / "b.usdc", "stars", frame), expected)
        cloud = trimesh.load(tmp_path / f"b_{frame}.ply", process=False)
        assert np.array_equal(cloud.vertices.astype(np.float32), expected)
        with Image.open(tmp_path / f"a_{frame}.png") as a, Image.open(tmp_path / f"b_{frame}.png") as b:
            assert np.array_equal(np.asarray(a), np.asarray(b))
        assert np.array_equal(exr(tmp_path / f"a_{frame}.exr")["RGB"], exr(tmp_path / f"b_{frame}.exr")["RGB"])
    assert not list(tmp_path.glob("*_3.*"))


def test_a_recording_that_fails_ends_without_a_file(viewer: vg.Viewer, tmp_path: Path) -> None:
    cloud = viewer.points("cloud", position=POINTS)
    viewer.points("rest", position=POINTS)
    recording = viewer.record(tmp_path / "run.usda")
    viewer.update()
    cloud.remove()
    with pytest.raises(InputError, match=r"run\.usda: the scene has no layer 'cloud' any more"):
        viewer.update()
    assert recording.closed and not list(tmp_path.iterdir())
    viewer.update()
    recording.close()


def test_closing_finishes_every_recording_also_if_one_fails(steady: Gpu, tmp_path: Path, monkeypatch) -> None:
    viewer = vg.Viewer("test", SIZE, offscreen=True)
    viewer.points("cloud", position=POINTS)
    first, second = viewer.record(tmp_path / "a.usda"), viewer.record(tmp_path / "b.usda")
    viewer.update()

    def fail() -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr(first, "_finish", fail)
    with pytest.raises(InputError, match="the disk is full"):
        viewer.close()
    assert second.closed and (tmp_path / "b.usda").exists() and viewer.closed


def test_two_recordings_do_not_share_a_file(viewer: vg.Viewer, tmp_path: Path) -> None:
    viewer.points("cloud", position=POINTS)
    with viewer.record(tmp_path / "a.gif"), pytest.raises(InputError, match="is being recorded already"):
        viewer.record(tmp_path / "a.gif")
    viewer.record(tmp_path / "a.gif").close()


@pytest.mark.parametrize(
    ("act", "match"),
    [
        (lambda v, p: v.record(p / "a.usdc", layers=["cluod"]), 'unknown layer "cluod"; did you mean "cloud"'),
        (lambda v, p: v.record(p / "a.usdc", (30, 20)), "size, codec, quality and transparent are of images"),
        (lambda v, p: v.record(p / "a.usdc", fps=float("nan")), "fps: expected a finite number, got nan"),
        (lambda v, p: v.record(p / "a.glb"), "needs a number such as %04d in the name for each frame; `export` writes"),
        (lambda v, p: v.record(p / "a.png", bits=32), "bits and depth are of .exr images"),
        (lambda v, p: v.record(p / "a.mp4", layers=["cloud"]), "an image shows all layers"),
        (lambda v, p: v.record(p / "a.mp4", fps=0), "fps: expected a number above 0, got 0"),
        (lambda v, p: v.record(p / "a.mp4", transparent=True), "a video has no alpha"),
        (lambda v, p: v.record(p / "a.webm", codec="h264"), "codec of .webm"),
        (lambda v, p: v.record(p / "a.tiff"), "not as .tiff"),
        (lambda v, p: v.screenshot(p / "a.mp4"), r"a screenshot is a \.png or an \.exr file"),
        (lambda v, p: v.screenshot(p / "a.png", depth=True), "bits and depth are of .exr images"),
        (lambda v, p: v.screenshot(p / "a.exr", bits=64), "64 bits; the floats of an EXR image have 16 or 32"),
        (lambda v, p: v.image((30.5, 20)), r"size: expected \(width, height\) in pixels, .*got \(30\.5, 20\)"),
        (lambda v, p: v.image("30x20"), "size: expected"),
        (lambda v, p: v.depth((0, 20)), "at least one pixel along each side"),
        (lambda v, p: v.keyframe(1.5), "frame: expected an integer, got 1.5"),
        (lambda v, p: v.keyframe(1, position=(1, 1, 1), target=(1, 1, 1)), "position and target are the same point"),
    ],
)
def test_what_cannot_be_written(viewer: vg.Viewer, tmp_path: Path, act, match: str) -> None:
    viewer.points("cloud", position=POINTS)
    with pytest.raises(InputError, match=match):
        act(viewer, tmp_path)
    viewer.update()
    assert not list(tmp_path.iterdir()) and not viewer.keyframes()


# images ---------------------------------------------------------------------------------------------------------------


def test_linear_light_depth_and_alpha_are_arrays_and_files(viewer: vg.Viewer, tmp_path: Path) -> None:
    sheet = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [0.0]), axis=-1)[:, :, 0]
    viewer.surface("sheet", position=sheet)
    viewer.camera(position=(0, 0, 4), target=(0, 0, 0))
    viewer.view(bloom=0)
    depth = viewer.depth()
    assert depth.shape == SIZE[::-1] and depth.dtype == np.float32
    covered = viewer.image(transparent=True)[..., 3] > 0
    assert np.array_equal(np.isfinite(depth), covered) and np.allclose(depth[covered], 4.0, atol=1e-3)
    light = viewer.image(linear=True)
    assert light.dtype == np.float16 and light.shape == (*depth.shape, 3)
    assert viewer.image(transparent=True, linear=True).shape == (*depth.shape, 4)
    found = exr(viewer.screenshot(tmp_path / "a.exr", bits=32, depth=True))
    assert np.array_equal(found["Z"], depth) and found["RGB"].dtype == np.float32
    assert np.allclose(found["RGB"], light, rtol=2e-3, atol=1e-3)
    with Image.open(viewer.screenshot(tmp_path / "a.png", transparent=True)) as image:
        assert np.array_equal(np.asarray(image), viewer.image(transparent=True))


def test_a_scene_has_the_same_images(steady: Gpu, tmp_path: Path) -> None:
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        scene.camera(position=(0, 3, 9))
        with Image.open(scene.screenshot(tmp_path / "a.png", SIZE)) as image:
            assert np.array_equal(np.asarray(image), scene.render(SIZE))
        assert np.array_equal(exr(scene.screenshot(tmp_path / "a.exr", SIZE, depth=True))["Z"], scene.depth(SIZE))


# keyframes of a scene -------------------------------------------------------------------------------------------------


def test_keyframes_of_a_scene_move_its_camera_and_are_saved(steady: Gpu, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        scene.keyframe(0, position=(0, 0, 9), target=(0, 0, 0))
        scene.keyframe(3, position=(9, 0, 0), target=(0, 0, 0), fov=30)
        scene.keyframe(5, position=(0, 9, 1))
        assert list(scene.keyframes()) == [0, 3, 5] and scene.keyframes()[3]["fov"] == 30.0
        scene.remove_keyframe(5)
        with pytest.raises(ParameterError, match="no camera keyframe at frame 5"):
            scene.remove_keyframe(5)
        assert scene.save(path) == path
        images = []
        for _ in range(3):
            scene.step()
            images.append(scene.render(SIZE))
        assert scene.camera()["position"] == [9.0, 0.0, 0.0] and scene.camera()["fov"] == 30.0
    with vg.Scene.load(path) as scene:
        assert {frame: view["position"] for frame, view in scene.keyframes().items()} == {0: [0, 0, 9], 3: [9, 0, 0]}
    with Session(steady, path, SMALL) as session:
        render(session, 3, SIZE, [tmp_path / "a_%d.png"])
    for number, expected in enumerate(images):
        with Image.open(tmp_path / f"a_{number}.png") as image:
            assert np.array_equal(np.asarray(image), expected)


def test_saving_a_scene(steady: Gpu, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        with pytest.raises(VertigradError, match="comes with Vertigrad"):
            scene.save()
        scene.save(path)
        scene.set({"galaxy.softening": 0.25})
        assert scene.save() == path, "it goes on with the copy"
        (tmp_path / "other.toml").write_text("")
        with pytest.raises(InputError, match=r"other\.toml"):
            scene.save(tmp_path / "other.toml")
    with vg.Scene.load(path) as scene:
        assert scene.parameters["models.galaxy.softening"] == 0.25


def test_a_closed_scene(steady: Gpu, tmp_path: Path) -> None:
    scene = vg.Scene.load("nbody", sets=SMALL)
    recording = scene.record(tmp_path / "a.usdc")
    scene.step()
    scene.close()
    scene.close()
    assert recording.closed and (tmp_path / "a.usdc").exists()
    for act in (
        scene.step,
        scene.render,
        scene.reset,
        scene.keyframes,
        scene.save,
        lambda: scene.set({"view.bloom": 0}),
    ):
        with pytest.raises(InputError, match="the scene is closed"):
            act()


# tables and the clipboard ---------------------------------------------------------------------------------------------


def test_diagnostics_and_watches_are_tables(steady: Gpu, tmp_path: Path) -> None:
    watches = [Watch("galaxy.velocity", "max")]
    with Session(steady, scene_path("nbody"), SMALL) as session:
        render(session, 2, SIZE, [], diagnostics=tmp_path / "a.csv", watches=watches)
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        with (
            scene.record(tmp_path / "b.csv", watch=["galaxy.velocity:max"]),
            scene.record(tmp_path / "b.npz", watch=["galaxy.velocity:max"]),
        ):
            scene.step(2)
        with pytest.raises(VertigradError, match="volocity"):
            scene.record(tmp_path / "c.csv", watch=["galaxy.volocity"])
        with pytest.raises(InputError, match=r"`watch` is of tables, \.csv and \.npz"):
            scene.record(tmp_path / "c.mp4", watch=["galaxy.velocity"])
        with pytest.raises(InputError, match="cannot be written"):
            scene.record(tmp_path / "b.csv" / "c.npz")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
    with np.load(tmp_path / "b.npz") as file:
        assert list(file["frame"]) == [1, 2] and len(file[watches[0].label]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv", "b.npz"]


def test_the_image_is_copied(viewer: vg.Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    monkeypatch.setattr(image_clipboard, "copy_image", copied.append)
    monkeypatch.setattr(image_clipboard, "require_clipboard", lambda: None)
    viewer.points("cloud", position=POINTS, size=0.2)
    for transparent in (False, True):
        viewer.copy_image(transparent=transparent)
        with Image.open(io.BytesIO(copied[-1])) as image:
            assert np.array_equal(np.asarray(image), viewer.image(transparent=transparent))
