"""Path-traced lines: the area that tubes cover, their light, and lines and trails as the renderer draws them."""

import math

import numpy as np
import pytest

from vertigrad.path_trace import TracedImage, flat_view, gather
from vertigrad.path_trace.shapes import concatenated
from vertigrad.renderer import OrbitCamera, View
from vertigrad.tensor import Tensor

from .test_light import FRONT, FURNACE, WHITE

LOOK = {"bloom": 0.0, "vignette": 0.0, "background": "#000000", "tone_map": "none"}
CAMERA = OrbitCamera(distance=4.0, fov=35.0, pitch=0.3)


def hull(length: float, a: float, b: float) -> float:
    """The area of the hull of two discs."""
    angle = math.asin((a - b) / length)  # by which the outer tangents lean
    sides = (a + b) * math.sqrt(length**2 - (a - b) ** 2)
    return sides + a * a * (math.pi / 2 + angle) + b * b * (math.pi / 2 - angle)


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.2), (0.3, 0.1), (0.05, 0.4)])
def test_a_tube_covers_the_hull_of_two_balls(layer, trace, a, b):
    """In an image of 2 by 2 units, along its diagonal; 3 sigma are 0.012."""
    ends = np.float32([[[-0.4, -0.3, 0], [0.4, 0.3, 0]]])
    tube = layer("lines", {"tube": True}, position=ends, width=np.float32([[2 * a, 2 * b]]))
    found = trace([tube], FRONT, View(sun=0.0, sky=0.0), (24, 24), 32)[..., 3]
    assert 4.0 * found.mean() == pytest.approx(hull(1.0, a, b), abs=0.015)
    assert not gather([tube]).left_out


def test_a_pointed_tube_along_the_view_is_a_cone(layer, trace):
    """The normals of its side all lean alike: means over rings around its axis are equal."""
    ends = np.float32([[[0, 0, -0.5], [0, 0, 0.5]]])
    tube = layer("lines", {"tube": True, "roughness": 1.0}, position=ends, width=np.float32([[1.6, 0.2]]))
    flat = layer("lines", {"tube": True, "roughness": 1.0}, position=0.0 * ends, width=np.float32([[1.6, 1.6]]))
    view = View(sun=1.0, sky=0.0, sun_elevation=20.0, sun_azimuth=0.0, shadows=0.0, **WHITE)
    size = 40
    x = (np.arange(size) + 0.5) / size * 2.0 - 1.0
    radius = np.hypot(*np.meshgrid(x, x))
    cone, ball = (trace([one], FRONT, view, (size, size), 16, bounces=0)[..., 0] for one in (tube, flat))
    inner, outer = (radius > 0.15) & (radius < 0.3), (radius > 0.4) & (radius < 0.55)  # it is the ball from 0.571
    assert ball[outer].mean() < 0.92 * ball[inner].mean()
    assert cone[outer].mean() == pytest.approx(cone[inner].mean(), rel=0.02)


def test_pieces_of_a_line_are_not_more_opaque_where_they_overlap(layer, trace):
    """A line of forty pieces as long as a quarter of its width, whose alpha is 0.4."""
    row = np.stack([np.linspace(-0.6, 0.6, 40), 0 * np.arange(40), 0 * np.arange(40)], axis=1).astype(np.float32)
    tube = layer("lines", {"tube": True}, position=row, width=0.5, color=(1.0, 1.0, 1.0, 0.4))
    cover = trace([tube], FRONT, View(sun=0.0, sky=0.0), (24, 24), 48)[..., 3]
    assert 4.0 * cover.mean() == pytest.approx(0.4 * hull(1.2, 0.25, 0.25), abs=0.012)


def test_lines_of_two_layers_hide_each_other_independently(layer, trace):
    """Two of alpha 0.5 and of different widths, both the first line of a layer: 0.75 where both are."""
    ends = np.float32([[[-0.5, 0, 0], [0.5, 0, 0]]])
    how = {"position": ends, "color": (1.0, 1.0, 1.0, 0.5)}
    tubes = [layer("lines", {"tube": True}, width=width, **how) for width in (0.4, 0.6)]
    cover = trace(tubes, FRONT, View(sun=0.0, sky=0.0), (24, 24), 64)[..., 3]
    wide, narrow = hull(1.0, 0.3, 0.3), hull(1.0, 0.2, 0.2)
    assert 4.0 * cover.mean() == pytest.approx(0.5 * wide + 0.25 * narrow, abs=0.012)


