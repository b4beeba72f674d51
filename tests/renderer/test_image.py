"""Images of tensors against their exact pixels, for any layout."""

import numpy as np
import pytest

from vertigrad.errors import LayoutError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.bounds import Bounds
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.renderer.picking import Picker
from vertigrad.tensor import Tensor

from .light_reference import displayed, encoded

SIZE = (160, 120)
FACING = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0, orthographic=True)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
ROWS, COLUMNS, EACH = 6, 8, 10  # of the image, and screen pixels per image pixel
WIDTH = COLUMNS * EACH * FACING.pixel(SIZE[1])
RNG = np.random.default_rng(8)
COLORS = RNG.uniform(0, 1, (ROWS, COLUMNS, 3)).astype(np.float32)


def decoded(color):
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def part(shown):
    """The screen pixels of the image, in the center of the screen."""
    x, y = (SIZE[0] - COLUMNS * EACH) // 2, (SIZE[1] - ROWS * EACH) // 2
    return shown[y : y + ROWS * EACH, x : x + COLUMNS * EACH]


def enlarged(color):
    return np.repeat(np.repeat(color, EACH, axis=0), EACH, axis=1)


def test_each_pixel_is_a_square_of_its_color(layer, render):
    shown = render([layer("image", {"width": WIDTH, "smooth": False}, pixels=COLORS)], FACING, VIEW)
    assert np.abs(part(shown) - displayed(enlarged(COLORS.astype(float)))).max() < 0.6
    shown[np.ix_(range(30, 90), range(40, 120))] = 0
    assert shown.max() <= 1  # nothing outside of it


def test_interpolation_is_linear_in_light(layer, render):
    shown = part(render([layer("image", {"width": WIDTH}, pixels=COLORS)], FACING, VIEW))
    light = decoded(COLORS.astype(float))
    for axis, count in ((0, ROWS), (1, COLUMNS)):
        position = np.clip((np.arange(count * EACH) + 0.5) / EACH - 0.5, 0, count - 1)
        low = np.minimum(position.astype(int), count - 2)
        share = (position - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        light = light.take(low, axis) * (1 - share) + light.take(low + 1, axis) * share
    assert np.abs(shown - displayed(encoded(light))).max() < 1.0


def test_one_channel_uses_the_colormap_and_nan_is_transparent(layer, render):
    values = np.linspace(-3, 5, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    values[2, 3] = np.nan
    style = {"width": WIDTH, "smooth": False, "colormap": "batlow"}
    shown = part(render([layer("image", style, pixels=values)], FACING, VIEW))
    positions = np.nan_to_num((values + 3) / 8) * 255
    table, low = decoded(colormap_colors("batlow")[:, :3] / 255), np.minimum(positions.astype(int), 254)
    share = (positions - low)[..., None]
    expected = displayed(encoded(enlarged(table[low] * (1 - share) + table[low + 1] * share)))
    expected[20:30, 30:40] = 0
    assert np.abs(shown - expected).max() < 1.1
    half = render([layer("image", {**style, "range": (-3, 50), "smooth": True}, pixels=values)], FACING, VIEW)
    assert np.isfinite(half).all() and part(half)[24, 35].max() <= 1


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_other_types_and_slices_of_a_tensor(gpu, layer, render, dtype):
    many = np.float32(RNG.uniform(0, 1, (2 * ROWS + 1, COLUMNS + 3, 4)))
    many = np.round(255 * many).astype(np.uint8) if dtype is np.uint8 else many.astype(dtype)
    one = many[1::2, 3:, :3].astype(float) / (255 if dtype is np.uint8 else 1)
    with Tensor.from_numpy(many) as whole, whole[1::2, 3:, :3] as view:
        image = layer("image", {"width": WIDTH, "smooth": False}, pixels=view)
        before = gpu.meter.read()["geometry"]
        shown = render([image], FACING, VIEW)
        assert gpu.meter.read()["geometry"] == before
        assert image.report()["pixels"]["block"] == whole.block.id
        assert image.report()["pixels"]["offset"] == view.offset
        image.close()
    assert np.abs(part(shown) - displayed(enlarged(one))).max() < 0.6


def test_alpha_blends_over_the_scene(layer, render):
    under, over = np.full((1, 1, 3), 0.5, np.float32), np.float32([[[0.9, 0.2, 0.1, 0.25]]])
    style = {"width": 1.2, "smooth": False}
    images = [layer("image", {**style, "center": (0, 0, z)}, pixels=p) for z, p in ((-0.1, under), (0.1, over))]
    for order in (1, -1):
        shown = render(images[::order], FACING, VIEW)[60, 80]
        assert np.abs(shown - displayed([0.9, 0.2, 0.1], 0.25, 0.5)).max() < 0.6


@pytest.mark.parametrize(("position", "hidden"), [("front", False), ("behind", True)])
@pytest.mark.parametrize("parallel", [False, True])
def test_on_the_screen(gpu, layer, render, position, hidden, parallel):
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.4, color="#000000")
    style = {"placement": position, "screen_fraction": 1.0, "margin": 0.0, "anchor": "middle", "smooth": False}
    image = layer("image", style, pixels=np.float32([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]]))
    camera = OrbitCamera(distance=4.0, yaw=0.7, pitch=0.2, fov=40.0, orthographic=parallel)
    shown = render([image, ball], camera, VIEW)
    lit = [int(np.argmax(shown[y, x])) for y, x in ((5, 25), (5, 135), (115, 25))]
    assert lit == [0, 1, 2]  # a square in the center, as high as the screen
    assert shown[60, 10].max() <= 1 and shown[60, 150].max() <= 1
    assert (shown[60, 84].max() < 90) == hidden
    bounds = Bounds([image])
    gpu.wait_idle()
    assert bounds.result() is None


def test_the_pixels_of_an_image_are_picked(gpu, layer):
    style = {"width": 2.0, "plane": "xz", "center": (1.0, 0.5, -2.0)}
    bounds = Bounds([layer("image", style, pixels=np.zeros((10, 20), np.float32))])
    flat = layer("image", {"width": WIDTH}, pixels=COLORS)
    got = []
    for cursor in ((45, 35), (115, 85), (20, 20)):
        Picker(gpu).pick([flat], FACING, SIZE, cursor, got.append)
    gpu.wait_idle()
    low, high = bounds.result()
    assert np.allclose(low, (0, 0.5, -2.5)) and np.allclose(high, (2, 0.5, -1.5))
    assert [hit and hit.row for hit in got] == [0, ROWS * COLUMNS - 1, None]


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({}, ParameterError, "pixels must be a tensor"),
        ({"pixels": np.zeros((4, 5, 2), np.float32)}, LayoutError, r"shape \(4, 5, 2\)"),
        ({"pixels": np.zeros((0, 5, 3), np.float32)}, LayoutError, r"shape \(0, 5, 3\)"),
        ({"pixels": np.zeros((4, 5, 3), np.int32)}, LayoutError, "f32, f16 or u8: cast it"),
        ({"pixels": np.zeros((4, 5), np.uint8)}, LayoutError, "must be f32"),
    ],
)
def test_invalid_tensors_are_rejected(layer, attributes, error, message):
    with pytest.raises(error, match=message):
        layer("image", **attributes)
