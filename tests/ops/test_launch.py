"""Shared by all kernels: merged axes, and dispatches wider than a row of workgroups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vertigrad
from vertigrad import Tensor, ops
from vertigrad.errors import ShapeError
from vertigrad.ops import launch

from .layouts import examples, shapes, values
from .primitives import every_path, path


@pytest.fixture
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter with at most twenty workgroups per dimension: more are folded into a second dimension."""
    monkeypatch.setitem(vertigrad.gpu().limits, "max-compute-workgroups-per-dimension", 20)


@pytest.mark.usefixtures("short_rows")
def test_every_kernel_folds_long_rows_of_workgroups():
    a = values((45, 257), "f32", 1)
    x = Tensor.from_numpy(a)
    assert np.array_equal((x + 1).numpy(), a + 1)
    assert np.array_equal(ops.max(x, 1).numpy(), a.max(1))
    order = np.argsort(a, 1).astype(np.int32)
    assert np.array_equal(ops.take_along_axis(x, order, 1).numpy(), np.sort(a, 1))
    batch = values((45, 3, 2), "i32", 2)
    assert np.array_equal(
        ops.matmul(Tensor.from_numpy(batch), batch.transpose(0, 2, 1)).numpy(), batch @ batch.transpose(0, 2, 1)
    )
    grid = np.stack([*np.meshgrid(np.arange(60.0), np.arange(50.0)), np.zeros((50, 60))], -1).astype(np.float32)
    assert np.array_equal(
        ops.grid_normals(Tensor.from_numpy(grid)).numpy(), np.tile(np.float32([0, 0, -1]), (50, 60, 1))
    )


@every_path
def test_scans_and_sorts_of_many_tiles_fold(name: str, monkeypatch: pytest.MonkeyPatch):
    """Tiles that do not fill rows of four workgroups: the surplus workgroups of the last row do nothing."""
    a = values((2, 40_000), "i32", 3)
    keys = values((1, 10 * 2048 - 7), "u32", 4)
    with path(name), monkeypatch.context() as patch:
        patch.setitem(vertigrad.gpu().limits, "max-compute-workgroups-per-dimension", 4)
        assert np.array_equal(ops.cumsum(a, 1).numpy(), np.cumsum(a, 1, dtype=np.int32))
        assert np.array_equal(ops.argsort(keys, 1).numpy(), np.argsort(keys, 1, kind="stable"))


@examples
@given(st.data())
def test_merged_axes_reach_the_same_elements_in_the_same_order(data: st.DataObject):
    shape = data.draw(shapes(max_rank=5))
    strides = [data.draw(st.lists(st.integers(-4, 30), min_size=len(shape), max_size=len(shape))) for _ in range(2)]
    if data.draw(st.booleans()):  # often such that axes are merged
        strides = [[int(np.prod(shape[i + 1 :])) * (k + 1) for i in range(len(shape))] for k in range(2)]
    merged, rows = launch.merge_axes(shape, strides)
    assert 1 not in merged and len(merged) <= len(shape)
    for row, full in zip(rows, strides, strict=True):
        assert np.array_equal(reached(merged, row), reached(shape, full))


def reached(shape: tuple[int, ...] | list[int], strides: list[int]) -> np.ndarray:
    return sum((np.indices(shape)[i] * stride for i, stride in enumerate(strides)), np.zeros(shape, int)).ravel()


def test_a_contiguous_tensor_is_one_axis():
    assert launch.merge_axes((4, 1, 5), [(5, 0, 1), (-10, 7, -2)]) == ([20], [[1], [-2]])


def test_axes_that_do_not_merge_are_eight_at_most():
    x = Tensor.zeros((3,) * 9)
    assert ops.sum(x + 1).item() == 3**9
    with pytest.raises(ShapeError, match="9 axes that cannot be merged"):
        x[(slice(None, None, 2),) * 9] + 1