def test_a_width_below_0_is_none(layer, trace):
    """As the renderer draws it; of a piece that ends so, a cone is left."""
    ends = np.float32([[[-0.5, 0, 0], [0.5, 0, 0]]])
    tubes = [layer("lines", {"tube": True}, position=ends, width=np.float32([[0.6, end]])) for end in (0.0, -0.5)]
    pointed, below = (trace([tube], FRONT, View(sun=0.0, sky=0.0), (24, 24), 16)[..., 3] for tube in tubes)
    assert pointed.mean() > 0.05
    np.testing.assert_array_equal(below, pointed)


def test_all_corners_that_are_read_are_there(layer):
    """Three of triangles and of tubes, also of the last tube: shaders that ship have no checks of bounds."""
    ends = np.float32([[[-0.5, 0, 0], [0.5, 0, 0]], [[-0.5, 0.4, 0], [0.5, 0.4, 0]]])
    gathered = gather([layer("lines", {"tube": True}, position=ends, width=0.2)])
    scene = concatenated([one.tubes(FRONT, (24, 24)) for one in gathered.lines])
    first = scene.primitives.reshape(-1, 3, 4)[:, 1, 3]
    assert first.max() + 2 < len(scene.corners)


def test_a_white_tube_disappears_in_a_white_furnace(layer, trace):
    row = np.float32([[-0.8, -0.2, 0.3], [0.1, 0.4, -0.5], [0.8, -0.5, 0.2]])
    tube = layer("lines", {"tube": True}, position=row, width=np.float32([0.5, 0.3, 0.6]), color=(1.0, 1.0, 1.0))
    found = trace([tube], CAMERA, FURNACE, samples=32)
    inside = found[..., 3] > 0.999
    assert inside.mean() > 0.05
    assert found[inside][:, :3].mean() == pytest.approx(0.5, rel=0.02)


def test_the_renderer_draws_the_same_tubes_and_lines(gpu, layer, render, tracer):
    """A lit helix, and lines of pixels with colors: the mean difference, at edges, is below 3 of 255 levels."""
    turn = np.linspace(0, 9, 60)
    helix = np.stack([0.7 * np.cos(turn), 0.16 * turn - 0.7, 0.7 * np.sin(turn)], axis=1).astype(np.float32)
    tube = layer("lines", {"tube": True, "roughness": 0.8}, position=helix, width=0.16, color="#e09040")
    ends = np.float32([[[-1, -0.9, 0.8], [1, -0.6, 0.9]], [[-1, 0.9, -1], [1, 0.7, -1]]])
    shades = np.float32([[[1, 0.2, 0.1], [0.2, 0.3, 1]], [[0.4, 1, 0.4]] * 2])
    lines = layer("lines", position=ends, width=3.0, color=shades)
    size, view = (96, 72), View(sun=0.8, sky=0.0, sun_elevation=50.0, sun_angle=1.0, shadows=1.0, **WHITE, **LOOK)
    drawn = render([tube, lines], CAMERA, view, size).astype(float)
    traced = tracer([tube, lines], CAMERA, view, size, 24, bounces=0)
    shown = render([TracedImage(gpu, traced)], CAMERA, flat_view(view), size).astype(float)
    assert drawn.mean() > 15
    assert np.abs(drawn - shown).mean() < 3.0
    assert shown.mean() == pytest.approx(drawn.mean(), rel=0.1)


def test_the_renderer_draws_the_same_trails(gpu, layer, render, tracer):
    """They fade and taper by their age: the mean difference is below 1.7 of 255 levels."""
    angle = 0.35 * np.arange(8)[:, None] + np.arange(3) * 2.0
    positions = np.stack([0.9 * np.cos(angle), 0.4 * np.sin(2 * angle), 0.9 * np.sin(angle)], axis=-1)
    walk = Tensor.zeros((3, 3), name="walk")
    trail = layer(
        "trails",
        {"fade": 0.8, "taper": 0.6, "length": 10, "tone_map": "view"},
        position=walk,
        color="#80c0ff",
        width=4.0,
    )
    size, view = (96, 72), View(sun=0.0, sky=0.0, **LOOK)
    for number, now in enumerate(positions.astype(np.float32)):
        with Tensor.from_numpy(now) as current:
            walk[...] = current
        drawn = render([trail], CAMERA, view, size, time=0.1 * (number + 1)).astype(float)
    traced = tracer([trail], CAMERA, view, size, 48, time=0.8)
    shown = render([TracedImage(gpu, traced)], CAMERA, flat_view(view), size).astype(float)
    walk.close()
    assert drawn.mean() > 3
    assert np.abs(drawn - shown).mean() < 1.7  # the renderer leaves gaps where pieces meet at an angle
    assert shown.mean() == pytest.approx(drawn.mean(), rel=0.1)
