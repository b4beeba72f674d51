"""Gathering and scattering by tensors of indices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Plan

from .layouts import DTYPES, NUMPY, examples, layouts, seeds, values

more_examples = settings(examples, max_examples=2 * examples.max_examples)
REDUCTIONS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def drawn(data: st.DataObject, shape: tuple[int, ...], dtype: str, seed: int) -> tuple[np.ndarray, Tensor]:
    layout = data.draw(layouts(shape))
    return layout.both(values(layout.whole, dtype, seed))


def indices(shape: tuple[int, ...], limits: tuple[int, ...], seed: int) -> np.ndarray:
    """Vectors of indices for axes of the sizes `limits`, negative ones among them."""
    random = np.random.default_rng(seed)
    return np.stack([random.integers(-n, n, shape) for n in limits], -1).astype(np.int32)


@examples
@given(st.data(), st.sampled_from(DTYPES), seeds)
def test_gather_nd(data: st.DataObject, dtype: str, seed: int) -> None:
    shape = data.draw(sizes)
    batch = data.draw(st.integers(0, len(shape) - 1))
    depth = data.draw(st.integers(1, len(shape) - batch))
    a, x = drawn(data, shape, dtype, seed)
    inner = tuple(data.draw(st.lists(st.integers(0, 4), max_size=2)))
    index_array = indices((*shape[:batch], *inner), shape[batch : batch + depth], seed)
    want = np.empty((*shape[:batch], *inner, *shape[batch + depth :]), a.dtype)
    for at in np.ndindex(*shape[:batch], *inner):
        want[at] = a[at[:batch] + tuple(index_array[at])]
    assert np.array_equal(ops.gather_nd(x, index_array, batch_axes=batch).numpy(), want)


@pytest.mark.turns(2)
@more_examples
@given(st.data(), st.sampled_from(["none", *REDUCTIONS]), st.sampled_from(DTYPES), seeds)
def test_scatter_nd(data: st.DataObject, reduction: str, dtype: str, seed: int) -> None:
    if dtype == "bool" and reduction != "none":
        dtype = "i32"
    shape = data.draw(sizes)
    depth = data.draw(st.integers(1, len(shape)))
    a, x = drawn(data, shape, dtype, seed)
    count = data.draw(st.integers(0, 7))
    index_array = indices((count,), shape[:depth], seed)
    b, updates = drawn(data, (count, *shape[depth:]), dtype, seed + 1)
    want = a.copy()
    for row in range(count):
        at = tuple(index_array[row])
        with np.errstate(over="ignore"):
            want[at] = b[row] if reduction == "none" else REDUCTIONS[reduction](want[at], b[row])
    got = ops.scatter_nd(x, index_array, updates, reduction).numpy()
    compare(got, want, a, b)
    assert np.array_equal(x.numpy(), a)


def compare(got: np.ndarray, want: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    if a.dtype.kind == "f":
        scale = np.abs(want.astype(np.float64)).max(initial=1) * (2e-2 if a.dtype == np.float16 else 1e-5)
        np.testing.assert_allclose(got.astype(np.float64), want, atol=scale)
    else:
        assert np.array_equal(got, want)


@pytest.mark.turns(2)
@more_examples
@given(st.data(), st.sampled_from(["none", *REDUCTIONS]), st.sampled_from(["f32", "i32", "u8", "f16"]), seeds)
def test_scatter_elements(data: st.DataObject, reduction: str, dtype: str, seed: int) -> None:
    shape = data.draw(sizes)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    a, x = drawn(data, shape, dtype, seed)
    at = axis % len(shape)
    random = np.random.default_rng(seed)
    count = data.draw(st.integers(0, 6))
    inner = tuple(count if i == at else data.draw(st.integers(1, n)) for i, n in enumerate(shape))
    index_array = random.integers(-shape[at], shape[at], inner).astype(np.int32)
    b, updates = drawn(data, inner, dtype, seed + 1)
    want = a.copy()
    for each in np.ndindex(*inner):
        target = (*each[:at], index_array[each], *each[at + 1 :])
        with np.errstate(over="ignore"):
            want[target] = b[each] if reduction == "none" else REDUCTIONS[reduction](want[target], b[each])
    compare(ops.scatter_elements(x, index_array, updates, axis, reduction).numpy(), want, a, b)


def test_many_updates_of_one_index_are_all_reduced() -> None:
    index_array = np.zeros((5000, 1), np.int32)
    ones = np.ones(5000, np.float32)
    assert ops.scatter_nd(np.zeros(3, np.float32), index_array, ones, "add").numpy().tolist() == [5000, 0, 0]
    assert ops.scatter_nd(np.zeros(3, np.uint8), index_array, ones.astype(np.uint8), "add").numpy().tolist() == [
        136,
        0,
        0,
    ]
    largest = ops.scatter_nd(np.zeros(3, np.float32), index_array, np.arange(5000, dtype=np.float32) - 9000, "max")
    assert largest.numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_many_updates_of_one_index_the_last_wins(dtype: str) -> None:
    """As in NumPy, and deterministic in any order of writes."""
    random = np.random.default_rng(3)
    chosen = random.integers(-5, 5, 5000).astype(np.int32)
    updates = values((5000, 2), dtype, 4)
    want = values((5, 2), dtype, 5)
    want_along = want.copy()
    want[chosen] = updates
    got = ops.scatter_nd(values((5, 2), dtype, 5), chosen[:, None], updates).numpy()
    assert np.array_equal(got, want)
    along = np.stack([chosen, chosen[::-1]], 1)
    np.put_along_axis(want_along, along, updates, 0)
    assert np.array_equal(ops.scatter_elements(values((5, 2), dtype, 5), along, updates).numpy(), want_along)


@pytest.mark.parametrize("index", ["u8", "u32"])
def test_unsigned_indices_do_not_count_from_the_end(index: str) -> None:
    x = np.arange(300, dtype=np.float32)
    largest = np.iinfo(NUMPY[index]).max
    index_array = np.array([1, largest, 0], NUMPY[index])
    outside = largest >= len(x)
    want = np.array([1, np.nan if outside else largest, 0], np.float32)
    assert np.array_equal(ops.gather_nd(x, index_array[:, None]).numpy(), want, equal_nan=True)
    put = x.copy()
    put[[1, 0] if outside else index_array] = -1
    minus = np.full(3, -1, np.float32)
    assert np.array_equal(ops.scatter_nd(x, index_array[:, None], minus).numpy(), put)
    assert np.array_equal(ops.scatter_elements(x, index_array, minus).numpy(), put)
    assert np.array_equal(ops.one_hot(index_array, 256).numpy(), np.equal(index_array[:, None], np.arange(256)))


def test_indices_out_of_range_are_ignored() -> None:
    x = Tensor.from_numpy(np.arange(4, dtype=np.float32))
    index_array = Tensor.from_numpy(np.array([[4], [-5], [1], [-1]], np.int32))
    assert np.array_equal(ops.gather_nd(x, index_array).numpy(), [np.nan, np.nan, 1, 3], equal_nan=True)
    assert ops.scatter_nd(x, index_array, np.full(4, 9, np.float32)).numpy().tolist() == [0, 9, 2, 9]
    assert ops.gather_nd(x.to("i32"), index_array).numpy().tolist() == [0, 0, 1, 3]


@pytest.mark.parametrize("index", ["i32", "u32", "u8"])
def test_the_first_index_out_of_range_does_not_write_into_the_next_row(index: str) -> None:
    x, updates = np.arange(15, dtype=np.float32).reshape(3, 5), -np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    along = np.array([[5, 0, 4], [5, 6, 1], [3, 5, 5]])
    index_array = np.array([[0, 5], [2, 5], [3, 0], [1, 2], [2, 4], [0, 6]])
    if index == "i32":
        along[1, 1] = index_array[5, 1] = -6
    along, index_array = along.astype(NUMPY[index]), index_array.astype(NUMPY[index])
    put = x.copy()
    put[0, 0], put[0, 4], put[1, 1], put[2, 3] = -2, -3, -6, -7
    assert np.array_equal(ops.scatter_elements(x, along, updates, 1).numpy(), put)
    got = ops.gather_nd(x, index_array).numpy()
    assert np.array_equal(got, [np.nan, np.nan, np.nan, 7, 14, np.nan], equal_nan=True)
    put = x.copy()
    put[1, 2], put[2, 4] = -4, -5
    assert np.array_equal(ops.scatter_nd(x, index_array, updates.reshape(-1)[:6]).numpy(), put)


def test_in_place_and_in_a_plan() -> None:
    x = Tensor.from_numpy(np.zeros(4, np.float32))
    with Plan() as plan:
        with plan.recording():
            assert ops.scatter_nd(x, np.array([[1], [1]], np.int32), np.array([2, 3], np.float32), "add", out=x) is x
        assert len(plan) == 1
        plan.replay()
        plan.replay()
    assert x.numpy().tolist() == [0, 10, 0, 0]
    whole = Tensor.full((3, 6), 7.0)
    ops.scatter_nd(
        np.zeros((3, 2), np.float32), np.array([[0]], np.int32), np.ones((1, 2), np.float32), out=whole[:, ::3]
    )
    assert whole.numpy()[:, ::3].tolist() == [[1, 1], [0, 0], [0, 0]] and (whole.numpy()[:, 1] == 7).all()


def test_embedding() -> None:
    a = values((7, 3), "f32", 1)
    assert np.array_equal(ops.embedding(a, [[1, 2], [0, 6]]).numpy(), a[[[1, 2], [0, 6]]])


def test_invalid_arguments() -> None:
    x, index_array = Tensor.zeros((3, 4)), Tensor.zeros((2, 1), "i32")
    with pytest.raises(DtypeError, match="must be i32, u32 or u8"):
        ops.gather_nd(x, x)
    with pytest.raises(ShapeError, match="do not name axes"):
        ops.gather_nd(x, Tensor.zeros((2, 3), "i32"))
    with pytest.raises(ShapeError, match="differ in the first 1"):
        ops.gather_nd(x, index_array, batch_axes=1)
    with pytest.raises(ShapeError, match=r"they must be \(2, 4\)"):
        ops.scatter_nd(x, index_array, x)
    with pytest.raises(DtypeError, match="updates of i32"):
        ops.scatter_nd(x, index_array, Tensor.zeros((2, 4), "i32"))
    with pytest.raises(ShapeError, match="reduction is one of"):
        ops.scatter_nd(x, index_array, Tensor.zeros((2, 4)), "average")
    with pytest.raises(ShapeError, match="do not fit"):
        ops.scatter_elements(x, Tensor.zeros((4, 1), "i32"), Tensor.zeros((4, 1)), 1)
