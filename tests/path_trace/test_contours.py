"""Path-traced contour lines: how much of a surface they darken, where they are, and the renderer's image of them."""

import numpy as np
import pytest

from vertigrad.path_trace import TracedImage, flat_view, gather
from vertigrad.path_trace.contours import Contours
from vertigrad.renderer import OrbitCamera, View

from .test_light import FRONT, FURNACE, WHITE
from .test_lines import LOOK


def sheet(side: int = 2) -> np.ndarray:
    """A square of 2 by 2 units that faces z, (side, side, 3)."""
    x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    return np.stack([x, y, 0.0 * x], axis=-1).astype(np.float32)


@pytest.mark.turns(3)
@pytest.mark.parametrize(("width", "part"), [(1.5, 1.0), (3.0, 0.718)])
def test_lines_darken_their_part_of_a_surface(layer, trace, width, part):
    """Sixteen pixels apart, black on white; wide ones fade by the smooth step of 3 / 16 between 0.1 and 0.35."""
    style = {"contours": 0.5, "contour_axis": "x", "contour_strength": 1.0, "contour_width": width, "roughness": 1.0}
    plain = layer("surface", {"roughness": 1.0}, position=sheet(), color="#ffffff")
    lined = layer("surface", style, position=sheet() + np.float32([0.1, 0, 0]), color="#ffffff")
    white, found = (trace([one], FRONT, FURNACE, (64, 64), 24, bounces=0)[:, 4:60, 0] for one in (plain, lined))
    columns = 1.0 - found.mean(axis=0) / white[:, 8:].mean()
    assert columns.sum() == pytest.approx(part * width * 56 / 16, rel=0.06)  # 3.5 lines: two halves are cut
    assert not gather([lined]).left_out


def test_pieces_are_where_values_are_multiples_of_the_step(layer):
    """On a sheet whose values are bilinear: by them at the ends of all pieces, and each triangle has its own."""
    random = np.random.default_rng(3)
    values = random.normal(size=(9, 9)).astype(np.float32)
    values[4, 4] = np.nan
    surface = layer("surface", {"contours": 0.37}, position=sheet(9), color=values)
    found = Contours.of(surface)
    index, corners = found._triangles()
    ends, triangle = found._pieces(np.ones(len(index), bool))
    a, b, c = np.moveaxis(found.geometry.positions[index[triangle]].astype(float), 1, 0)
    for end in (ends[:, 0], ends[:, 1]):
        u, v = np.linalg.solve(np.stack([b - a, c - a], axis=2)[:, :2], (end - a)[:, :2, None])[..., 0].T
        at = corners[triangle] * np.stack([1 - u - v, u, v], axis=1)
        steps = at.sum(axis=1) / 0.37
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-4)
        assert min(u.min(), v.min(), (1 - u - v).min()) > -1e-5
    levels = [len(np.arange(np.ceil(one.min() / 0.37), one.max() / 0.37)) for one in corners]
    np.testing.assert_array_equal(np.bincount(triangle, minlength=len(index)), levels)


def test_lines_that_have_faded_are_no_pieces(layer):
    """Millions of millions of them in two triangles, each much less than a pixel from the next."""
    surface = layer("surface", {"contours": 1e-12, "contour_axis": "x"}, position=sheet())
    assert not len(Contours.of(surface).tubes(FRONT, (64, 64)).primitives)


@pytest.mark.turns(4)
def test_the_renderer_draws_the_same_lines(gpu, layer, render, tracer):
    """A hill from the side: the mean difference is below 3.5 of 255 levels.

    The renderer measures distances along rows and columns, so its lines are wider by a quarter where they are oblique.
    """
    x, z = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41))
    hill = np.stack([x, 0.9 * np.exp(-2.5 * (x**2 + z**2)), z], axis=-1).astype(np.float32)
    camera = OrbitCamera(distance=3.2, fov=40.0, pitch=0.7)
    size, view = (96, 72), View(sun=0.8, sky=0.0, sun_elevation=60.0, sun_angle=1.0, shadows=1.0, **WHITE, **LOOK)
    images = []
    for contours in (0.0, 0.15):
        style = {"contours": contours, "contour_strength": 0.8, "roughness": 1.0}
        surface = layer("surface", style, position=hill, color="#e0e0e0")
        drawn = render([surface], camera, view, size).astype(float)
        traced = tracer([surface], camera, view, size, 24, bounces=0)
        shown = render([TracedImage(gpu, traced)], camera, flat_view(view), size).astype(float)
        assert np.abs(drawn - shown).mean() < 3.5
        images.append((drawn, shown))
    (plain, lined) = images
    darker = [float((one - other).mean()) for one, other in zip(plain, lined, strict=True)]
    assert darker[0] > 2.5
    assert darker[1] == pytest.approx(darker[0], rel=0.2)
