"""Images of linear light, read by OpenEXR, against what the screen shows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import OpenEXR
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.headless import render, require_output
from vertigrad.headless.outputs import open_output
from vertigrad.scene.packaged import scene_path
from vertigrad.session import Session

SIZE = (96, 64)
PLAIN = ["view.background=#000000", "view.vignette=0", "view.bloom=0", "cloth.resolution=16"]
MARKS = """version = 1
[camera]
position = [0, 0, 5]
[view]
bloom = 0.0
[models.it]
type = "point_cloud"
file = "one.npy"
size = 0.0
[layers.it]
type = "marks"
position = "it.position"
size = 9.0
color = [0.2, 0.5, 0.8]
"""


def read(path: Path) -> dict[str, np.ndarray]:
    with OpenEXR.File(str(path)) as file:
        return {name: channel.pixels for name, channel in file.channels().items()}


def film(light: np.ndarray) -> np.ndarray:
    """The curve of shaders/draw/post_process.wgsl, as bytes of sRGB."""
    weights = np.array([0.2126, 0.7152, 0.0722])

    def steep(x):
        return x * np.sqrt(x)

    drawn = steep(0.88 * light + 0.12 * (light @ weights)[..., None])
    half, white = steep(0.18) * (1 / 0.18 - 1), steep(12.0)
    shown = drawn / (drawn + half) * ((white + half) / white)
    shown = np.clip((shown - 0.1 * (shown @ weights)[..., None]) / 0.9, 0, 1)
    return 255 * np.where(shown <= 0.0031308, 12.92 * shown, 1.055 * shown ** (1 / 2.4) - 0.055)


def test_light_becomes_the_image_by_the_film_curve(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene_path("cloth"), PLAIN) as session:
        render(session, 2, SIZE, [tmp_path / "a.exr", tmp_path / "a.png"])
    (light,) = read(tmp_path / "a.exr").values()
    assert light.dtype == np.float16 and light.shape == (64, 96, 3)
    with Image.open(tmp_path / "a.png") as image:
        difference = np.abs(film(light.astype(float)) - np.asarray(image).astype(float)).max(axis=-1)
    assert light.max() > 0.3 and (difference < 2.5).mean() > 0.9, (
        "but for outlines, whose samples are tone-mapped first"
    )


def test_light_brighter_than_the_screen_and_numbered_files(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene_path("cloth"), [*PLAIN, "view.exposure=10"]) as session:
        render(session, 2, SIZE, [tmp_path / "a_%d.exr"], transparent=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_0.exr", "a_1.exr"]
    (pixels,) = read(tmp_path / "a_1.exr").values()
    assert pixels.shape[-1] == 4 and pixels[..., :3].max() > 1.0
    assert pixels[0, 0, 3] == 0.0 and pixels[..., 3].min() >= 0.0 and pixels[..., 3].max() <= 1.0


def test_colors_without_tone_mapping_are_converted_to_light(steady: Gpu, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros((1, 3), np.float32))
    (tmp_path / "a.toml").write_text(MARKS)
    with Session(steady, tmp_path / "a.toml") as session:
        render(session, 1, SIZE, [tmp_path / "a.exr"])
    (light,) = read(tmp_path / "a.exr").values()
    expected = ((np.array([0.2, 0.5, 0.8]) + 0.055) / 1.055) ** 2.4
    assert np.allclose(light[32, 48].astype(float), expected, atol=2e-3)


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = open_output(tmp_path / "a.exr", SIZE)
    (tmp_path / "a.exr").mkdir()
    with pytest.raises(InputError, match=r"a\.exr: the image cannot be written"):
        output.put(0, np.zeros((64, 96, 4), np.float16))
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(
        InputError, match=r"not installed; install it with pip install 'vertigrad\[exr\]', or write a \.png"
    ):
        require_output(tmp_path / "b.exr", SIZE)
