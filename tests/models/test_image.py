"""Images from files: as stored, uploaded once as bytes, one after the other by the simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.footage import Stills
from vertigrad.models.data.image import Image, Params

from .footage import COLUMNS, ROWS, frames, stills

Make = Callable[..., Image]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Image] = []

    def make_model(file: Path, **values: Any) -> Image:
        created.append(Image("picture", Params(file=file, **values), {}, 0))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def shown(model: Image) -> np.ndarray:
    """The image of a model, in bytes."""
    return np.uint8(np.round(model.outputs()["pixels"].numpy() * 255))


@pytest.mark.parametrize("size", [(ROWS, COLUMNS), (5, 7), (1, 1)])
def test_pixels_and_planes_are_the_file_as_stored(make: Make, tmp_path: Path, size: tuple[int, int]) -> None:
    stored = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    model = make(stills(tmp_path, [stored]))
    pixels, planes = model.outputs()["pixels"].numpy(), model.outputs()["planes"].numpy()
    assert planes.shape == (1, 3, *size)
    np.testing.assert_allclose(pixels, stored / 255, rtol=1e-6)
    np.testing.assert_array_equal(planes[0], np.moveaxis(pixels, -1, 0))
    specs = Image.output_specs(model._params)
    assert {name: spec.shape for name, spec in specs.items()} == {"pixels": (*size, 3), "planes": (1, 3, *size)}


def test_it_agrees_with_its_reference(make: Make, tmp_path: Path) -> None:
    model = make(stills(tmp_path, frames(2)), sequence=True, fps=1.0)
    model.step(1.0)
    comparisons = model.compare_with_reference()
    assert [c.name for c in comparisons] == ["pixels", "planes"]
    assert all(c.holds for c in comparisons)
    stills(tmp_path, frames(3)[1:])  # other images in the files than on the GPU
    assert not any(c.holds for c in model.compare_with_reference())


def test_an_image_is_uploaded_once_as_bytes_and_not_counted_as_geometry(
    make: Make, tmp_path: Path, steady: Gpu
) -> None:
    file = stills(tmp_path, frames(1))
    before = steady.meter.read()
    model = make(file)
    for _ in range(3):
        model.step(0.1)
    after = steady.meter.read()
    assert after["image"]["host_to_device"] - before["image"]["host_to_device"] == ROWS * COLUMNS * 3
    assert after["geometry"] == before["geometry"]


def test_a_sequence_is_sorted_by_name_and_loops(make: Make, tmp_path: Path) -> None:
    images = frames(11)
    model = make(stills(tmp_path, images, "shot {}.png"), sequence=True, fps=10.0)
    numbers = []
    for _ in range(25):
        numbers.append(next(n for n, image in enumerate(images) if np.array_equal(image, shown(model))))
        model.step(0.1)
    assert numbers == [n % 11 for n in range(25)]


def test_a_single_file_of_a_folder_is_constant(make: Make, tmp_path: Path) -> None:
    images = frames(3)
    model = make(stills(tmp_path, images).with_name("2.png"))
    model.step(1.0)
    np.testing.assert_array_equal(shown(model), images[1])
    assert model.state() == {}


def test_reset_and_a_snapshot_give_the_same_bits(make: Make, tmp_path: Path) -> None:
    images = frames(5)
    model = make(stills(tmp_path, images), sequence=True, fps=1.0)
    model.step(2.0)
    numbers = model.scalar_state()
    model.step(1.0)
    np.testing.assert_array_equal(shown(model), images[3])
    model.load_scalar_state(numbers)
    model.step(1.0)
    np.testing.assert_array_equal(shown(model), images[3])
    model.reset()
    np.testing.assert_array_equal(shown(model), images[0])


def test_width_resizes_and_keeps_the_aspect_ratio(make: Make, tmp_path: Path) -> None:
    model = make(stills(tmp_path, frames(1)), width=16)
    assert model.outputs()["pixels"].shape == (12, 16, 3)
    assert abs(float(shown(model).mean()) - float(frames(1)[0].mean())) < 1
    assert float(shown(model)[:3, :3].mean()) > float(shown(model)[-3:, -3:].mean()) + 20


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "LA", "CMYK", "1"])
def test_every_mode_becomes_red_green_and_blue(make: Make, tmp_path: Path, mode: str) -> None:
    source = Pillow.fromarray(np.full((4, 4, 3), 255, np.uint8)).convert(mode)
    file = tmp_path / ("x.tif" if mode == "CMYK" else "x.png")
    source.save(file)
    np.testing.assert_array_equal(shown(make(file)), np.full((4, 4, 3), 255))


def test_transparent_pixels_are_composited_over_black(make: Make, tmp_path: Path) -> None:
    stored = np.full((2, 2, 4), 200, np.uint8)
    stored[0, :, 3], stored[1, :, 3] = 0, 255
    Pillow.fromarray(stored).save(tmp_path / "x.png")
    assert shown(make(tmp_path / "x.png"))[:, 0, 0].tolist() == [0, 200]


def test_sixteen_bits_become_eight(make: Make, tmp_path: Path) -> None:
    Pillow.fromarray(np.array([[0, 257 * 100], [257 * 200, 65535]], np.uint16)).save(tmp_path / "x.png")
    assert shown(make(tmp_path / "x.png"))[..., 0].tolist() == [[0, 100], [200, 255]]


def test_the_orientation_of_a_photograph_is_applied(make: Make, tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6  # the camera was held upright
    Pillow.fromarray(frames(1)[0]).save(tmp_path / "x.png", exif=exif)
    model = make(tmp_path / "x.png")
    np.testing.assert_array_equal(shown(model), np.rot90(frames(1)[0], -1))
    assert Image.output_specs(model._params)["pixels"].shape == (COLUMNS, ROWS, 3)


def test_invalid_files_are_reported(tmp_path: Path) -> None:
    file = stills(tmp_path, frames(2))
    data = file.read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.jpg").write_text("not an image")
    with pytest.raises(InputError, match=r"text.jpg cannot be read: no image of a known kind"):
        Stills(tmp_path / "text.jpg")
    with pytest.raises(InputError, match=r"cut.png cannot be read"):
        next(Stills(tmp_path / "cut.png").frames(0))
    with pytest.raises(InputError, match=r"missing.png cannot be read"):
        Stills(tmp_path / "missing.png")


def test_a_truncated_image_is_reported_when_the_model_is_created(make: Make, tmp_path: Path) -> None:
    data = stills(tmp_path, frames(1)).read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"cut.png cannot be read"):
        make(tmp_path / "cut.png")


def test_a_sequence_has_one_size_and_stays_in_its_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    file = stills(inside, frames(2))
    secret = stills(outside, frames(1))
    (inside / "3.png").symlink_to(secret)
    (inside / "4.png").mkdir()
    (inside / "notes.txt").write_text("not an image")
    assert [other.name for other in Stills(file, sequence=True).files] == ["1.png", "2.png"]
    Pillow.fromarray(frames(1, 8, 8)[0]).save(inside / "5.png")
    with pytest.raises(InputError, match=r"5.png has 8 × 8 pixels, but 1.png has 32 × 24 pixels"):
        Stills(file, sequence=True)
    assert Stills(file, columns=16).count == 1
