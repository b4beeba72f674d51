"""Images without a background: alpha is the coverage, colors are not premultiplied."""

import math

import numpy as np
import pytest
import wgpu

from vertigrad.renderer import OrbitCamera, Renderer, View

from .conftest import read

SIZE = (160, 120)
CAMERA = OrbitCamera(distance=4.0, fov=40.0)
RNG = np.random.default_rng(4)


@pytest.fixture
def cut_out(gpu):
    """uint8 [height, width, 4]."""

    def draw(layers, view=None, format="rgba8unorm"):
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        texture = gpu.device.create_texture(size=(*SIZE, 1), format=format, usage=usage)
        renderer = Renderer(gpu, format, transparent=True)
        renderer.draw(layers, CAMERA, view or View(bloom=0.0, vignette=0.0), texture.create_view(), SIZE)
        return read(gpu, texture)

    return draw


def over(cut, background):
    """Blend encoded colors, as other programs do."""
    alpha = cut[..., 3:] / 255
    return cut[..., :3] * alpha + np.asarray(background) * (1 - alpha)


@pytest.fixture
def ball(layer):
    style = {"emissive": 1.0, "brightness": 0.5}
    return layer("points", style, position=np.zeros((1, 3), np.float32), color=(0.9, 0.4, 0.2), size=0.9)


def test_inside_it_equals_the_image_and_outside_it_is_empty(cut_out, render, ball):
    cut, plain = cut_out([ball]).astype(int), render([ball], CAMERA).astype(int)
    alpha = cut[..., 3]
    inside, outside = alpha == 255, alpha == 0
    assert inside.sum() > 2000 and outside.sum() > 2000
    assert np.abs(cut[inside, :3] - plain[inside]).max() <= 1
    assert plain[outside].max() <= 1


def test_alpha_is_the_coverage(cut_out, ball):
    cut = cut_out([ball]).astype(float)
    radius = 0.9 / math.sqrt(16 - 0.81) / math.tan(math.radians(20)) * SIZE[1] / 2
    assert cut[..., 3].sum() / 255 == pytest.approx(math.pi * radius**2, rel=0.01)
    edge = (cut[..., 3] > 0) & (cut[..., 3] < 255)
    assert set(np.unique(cut[edge, 3])) <= {64, 127, 128, 191}, "quarters: of four samples"


def test_alpha_of_triangles_is_their_coverage(cut_out, layer):
    turn = np.exp(0.4j) * np.array([[-0.7 - 0.7j, 0.7 - 0.7j], [-0.7 + 0.7j, 0.7 + 0.7j]])
    corners = np.stack([turn.real, turn.imag, np.zeros((2, 2))], -1).astype(np.float32)
    cut = cut_out([layer("surface", {}, position=corners)]).astype(float)
    unit = SIZE[1] / 2 / (4 * math.tan(math.radians(20)))
    assert cut[..., 3].sum() / 255 == pytest.approx((1.4 * unit) ** 2, rel=0.01)


def test_edges_have_the_color_of_their_object(cut_out, layer):
    """A flat triangle of one color, with edges at arbitrary angles."""
    corners = np.float32([[-1.1, -0.8, 0], [1.0, -0.5, 0], [-0.2, 0.9, 0]])
    flat = layer("surface", {"roughness": 1.0}, position=corners, index=np.uint32([[0, 1, 2]]), color="#c08040")
    cut = cut_out([flat]).astype(int)
    inside, edge = cut[..., 3] == 255, (cut[..., 3] > 0) & (cut[..., 3] < 255)
    assert edge.sum() > 100 and cut[inside].min() > 20
    color = np.median(cut[inside, :3], axis=0)
    assert np.abs(cut[inside, :3] - color).max() <= 12, "nearly one color"
    assert np.abs(cut[edge, :3] - color).max() <= 12, "not darkened by the background"


@pytest.mark.parametrize("background", ["#000000", "#404a60"])
def test_composited_over_a_background_it_equals_the_image_with_that_background(cut_out, render, ball, background):
    color = [int(background[i : i + 2], 16) for i in (1, 3, 5)]
    flat = over(cut_out([ball]), color)
    shown = render([ball], CAMERA, View(bloom=0.0, vignette=0.0, background=background)).astype(float)
    behind = render([], CAMERA, View(bloom=0.0, vignette=0.0, background=background)).astype(float)
    solid = np.abs(shown - behind).max(axis=-1) > 40
    assert np.abs(flat - shown)[solid].mean() < 3


def test_additive_light_is_retained(cut_out, render, layer):
    """Emissive points and bloom: on black the same image."""
    position = RNG.normal(0, 0.6, (400, 3)).astype(np.float32)
    stars = layer("points", {"emissive": 1.0, "brightness": 6.0}, position=position, color=(0.6, 0.8, 1.0), size=0.012)
    view = View(bloom=0.2, vignette=0.0, background="#000000")
    cut, shown = cut_out([stars], view), render([stars], CAMERA, view).astype(float)
    assert shown.max() > 100
    assert np.abs(over(cut, (0, 0, 0)) - shown).max() <= 3


def test_an_srgb_target_shows_the_same(cut_out, ball):
    plain, encoded = (cut_out([ball], format=f).astype(int) for f in ("rgba8unorm", "rgba8unorm-srgb"))
    assert np.abs(plain - encoded).max() <= 1
