"""Slices through grids, and which sample is picked of slices, isosurfaces and volumes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.renderer.layers import Layer
from vertigrad.renderer.picking import Picker, PickResult

SIZE = (120, 120)
SHAPE = (5, 6, 7)  # nz, ny, nx
VALUES = np.random.default_rng(2).uniform(0.0, 1.0, SHAPE).astype(np.float32)
BOX = {"low": (-1.4, -1.2, -1.0), "high": (1.4, 1.2, 1.0)}  # cells are cubes of 0.4
FRONT = OrbitCamera(distance=6.0, yaw=0.0, pitch=0.0, fov=30.0, orthographic=True)  # looks along -z


def pixel_of(x: float, y: float) -> tuple[int, int]:
    """The pixel at which a world position is seen from the front."""
    half = FRONT.half_height
    return int(SIZE[0] * (0.5 + 0.5 * x / half)), int(SIZE[1] * (0.5 - 0.5 * y / half))


def centers(axis: int) -> np.ndarray:
    count = SHAPE[::-1][axis]
    return BOX["low"][axis] + 0.4 * (np.arange(count) + 0.5)


def picked(gpu: Gpu, layer: Layer, pixel: tuple[int, int]) -> PickResult | None:
    got: list[PickResult | None] = []
    Picker(gpu).pick([layer], FRONT, SIZE, pixel, got.append)
    gpu.wait_idle()
    return got[0]


@pytest.mark.parametrize("k", [0, 3])
def test_a_slice_has_the_values_of_its_samples_by_the_colormap(gpu: Gpu, layer, render: Callable, k: int) -> None:
    at = (centers(2)[k] - BOX["low"][2]) / 2.0
    style = {**BOX, "across": "z", "at": (0.5, 0.5, at), "range": (0.0, 1.0), "colormap": "viridis"}
    slices = layer("slices", style, values=VALUES)
    image, colors = render([slices], FRONT, size=SIZE), colormap_colors("viridis")
    for j, i in np.ndindex(SHAPE[1:]):
        x, y = pixel_of(centers(0)[i], centers(1)[j])
        expected = colors[round(float(VALUES[k, j, i]) * 255), :3].astype(int)
        assert np.abs(image[y, x].astype(int) - expected).max() <= 24, "a pixel is a tenth of a cell"
        result = picked(gpu, slices, (x, y))
        assert result is not None and np.unravel_index(result.row, SHAPE) == (k, j, i)
    assert (image[2, 2] == 0).all() and slices.rows == VALUES.size


def test_slices_across_chosen_axes_and_above_a_threshold(layer, render: Callable) -> None:
    turned = OrbitCamera(distance=6.0, yaw=0.7, pitch=0.5, fov=40.0)
    slices = layer("slices", {**BOX, "across": "x", "colormap": "viridis"}, values=VALUES)
    drawn = {}
    for across in ("x", "y", "z", "xyz"):
        slices.style.take(slices.style.with_values({"across": across}))
        drawn[across] = render([slices], turned, size=SIZE).any(axis=2)
    assert all(drawn[axis].any() for axis in "xyz")
    assert (drawn["xyz"] == (drawn["x"] | drawn["y"] | drawn["z"])).mean() > 0.99
    slices.style.take(slices.style.with_values({"hidden_below": 0.5}))
    fewer = render([slices], turned, size=SIZE).any(axis=2)
    assert 0.2 < fewer.sum() / drawn["xyz"].sum() < 0.8


def test_a_volume_is_picked_where_most_light_is_lost_and_a_surface_at_its_nearest_sample(gpu: Gpu, layer) -> None:
    dense = np.zeros(SHAPE, np.float32)
    dense[2, 4, 1] = 1.0
    pixel = pixel_of(centers(0)[1], centers(1)[4])
    volume = layer("volume", {**BOX, "extinction": 4.0, "density_range": (0.0, 1.0)}, density=dense)
    surface = layer("isosurface", {**BOX, "samples": "cells", "level": 0.6}, values=dense)
    for one in (volume, surface):
        result = picked(gpu, one, pixel)
        assert result is not None and np.unravel_index(result.row, SHAPE) == (2, 4, 1)
        assert abs(result.depth - 6.0) < 0.4
        assert picked(gpu, one, pixel_of(centers(0)[5], centers(1)[1])) is None
