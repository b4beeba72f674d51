"""Gradients of scans, segment reductions, sorts, selections and scatters, by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu

from .differences import RANDOM, check, drawn, leaf, of_both_signs

SHAPE = (3, 5)
RUNNING: dict[str, Callable[..., np.ndarray]] = {
    "prod": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}
OFFSETS = np.array([1, 3, 3, 7, 8], np.int32)  # row 0 is in no segment, the second one is empty, nor are the last rows


def distinct(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that differ by more than a difference step."""
    return (RANDOM.permutation(int(np.prod(shape))).reshape(shape) / 7.0 - 1.03).astype(np.float32)


@pytest.mark.parametrize("how", RUNNING)
@pytest.mark.parametrize(("exclusive", "reverse"), [(False, False), (True, True)])
def test_cumulative_sums(gpu: Gpu, how: str, exclusive: bool, reverse: bool) -> None:
    def theirs(a: np.ndarray) -> np.ndarray:
        a = a[:, ::-1] if reverse else a
        totals = RUNNING[how](a, axis=1)
        if exclusive:  # the first is a constant without information
            totals = np.concatenate([np.zeros((len(a), 1)), totals[:, :-1]], 1)
        return totals[:, ::-1] if reverse else totals

    check(lambda a: ops.scan(how, a, 1, exclusive=exclusive, reverse=reverse), theirs, [distinct(SHAPE)])


def test_cumulative_products_with_zeros(gpu: Gpu) -> None:
    array = distinct((4, 5))
    array[0, 2] = array[1, 0] = array[1, 3] = array[2, 4] = array[3, 1] = array[3, 2] = 0
    check(lambda a: ops.cumprod(a, 1), lambda a: np.cumprod(a, 1), [array])


def test_the_gradient_of_a_cumulative_extreme_goes_to_the_last_of_equal_elements(gpu: Gpu) -> None:
    """As in PyTorch: later results depend on the latest of the equal elements."""
    x = leaf(np.array([[1.0, 1.0, 0.0, 3.0, 3.0]], np.float32))
    ops.cummax(x).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [[1, 2, 0, 1, 1]]


@pytest.mark.parametrize("how", ["sum", "mean", "min", "max"])
def test_segments(gpu: Gpu, how: str) -> None:
    def theirs(a: np.ndarray) -> np.ndarray:
        parts = [a[first:end] for first, end in pairwise(OFFSETS)]
        return np.stack([getattr(part, how)(0) if len(part) else np.zeros(a.shape[1:]) for part in parts])

    def ours(a: Tensor) -> Tensor:
        totals = ops.segmented_reduce(how, a, OFFSETS)
        return ops.where((np.diff(OFFSETS) > 0)[:, None, None], totals, 0.0)

    check(ours, theirs, [distinct((10, 3, 2))])


def test_equal_extremes_of_a_segment_share_the_gradient(gpu: Gpu) -> None:
    x = leaf(np.array([5.0, 5.0, 1.0, 0.0, 0.0, 2.0], np.float32))
    ops.segmented_reduce("max", x, np.array([0, 3, 6], np.int32)).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [0.5, 0.5, 0, 0, 0, 1]


def test_extremes_by_key(gpu: Gpu) -> None:
    keys = np.array([0, 0, 2, 2, 2], np.int32)
    check(
        lambda a: ops.reduce_by_key("max", a, keys, 3)[::2],
        lambda a: np.stack([a[:2].max(0), a[2:].max(0)]),
        [distinct((5, 2))],
    )


