"""The floor of a view, path-traced, against that of the renderer and against its darkness."""

import numpy as np
import pytest

from vertigrad.path_trace import TracedImage, flat_view
from vertigrad.renderer import OrbitCamera, View


def floor_view(**values) -> View:
    look = {"bloom": 0.0, "vignette": 0.0, "background": "#304050", "tone_map": "none"}
    return View(sun=0.7, sky=0.0, shadows=0.8, sun_angle=1.0, sun_elevation=50.0, **look, **values)


def test_the_renderer_draws_the_same_floor(gpu, layer, render, tracer):
    """Below two balls, with their shadows: the mean difference is below 0.5 of 255 levels."""
    balls = np.float32([[0, 0, 0], [0.9, 0.2, 0.3]])
    ball = layer("points", {"roughness": 0.6}, position=balls, color="#d07040", size=0.5)
    camera, size, view = OrbitCamera(distance=5.0, pitch=0.35), (96, 64), floor_view(floor="height", floor_height=-0.6)
    drawn = render([ball], camera, view, size).astype(float)
    without = render([ball], camera, floor_view(), size).astype(float)
    shown = render([TracedImage(gpu, tracer([ball], camera, view, size, 24, bounces=0))], camera, flat_view(view), size)
    assert np.abs(drawn - without).mean() > 1.5
    assert np.abs(drawn - shown).mean() < 0.5


def test_a_floor_takes_of_what_is_behind_it_as_much_as_its_shadow(layer, trace):
    """Below a ball as wide as the image: 0.42 of it, times `shadows`; without the ball, nothing but lines."""
    ball = layer("points", position=np.float32([[0, 6, 0]]), size=5.0)
    camera = OrbitCamera(target=(0.37, 0, 0.42), distance=2.0, pitch=0.5, fov=3.0)  # between the lines of the rule
    view = View(sun=1.0, sky=0.5, sun_elevation=90.0, shadows=0.5, floor="height", floor_height=0.0)
    below = trace([ball], camera, view, (8, 8), 8)
    assert below[..., 3].min() == pytest.approx(0.42 * 0.5, abs=1e-3)
    assert below[..., 3].mean() < 0.42 * 0.5 + 0.05
    open_ = trace([], camera, view, (8, 8), 8)
    assert open_[..., 3].min() == 0.0 and open_[..., 3].mean() < 0.06
