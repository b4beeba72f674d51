"""Gradients of operations that take indices, for every type of index: repeated, from the end, and outside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu

from .differences import drawn, leaf
from .layouts import NUMPY

INDEX = ["i32", "u32", "u8"]
ROWS, COLUMNS = 5, 3


def named(dtype: str, shape: tuple[int, ...], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices into an axis of `size`, some of them repeated, and the elements that they select, -1 if out of range.

    `size` and the largest number of each type are out of range; only signed ones count from the end.
    """
    low = -size if dtype == "i32" else 0
    indices = np.random.default_rng(7).integers(low, size, shape).astype(NUMPY[dtype])
    indices.flat[1:3] = np.iinfo(NUMPY[dtype]).max, size
    wide = indices.astype(np.int64)
    return indices, np.where(wide < 0, wide + size, np.where(wide < size, wide, -1))


def gradient(operation: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of a tensor of `shape`, and the gradient of the result."""
    x = leaf(drawn(-1, 1, shape))
    result = operation(x)
    weights = drawn(-1, 1, result.shape)
    result.backward(Tensor.from_numpy(weights))
    assert x.grad is not None
    return x.grad.numpy(), weights


@pytest.mark.parametrize("dtype", INDEX)
def test_take(gpu: Gpu, dtype: str) -> None:
    indices, index_tensor = named(dtype, (7,), ROWS)
    got, weights = gradient(lambda x: ops.take(x, Tensor.from_numpy(indices), 0), (ROWS, COLUMNS))
    want = np.zeros((ROWS, COLUMNS))
    np.add.at(want, index_tensor[index_tensor >= 0], weights[index_tensor >= 0])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", INDEX)
def test_take_along_axis(gpu: Gpu, dtype: str) -> None:
    indices, index_tensor = named(dtype, (7, COLUMNS), ROWS)
    got, weights = gradient(lambda x: ops.take_along_axis(x, Tensor.from_numpy(indices), 0), (ROWS, COLUMNS))
    want = np.zeros((ROWS, COLUMNS))
    columns = np.broadcast_to(np.arange(COLUMNS), index_tensor.shape)
    np.add.at(want, (index_tensor[index_tensor >= 0], columns[index_tensor >= 0]), weights[index_tensor >= 0])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", INDEX)
@pytest.mark.parametrize("batch", [0, 1])
def test_gather_nd(gpu: Gpu, dtype: str, batch: int) -> None:
    indices, index_tensor = named(dtype, (2, 4, 1), ROWS)
    shape = (2, ROWS, COLUMNS) if batch else (ROWS, COLUMNS)
    got, weights = gradient(lambda x: ops.gather_nd(x, Tensor.from_numpy(indices), batch_axes=batch), shape)
    want = np.zeros(shape)
    for at in np.ndindex(2, 4):
        if index_tensor[at][0] >= 0:
            want[(*at[:batch], index_tensor[at][0])] += weights[at]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", INDEX)
@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("along", [False, True])
def test_scatter(gpu: Gpu, dtype: str, reduction: str, along: bool) -> None:
    """Each value that remains or is added gets the gradient of its element; replaced values get none."""
    indices, index_tensor = named(dtype, (7, COLUMNS) if along else (7, 1), ROWS)
    x, updates = leaf(drawn(-1, 1, (ROWS, COLUMNS))), leaf(drawn(-1, 1, (7, COLUMNS)))
    scatter = ops.scatter_elements if along else ops.scatter_nd
    result = scatter(x, Tensor.from_numpy(indices), updates, reduction=reduction)
    weights = drawn(-1, 1, result.shape)
    result.backward(Tensor.from_numpy(weights))
    assert x.grad is not None and updates.grad is not None
    rows = np.broadcast_to(index_tensor, (7, COLUMNS))
    inside, columns = rows >= 0, np.broadcast_to(np.arange(COLUMNS), (7, COLUMNS))
    stays = inside & (reduction == "add")
    for row, column in zip(*np.nonzero(inside & (reduction == "none")), strict=True):
        same = (rows[:, column] == rows[row, column]).nonzero()[0]
        stays[row, column] = row == same[-1]
    np.testing.assert_array_equal(updates.grad.numpy(), np.where(stays, weights[rows, columns], 0))
    if reduction == "none":
        weights[rows[inside], columns[inside]] = 0
    np.testing.assert_array_equal(x.grad.numpy(), weights)
