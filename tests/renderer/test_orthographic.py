"""Images without perspective, against perspective images from far away."""

import math

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View

SIZE = (160, 120)
RNG = np.random.default_rng(3)


def from_afar(camera: OrbitCamera) -> OrbitCamera:
    """The same view from far away with a small field of view."""
    far = OrbitCamera(**vars(camera))
    far.orthographic = False
    far.fov = 1.0
    far.distance = camera.half_height / math.tan(math.radians(0.5))
    return far


def waves(n=24):
    x, z = np.meshgrid(np.linspace(-1.2, 1.2, n), np.linspace(-1.2, 1.2, n))
    height = 0.3 * np.sin(3 * x) * np.cos(2 * z)
    return np.stack([x, height, z], axis=-1).astype(np.float32), height.astype(np.float32)


@pytest.fixture
def camera():
    return OrbitCamera(target=(0.1, 0.0, -0.1), distance=4.0, yaw=0.5, pitch=0.6, fov=40.0, orthographic=True)


@pytest.mark.parametrize("size", [0.15, 0.004], ids=["spheres", "spots"])
@pytest.mark.parametrize("emissive", [0.0, 1.0])
def test_points(layer, render, camera, size, emissive):
    position = RNG.uniform(-1, 1, (80, 3)).astype(np.float32)
    balls = layer("points", {"emissive": emissive}, position=position, color=(0.9, 0.5, 0.2), size=size)
    shown, expected = (render([balls], c, View(bloom=0.0)).astype(float) for c in (camera, from_afar(camera)))
    assert shown.std() > (10 if size > 0.1 else 2)
    assert np.abs(shown - expected).mean() < 0.8
    in_perspective = render([balls], OrbitCamera(**{**vars(camera), "orthographic": False}), View(bloom=0.0))
    assert np.abs(shown - in_perspective).mean() > 2 * np.abs(shown - expected).mean(), "and perspective shows"


@pytest.mark.parametrize("normals", [False, True])
def test_a_surface(layer, render, camera, normals):
    position, height = waves()
    attributes = {"normal": np.tile(np.float32([0, 1, 0]), (*height.shape, 1))} if normals else {}
    land = layer("surface", {"contours": 0.1, "roughness": 0.2}, position=position, color=height, **attributes)
    shown, expected = (render([land], c).astype(float) for c in (camera, from_afar(camera)))
    assert shown.std() > 10
    assert np.abs(shown - expected).mean() < 0.6


def test_points_and_surface_hide_each_other_as_in_perspective(layer, render, camera):
    land = layer("surface", position=waves()[0], color="#336699")
    balls = layer("points", {"emissive": 1.0}, position=RNG.uniform(-1, 1, (40, 3)).astype(np.float32), size=0.2)
    both = render([land, balls], camera).astype(float)
    assert np.abs(both - render([land, balls], from_afar(camera))).mean() < 1.0
    assert np.abs(both - render([balls], camera)).mean() > 5


def test_a_sphere_has_the_same_size_at_every_depth_also_behind_the_eye(layer, render, camera):
    camera.yaw = camera.pitch = 0.0
    pixel = camera.pixel(SIZE[1])
    expected = math.pi * (0.4 / pixel) ** 2
    for depth in (-200.0, -3.0, 0.0, 3.9, 4.1, 50.0, 1500.0):  # the eye is at 4
        ball = layer("points", {"emissive": 1.0}, position=np.float32([[0.1, 0.0, depth]]), color=(1, 1, 1), size=0.4)
        covered = (render([ball], camera, size=SIZE).max(axis=-1) > 60).sum()
        assert covered == pytest.approx(expected, rel=0.06), depth


def test_objects_beyond_the_depth_range_are_not_drawn(layer, render, camera):
    camera.yaw = camera.pitch = 0.0
    for depth in (4.0 * 520, -4.0 * 520, math.nan):
        ball = layer("points", {"emissive": 1.0}, position=np.float32([[0.1, 0.0, depth]]), size=0.4)
        assert render([ball], camera).max() <= 1, depth  # the dither
