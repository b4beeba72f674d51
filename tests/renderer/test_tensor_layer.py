"""Tensors of any shape as layers: the form that is chosen, and what each form draws, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.errors import LayoutError
from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.layers.tensor import COMPARED, TensorLayer
from vertigrad.renderer.layers.tensor_shapes import default_form
from vertigrad.scene import inside
from vertigrad.tensor import Tensor

RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("shape", "form"),
    [
        ((), "bars"),
        ((10,), "bars"),
        ((1, 1000), "bars"),
        ((1, 5000), "image"),
        ((1, 1280, 1, 1), "bars"),
        ((7, 2, 3), "lines"),
        ((50, 3), "points"),
        ((1, 50, 2), "points"),
        ((7, 9), "image"),
        ((1, 8, 16, 16), "image"),
        ((2, 8, 16, 16), "image"),
        ((1, 4, 8, 8, 8), "volume"),
        ((1, 2, 3, 1, 4), "image"),
    ],
)
def test_the_form_follows_from_the_shape(shape: tuple[int, ...], form: str) -> None:
    assert default_form(shape) == form


def drawn(layer, name: str) -> np.ndarray:
    layer.prepare()
    return layer.form.attributes[name].numpy()


def test_channels_are_an_image_with_transparent_gaps_and_pixels_know_their_element(steady, layer) -> None:
    values = RNG.normal(size=(1, 3, 4, 6)).astype(np.float32)
    shown = layer("tensor", {"columns": 2, "normalize": False}, tensor=values)
    pixels = drawn(shown, "pixels")
    assert pixels.shape == (2 * 5, 2 * 7)
    expected = np.full((10, 14), np.nan, np.float32)
    for number, channel in enumerate(values[0]):
        top, left = number // 2 * 5, number % 2 * 7
        expected[top : top + 4, left : left + 6] = channel
    np.testing.assert_array_equal(pixels, expected)
    for row, value in enumerate(expected.reshape(-1)):
        element = shown.element(row)
        assert (element is None) == np.isnan(value)
        assert element is None or values.reshape(-1)[element] == value


def test_a_long_vector_is_folded(steady, layer) -> None:
    values = np.arange(2300, dtype=np.int32)
    shown = layer("tensor", tensor=values)
    pixels = drawn(shown, "pixels").reshape(-1)
    np.testing.assert_array_equal(pixels[:2300], values)
    assert np.isnan(pixels[2300:]).all()
    assert [shown.element(row) for row in (0, 2299, 2300)] == [0, 2299, None]


def test_bars_are_as_high_as_their_values(steady, layer) -> None:
    values = np.array([[1.0, -4.0, np.nan, 2.0]], np.float32)
    shown = layer("tensor", {"center": (1.0, 2.0, 3.0), "size": 4.0, "height": 2.0}, tensor=values)
    position, size = drawn(shown, "position"), drawn(shown, "size")
    np.testing.assert_allclose(position[:, 0], 1.0 + np.array([-1.5, -0.5, 0.5, 1.5]), rtol=1e-6)
    heights = values[0] / 4.0 * 2.0
    np.testing.assert_allclose(position[:, 1], 2.0 + heights / 2, rtol=1e-6)
    np.testing.assert_allclose(size[[0, 1, 3], 1], np.abs(heights[[0, 1, 3]]) / 2, rtol=1e-6)
    shown.style.height = 0.5
    np.testing.assert_allclose(drawn(shown, "position")[:, 1], 2.0 + heights / 8, rtol=1e-6)


def test_rows_are_points_and_a_difference_is_drawn(steady, layer) -> None:
    values, other = (RNG.normal(size=(20, 3)).astype(np.float16) for _ in range(2))
    away = values.astype(np.float32) - other.astype(np.float32)
    shown = layer("tensor", {"size": 3.0}, tensor=values, minus=other)
    np.testing.assert_allclose(drawn(shown, "position"), away / np.abs(away).max() * 1.5, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(drawn(shown, "color")[:, 0], away[:, 2], rtol=1e-5)


def test_a_channel_is_a_surface_or_a_volume(steady, layer) -> None:
    values = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
    surface = layer("tensor", {"draw": "surface", "channel": 4, "height": 1.0}, tensor=values)
    plane = values.reshape(6, 4, 5)[4]
    np.testing.assert_allclose(drawn(surface, "position")[:, :, 1], plane / np.abs(plane).max(), rtol=1e-5)
    assert values.reshape(-1)[surface.element(7)] == plane.reshape(-1)[7]
    volume = layer("tensor", {"draw": "volume", "channel": 1}, tensor=values)
    np.testing.assert_array_equal(drawn(volume, "density"), values[1])


@pytest.mark.parametrize("draw", ["volume", "bars", "points"])
def test_values_about_zero_have_a_symmetric_range(steady, layer, draw: str) -> None:
    values = RNG.normal(1.0, 1.0, size=(3, 4, 5)).astype(np.float32)
    shown = layer("tensor", {"draw": draw, "colormap": "vik", "range": "symmetric"}, tensor=values)
    shown.prepare()
    colors = values.reshape(-1, 5)[:, -1] if draw == "points" else values
    np.testing.assert_allclose(
        shown.drawing.extent.pair.numpy()[0], np.abs(colors).max() * np.float32([-1, 1]), rtol=1e-6
    )
    if draw == "volume":
        inner = shown.drawing.style
        assert inner.density_range == "symmetric" and inner.opacity_curve == "0:1 0.5:0 1:1"


@pytest.mark.parametrize(
    ("style", "shape", "message"),
    [
        ({"draw": "surface"}, (1, 7), "a surface needs 2 rows"),
        ({"draw": "volume"}, (3, 7), "a volume needs three axes"),
        ({"draw": "points"}, (7,), "points need rows"),
        ({"draw": "bars"}, (60, 60), "3,600 bars; at most 2,048"),
        ({"draw": "surface", "channel": 3}, (3, 4, 4), "channels are 0 to 2"),
    ],
)
def test_a_form_that_does_not_fit_is_refused(steady, layer, style, shape, message) -> None:
    with Tensor.zeros(shape) as tensor, pytest.raises(LayoutError, match=message):
        layer("tensor", style, tensor=tensor)


def test_another_form_and_tensor_replace_the_first_and_an_error_leaves_it(steady, layer, render) -> None:
    values = RNG.normal(size=(6, 8)).astype(np.float32)
    shown = layer("tensor", tensor=values)
    shown.style.draw = "surface"
    shown.prepare()
    assert shown.report()["tensor"]["tensor"] == "tensor"
    assert "normal" in shown.form.attributes
    before = shown.form
    with Tensor.zeros((0, 3)) as empty, pytest.raises(LayoutError, match="it is empty"):
        shown.bind({"tensor": empty})
    assert shown.form is before
    assert render([shown], OrbitCamera(distance=4.0)).max() > 100


@pytest.mark.parametrize("draw", ["image", "bars", "points", "surface", "volume"])
def test_layers_that_compare_each_other_have_one_range(steady, layer, draw: str) -> None:
    few, many = RNG.normal(size=(1, 4, 5, 6)).astype(np.float32), 7 * RNG.normal(size=(1, 4, 5, 6)).astype(np.float32)
    style = {"draw": draw, "normalize": False, "height": 1.0}
    with Tensor.from_numpy(few) as one, Tensor.from_numpy(many) as other:
        shown = layer("tensor", style, tensor=one, compare=other)
        again = layer("tensor", style, tensor=other, compare=one)
        for each in (shown, again):
            each.prepare()
        both = np.stack([few, many])[:, 0]
        colors = {"points": both[..., -1], "surface": both[:, 0], "volume": both[:, 0]}.get(draw, both)
        if draw == "volume":
            colors = both
        for each in (shown, again):
            pair = each.drawing.extent.pair.numpy()[0]
            np.testing.assert_allclose(pair, [colors.min(), colors.max()], rtol=1e-6)
        if draw == "surface":
            heights = drawn(shown, "position")[:, :, 1]
            np.testing.assert_allclose(heights, few[0, 0] / np.abs(both[:, 0]).max(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint32", "uint8", "bool"])
@pytest.mark.parametrize("normalize", [False, True])
def test_an_image_of_any_type_is_read_where_it_is(steady, layer, dtype: str, normalize: bool) -> None:
    values = RNG.integers(0, 2 if dtype == "bool" else 200, (2, 3, 5)).astype(dtype)
    shown = layer("tensor", {"columns": 2, "normalize": normalize}, tensor=values)
    assert len(shown.form._plan) == 1
    expected = values.astype(np.float32)
    if normalize:
        low, high = expected.min((1, 2), keepdims=True), expected.max((1, 2), keepdims=True)
        expected = (expected - low) / (high - low)
    np.testing.assert_allclose(drawn(shown, "pixels")[:3, :11:6], expected[:, :, 0].T, rtol=1e-6)


@pytest.mark.parametrize("compared", [False, True])
def test_large_channels_are_normalized_in_parts(steady, layer, compared: bool) -> None:
    values, other = (RNG.normal(size=(3, 70, 300)).astype(np.float32) for _ in range(2))
    other[1] *= 9.0
    values[0, 69, 299], values[2, 0, 0] = 3e38, -3e38
    values[2, 40, 40] = 3e38  # the difference of both is infinite
    shown = layer("tensor", {"columns": 1}, tensor=values, **({"compare": other} if compared else {}))
    assert len(shown.form._plan) == 2
    both = np.concatenate([values, other], axis=1) if compared else values
    low, high = (end((1, 2), keepdims=True).astype(np.float64) for end in (both.min, both.max))
    pixels = drawn(shown, "pixels").reshape(3, 71, 301)[:, :70, :300]
    np.testing.assert_allclose(pixels, (values - low) / (high - low), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("draw", "most"), [("image", 1), ("bars", 4), ("points", 3), ("lines", 2), ("surface", 4), ("volume", 1)]
)
def test_a_form_is_computed_by_few_dispatches(steady, layer, draw: str, most: int) -> None:
    shown = layer("tensor", {"draw": draw}, tensor=RNG.normal(size=(4, 5, 3)).astype(np.float32))
    assert len(shown.form._plan) == most
    shown.prepare()
    assert not shown.form._plan.update(), "what has not changed is not computed again"


def test_channels_that_are_compared_are_normalized_by_one_range(steady, layer) -> None:
    few, many = (factor * RNG.normal(size=(3, 4, 5)).astype(np.float32) for factor in (1, 5))
    shown = layer("tensor", {"columns": 3}, tensor=few, compare=many)
    pixels = drawn(shown, "pixels")[:4].reshape(4, 3, 6)[:, :, :5].transpose(1, 0, 2)
    both = np.concatenate([few, many], axis=1)
    low, high = both.min((1, 2), keepdims=True), both.max((1, 2), keepdims=True)
    np.testing.assert_allclose(pixels, (few - low) / (high - low), rtol=1e-5, atol=1e-6)
    assert shown.drawing.style.range == (0.0, 1.0)
    with Tensor.zeros((3, 4)) as flat, pytest.raises(LayoutError, match="compare must be a tensor of shape"):
        layer("tensor", tensor=few, compare=flat)


@pytest.mark.parametrize("normalize", [False, True])
def test_several_are_compared(steady, layer, normalize: bool) -> None:
    values = [factor * RNG.normal(size=(2, 3, 4)).astype(np.float32) for factor in (1, 2, 3, 4, 5)]
    shown = layer(
        "tensor",
        {"columns": 1, "normalize": normalize},
        tensor=values[0],
        **{name: one for name, one in zip(COMPARED, values[1:], strict=True)},
    )
    pixels, whole = drawn(shown, "pixels").reshape(2, 4, 5)[:, :3, :4], np.stack(values)
    assert shown.report().keys() >= {"tensor", *COMPARED}
    if normalize:
        low, high = (end((0, 2, 3), keepdims=True)[0] for end in (whole.min, whole.max))
        np.testing.assert_allclose(pixels, (values[0] - low) / (high - low), rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_allclose(shown.drawing.extent.pair.numpy()[0], [whole.min(), whole.max()], rtol=1e-6)


def test_the_attributes_are_those_of_scenes() -> None:
    assert COMPARED == inside.COMPARED and set(COMPARED) < TensorLayer.ATTRIBUTES.keys()


def test_what_is_not_finite_is_magenta_and_leaves_its_channel_visible(steady, layer, render) -> None:
    values = RNG.normal(size=(2, 4, 4)).astype(np.float32)
    values[0, 1, 1], values[0, 2, 2] = np.nan, np.inf
    shown = layer("tensor", {"columns": 1}, tensor=values)
    pixels = drawn(shown, "pixels")[:4, :4]
    rest = np.isfinite(values[0])
    np.testing.assert_array_equal(np.isfinite(pixels), rest)
    low, high = values[0][rest].min(), values[0][rest].max()
    np.testing.assert_allclose(pixels[rest], (values[0][rest] - low) / (high - low), rtol=1e-5, atol=1e-6)
    image = render([shown], OrbitCamera(distance=4.0)).astype(int)
    magenta = (image[..., 0] > 200) & (image[..., 1] < 60) & (image[..., 2] > 200)
    colored = image.max(-1) > 30
    assert 0.03 < magenta.sum() / colored.sum() < 0.1, "two elements of 32, and no gaps"
