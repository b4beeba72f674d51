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
from vertigrad.headless.exr import ExrOptions
from vertigrad.headless.output import LightImage
from vertigrad.headless.outputs import open_output
from vertigrad.scene.packaged import scene_path
from vertigrad.session import Session
from vertigrad.session.commands import Turntable

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


SQUARE = """version = 1
[camera]
position = [0, 0, 5]
target = [0, 0, 1]
orthographic = {orthographic}
[models.it]
type = "array"
file = "corners.npy"
[layers.it]
type = "{layer}"
position = "it.values"
size = 0.5
"""


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("supersample", [1, 2])
def test_the_depth_is_the_distance_along_the_direction_of_view(
    steady: Gpu, tmp_path: Path, orthographic: bool, supersample: int
) -> None:
    """A sheet across the view, 5 from the eye, is at one depth; what is behind it is not seen, and nothing is far."""
    x, y = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 3))
    np.save(tmp_path / "corners.npy", np.stack([x, y, np.zeros((3, 3))], axis=-1).astype(np.float32))
    text = SQUARE.format(orthographic=str(orthographic).lower(), layer="surface").replace("size = 0.5\n", "")
    (tmp_path / "a.toml").write_text(text)
    with Session(steady, tmp_path / "a.toml") as session:
        exr = ExrOptions(16, depth=True)
        render(session, 1, SIZE, [tmp_path / "a.exr"], transparent=True, supersample=supersample, exr=exr)
    found = read(tmp_path / "a.exr")
    depth, covered = found["Z"], found["RGBA"][..., 3] > 0
    assert depth.dtype == np.float32 and depth.shape == SIZE[::-1]
    assert np.array_equal(np.isfinite(depth), covered) and 0.1 < covered.mean() < 0.9
    assert np.allclose(depth[covered], 5.0, atol=2e-3)


def test_the_depth_of_spheres_is_that_of_their_front(steady: Gpu, tmp_path: Path) -> None:
    np.save(tmp_path / "corners.npy", np.float32([[0, 0, 1], [0, 0, -4]]))
    (tmp_path / "a.toml").write_text(SQUARE.format(orthographic="true", layer="points"))
    with Session(steady, tmp_path / "a.toml") as session:
        render(session, 1, (97, 65), [tmp_path / "a.exr"], exr=ExrOptions(depth=True))
    depth = read(tmp_path / "a.exr")["Z"]
    assert depth.min() == depth[32, 48] == pytest.approx(3.5, abs=2e-3)


def test_floats_of_32_bits_are_finer_than_those_of_16(steady: Gpu, tmp_path: Path) -> None:
    images = {}
    for bits in (16, 32):
        with Session(steady, scene_path("cloth"), PLAIN) as session:
            render(session, 1, SIZE, [tmp_path / "a.exr"], exr=ExrOptions(bits))
        images[bits] = read(tmp_path / "a.exr")["RGB"]
    assert images[32].dtype == np.float32
    assert np.allclose(images[16].astype(float), images[32], rtol=2e-3, atol=1e-3)
    inside = images[32][28:36, 44:52]
    assert (inside != inside.astype(np.float16)).mean() > 0.9, "not the same values in a larger file"


def test_light_and_depth_are_of_the_frame_of_the_image(steady: Gpu, tmp_path: Path) -> None:
    """Of the camera before the turntable has moved on."""
    images = []
    for degrees, frames in ((3000.0, 1), (0.0, 1)):
        with Session(steady, scene_path("cloth"), PLAIN) as session:
            session.carry_out(Turntable(degrees))
            render(session, frames, SIZE, [tmp_path / "a.exr"], exr=ExrOptions(depth=True))
        images.append(read(tmp_path / "a.exr"))
    for name in ("RGB", "Z"):
        assert np.array_equal(images[0][name], images[1][name])


def test_an_adapter_that_cannot_draw_it(steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "features", steady.features - {"float32-blendable"})
    with Session(steady, scene_path("cloth"), PLAIN) as session:
        with pytest.raises(InputError, match="cannot draw images of 32-bit floats: it has no float32-blendable"):
            render(session, 1, SIZE, [tmp_path / "a.exr"], exr=ExrOptions(32))
        monkeypatch.setattr("vertigrad.renderer.depth_image.handles_samples", lambda gpu: False)
        with pytest.raises(InputError, match="depth of images cannot be read through OpenGL"):
            render(session, 1, SIZE, [tmp_path / "a.exr"], exr=ExrOptions(depth=True))
    with pytest.raises(InputError, match=r"a\.exr: 24 bits; the floats of an EXR image have 16 or 32"):
        require_output(tmp_path / "a.exr", SIZE, exr=ExrOptions(24))


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = open_output(tmp_path / "a.exr", SIZE)
    (tmp_path / "a.exr").mkdir()
    with pytest.raises(InputError, match=r"a\.exr: the image cannot be written"):
        output.put(0, LightImage(np.zeros((64, 96, 4), np.float16)))
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(
        InputError, match=r"not installed; install it with pip install 'vertigrad\[exr\]', or write a \.png"
    ):
        require_output(tmp_path / "b.exr", SIZE)
