"""Accumulation of gradients at one index: as with numpy.add.at in float64, and with the same bits each time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import Tensor, learn, ops
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops.gradients.joining import are_distinct

RUNS = 5
RANDOM = np.random.default_rng(23)
Operation = Callable[[Tensor], Tensor]


def gradients(array: np.ndarray, operation: Operation, upstream: np.ndarray) -> list[np.ndarray]:
    """The gradients of `array` in several runs, the last one from a plan."""
    found = []
    with Tensor.from_numpy(array) as x, Tensor.from_numpy(upstream) as weights, Plan("gradient") as plan:
        x.requires_grad = True
        for run in range(RUNS):
            if run < RUNS - 1:
                operation(x).backward(weights)
            else:
                with plan.recording():
                    operation(x).backward(weights)
                plan.replay()
            assert x.grad is not None
            found.append(x.grad.numpy())
            x.grad = None
    return found


def check(array: np.ndarray, operation: Operation, upstream: np.ndarray, expected: np.ndarray) -> None:
    first, *others = gradients(array, operation, upstream)
    for other in others:
        assert np.array_equal(first, other)
    np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-5 * np.abs(upstream).max())


def uneven(*shape: int) -> np.ndarray:
    """Numbers of very different magnitudes: another order gives another sum."""
    return (RANDOM.normal(size=shape) * 10.0 ** RANDOM.uniform(-4, 1, shape)).astype(np.float32)


@pytest.mark.parametrize(("shape", "axis", "count"), [((7,), 0, 5000), ((300, 3), 0, 4000), ((2, 5, 3), 1, 700)])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_take(gpu: Gpu, shape: tuple[int, ...], axis: int, count: int, dtype: type) -> None:
    size = shape[axis]
    index_array = RANDOM.integers(-size if dtype is np.int32 else 0, size, count).astype(dtype)
    upstream = uneven(*shape[:axis], count, *shape[axis + 1 :])
    expected = np.zeros(shape)
    np.add.at(np.moveaxis(expected, axis, 0), index_array, np.moveaxis(upstream.astype(float), axis, 0))
    with Tensor.from_numpy(index_array) as indices:
        check(uneven(*shape), lambda x: ops.take(x, indices, axis), upstream, expected)
    if dtype is np.int32:
        check(uneven(*shape), lambda x: ops.take(x, index_array, axis), upstream, expected)


def test_take_of_all_by_distinct_indices(gpu: Gpu) -> None:
    """A list is checked: distinct indices need no accumulation; −1 and 5 are the same index."""
    upstream = uneven(2, 2)
    for index_array, distinct in (([[3, -6], [1, 4]], True), ([[3, -1], [5, 4]], False)):
        expected = np.zeros(6)
        np.add.at(expected, np.array(index_array), upstream.astype(float))
        check(
            uneven(2, 3), lambda x, index_array=index_array: ops.take(x, index_array), upstream, expected.reshape(2, 3)
        )
        assert are_distinct(index_array, 6) is distinct


def test_take_along_axis(gpu: Gpu) -> None:
    index_array = RANDOM.integers(-4, 4, (3, 900, 2)).astype(np.int32)
    upstream = uneven(3, 900, 2)
    expected = np.zeros((3, 4, 2))
    i, _, k = np.indices(index_array.shape)
    np.add.at(expected, (i, index_array % 4, k), upstream.astype(float))
    with Tensor.from_numpy(index_array) as indices:
        check(uneven(3, 4, 2), lambda x: ops.take_along_axis(x, indices, 1), upstream, expected)
        check(uneven(1, 4, 2), lambda x: ops.take_along_axis(x, indices, -2), upstream, expected.sum(0, keepdims=True))
    one = index_array[:, :1]
    first = np.zeros((3, 4, 2))
    np.put_along_axis(first, one % 4, upstream[:, :1].astype(float), 1)
    with Tensor.from_numpy(one) as indices:
        check(uneven(3, 4, 2), lambda x: ops.take_along_axis(x, indices, 1), upstream[:, :1], first)


def test_gather_nd(gpu: Gpu) -> None:
    index_array = RANDOM.integers(0, [5, 3], (40, 50, 2)).astype(np.int32)
    upstream = uneven(40, 50, 2)
    expected = np.zeros((5, 3, 2))
    np.add.at(expected, (index_array[..., 0], index_array[..., 1]), upstream.astype(float))
    index_array[..., 0] -= 5 * (index_array[..., 1] == 1)  # from the end
    with Tensor.from_numpy(index_array) as indices:
        check(uneven(5, 3, 2), lambda x: ops.gather_nd(x, indices), upstream, expected)


def test_indices_out_of_range_have_no_gradient(gpu: Gpu) -> None:
    index_array = np.array([0, 7, 2, -4, 2, 3], np.int32)
    upstream = uneven(6, 2)
    expected = np.zeros((3, 2))
    np.add.at(expected, index_array[[0, 2, 4]], upstream[[0, 2, 4]].astype(float))
    with Tensor.from_numpy(index_array) as indices:
        check(uneven(3, 2), lambda x: ops.take(x, indices, 0), upstream, expected)
    pairs = RANDOM.integers([0, 0], [14, 25], (400, 2)).astype(np.int32)  # out of range from the tenth row on
    inside, upstream = pairs[:, 0] < 10, uneven(400)
    expected = np.zeros((10, 25))
    np.add.at(expected, (pairs[inside, 0], pairs[inside, 1]), upstream[inside].astype(float))
    with Tensor.from_numpy(pairs) as indices:
        check(uneven(10, 25), lambda x: ops.gather_nd(x, indices), upstream, expected)


def test_scatter_elements(gpu: Gpu) -> None:
    """Its gradient gathers the scattered elements, also where the indices cover only a part of x."""
    index_array = RANDOM.integers(0, 5, (2, 30)).astype(np.int32)
    base, upstream = uneven(3, 5), uneven(3, 5)
    with Tensor.from_numpy(index_array) as indices, Tensor.from_numpy(base) as x:
        expected = np.take_along_axis(upstream[:2], index_array, 1)
        check(uneven(2, 30), lambda updates: ops.scatter_elements(x, indices, updates, 1, "add"), upstream, expected)


@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((3, 3), {"stride": 1}),
        ((3, 2), {"stride": (2, 1), "padding": (1, 0)}),
        ((2, 2), {"stride": 2}),
        ((2, 3), {"stride": 1, "dilation": (3, 2), "padding": 1}),
        ((3, 3), {"stride": 2, "ceil_mode": True, "padding": [(1, 0), (0, 1)]}),
        ((2, 2), {"stride": 3}),
    ],
)
def test_max_pool(gpu: Gpu, size: tuple[int, int], options: dict[str, object]) -> None:
    """Against the indices that pooling returns, which tests of pooling check."""
    x = RANDOM.normal(size=(2, 3, 13, 17)).astype(np.float32)
    x[0] = x[0].round(0)  # many equal elements: the first is used
    _, chosen = ops.max_pool(x, size, return_indices=True, **options)  # type: ignore[arg-type]
    index_array = chosen.numpy().reshape(-1)
    upstream = uneven(*chosen.shape)
    expected = np.zeros(x.size)
    np.add.at(expected, index_array[index_array >= 0], upstream.reshape(-1)[index_array >= 0].astype(float))
    check(x, lambda t: ops.max_pool(t, size, **options), upstream, expected.reshape(x.shape))  # type: ignore[arg-type]


def test_max_pool_along_one_axis_and_three_in_f16(gpu: Gpu) -> None:
    for shape, size in (((2, 3, 9), (3,)), ((1, 2, 5, 4, 6), (2, 3, 2))):
        x = RANDOM.normal(size=shape).astype(np.float16)
        _, chosen = ops.max_pool(x, size, return_indices=True)
        index_array = chosen.numpy().reshape(-1)
        upstream = RANDOM.normal(size=chosen.shape).astype(np.float16)
        expected = np.zeros(x.size)
        np.add.at(expected, index_array, upstream.reshape(-1).astype(float))
        found = gradients(x, lambda t, size=size: ops.max_pool(t, size), upstream)[0]
        np.testing.assert_allclose(found, expected.reshape(shape), rtol=2e-3, atol=2e-3)


def test_cross_entropy_of_many_gives_the_same_bits(gpu: Gpu) -> None:
    scores, classes = uneven(3000, 4), RANDOM.integers(0, 4, 3000).astype(np.int32)
    shares = np.exp(scores.astype(float))
    expected = shares / shares.sum(1, keepdims=True)
    expected[np.arange(3000), classes] -= 1.0
    with Tensor.from_numpy(classes) as right:
        check(scores, lambda x: learn.cross_entropy(x, right), np.ones((), np.float32), expected / 3000)