def test_pairs_in_order(gpu: Gpu) -> None:
    def theirs(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        order = np.argsort(-keys, 0, kind="stable")
        return np.concatenate([np.take_along_axis(keys, order, 0), np.take_along_axis(values, order, 0)])

    check(
        lambda keys, values: ops.concatenate(list(ops.sort_pairs(keys, values, 0, descending=True)), 0),
        theirs,
        [distinct(SHAPE), drawn(-1, 1, SHAPE)],
    )


def test_rows_selected_by_a_mask(gpu: Gpu) -> None:
    mask = np.array([[True, False, True, False, True], [False, False, False, True, False]])
    check(lambda x: ops.compact(x, mask)[0][:4], lambda x: x[mask], [drawn(-1, 1, (2, 5, 3))])


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scattered_updates(gpu: Gpu, reduction: str) -> None:
    """One index is out of range: its update is not written, and has no gradient."""
    indices, along = np.array([[2], [0], [9]], np.int32), np.array([[1, 0, 4], [8, 2, 3]], np.int32)

    def rows(x: np.ndarray, updates: np.ndarray) -> np.ndarray:
        out = x.copy()
        out[[2, 0]] = updates[:2] + (x[[2, 0]] if reduction == "add" else 0)
        return out

    def elements(x: np.ndarray, updates: np.ndarray) -> np.ndarray:
        out = x.copy()
        for i, k in np.ndindex(2, 3):
            if along[i, k] < 5:
                out[i, along[i, k]] = updates[i, k] + (x[i, along[i, k]] if reduction == "add" else 0)
        return out

    check(lambda x, u: ops.scatter_nd(x, indices, u, reduction), rows, [drawn(-1, 1, SHAPE), drawn(-1, 1, (3, 5))])
    check(
        lambda x, u: ops.scatter_elements(x, along, u, 1, reduction),
        elements,
        [drawn(-1, 1, SHAPE), drawn(-1, 1, (2, 3))],
    )


def test_other_scatter_reductions_have_no_gradient(gpu: Gpu) -> None:
    result = ops.scatter_nd(leaf(drawn(-1, 1, SHAPE)), np.array([[0]], np.int32), drawn(-1, 1, (1, 5)), "mul")
    with pytest.raises(GradientError, match="scatter_nd with reduction='mul' has no gradient; use 'add' or 'none'"):
        result.sum().backward()


def test_indices_of_each_batch_member(gpu: Gpu) -> None:
    indices = RANDOM.integers(0, 3, (2, 6, 1)).astype(np.int32)
    check(
        lambda x: ops.gather_nd(x, indices, batch_axes=1),
        lambda x: np.stack([x[member][indices[member, :, 0]] for member in range(2)]),
        [drawn(-1, 1, (2, 3, 4))],
    )


@pytest.mark.parametrize("how", ["l2", "lp_norm"])
def test_a_length_of_0_has_a_corner(gpu: Gpu, how: str) -> None:
    array = drawn(0.1, 1, SHAPE)
    array[1] = 0
    x = leaf(array)
    calls: dict[str, Any] = {"l2": lambda: ops.l2(x, 1), "lp_norm": lambda: ops.lp_norm(x, 1, 3.0)}
    calls[how]().sum().backward()
    assert x.grad is not None
    found = x.grad.numpy()
    assert (found[1] == 0).all() and (found[[0, 2]] > 0).all()


def test_the_mean_of_an_empty_tensor_has_an_empty_gradient(gpu: Gpu) -> None:
    x = leaf(np.zeros((3, 0), np.float32))
    x.mean(1).sum().backward()
    assert x.grad is not None and x.grad.shape == (3, 0)


@pytest.mark.parametrize("name", ["max", "min"])
def test_equal_extremes_share_the_gradient(gpu: Gpu, name: str) -> None:
    sign = 1.0 if name == "max" else -1.0
    x = leaf(np.array([[2.0, 1.0, 2.0, 2.0], [3.0, 3.0, 0.0, 1.0]], np.float32) * sign)
    (getattr(x, name)(1) * Tensor.from_numpy(np.array([6.0, 4.0], np.float32))).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [[2, 0, 2, 2], [2, 2, 0, 0]]


# norms, and permuted elements --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
def test_norms_of_vectors(gpu: Gpu, order: float | None) -> None:
    check(lambda a: ops.norm(a, order, 1), lambda a: np.linalg.norm(a, order, 1), [distinct(SHAPE)])


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
def test_norms_of_matrices(gpu: Gpu, order: Any) -> None:
    array = of_both_signs(0.2, 1.0, SHAPE)
    check(lambda a: ops.norm(a, order, (1, 0)), lambda a: np.linalg.norm(a, order, (1, 0)), [array])


@pytest.mark.parametrize(("shift", "axis"), [(2, None), (-1, 0), ((1, -2), (0, 1)), (0, 1)])
def test_roll(gpu: Gpu, shift: Any, axis: Any) -> None:
    check(lambda a: ops.roll(a, shift, axis) * a, lambda a: np.roll(a, shift, axis) * a, [distinct(SHAPE)])


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(gpu: Gpu, endpoint: bool) -> None:
    def theirs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linspace(a, b, 4, endpoint)

    check(lambda a, b: ops.linspace(a, b, 4, endpoint), theirs, [distinct(SHAPE), distinct((5,))])
