"""Data files that open as scenes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad import resources
from vertigrad.errors import FileProtected, InputError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.models.data import splat_file
from vertigrad.models.data.footage import STILLS
from vertigrad.models.data.video import VIDEO_SUFFIXES
from vertigrad.scene import load
from vertigrad.scene.data_scene import points_text
from vertigrad.scene.kinds import DATA, IMAGES, VIDEOS, require_scene
from vertigrad.scene.save import refuse_protected
from vertigrad.scene.stage import Stage

README = Path(__file__).parents[2] / "README.md"
RNG = np.random.default_rng(2)


def splats(path: Path) -> None:
    one = RNG.uniform(0.1, 0.9, (5, 4)).astype(np.float32)
    none = splat_file.no_harmonics(len(one))
    splat_file.write(path, splat_file.Splats(one[:, :3], one[:, 1:], one, one[:, 0], one[:, :3], none))


@pytest.mark.parametrize("name", ["a.ply", "a.spz", "a.splat"])
def test_splats_are_drawn_with_the_harmonics_that_their_file_has(tmp_path: Path, name: str) -> None:
    one = RNG.uniform(0.1, 0.9, (5, 24)).astype(np.float32)
    values = splat_file.Splats(one[:, :3], one[:, 1:4], one[:, 2:6], one[:, 0], one[:, :3], one, antialiased=True)
    splat_file.write(tmp_path / name, values)
    (layer,) = load(tmp_path / name).layers.values()
    assert ("harmonics" in layer.attributes) == (name != "a.splat")
    assert layer.style.antialiased == (name == "a.spz")


def array(*shape: int) -> Callable[[Path], None]:
    return lambda path: np.save(path, RNG.normal(size=shape))


def film(path: Path) -> None:
    shutil.copy(resources.path("assets", "data", "rolling.mp4"), path)


def moving(path: Path) -> None:
    first, *others = (Image.new("RGB", (9, 6), color) for color in ("red", "lime", "blue"))
    first.save(path, save_all=True, append_images=others, duration=100)


def pixels(path: Path) -> None:
    Image.fromarray(RNG.integers(0, 255, (6, 9, 3)).astype(np.uint8)).save(path)


@pytest.mark.parametrize(
    ("name", "write", "model", "layer"),
    [
        ("some splats.ply", splats, "splats", "splats"),
        ("a.compressed.ply", splats, "splats", "splats"),
        ("a.splat", splats, "splats", "splats"),
        ("a.SPZ", splats, "splats", "splats"),
        ("a.npy", array(5, 6, 7), "array", "volume"),
        ("a.npy", array(6, 7), "array", "image"),
        ("a.npy", array(6, 7, 3), "array", "image"),
        ("a.npy", array(4, 6, 7, 3), "array", "streamlines"),
        ("a.PNG", pixels, "image", "image"),
        ("a.jpg", pixels, "image", "image"),
        ("a.mp4", film, "video", "image"),
        ("a.MOV", film, "video", "image"),
        ("a.gif", moving, "video", "image"),
    ],
)
def test_the_scene_of_each_data_file(
    tmp_path: Path, steady: Gpu, name: str, write: Callable[[Path], None], model: str, layer: str
) -> None:
    path = tmp_path / name
    write(path)
    require_scene(path)
    scene = load(path)
    assert scene.title == path.stem
    assert [resources_type for resources_type in (spec.type for spec in scene.layers.values())] == [layer]
    assert next(iter(scene.models.values())).type == model
    stage = Stage(scene, steady)
    for one in stage.layers.values():
        one.prepare()
    stage.close()
    with pytest.raises(FileProtected, match="is a data file, not a scene file"):
        refuse_protected(path)


@pytest.mark.parametrize("inside", ["", "sparse/cameras.txt", "sparse/points3D.txt"])
def test_the_scene_of_photos(inside: str) -> None:
    """Of a folder with a sparse model of COLMAP, or of one of its files; the camera is that of the first photo."""
    path = resources.path("assets", "data", "photos", *inside.split("/") if inside else ())
    require_scene(path)
    scene = load(path)
    assert scene.title == ("sparse" if inside else "photos")
    (model,) = scene.models.values()
    assert model.type == "splat_photos" and model.params.file.name == "cameras.txt"
    assert [layer.type for layer in scene.layers.values()] == ["splats", "instances", "image", "image"]
    assert scene.camera.fov == 40.0 and np.linalg.norm(scene.camera.position) == pytest.approx(3.9, abs=0.2)
    with pytest.raises(FileProtected, match="is data of COLMAP, not a scene file"):
        refuse_protected(path)


def test_a_ply_without_vertices_is_not_a_point_cloud(tmp_path: Path) -> None:
    header = [
        "ply",
        "format ascii 1.0",
        "element vertex 0",
        *(f"property float {axis}" for axis in "xyz"),
        "end_header",
    ]
    (tmp_path / "empty.ply").write_text("\n".join(header) + "\n", encoding="utf-8")
    with pytest.raises(SceneError, match="has no triangles"):  # the error of its model, not of the point format
        load(tmp_path / "empty.ply")


def test_a_ply_with_triangles_is_a_mesh() -> None:
    scene = load(resources.path("assets", "data", "knot.ply"))
    assert [spec.type for spec in scene.layers.values()] == ["surface"]


@pytest.mark.parametrize(
    ("count", "size"), [(100, 0.05), (400, 0.05), (1600, 0.025), (40_000, 0.005), (300_000, 0.002)]
)
def test_the_size_of_points_depends_on_their_number(tmp_path: Path, count: int, size: float) -> None:
    np.save(tmp_path / "points.npy", np.random.default_rng(1).normal(size=(count, 3)).astype(np.float32))
    (found,) = re.findall(r"^size = (\S+)$", points_text(tmp_path / "points.npy"), re.MULTILINE)
    assert float(found) == size


def test_an_archive_of_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", few=np.ones(3), many=RNG.normal(size=(4, 5, 6)))
    assert [spec.type for spec in load(tmp_path / "a.npz").layers.values()] == ["volume"]


@pytest.mark.parametrize("shape", [(7,), (5, 1, 7), (2, 3, 4, 5), (3, 3, 3, 3, 3)])
def test_other_shapes_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array(*shape)(tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"its array has the shape \(.*write a scene for others"):
        load(tmp_path / "a.npy")


def test_the_readme_lists_the_supported_files() -> None:
    (message,) = re.findall(r"a data file: (.*?)\.\s`vertigrad` without", README.read_text("utf-8"), re.DOTALL)
    suffixes = re.findall(r"`(\.\w+)`", message)
    assert len(suffixes) >= 8
    for suffix in suffixes:
        require_scene(Path(f"a{suffix}"))


def test_images_and_videos_are_those_that_the_models_read() -> None:
    assert set(STILLS) == IMAGES and set(VIDEO_SUFFIXES) == VIDEOS


def test_the_supported_types_are_reported() -> None:
    with pytest.raises(InputError) as error:
        require_scene(Path("a.xyz"))
    assert all(suffix in str(error.value) for suffix in DATA)
