"""Clip planes: each type of layer is removed on one side of them and unchanged on the other."""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.moment import Moment
from vertigrad.tensor import Tensor

from .conftest import PLAIN

SIZE = (160, 120)
PIXELS = 40  # to a world unit
NOISE = 1  # of the dither


def view(**changes):
    return View(**{**PLAIN, **changes})


@pytest.fixture
def front():
    camera = OrbitCamera(distance=10.0, orthographic=True)
    camera.distance *= SIZE[1] / 2 / PIXELS / camera.half_height
    return camera


def sheet(n=9):
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    return np.stack([x, y, 0.2 * np.sin(3 * x)], axis=-1).astype(np.float32)


def drawn(layer, kind):
    line = np.float32([[-1.2, 0.3, 0.0], [1.2, -0.4, 0.0]])
    match kind:
        case "spheres":
            return layer("points", position=np.float32([[0, 0, 0], [-0.9, 0.5, 0]]), size=0.6)
        case "spots":
            position = np.random.default_rng(2).uniform(-1, 1, (900, 3)).astype(np.float32)
            return layer("points", {"emissive": 1.0}, position=position, size=0.012)
        case "surface":
            return layer("surface", position=sheet())
        case "instances" | "arrows":
            position = np.float32([[0, 0, 0], [-0.6, 0.4, 0], [0.7, -0.5, 0]])
            pointing = {"direction": np.float32([[1.0, 0.2, 0.1]] * 3)} if kind == "arrows" else {"size": 0.5}
            return layer(kind, position=position, **pointing)
        case "lines":
            return layer("lines", position=line, width=9.0)
        case "tubes":
            return layer("lines", {"tube": True}, position=line, width=0.3)
        case "thin tubes":  # which blend
            return layer("lines", {"tube": True}, position=sheet(12), width=0.015)
        case "marks":
            position = np.random.default_rng(2).uniform(-1, 1, (900, 3)).astype(np.float32)
            return layer("marks", position=position, size=0.02)
        case "splats":
            return layer("splats", position=np.float32([[0, 0, 0], [0.3, 0.2, 0.1], [-0.5, 0.3, 0]]), scale=0.3)
        case "image":
            return layer("image", pixels=np.linspace(0.2, 1, 48, dtype=np.float32).reshape(6, 8))
        case "streamlines" | "vectors":
            current = np.tile(np.float32([1.0, 0.3, 0.0]), (4, 4, 4, 1))
            style = {"count": 20, "length": 1.5, "width": 0.05} if kind == "streamlines" else {"count": 5, "scale": 0.3}
            return layer(kind, style, vectors=current)
        case "isosurface" | "volume":
            z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 17, dtype=np.float32)], indexing="ij")
            ball = 0.9 - np.sqrt(x * x + y * y + z * z)
            if kind == "isosurface":
                return layer(kind, values=ball)
            return layer(kind, {"density_range": (0.0, 0.4), "emissive": 1.0}, density=ball)


