"""Slices through grids, and which sample is picked of slices, isosurfaces and volumes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from vertigrad.export.geometry import to_light
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


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_values_between_samples_are_those_of_splines(layer, render: Callable, interpolation: str) -> None:
    style = {**BOX, "across": "z", "at": (0.5, 0.5, 0.43), "range": (0.0, 1.0), "interpolation": interpolation}
    image = render([layer("slices", style, values=VALUES)], FRONT, size=SIZE)[..., 0] / 255.0
    row, column = np.mgrid[16:104, 12:108] + 0.5 - 60.0
    scale = 2.0 * FRONT.half_height / SIZE[0] / 0.4
    at = [np.full(row.shape, 0.43 * SHAPE[0] - 0.5), 2.5 - row * scale, 3.0 + column * scale]
    order = 3 if interpolation == "cubic" else 1
    expected = map_coordinates(VALUES, at, order=order, mode="nearest", prefilter=False)
    np.testing.assert_allclose(image[16:104, 12:108], expected, atol=1.1 / 255.0)


RADIUS, CENTER = 9.3, 13.63  # of a ball, in samples; its edge is as wide as those of a scan


def rim(image: np.ndarray, samples: int) -> np.ndarray:
    """The radius [samples] of a white disc on black in 360 directions, to a fraction of a pixel."""
    pixels = 0.5 * len(image) / FRONT.half_height * 2.0 / samples
    angle, along = np.deg2rad(np.arange(360.0))[:, None], np.arange(0.5 * RADIUS, 1.5 * RADIUS, 0.01)
    right, up = (CENTER + 0.5 - 0.5 * samples + along * one(angle) for one in (np.cos, np.sin))
    light = to_light(image[..., 0] / 255.0)
    white = map_coordinates(light, 0.5 * len(image) - 0.5 + np.array([-up, right]) * pixels, order=1)
    return along[0] + 0.01 * white.sum(axis=1)


def test_the_rim_of_a_slice_is_smooth(layer, render: Callable) -> None:
    """At a value near one end of the step between air and tissue, as of soft tissue, the linear rim is jagged."""
    samples = 28
    z, y, x = np.meshgrid(*[np.arange(samples) - CENTER] * 3, indexing="ij")
    values = 1000.0 * np.tanh(1.1 * (RADIUS - np.sqrt(x * x + y * y + z * z)))
    style = {"across": "z", "range": (-1e6, 1000.0), "hidden_below": 1.00095e6 / 1.001e6}
    jagged = {}
    for interpolation in ("linear", "cubic"):
        slices = layer("slices", {**style, "interpolation": interpolation}, values=values.astype(np.float32))
        radius = rim(render([slices], FRONT, size=(480, 480)), samples)
        assert radius.mean() == pytest.approx(RADIUS - np.arctanh(0.95) / 1.1, abs=0.4)
        jagged[interpolation] = radius.std()
    assert jagged["linear"] > 0.06, "of the spacing of samples"
    assert jagged["cubic"] < 0.015, "a sixth of a pixel: a rim of whole pixels has twice that"
