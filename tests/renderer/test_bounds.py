"""The box around layers, found on the GPU, against NumPy."""

import numpy as np
import pytest

from vertigrad.renderer.bounds import Bounds
from vertigrad.tensor import Tensor


def box(gpu, *layers):
    bounds = Bounds(layers)
    gpu.submit()
    return bounds.result()


@pytest.mark.parametrize("count", [1, 2, 127, 129, 8193, 100_001])
def test_every_row_is_included(gpu, layer, count):
    position = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    for row, axis, value in ((0, 0, -9), (count - 1, 1, 8), (count // 2, 2, 7)):
        position[row, axis] = value
    low, high = box(gpu, layer("points", position=position))
    assert (low == position.min(axis=0)).all() and (high == position.max(axis=0)).all()


def test_rows_with_nan_are_ignored(gpu, layer):
    position = np.random.default_rng(1).normal(size=(500, 3)).astype(np.float32)
    position[::3, 1] = np.nan
    position[1::3] += 100
    position[4, 0], position[7, 2] = np.inf, -np.inf
    counted = position[np.isfinite(position).all(axis=1)]
    low, high = box(gpu, layer("points", position=position))
    assert (low == counted.min(axis=0)).all() and (high == counted.max(axis=0)).all()


def test_only_nan_rows_have_no_box(gpu, layer):
    assert box(gpu, layer("points", position=np.full((9, 3), np.nan, np.float32))) is None
    assert box(gpu) is None


def test_several_layers_of_any_layout(gpu, layer):
    state = np.random.default_rng(2).normal(size=(60, 7)).astype(np.float32)
    state[:10] = 1e6
    grid = np.random.default_rng(3).normal(5, 1, size=(6, 8, 3)).astype(np.float32)
    empty = layer("points", position=np.full((3, 3), np.nan, np.float32))
    with Tensor.from_numpy(state, name="state") as whole:
        points, surface = layer("points", position=whole[10:, 2:5]), layer("surface", position=grid)
        low, high = box(gpu, points, empty, surface)
    everything = np.concatenate([state[10:, 2:5], grid.reshape(-1, 3)])
    assert (low == everything.min(axis=0)).all() and (high == everything.max(axis=0)).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integers(gpu, layer, dtype):
    low, high = box(gpu, layer("points", position=np.arange(30, dtype=dtype).reshape(10, 3)))
    assert low.tolist() == [0, 1, 2] and high.tolist() == [27, 28, 29]


def test_nothing_is_leaked(steady, layer):
    points = layer("points", position=np.zeros((50, 3), np.float32))
    box(steady, points)
    before = len(steady.tracker.live)
    for _ in range(3):
        box(steady, points)
    steady.wait_idle()
    assert len(steady.tracker.live) == before
