"""Packaged scenes whose ground ends at the horizon: its edges and corners are too far away to be seen."""

import numpy as np
import pytest

from vertigrad.scene import load
from vertigrad.scene.packaged import scene_path
from vertigrad.scene.viewpoints import home

GROUNDS = [("castle", "table", -0.02), ("wind_tunnel", "ground", -0.6), ("smoke", "floor", 0.0)]  # and their heights


@pytest.mark.parametrize(("name", "layer", "height"), GROUNDS)
def test_the_horizon_is_straight(name, layer, height):
    """In an image 720 pixels high the edges of the ground are as far below the horizon everywhere, within 3 pixels."""
    scene = load(scene_path(name))
    camera, size = home(scene), scene.layers[layer].attributes["size"]
    along, upward = np.linspace(-0.5, 0.5, 2001) * size[0], "xyz".index(camera.up)
    edges = [np.stack((along, np.full(2001, side * size[2])), -1) for side in (-0.5, 0.5)]
    outline = np.concatenate([*edges, *(edge[:, ::-1] for edge in edges)])

    def shown(outline):
        points = np.insert(outline, upward, height, axis=1)
        clip = np.c_[points, np.ones(len(points))] @ camera.clip(16 / 9).T
        return np.where(clip[:, 3:] > 0, clip[:, :2] / clip[:, 3:], np.nan)

    near, far = shown(outline), shown(1e6 * outline)
    drop = 360 * (far - near)[np.abs(near).max(axis=1) < 1, 1]
    assert len(drop) > 100
    assert np.ptp(drop) < 3.0
