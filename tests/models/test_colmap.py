"""COLMAP's sparse models: text and binary files say the same, images are undistorted, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.models.data import colmap
from vertigrad.models.data.colmap import photos
from vertigrad.models.data.colmap.cameras import Camera, Pinhole

from .colmap_files import Reconstruction, binary_files, text_files, write

TURN = (0.5, 0.5, -0.5, 0.5)  # w, x, y, z: by 120 degrees
CAMERAS = {
    3: ("SIMPLE_RADIAL", 40, 30, (35.0, 20.0, 15.0, 0.1)),
    7: ("OPENCV", 80, 60, (70.0, 71.0, 40.0, 31.0, 0.2, -0.05, 0.01, -0.02)),
    8: ("PINHOLE", 40, 30, (35.0, 36.0, 20.0, 15.0)),
}
IMAGES = [
    (TURN, (1.0, 2.0, 3.0), 3, "b one.png"),
    ((2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 4.0), 8, "a.png"),
    (TURN, (0.0, 0.0, 4.0), 7, "c.png"),
]
MODEL = Reconstruction(CAMERAS, IMAGES, np.arange(12.0).reshape(4, 3), np.arange(12, dtype=np.uint8).reshape(4, 3))


def broken(**changes: Any) -> Reconstruction:
    return MODEL._replace(**changes)


@pytest.mark.parametrize("files", [binary_files, text_files])
def test_a_sparse_model_is_read(files: Callable[[Reconstruction], dict[str, bytes]], tmp_path: Path) -> None:
    file = write(tmp_path / "sparse" / "0", files(MODEL))
    assert colmap.find(tmp_path) == colmap.find(file.with_stem("images")) == file
    assert colmap.is_sparse_model(tmp_path) and not colmap.is_sparse_model(tmp_path / "sparse" / "nothing")
    model = colmap.read(file)
    assert [photo.name for photo in model.photos] == ["a.png", "b one.png", "c.png"]
    first, second, third = model.photos
    np.testing.assert_allclose(first.view_from_world, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4]])
    np.testing.assert_allclose(second.view_from_world[:, 3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(second.view_from_world[:, :3] @ [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], atol=1e-12)
    assert second.camera == Camera(40, 30, Pinhole(35.0, 35.0, 20.0, 15.0), (0.1, 0.0, 0.0, 0.0))
    assert third.camera.distortion == (0.2, -0.05, 0.01, -0.02)
    np.testing.assert_array_equal(model.points, MODEL.points)
    np.testing.assert_array_equal(model.colors, MODEL.colors)


def test_an_image_without_distortion_shows_straight_lines(tmp_path: Path) -> None:
    """An image of slopes: each pixel of the undistorted one has the slope that its pinhole camera gives it."""
    camera = colmap.Camera(80, 60, Pinhole(70.0, 71.0, 40.0, 31.0), (0.2, -0.05, 0.01, -0.02))
    pinhole = camera.undistorted()
    x, y = np.meshgrid(np.arange(80) + 0.5, np.arange(60) + 0.5)
    slopes = np.stack([(x - 40.0) / 70.0, (y - 31.0) / 71.0])
    for _ in range(100):  # the slopes that are seen at the pixels
        u, v = camera.distorted(*slopes)
        slopes += 0.5 * np.stack([(x - u) / 70.0, (y - v) / 71.0])
    stored = np.round(128.0 + 150.0 * np.stack([slopes[0], slopes[1], 0 * slopes[0]], axis=-1)).astype(np.uint8)
    found = photos._Lens(camera, 60, 80).undistorted(stored).astype(float)
    expected = [128.0 + 150.0 * (x - pinhole.cx) / pinhole.fx, 128.0 + 150.0 * (y - pinhole.cy) / pinhole.fy]
    assert np.abs(found[..., 0] - expected[0]).max() < 1.6 and np.abs(found[..., 1] - expected[1]).max() < 1.6
    corners = camera.distorted(np.array([0.0, 80.0] * 2) / pinhole.fx - 40.0 / pinhole.fx, np.zeros(4))
    assert min(corners[0]) >= -1e-6 and max(corners[0]) <= 80.0 + 1e-6
    assert not colmap.Camera(80, 60, pinhole).is_distorted and colmap.Camera(80, 60, pinhole).undistorted() == pinhole


def test_images_of_other_sizes_get_one(tmp_path: Path) -> None:
    file = write(tmp_path / "sparse" / "0", binary_files(MODEL))
    (tmp_path / "images").mkdir()
    for (_, _, camera, name), color in zip(IMAGES, ("red", "lime", "blue"), strict=True):
        width, height = CAMERAS[camera][1:3]
        Image.new("RGB", (width // 2, height // 2), color).save(tmp_path / "images" / name)
    model = colmap.read(file)
    assert photos.size(model, 1600) == (30, 40) and photos.size(model, 20) == (15, 20)
    found = photos.read(file, model, 20)
    assert found.pixels.shape == (3, 15, 20, 3)
    assert found.pixels[:, 7, 7].tolist() == [[0, 255, 0], [255, 0, 0], [0, 0, 255]]  # in the order of names
    assert found.cameras[0] == Pinhole(17.5, 18.0, 10.0, 7.5)
    Image.new("RGB", (20, 20)).save(tmp_path / "images" / "c.png")
    with pytest.raises(InputError, match=r"c.png: has 20 x 20 pixels, but its camera 80 x 60"):
        photos.read(file, model, 20)
    (tmp_path / "images" / "c.png").unlink()
    with pytest.raises(InputError, match=r"c.png: no such image"):
        photos.read(file, model, 20)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (broken(cameras={3: ("OPENCV_FISHEYE", 4, 4, (1.0,) * 8)}), "OPENCV_FISHEYE is not read, only SIMPLE_PINHOLE"),
        (broken(cameras={3: ("PINHOLE", 4, 0, (1.0,) * 4)}), "4 x 0 pixels"),
        (broken(cameras={3: ("PINHOLE", 4, 4, (1.0, float("nan"), 1.0, 1.0))}), "are not those of a camera"),
        (broken(images=[(TURN, (0, 0, 0), 9, "a.png")]), "camera 9, which is not in the file"),
        (broken(images=[((0, 0, 0, 0), (0, 0, 0), 3, "a.png")]), "without a rotation"),
        (broken(images=[(TURN, (0, 0, 0), 3, "../a.png")]), "leads out of the folder"),
        (broken(images=[]), "has no images"),
        (broken(points=np.full((4, 3), np.inf)), "no point with a finite position"),
    ],
)
def test_what_cannot_be_used_is_refused(model: Reconstruction, message: str, tmp_path: Path) -> None:
    for files in (binary_files, text_files):
        file = write(tmp_path / files.__name__, files(model))
        with pytest.raises(InputError, match=message):
            colmap.read(file)


def test_unknown_models_and_missing_parts_are_refused(tmp_path: Path) -> None:
    files = binary_files(MODEL)
    files["cameras.bin"] = files["cameras.bin"][:12] + struct.pack("<i", 99) + files["cameras.bin"][16:]
    with pytest.raises(InputError, match="number 99"):
        colmap.read(write(tmp_path, files))
    write(tmp_path, binary_files(MODEL))
    (tmp_path / "points3D.bin").unlink()
    assert not colmap.is_sparse_model(tmp_path)
    with pytest.raises(InputError, match="no sparse model"):
        colmap.find(tmp_path)
    with pytest.raises(InputError, match=r"points3D.bin: cannot be read"):
        colmap.read(tmp_path / "cameras.bin")
    with pytest.raises(InputError, match="no folder images"):
        photos.images_folder(tmp_path / "cameras.bin")
