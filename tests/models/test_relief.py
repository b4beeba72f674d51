"""An image, or a plane, as a surface: positions of its points, colors, and heights from another plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.relief import Params, Relief, stretched

Make = Callable[..., Relief]
RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.random((3, 6, 9), np.float32)  # by channel
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Any] = []

    def make_model(values: Any, plane: Any = None, **params: Any) -> Relief:
        tensors = {"values": values} if plane is None else {"values": values, "height": plane}
        inputs = {
            name: image if isinstance(image, Tensor) else Tensor.from_numpy(image, name)
            for name, image in tensors.items()
        }
        created.extend(inputs.values())
        created.append(Relief("relief", Params(**params), inputs, 0))
        return created[-1]

    yield make_model
    for thing in reversed(created):
        thing.close()


def out(model: Relief, name: str) -> np.ndarray:
    return model.outputs()[name].numpy()


def agrees(model: Relief) -> None:
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_a_plane_is_as_high_as_its_values(make: Make) -> None:
    plane = np.array([[0.0, 1.0, 2.0], [0.5, -1.0, 0.25]], np.float32)
    model = make(plane, size=4.0, height=0.5, base=0.25)
    position = out(model, "position")
    np.testing.assert_allclose(position[..., 1], 0.5 * (plane - 0.25), rtol=1e-6)
    np.testing.assert_allclose(position[0, :, 0], [-2.0, 0.0, 2.0])
    np.testing.assert_allclose(position[:, 0, 2], [-1.0, 1.0])  # the first row is at the back
    np.testing.assert_array_equal(out(model, "color")[..., 1], np.clip(plane, 0, 1))
    agrees(model)


@pytest.mark.parametrize("layout", ["planes", "pixels", "batch"])
def test_an_image_is_as_high_as_it_is_bright(make: Make, layout: str) -> None:
    image = {"planes": IMAGE, "pixels": np.ascontiguousarray(np.moveaxis(IMAGE, 0, -1)), "batch": IMAGE[None]}
    model = make(image[layout], height=2.0)
    pixels = np.moveaxis(IMAGE, 0, -1)
    np.testing.assert_allclose(out(model, "color"), pixels, rtol=1e-6)
    np.testing.assert_allclose(out(model, "level"), pixels @ LUMINANCE, rtol=1e-5)
    np.testing.assert_allclose(out(model, "position")[..., 1], 2.0 * (pixels @ LUMINANCE), rtol=1e-5)
    agrees(model)


@pytest.mark.parametrize("shape", [(6, 9), (1, 1, 6, 9), (1, 1), (1, 4), (3, 5), (12, 18), (25, 31), (2, 40)])
def test_height_comes_from_a_plane_of_any_size_and_color_from_the_image(make: Make, shape: tuple[int, ...]) -> None:
    plane = RANDOM.standard_normal(shape).astype(np.float32)
    model = make(IMAGE, plane, height=0.5, base=-1.0)
    expected = stretched(plane.reshape(shape[-2:]).astype(float), 6, 9)
    np.testing.assert_allclose(out(model, "level"), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out(model, "position")[..., 1], 0.5 * (expected + 1.0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out(model, "color"), np.moveaxis(IMAGE, 0, -1), rtol=1e-6)
    agrees(model)


def test_a_plane_is_interpolated_linearly_between_the_centers_of_its_cells() -> None:
    np.testing.assert_allclose(stretched(np.array([[0.0, 1.0]]), 1, 4), [[0.0, 0.25, 0.75, 1.0]])
    np.testing.assert_allclose(stretched(np.array([[0.0], [4.0]]), 4, 1)[:, 0], [0.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(stretched(np.array([[0.0, 1.0, 2.0, 3.0]]), 1, 2), [[0.5, 2.5]])
    same = RANDOM.random((5, 7))
    np.testing.assert_array_equal(stretched(same, 5, 7), same)


def test_views_with_strides_and_offsets_are_read_without_a_copy(make: Make, steady: Gpu) -> None:
    wide = RANDOM.random((8, 3, 12, 20), np.float32)
    with Tensor.from_numpy(wide, "wide") as block, block[5] as frame_image, block[2, 1].T as turned:
        before = steady.meter.read()["geometry"]
        model = make(frame_image[:, 1:7, 2:20:2].detach(), turned[3:17:3, 1:6].detach())
        assert steady.meter.read()["geometry"] == before
        np.testing.assert_allclose(out(model, "color"), np.moveaxis(wide[5][:, 1:7, 2:20:2], 0, -1), rtol=1e-6)
        heights = wide[2, 1].T[3:17:3, 1:6].astype(float)
        np.testing.assert_allclose(out(model, "level"), stretched(heights, 6, 9), rtol=1e-5)
        model.close()


def test_half_precision(make: Make, steady: Gpu) -> None:
    if "shader-f16" not in steady.features:
        pytest.skip("no f16")
    plane = RANDOM.random((3, 4)).astype(np.float16)
    for values, height in ((IMAGE.astype(np.float16), plane), (IMAGE, plane), (IMAGE.astype(np.float16), None)):
        model = make(values, height)
        np.testing.assert_allclose(out(model, "color"), np.moveaxis(values, 0, -1).astype(np.float32), rtol=1e-6)
        agrees(model)


def test_normals_are_those_of_the_slope(make: Make) -> None:
    slope = np.tile(np.arange(9, dtype=np.float32), (6, 1))
    model = make(IMAGE, slope, size=8.0, height=1.0)  # rises by 1 along x for each 1
    normal = out(model, "normal")
    np.testing.assert_allclose(normal, np.broadcast_to([-(0.5**0.5), 0.5**0.5, 0.0], (6, 9, 3)), atol=1e-6)


def test_inputs_and_parameters_are_read_at_each_step(make: Make) -> None:
    frame_image, plane = Tensor.from_numpy(IMAGE, "picture"), Tensor.from_numpy(np.ones((2, 2), np.float32), "plane")
    model = make(frame_image, plane, height=1.0)
    plane.fill_(3.0)
    model._params.change("height", 2.0)
    model.step(0.1)
    np.testing.assert_allclose(out(model, "position")[..., 1], 6.0)


def test_invalid_images_and_planes_are_rejected(make: Make) -> None:
    ones = np.ones
    with pytest.raises(InputError, match=r"shape \(4, 5, 2\) are neither \(rows, columns\) nor an image"):
        make(ones((4, 5, 2), np.float32))
    with pytest.raises(InputError, match="values are i32"):
        make(ones((4, 5), np.int32))
    with pytest.raises(InputError, match=r"height of shape \(3, 6, 9\) is not \(rows, columns\)"):
        make(IMAGE, IMAGE)
    with pytest.raises(InputError, match=r"height of shape \(5,\) is not \(rows, columns\)"):
        make(IMAGE, ones(5, np.float32))
    with pytest.raises(InputError, match="heights are u32"):
        make(IMAGE, ones((4, 5), np.uint32))
