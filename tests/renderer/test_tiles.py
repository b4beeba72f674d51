"""Tiles of images are dealt out to the threads of software adapters."""

from __future__ import annotations

import numpy as np

from vertigrad import Tensor
from vertigrad.gpu import Gpu, Kernel, shader

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
