"""Deprecated names of operations, from when recording had a separate form of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu, Kernel, Plan

from ..old_names import warned

X = np.array([3.0, 1.0, 0.0, 2.0], np.float32)
WHOLE = np.array([0, 1, 1, 3], np.uint32)
STARTS = np.array([0, 1, 4], np.uint32)
# By name: arguments before the results, shapes of the results, arguments after them, and expected values.
CASES: dict[str, tuple[list[Any], list[Tensor], list[Any], list[Any]]] = {
    "bincount": ([WHOLE], [("u32", 4)], [], [[1, 2, 0, 1]]),
    "compact": ([X, X], [("f32", 4), ("u32", 1)], [], [[3, 1, 2], [3]]),
    "draw_size": ([WHOLE[3:]], [("u32", 4)], [], [[3, 1, 0, 0]]),
    "grid_normals": ([np.ones((1, 1, 3), np.float32)], [("f32", (1, 1, 3))], [], [[[[0, 1, 0]]]]),
    "histogram": ([X], [("u32", 2)], [(0, 4)], [[2, 2]]),
    "nonzero": ([X], [("i32", (4, 1)), ("u32", 1)], [], [[[0], [1], [3]], [3]]),
    "reduce": (["max", X], [("f32", 1)], [0, True], [[3]]),
    "reorder": ([X[:, None], WHOLE], [("f32", (4, 1))], [], [[[3], [1], [1], [2]]]),
    "scan": (["sum", X], [("f32", 4)], [], [[3, 4, 4, 6]]),
    "segment_starts": ([WHOLE], [("u32", 4)], [], [[0, 1, 3, 3]]),
    "segmented_reduce": (["sum", X, STARTS], [("f32", 2)], [], [[3, 3]]),
}


def recorded(name: str, *arguments: Any, **options: Any) -> None:
    with Plan(name) as plan:
        with warned(rf"record_{name}\(plan, \.\.\.\) is now {name}\(\.\.\.\) inside of"):
            getattr(ops, f"record_{name}")(plan, *arguments, **options)
        assert len(plan)
        plan.replay()


@pytest.mark.parametrize("name", CASES)
def test_old_names_record_the_operation(gpu: Gpu, name: str) -> None:
    before, shapes, behind, expected = CASES[name]
    before = [Tensor.from_numpy(value) if isinstance(value, np.ndarray) else value for value in before]
    results = [Tensor.zeros(shape, dtype) for dtype, shape in shapes]
    recorded(name, *before, *results, *behind)
    for result, values in zip(results, expected, strict=True):
        assert result.numpy()[: len(values)].tolist() == values


@pytest.mark.parametrize("results", [{"sorted_keys"}, {"sorted_values"}, {"sorted_keys", "sorted_values"}])
@pytest.mark.parametrize("with_values", [False, True])
def test_the_old_form_of_a_sort(gpu: Gpu, results: set[str], with_values: bool) -> None:
    keys, values = Tensor.from_numpy(WHOLE[::-1].copy()), Tensor.from_numpy(WHOLE) if with_values else None
    expected = {"sorted_keys": [0, 1, 1, 3], "sorted_values": [3, 1, 1, 0] if with_values else [3, 1, 2, 0]}
    written = {name: Tensor.zeros(4, "u32") for name in results}
    if results == {"sorted_keys"} and with_values:
        return
    recorded("sort", keys, values, key_bits=2, **written)
    for name, tensor in written.items():
        assert tensor.numpy().tolist() == expected[name]


def test_old_forms_of_a_network_a_grid_and_a_size(gpu: Gpu) -> None:
    x, out = Tensor.from_numpy(np.ones((3, 2), np.float32)), Tensor.zeros((3, 1))
    with ops.Mlp([np.ones((1, 2), np.float32)]) as network:
        recorded("mlp", network, x, out)
    assert out.numpy().tolist() == [[2], [2], [2]]
    size = Tensor.zeros(3, "u32")
    recorded("dispatch_size", Tensor.from_numpy(WHOLE[3:]), Kernel.load("ops/reorder.wgsl"), size, each=100)
    assert size.numpy().tolist() == [2, 1, 1]
    with ops.NeighborGrid(3, 2, 1.0) as grid, Plan() as plan:
        with warned("NeighborGrid.record"):
            grid.record(plan, x)
        plan.replay()
        assert sorted(grid.order.numpy().tolist()) == [0, 1, 2]


def test_leaky_relu_takes_slope(gpu: Gpu) -> None:
    with Tensor.from_numpy([-2.0, 3.0]) as x:
        with warned("leaky_relu: slope is now called negative_slope"):
            assert ops.leaky_relu(x, slope=0.5).numpy().tolist() == [-1.0, 3.0]  # pyright: ignore[reportCallIssue]
        assert ops.leaky_relu(x, negative_slope=0.25).numpy().tolist() == [-0.5, 3.0]