SOLID = ["spheres", "surface", "instances", "arrows", "lines", "tubes", "streamlines", "vectors", "isosurface"]
KINDS = [*SOLID, "spots", "marks", "thin tubes", "splats", "image", "volume"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_clipped_side_is_removed_and_the_rest_is_unchanged(layer, render, front, kind):
    thing = drawn(layer, kind)
    whole = render([thing], front, view(), SIZE).astype(int)
    cut = render([thing], front, view(clip_normal=(3.0, 0.0, 0.0), clip_origin=(0.25, 5.0, 5.0)), SIZE).astype(int)
    edge = SIZE[0] // 2 + PIXELS // 4
    soft = 3 if kind in ("spots", "marks") else 1  # those are clipped as a whole
    assert whole[:, edge + soft :].max() > 20, "there was something"
    assert cut[:, edge + soft :].max() <= NOISE
    assert np.abs(cut - whole)[:, : edge - soft].max() <= 2 * NOISE
    assert cut[:, : edge - soft].max() > 20


def test_three_planes_clip_together(layer, render, front):
    thing = drawn(layer, "surface")
    planes = {
        "clip_normal": (1, 0, 0),
        "clip_origin": (0.5, 0, 0),
        "clip_normal_2": (-1, 0, 0),
        "clip_origin_2": (-0.5, 0, 0),
        "clip_normal_3": (0, -2, 0),
        "clip_origin_3": (0, -0.25, 0),
    }
    visible = render([thing], front, view(**planes), SIZE).astype(int).sum(axis=-1) > 10
    rows, columns = (np.flatnonzero(visible.any(axis=axis)) for axis in (1, 0))
    np.testing.assert_allclose((columns[0], columns[-1], rows[0], rows[-1]), (60, 99, 20, 69), atol=1)


def test_a_plane_is_fixed_in_the_world(layer, render):
    """Seen from behind and above, in perspective: the rest is on the visible side."""
    thing = layer("points", position=np.float32([[-0.5, 0, 0], [0.5, 0, 0]]), size=0.3)
    camera = OrbitCamera.from_position((0.0, 1.0, -6.0), (0, 0, 0), fov=30)
    cut = render([thing], camera, view(clip_normal=(1, 0, 0)), SIZE).astype(int).sum(axis=-1)
    assert cut[:, :80].max() <= 3 * NOISE
    assert cut[:, 80:].max() > 100


def test_an_open_sphere_shows_its_inside(layer, render, front):
    ball = layer("points", {"emissive": 1.0}, position=np.zeros((1, 3), np.float32), size=1.0, color=(0.4, 0.4, 0.4))
    whole = render([ball], front, view(), SIZE).astype(int)
    half = render([ball], front, view(clip_normal=(0, 0, 1)), SIZE).astype(int)
    # Emissive spheres are darker toward the rim, inside and outside.
    np.testing.assert_allclose(half[60, 50:110], whole[60, 50:110], atol=2 * NOISE)
    assert render([ball], front, view(clip_normal=(0, 0, 1), clip_origin=(0, 0, -1.01)), SIZE).max() <= NOISE


def test_trails_end_at_a_plane(gpu, layer, render, front):
    with Tensor.from_numpy(np.float32([[-1.0, 0.2, 0.0]])) as head:
        trails = layer("trails", {"length": 60, "taper": 0.0}, position=head, width=6.0)
        for step in range(60):
            with Tensor.from_numpy(np.float32([[-1.0 + step / 30, 0.2, 0.0]])) as now:
                head[...] = now
            trails.prepare(Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), step / 30 - 2.0))
        whole = render([trails], front, view(), SIZE)
        cut = render([trails], front, view(clip_normal=(2, 0, 0), clip_origin=(-0.3, 1, 1)), SIZE)
    assert whole[:, 90:110].max() > 20
    assert cut[:, 73:].max() <= NOISE
    assert cut[:, 48:64].max() > 20


def test_a_normal_without_length_clips_nothing(layer, render, front):
    thing = drawn(layer, "surface")
    np.testing.assert_array_equal(
        render([thing], front, view(clip_normal=(0, 0, 0)), SIZE), render([thing], front, view(), SIZE)
    )


def test_a_plane_clips_the_far_half_of_a_volume_like_the_near_one(layer, render):
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 16)], indexing="ij")
    density = np.exp(-3.0 * (x * x + y * y + z * z)).astype(np.float32)
    cloud = layer("volume", {"emissive": 1.0, "extinction": 1.0, "brightness": 1.0}, density=density)
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, orthographic=True)
    plain = {"bloom": 0.0, "vignette": 0.0, "background": "#000000"}
    whole, near, far = (
        render([cloud], camera, View(**plain, clip_normal=normal)).astype(float).mean()
        for normal in ("none", (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    )
    assert abs(near - far) < 0.03 * whole and max(near, far) < 0.85 * whole
