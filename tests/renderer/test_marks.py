"""Discs, sprites and single pixels against their expected coverage."""

import numpy as np
import pytest

from vertigrad.errors import LayoutError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import marks as marks_module
from vertigrad.renderer.picking import Picker
from vertigrad.renderer.target import handles_samples
from vertigrad.tensor import Tensor

from .light_reference import displayed

SIZE = (160, 120)
CAMERA = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
X, Y = np.meshgrid(np.arange(SIZE[0]) + 0.5 - SIZE[0] / 2, SIZE[1] / 2 - np.arange(SIZE[1]) - 0.5)
GRAY = "#909090"


def on_screen(x, y, z=0.0):
    """Pixels from the center of the image, y up."""
    return np.array([x, y]) / (4.0 - z) / CAMERA.pixel(SIZE[1])


def decoded(shown):
    """Linear light, in which samples are averaged."""
    encoded = shown / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize(("pixels", "size"), [(False, 0.3), (True, 9.0), (True, 2.3)])
def test_a_disc_covers_a_circle(gpu, layer, render, pixels, size):
    if not handles_samples(gpu):
        pytest.skip("samples cannot be chosen there")
    point = np.float32([[0.4, 0.2, 1.0]])
    shown = render([layer("marks", {"pixels": pixels}, position=point, size=size, color="#ffffff")], CAMERA, VIEW)
    radius = size if pixels else size / 3.0 / CAMERA.pixel(SIZE[1])
    away = np.hypot(*(axis - c for axis, c in zip((X, Y), on_screen(0.4, 0.2, 1.0), strict=True))) - radius
    white = np.full(3, 255.0)
    assert np.abs(shown[away < -1] - white).max() <= 1.5
    assert shown[away > 1].max() <= 1
    covered = (decoded(shown[..., 1]) / decoded(white[1])).sum()
    assert abs(covered - np.pi * radius**2) < 0.02 * np.pi * radius**2 + 1


@pytest.mark.parametrize("size", [8.0, 40.0])
def test_a_mark_covers_according_to_its_alpha(layer, render, size):
    color = np.float32([[0.9, 0.4, 0.2, 0.4]])
    clear, solid = (
        layer("marks", {"pixels": True}, position=np.zeros((1, 3), np.float32), size=size, color=value)
        for value in (color, np.float32([[0.9, 0.4, 0.2, 1.0]]))
    )
    inside = np.hypot(X, Y) < size - 2
    shown, whole = (
        decoded(render([marks], CAMERA, VIEW)[inside].astype(float)).mean(axis=0) for marks in (clear, solid)
    )
    np.testing.assert_allclose(shown / whole, 0.4, atol=0.04)


def test_a_mark_of_one_pixel(layer, render):
    cells = np.array([[3, 5], [-40, 20], [77, -58]])  # from the center of the image
    point = np.zeros((3, 3))
    point[:, :2] = (cells + 0.5) * 4.0 * CAMERA.pixel(SIZE[1])
    marks = layer("marks", {"shape": "pixel"}, position=point.astype(np.float32), color="#ff8000")
    shown = render([marks], CAMERA, VIEW)
    lit = np.argwhere(shown.max(axis=-1) > 2)
    expected = sorted((59 - y, 80 + x) for x, y in cells)
    assert sorted(map(tuple, lit)) == expected
    for y, x in expected:
        assert np.abs(shown[y, x] - (255, 128, 0)).max() < 1


