"""Images of annotations against those in `golden/`: see test_golden.py."""

import numpy as np
import pytest

from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.annotations.overlay import ColorBar
from vertigrad.renderer.highlight import Mark
from vertigrad.renderer.view import themed_view

from .golden_images import check, software_only

__all__ = ["software_only"]
pytestmark = pytest.mark.usefixtures("software_only")
SIZE = (384, 288)  # space for numbers


def relief(n):
    """A landscape with a pond, [m], and how deep that is."""
    x, z = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    height = 0.35 * np.exp(-3 * ((x + 0.3) ** 2 + (z + 0.35) ** 2)) - 0.2 * np.exp(
        -5 * ((x - 0.4) ** 2 + (z - 0.3) ** 2)
    )
    return np.stack([x, height, z], axis=-1).astype(np.float32)


def above(x=1.7, y=1.6, z=2.3):
    return OrbitCamera.from_position((x, y, z), (0, 0, 0), fov=42)


def test_color_bars_of_a_surface_and_an_image(layer, render):
    land = relief(40)
    ground = layer("surface", {"colormap": "batlow"}, position=land, color=1000 * land[..., 1])
    ground.colorbar = ColorBar(title="height", unit="m")
    style = {"plane": "xz", "center": (0, -0.5, 0), "colormap": "vik", "range": (-1, 1)}
    map_ = layer("image", style, pixels=np.sin(6 * land[..., 0]) * np.cos(5 * land[..., 2]))
    map_.colorbar = ColorBar(title="strain")
    camera = OrbitCamera.from_position((2.3, 2.0, 3.1), (0.55, -0.2, 0), fov=42)
    check(render([ground, map_], camera, themed_view("studio"), SIZE), "color-bars")


def test_axes_around_a_surface(layer, render):
    ground = layer("surface", {"colormap": "batlow"}, position=relief(40), color=relief(40)[..., 1].copy())
    view = themed_view("studio").model_copy(update={"axes": True, "axis_names": "east, height, south", "unit": "km"})
    check(render([ground], above(2.2, 1.9, 3.0), view, SIZE), "axes")


def test_names_a_scale_bar_and_a_floor(layer, render):
    ground = layer("surface", {"colormap": "batlow"}, position=relief(40), color=relief(40)[..., 1].copy())
    noted = {"labels": "summit -0.3 0.36 -0.35; pond 0.4 -0.15 0.3", "scale_bar": True, "unit": "km", "floor": "under"}
    view = themed_view("night").model_copy(update=noted)
    check(render([ground], above(), view, SIZE), "names-floor")


def test_planes_clip_layers(layer, render):
    """Solid, transparent, flat and soft objects, clipped by a plane seen from its side."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, 24)], indexing="ij")
    ball = (0.9 - np.sqrt(x * x + y * y + z * z)).astype(np.float32)
    box = {"low": (-1.55, -0.5, -0.5), "high": (-0.55, 0.5, 0.5)}
    blob = layer("isosurface", {**box, "level": 0.0}, values=ball, color=z.astype(np.float32))
    sphere = layer("points", position=np.zeros((1, 3), np.float32), size=0.45, color="#c8643c")
    point = np.random.default_rng(3).normal((1.05, 0, 0), 0.2, (300, 3)).astype(np.float32)
    cloud = layer("splats", position=point, scale=0.05, color=(0.35, 0.6, 0.9))
    map_ = layer(
        "image",
        {"plane": "xz", "width": 3.2, "center": (0, -0.5, 0), "colormap": "vik"},
        pixels=x[0].astype(np.float32),
    )
    tube = layer("lines", {"tube": True}, position=np.float32([[-1.5, -0.4, 0.7], [1.5, -0.4, 0.7]]), width=0.1)
    view = themed_view("studio").model_copy(
        update={"clip_normal": (0.25, 0.3, 1.0), "clip_origin": (0, 0, 0.15), "floor": "none"}
    )
    check(render([blob, sphere, cloud, map_, tube], above(1.0, 1.4, 3.0), view, SIZE), "clips")


def test_a_selected_row(layer, render):
    position = np.random.default_rng(2).normal(0, 0.5, (120, 3)).astype(np.float32)
    balls = layer("points", {"colormap": "viridis"}, position=position, color=position[:, 1].copy(), size=0.08)
    nearest = int(np.argmax((np.abs(position).max(axis=1) < 0.6) * (position @ np.float32([1.7, 1.6, 2.3]))))
    check(render([balls], above(), themed_view("studio"), SIZE, mark=Mark(balls, nearest)), "highlight")
