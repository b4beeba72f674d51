"""Tiles of images are dealt out to the threads of software adapters, and columns of pixels to their invocations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu, Kernel, shader
from vertigrad.renderer import OrbitCamera, View, computed_image, deferred, occlusion

ROWS = """
struct Params { rows: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.rows { found[id.x] = tile_row(id.x, params.rows); }
}
"""


def rows_of(count: int, spread: bool) -> np.ndarray:
    kernel = Kernel(shader.render("common/tiles.wgsl", {"SPREAD": spread}) + ROWS, "main", "rows")
    with Tensor.zeros(count, "u32") as found:
        kernel(count, found=found, rows=count)
        return found.numpy().astype(int)


def test_each_row_of_tiles_has_one_of_workgroups(gpu: Gpu) -> None:
    for count in (*range(1, 35), 45, 90, 135):
        assert sorted(rows_of(count, True)) == list(range(count)), count
    np.testing.assert_array_equal(rows_of(9, False), np.arange(9))


def test_each_thread_has_tiles_from_the_whole_image(gpu: Gpu) -> None:
    """A thread of a software adapter computes a run of workgroups: of two, one has not all of the sky."""
    for count in (45, 90, 135):
        for threads in (2, 4, 8):
            for run in np.array_split(rows_of(count, True), threads):
                gaps = np.diff([0, *sorted(run), count])
                assert gaps.max() <= 9, (count, threads)


def test_columns_of_any_height_show_the_same(layer: Any, render: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Software adapters have columns of pixels; what is lit, shaded and searched for is the same."""
    x, z = np.meshgrid(np.linspace(-1, 1, 12), np.linspace(-1, 1, 12))
    position = np.stack([x, 0.3 * np.sin(3 * x) * z, z], axis=-1).astype(np.float32)
    layers = [
        layer("surface", {"colormap": "viridis"}, position=position, color=x.astype(np.float32)),
        layer("points", position=position[::3, ::3].reshape(-1, 3) + np.float32([0, 0.5, 0]), size=0.05),
    ]
    camera = OrbitCamera.from_position((1.2, 1.1, 2.2), (0, 0, 0), fov=45)
    view = View(floor="under", shadows=0.7, occlusion=0.8, bloom=0.1)
    images = []
    for pixels in (1, 3, 8):
        for user in (computed_image, deferred, occlusion):
            monkeypatch.setattr(user, "column_of", lambda gpu, pixels=pixels: pixels)
        images.append(render(layers, camera, view, (83, 75)))
    assert len(np.unique(images[0])) > 50
    for image in images[1:]:
        np.testing.assert_array_equal(image, images[0])