@pytest.mark.parametrize(("hardness", "glow"), [(0.0, 0.0), (0.6, 1.0)])
def test_a_sprite_fades_toward_its_rim(layer, render, hardness, glow):
    style = {"shape": "sprite", "pixels": True, "hardness": hardness, "glow": glow}
    under = layer("marks", {"pixels": True}, position=np.float32([[0, 0, -1]]), size=90.0, color="#404040")
    over = layer("marks", style, position=np.zeros((1, 3), np.float32), size=20.0, color="#c04020")
    shown = render([under, over], CAMERA, VIEW)
    inner = hardness * (1 - 1 / 20)
    t = np.clip((np.hypot(X, Y) / 20 - inner) / (1 - inner), 0, 1)
    alpha = ((1 - t * t * (3 - 2 * t)) ** 2)[..., None]
    expected = displayed(0x40 / 255 * (1 - alpha * (1 - glow)) + alpha * np.array([0xC0, 0x40, 0x20]) / 255)
    inside = np.hypot(X, Y) < 22
    assert np.abs(shown - expected)[inside].max() < 1.5


def test_sprites_of_one_sample_are_those_of_four(layer, render, monkeypatch):
    """Between balls: where these have outlines, what is hidden is a part of a pixel."""
    rng = np.random.default_rng(5)
    balls = layer("points", {}, position=rng.uniform(-0.8, 0.8, (9, 3)).astype(np.float32), size=0.3)
    position, color = (
        rng.uniform(-0.9, 0.9, (200, 3)).astype(np.float32),
        rng.uniform(0, 1, (200, 4)).astype(np.float32),
    )
    shown = []
    for samples in (True, False):
        monkeypatch.setattr(marks_module, "handles_samples", lambda gpu, samples=samples: samples)
        sprites = layer("marks", {"shape": "sprite"}, position=position, color=color, size=0.15)
        assert sprites.drawing.surveys == samples
        shown.append(render([balls, sprites], CAMERA, VIEW).astype(int))
    difference = np.abs(shown[0] - shown[1]).max(axis=-1)
    assert difference.mean() < 0.3 and (difference > 8).mean() < 0.004
    alone = render([balls], CAMERA, VIEW).astype(int)
    assert np.abs(shown[0] - alone).max(axis=-1).mean() > 10


def test_nearer_marks_are_in_front_and_non_finite_ones_are_not_drawn(layer, render):
    point = np.float32([[0, 0, 0.5], [0, 0, 0], [np.nan, 0, 1], [0, np.inf, 1], [0, 0, 1]])
    color = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    size = np.float32([6, 12, 9, 9, np.nan])
    shown = render([layer("marks", {"pixels": True}, position=point, color=color, size=size)], CAMERA, VIEW)
    assert np.argmax(shown[60, 80]) == 0 and np.argmax(shown[60, 89]) == 1 and shown[..., 2].max() < 60


def test_another_shape_a_view_and_picking(gpu, layer, render):
    state = np.zeros((3, 6), np.float32)
    state[:, 1], state[:, 5] = (-0.6, 0.0, 0.6), (1, 2, 3)
    with Tensor.from_numpy(state) as whole, whole[:, 1:4] as position, whole[:, 5] as color:
        marks = layer("marks", {"pixels": True}, position=position, color=color, size=8.0)
        before = gpu.meter.read()["geometry"]
        first = render([marks], CAMERA, VIEW)
        marks.style.change("shape", "sprite")
        assert np.abs(render([marks], CAMERA, VIEW).astype(int) - first).max() > 20
        assert gpu.meter.read()["geometry"] == before
        got = []
        for shape in ("disc", "sprite", "pixel"):
            marks.style.change("shape", shape)
            cursor = on_screen(0.6, 0.0) * (1, -1) + (80, 60)
            Picker(gpu).pick([marks], CAMERA, SIZE, tuple(cursor), got.append)
        gpu.wait_idle()
        assert [hit.row for hit in got] == [2, 2, 2]
        assert marks.report()["color"]["offset"] == 20
        marks.close()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({}, ParameterError, "position must be a tensor"),
        ({"position": np.zeros((0, 3), np.float32)}, LayoutError, "has no rows"),
        ({"position": np.zeros((2, 3), np.float32), "size": 0}, ParameterError, "size must be a number above 0"),
    ],
)
def test_invalid_attributes_are_rejected(layer, value, error, message):
    with pytest.raises(error, match=message):
        layer("marks", **value)
