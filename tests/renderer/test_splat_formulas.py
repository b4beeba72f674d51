"""Images of splats against the published formulas: at several camera positions, of every degree of harmonics."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vertigrad.models.data.splat_formats.harmonics import basis, turned
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import splat_tiles

from . import splat_reference

SIZE = (160, 120)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
CAMERAS = [
    OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0),
    OrbitCamera(distance=2.2, yaw=3.4, pitch=-0.6, fov=60.0),
    OrbitCamera(distance=1.2, yaw=-1.3, pitch=0.1, fov=75.0),  # between the splats
]
COUNT = 160
DRAWN = pytest.mark.parametrize("many", [1 << 30, 0], ids=["quads", "tiles"], indirect=True)
VALUES = (0, 9, 24, 45)


def cloud(degree, seed=3):
    """Splats as training makes them: many flat or long ones, most of them nearly opaque or nearly clear."""
    rng = np.random.default_rng(seed)
    arrays = {
        "position": rng.normal(0.0, 0.5, (COUNT, 3)),
        "scale": np.exp(rng.uniform(-4.5, -1.5, (COUNT, 3))),
        "rotation": rng.normal(size=(COUNT, 4)),
        "opacity": 1 / (1 + np.exp(-rng.normal(0.0, 3.0, COUNT))),
        "color": rng.uniform(0.0, 1.0, (COUNT, 3)),
    }
    if degree:
        arrays["harmonics"] = rng.normal(0.0, 0.25, (COUNT, VALUES[degree]))
    return {name: array.astype(np.float32) for name, array in arrays.items()}


@pytest.fixture
def many(request, monkeypatch):
    """From so many splats on, tiles are used."""
    for adapter in ("MANY", "SOFTWARE_MANY"):
        monkeypatch.setattr(splat_tiles, adapter, request.param)


@pytest.mark.turns(3)
@DRAWN
@pytest.mark.parametrize("degree", range(4))
def test_images_are_those_of_the_published_formulas(layer, render, many, degree):
    arrays = cloud(degree)
    splats = layer("splats", **arrays)
    for camera in CAMERAS:
        got = render([splats], camera, VIEW, SIZE)
        expected = 255 * np.clip(splat_reference.image(camera, SIZE, arrays)[0], 0, 1)
        difference = np.abs(got - expected)
        assert expected.std() > 20
        assert difference.mean() < 0.3 and difference.max() < 3.0, "of 255"


@DRAWN
def test_a_splat_that_is_wider_than_the_image(layer, render, many):
    arrays = {name: array[:1].copy() for name, array in cloud(0).items()}
    arrays["position"][:], arrays["scale"][:], arrays["opacity"][:] = (0.3, -0.2, 0.1), (1.5, 0.9, 0.1), 0.7
    for camera in CAMERAS:
        got = render([layer("splats", **arrays)], camera, VIEW, SIZE)
        expected = 255 * np.clip(splat_reference.image(camera, SIZE, arrays)[0], 0, 1)
        assert np.abs(got - expected).max() < 1.5 and expected.max() > 20


def test_harmonics_change_with_the_view_and_degrees_differ(layer, render):
    images = [render([layer("splats", **cloud(degree))], CAMERAS[0], VIEW, SIZE).astype(int) for degree in range(4)]
    for few, more in pairwise(images):
        assert np.abs(few - more).mean() > 2


@pytest.mark.turns(2)
@DRAWN
def test_splats_behind_a_mesh_are_hidden(layer, render, many):
    """A square across the view, at a depth between those of the splats."""
    camera, arrays = CAMERAS[0], cloud(1)
    turn = camera.rotation()
    corners = np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]]) @ turn.T
    square = layer("surface", position=corners.astype("f4"), index=np.uint32([[0, 1, 2], [0, 2, 3]]), color="#000000")
    got = render([square, layer("splats", **arrays)], camera, VIEW, SIZE)
    behind = render([square], camera, VIEW, SIZE).astype(float)
    shown, left = splat_reference.image(camera, SIZE, arrays, np.full((120, 160), 4.0))
    expected = np.clip(255 * shown + left[..., None] * behind, 0, 255)
    assert np.abs(splat_reference.image(camera, SIZE, arrays)[0] - shown).mean() > 0.01
    assert np.abs(got - expected).mean() < 0.5


def test_the_basis_is_that_of_scipy():
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for number in range(15):
        one = np.zeros((50, 45))
        one[:, 3 * number : 3 * number + 3] = 1.0
        expected = splat_reference.view_dependent(np.full((50, 3), 5.0), one, directions)[:, 0] - 5.0
        assert np.allclose(basis(directions, 3)[:, number], expected)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_turned_harmonics_give_the_same_colors_in_turned_directions(degree):
    rng = np.random.default_rng(degree)
    turn = splat_reference.turns(rng.normal(size=(1, 4)))[0]
    directions = rng.normal(size=(20, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    before = rng.normal(size=(20, VALUES[degree])).astype(np.float32)
    after = turned(before, turn)
    middle = np.full((20, 3), 9.0)
    assert np.allclose(
        splat_reference.view_dependent(middle, before, directions),
        splat_reference.view_dependent(middle, after, directions @ turn.T),
        atol=1e-5,
    )
    assert np.abs(after - before).max() > 0.1
