"""No operation reads or writes outside its operands: they are surrounded by NaN, which is unchanged around `out`.

`out` is returned, with the same bits as without it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, no_grad, ops
from vertigrad.errors import DtypeError, LimitError, ShapeError
from vertigrad.gpu import Gpu

from .layouts import Layout
from .test_gradient_table import SAMPLES, Sample

RANDOM = np.random.default_rng(12)
SENTINEL = 77  # an integer that is valid for unsigned results too
# Larger ones, for kernels with tiles: sizes not divisible by a tile, and rows that are read and written as vec4.
LARGER: dict[str, tuple[str, Sample]] = {
    "matmul of tiles": ("matmul", ({"a": (70, 37), "b": (37, 52)}, {})),
    "matmul of a batch": ("matmul", ({"a": (3, 21, 36), "b": (3, 36, 20)}, {})),
    "matmul of few rows": ("matmul", ({"a": (3, 300), "b": (300, 44)}, {})),
    "linear of tiles": ("linear", ({"x": (45, 28), "weight": (36, 28), "bias": (36,), "residual": (45, 36)}, {})),
    "conv of tiles": ("conv", ({"x": (2, 5, 11, 13), "weights": (7, 5, 3, 3), "bias": (7,)}, {"padding": 1})),
    "conv of groups": ("conv", ({"x": (2, 6, 9, 8), "weights": (8, 3, 2, 3)}, {"groups": 2, "stride": 2})),
    "attention of tiles": ("attention", ({"q": (2, 3, 37, 20), "k": (2, 3, 41, 20), "v": (2, 3, 41, 12)}, {})),
    "mlp of tiles": ("mlp", ({"x": (77, 5), "weights[0]": (17, 5), "weights[1]": (3, 17)}, {})),
    **{f"long {name}": (name, ({"a": (3, 2501)}, {"axis": 1})) for name in ("sum", "max", "argmin", "mean")},
    **{f"{name} of columns": (name, ({"a": (301, 7)}, {"axis": 0})) for name in ("sum", "min")},
    "segments that end early": (
        "segmented_reduce",
        ({"x": (6, 3)}, {"how": "sum", "offsets": np.array([1, 2, 4], np.int32)}),
    ),
    "add of many": ("add", ({"a": (37, 13), "b": (13,)}, {})),
    "negative of many": ("negative", ({"a": (37, 13)}, {})),
    "one_hot": ("one_hot", ({}, {"indices": np.arange(29, dtype=np.int32), "depth": 31})),
    "matmul of a vector": ("matmul", ({"a": (130, 77), "b": (77,)}, {})),
    "long cummax": ("cummax", ({"x": (5, 700)}, {"axis": 1})),
    "long softmax": ("softmax", ({"x": (3, 1501)}, {"axis": 1})),
    "softmax of columns": ("softmax", ({"x": (67, 21)}, {"axis": 0})),
    "long layer_norm": ("layer_norm", ({"x": (3, 1, 1501), "scale": (1501,), "bias": (1501,)}, {})),
    "long cumsum": ("cumsum", ({"x": (3, 2501)}, {"axis": 1})),
    "long sort": ("sort", ({"keys": (2, 1501)}, {})),
    "cumsum of tiles": ("cumsum", ({"x": (3, 20_001)}, {"axis": 1})),
    "cumsum of many columns": ("cumsum", ({"x": (70, 4099)}, {"axis": 0})),
    "sort of tiles": ("sort", ({"keys": (3, 5001)}, {})),
    "histogram of many": ("histogram", ({"x": (5003,)}, {"bins": 9, "limits": (0.0, 1.0)})),
    "max_pool of a wide window": ("max_pool", ({"x": (2, 3, 9, 11)}, {"size": (3, 4), "stride": 2, "padding": 1})),
}
CASES: dict[str, tuple[str, Sample]] = {name: (name, sample) for name, sample in SAMPLES.items()} | LARGER


Placement = Callable[[tuple[int, ...]], Layout]


def alone(shape: tuple[int, ...]) -> Layout:
    return Layout(shape, (), tuple(range(len(shape))))


def between(shape: tuple[int, ...]) -> Layout:
    """Contiguous, with as many elements before and after."""
    return Layout((3, *shape), (1,), tuple(range(len(shape))))


def shifted(shape: tuple[int, ...]) -> Layout:
    """Contiguous, at an unaligned offset, with many elements after it."""
    size = math.prod(shape)
    return Layout((size + 305,), (slice(5, size + 5),), (0,))


def rows(shape: tuple[int, ...]) -> Layout:
    """With elements on all sides."""
    return Layout(tuple(n + 3 for n in shape), tuple(slice(1, n + 1) for n in shape), tuple(range(len(shape))))


def inside(shape: tuple[int, ...]) -> Layout:
    """With elements on all sides, the axes in the opposite order."""
    turned = shape[::-1]
    return Layout(tuple(n + 3 for n in turned), tuple(slice(1, n + 1) for n in turned), tuple(range(len(shape)))[::-1])


def placed(array: np.ndarray, placement: Placement) -> Tensor:
    layout = placement(array.shape)
    whole = np.full(layout.whole, np.nan, array.dtype)
    layout.array(whole)[...] = array
    return layout.tensor(Tensor.from_numpy(whole))


def called(
    case: str, arrays: Mapping[str, np.ndarray], placement: Placement, **more: Any
) -> tuple[dict[str, Tensor], list[Tensor]]:
    """The placed operands, and the results."""
    name, (_, others) = CASES[case]
    placements = {
        key: between if key == "tables" and placement is inside else placement for key in arrays
    }  # must be contiguous
    leaves = {key: placed(array, placements[key]).detach() for key, array in arrays.items()}
    for tensor in leaves.values():
        tensor.requires_grad = True
    values: dict[str, Any] = {}
    for key, tensor in leaves.items():
        head, _, index = key.partition("[")
        values.setdefault(head, []).append(tensor) if index else values.__setitem__(head, tensor)
    first = {"fused": ["function"], "einsum": ["equation"], "add": [], "negative": [], "meshgrid": []}.get(name)
    if first is None:  # all have names
        result = getattr(ops, name)(**values, **others, **more)
    else:
        flat = next((values[key] for key in ("operands", "coordinates") if key in values), list(values.values()))
        result = getattr(ops, name)(*(others[key] for key in first), *flat, **more)
    return leaves, [each for each in (result if isinstance(result, tuple) else (result,)) if each is not None]


def pulled(leaves: Mapping[str, Tensor], results: list[Tensor], placement: Placement) -> list:
    """The gradients of a sum with different weights for each element."""
    for each in results:
        if each.requires_grad:
            weights = np.linspace(-1.0, 1.5, each.size).reshape(each.shape).astype(each.dtype.numpy)
            each.backward(placed(weights, placement), keep_graph=True)
    return [None if tensor.grad is None else tensor.grad.numpy() for tensor in leaves.values()]


def written(name: str, results: list[Tensor]) -> list[np.ndarray]:
    """The elements that an operation writes: rows after the count of selected ones are unchanged."""
    arrays = [each.numpy() for each in results]
    return [arrays[0][: int(arrays[1][0])], arrays[1]] if name in ("compact", "nonzero") else arrays


def same(found: Any, expected: Any) -> bool:
    if expected is None or found is None:
        return found is expected
    return found.shape == expected.shape and np.allclose(found, expected, rtol=2e-4, atol=2e-5, equal_nan=True)


@pytest.mark.turns(3)
@pytest.mark.parametrize("case", [case for case in CASES if case != "assign"])
def test_nothing_outside_the_operands_is_read_or_written(gpu: Gpu, case: str) -> None:
    name, (shapes, _) = CASES[case]
    arrays = {key: RANDOM.uniform(0.2, 0.8, shape).astype(np.float32) for key, shape in shapes.items()}
    leaves, results = called(case, arrays, alone)
    expected, expected_gradients = written(name, results), pulled(leaves, results, alone)
    for placement in (between, inside):
        leaves, results = called(case, arrays, placement)
        assert all(map(same, written(name, results), expected)), placement.__name__
        assert all(map(same, pulled(leaves, results, placement), expected_gradients)), placement.__name__
    if len(expected) > 1 or not takes_output(name):
        return
    with no_grad():  # another kernel may be used then
        values = called(case, arrays, alone)[1][0].numpy()
    assert same(values, expected[0])
    for placement in (between, shifted, rows, inside):
        assert_written_alone(case, arrays, values, placement)


def takes_output(name: str) -> bool:
    return "out" in inspect.signature(getattr(ops, name)).parameters


def assert_written_alone(case: str, arrays: Mapping[str, np.ndarray], values: np.ndarray, placement: Placement) -> None:
    """Check that `out` is returned with the `values`, and that nothing around it is changed."""
    layout = placement(values.shape)
    expected = np.full(layout.whole, SENTINEL, values.dtype)
    whole = Tensor.from_numpy(expected)
    part = layout.array(expected)
    part[...] = values.reshape(part.shape)
    out = layout.tensor(whole).reshape(values.shape)
    with no_grad():
        _, (result,) = called(case, arrays, alone, out=out)
    assert result is out
    np.testing.assert_array_equal(whole.numpy(), expected, err_msg=placement.__name__)


@pytest.mark.turns(3)
@pytest.mark.parametrize("case", [case for case in CASES if case != "assign"])
def test_folded_rows_of_workgroups_give_the_same_results(gpu: Gpu, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an adapter with few workgroups per dimension; the surplus ones of the last row write nothing."""
    name, (shapes, _) = CASES[case]
    arrays = {key: RANDOM.uniform(0.2, 0.8, shape).astype(np.float32) for key, shape in shapes.items()}
    with no_grad():
        expected = written(name, called(case, arrays, alone)[1])
        for most in (2, 3, 5, 7):
            monkeypatch.setitem(gpu.limits, "max-compute-workgroups-per-dimension", most)
            try:
                assert all(map(same, written(name, called(case, arrays, between)[1]), expected)), most
                if takes_output(name) and len(expected) == 1:
                    assert_written_alone(case, arrays, expected[0], between)
            except LimitError:  # of workgroups in two or three dimensions, which are not folded
                continue


@pytest.mark.parametrize("case", [case for case in CASES if case != "assign"])
def test_an_output_of_another_shape_or_dtype_is_refused(gpu: Gpu, case: str) -> None:
    name, (shapes, _) = CASES[case]
    if not takes_output(name):
        return
    arrays = {key: RANDOM.uniform(0.2, 0.8, shape).astype(np.float32) for key, shape in shapes.items()}
    with no_grad():
        results = called(case, arrays, alone)[1]
        if len(results) > 1:
            return
        (result,) = results
        with pytest.raises(ShapeError):  # a last axis of 1 could be broadcast, as NumPy does
            called(case, arrays, alone, out=Tensor.empty((*result.shape[:-1], 7, 11), result.dtype))
        if name not in ("last_argmax", "last_argmin"):  # sums of indices, which can be written as floats
            with pytest.raises(DtypeError):
                other = "f32" if result.dtype.name == "i32" else "i32"
                called(case, arrays, alone, out=Tensor.empty(result.shape, other))
