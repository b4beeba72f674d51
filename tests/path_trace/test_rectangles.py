"""Path-traced images and slices: their colors by NumPy, what is clear in them, and the renderer's images of them."""

import tracemalloc

import numpy as np
import pytest

from vertigrad.export.colors import colormapped
from vertigrad.export.geometry import to_light
from vertigrad.path_trace import TracedImage, flat_view, gather
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers.styles import ends_among

from .test_light import FRONT
from .test_lines import LOOK

DARK = View(sun=0.0, sky=0.0, **LOOK)
CAMERA = OrbitCamera(distance=3.4, fov=40.0, pitch=0.4, yaw=0.5)


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.float32])
def test_pixels_of_an_image_have_their_light(layer, trace, kind):
    """Four by three pixels, not interpolated, fill three quarters of an image of 2 by 2 units; FRONT looks along -z."""
    colors = np.random.default_rng(2).random((3, 4, 3))
    pixels = np.round(colors * 255.0).astype(np.uint8) if kind == np.uint8 else colors.astype(kind)
    image = layer("image", {"smooth": False, "brightness": 1.5}, pixels=pixels)
    found = trace([image], FRONT, DARK, (64, 64), 8)
    shown = found[8:56].reshape(3, 16, 4, 16, 4)[:, 4:12, :, 4:12].mean(axis=(1, 3))
    np.testing.assert_allclose(shown[..., :3], 1.5 * to_light(colors), atol=0.012)
    np.testing.assert_allclose(shown[..., 3], 1.0)
    assert (found[:7, :, 3] == 0.0).all() and not gather([image]).left_out


def test_an_image_lets_light_through_by_its_alpha_and_opacity(layer, trace):
    """Two halves of alpha 1 and 0.5, and opacity 0.6, before black: coverage, and the light of white."""
    pixels = np.ones((2, 2, 4), np.float32)
    pixels[:, 1, 3] = 0.5
    image = layer("image", {"smooth": False, "opacity": 0.6}, pixels=pixels)
    found = trace([image], FRONT, DARK, (16, 16), 128)
    for half, alpha in ((found[:, :7], 0.6), (found[:, 9:], 0.3)):
        np.testing.assert_allclose(half.mean(axis=(0, 1)), alpha, atol=0.02)


def test_slices_have_the_colors_of_the_values_between_samples(layer, trace):
    """One slice across z that fills the image: values by NumPy, and none where they are below a fraction."""
    x, y, z = np.meshgrid(*[np.linspace(-1.0, 1.0, 9)] * 3, indexing="ij")
    values = (x + 0.5 * y * z).transpose(2, 1, 0).astype(np.float32)
    style = {"across": "z", "at": (0.5, 0.5, 0.7), "samples": "nodes", "hidden_below": 0.3, "colormap": "viridis"}
    slices = layer("slices", style, values=values)
    found = trace([slices], FRONT, DARK, (40, 40), 24)
    along = (np.arange(40) + 0.5) / 20.0 - 1.0
    expected = along[None] + 0.5 * -along[:, None] * 0.4  # rows of an image count down; linear between samples
    low, high = ends_among("auto", values)
    fraction = (expected - low) / (high - low)
    light = to_light(colormapped(expected.reshape(-1), values, slices.style)).reshape(40, 40, 3)
    shown, edge = fraction > 0.32, np.abs(fraction - 0.3) < 0.03
    np.testing.assert_allclose(found[shown][:, :3], light[shown], atol=0.02)
    np.testing.assert_allclose(found[shown][:, 3], 1.0)
    assert (found[~shown & ~edge] == 0.0).all()


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_the_renderer_draws_the_same_images_and_slices(gpu, layer, render, tracer, interpolation):
    """Three slices that meet, and an image behind them: the mean difference is below 2.5 of 255 levels."""
    random = np.random.default_rng(4)
    values = random.random((5, 6, 7)).astype(np.float32)
    style = {"colormap": "plasma", "at": (0.3, 0.6, 0.5), "brightness": 0.8, "interpolation": interpolation}
    slices = layer("slices", style, values=values)
    levels = random.random((6, 5)).astype(np.float32)
    levels[2, 2] = np.nan
    image = layer("image", {"center": (0.0, 0.0, -1.3), "plane": "xy", "width": 1.6}, pixels=levels)
    size = 96, 72
    drawn = render([slices, image], CAMERA, DARK, size).astype(float)
    traced = tracer([slices, image], CAMERA, DARK, size, 24)
    shown = render([TracedImage(gpu, traced)], CAMERA, flat_view(DARK), size).astype(float)
    assert drawn.mean() > 15
    assert np.abs(drawn - shown).mean() < 2.5
    assert shown.mean() == pytest.approx(drawn.mean(), rel=0.02)


def test_an_image_on_the_screen_is_an_overlay(gpu, layer, render, tracer):
    """It is drawn over the traced image, as over that of the renderer."""
    ball = layer("points", {"emissive": 1.0}, position=np.zeros((1, 3), np.float32), color="#4060ff", size=0.9)
    style = {"placement": "front", "anchor": "upper left"}
    image = layer("image", style, pixels=np.random.default_rng(1).random((4, 4, 3)).astype(np.float32))
    found = gather([ball, image])
    assert list(found.overlays) == [image] and len(found.shapes) == 1 and not found.left_out
    traced = tracer([ball, image], CAMERA, DARK, (48, 48), 8)
    shown = render([TracedImage(gpu, traced), *found.overlays], CAMERA, flat_view(DARK), (48, 48)).astype(float)
    drawn = render([ball, image], CAMERA, DARK, (48, 48)).astype(float)
    np.testing.assert_allclose(shown[:14, :14], drawn[:14, :14], atol=1.0)
    behind = layer("image", {"placement": "behind"}, pixels=np.ones((2, 2, 3), np.float32))
    assert "behind" in gather([ball, behind]).left_out[0]


def test_slices_take_little_memory(layer):
    """Of 512 x 512 texels each: no more than some copies of these, whatever the number of planes."""
    slices = layer("slices", {"across": "xyz"}, values=np.random.default_rng(1).random((64, 64, 64), np.float32))
    tracemalloc.start()
    gather([slices])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 512 * 512 * 8


def test_a_tone_map_of_a_layer_is_reported(layer):
    image = layer("image", {"tone_map": "agx"}, pixels=np.full((2, 2), 0.5, np.float32))
    (sentence,) = gather([image]).left_out
    assert "'agx' is not path-traced" in sentence
