"""Tensors with the protocols of NumPy and Python: functions, arrays, numbers."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError

pytestmark = pytest.mark.usefixtures("gpu")
A = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]], np.float32)


def test_shapes_are_integers_or_one_sequence() -> None:
    x = Tensor.from_numpy(A)
    for shape in ((3, 2), [3, 2], (np.int64(3), -1)):
        assert x.reshape(shape).shape == x.reshape(*shape).shape == (3, 2)
    assert np.array_equal(x.permute((1, 0)).numpy(), A.T) and np.array_equal(x.permute([-1, 0]).numpy(), A.T)
    assert x.expand((4, 2, 3)).shape == (4, 2, 3)
    assert x[0, :1].reshape(()).shape == ()
    for wrong in ((2.0, 3), ("23",), (None,)):
        with pytest.raises(ShapeError, match="expected integers"):
            x.reshape(*wrong)


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([1.0, 2.5], "f32"),
        ([[1, -2], [3, 4]], "i32"),
        ([3_000_000_000], "u32"),
        ([True, False], "bool"),
        ([np.inf, np.nan], "f32"),
        ([], "f32"),
        (1.5, "f32"),
        (7, "i32"),
    ],
)
def test_numbers_of_python_have_types_of_the_gpu(numbers: object, dtype: str) -> None:
    tensor = Tensor.from_numpy(numbers)
    assert tensor.dtype.name == dtype and np.array_equal(tensor.numpy(), np.array(numbers), equal_nan=True)


def test_values_out_of_range_are_not_narrowed() -> None:
    for wrong in ([2**32], [-1, 2**32 - 1], [1e300], np.zeros(2), np.zeros(2, np.int64)):
        with pytest.raises(DtypeError, match=r"float64|int64"):
            Tensor.from_numpy(wrong)


def test_lists_are_operands() -> None:
    x = Tensor.from_numpy(A)
    assert np.array_equal(ops.add(x, [1.0, 2.0, 3.0]).numpy(), A + np.array([1, 2, 3], np.float32))
    assert np.array_equal(([[1], [2]] * x).numpy(), A * np.array([[1], [2]], np.float32))


def test_none_and_names_equal_no_tensor() -> None:
    x = Tensor.from_numpy(A)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "x") is False and (x != "x") is True
    assert x not in (None, "x")


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax"])
def test_reductions_of_numpy_are_those_of_the_tensor(name: str) -> None:
    x, function = Tensor.from_numpy(A), getattr(np, name)
    for axis in (None, 1):
        found = function(x, axis=axis)
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), function(A, axis=axis), rtol=1e-6)
    out = Tensor.empty(2, function(x, axis=1).dtype)
    assert function(x, axis=1, out=out) is out
    np.testing.assert_allclose(out.numpy(), function(A, axis=1), rtol=1e-6)


def test_functions_of_numpy_are_those_of_ops() -> None:
    x = Tensor.from_numpy(A)
    for name in ("sin", "negative", "floor", "isnan"):
        found = getattr(np, name)(x)
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), getattr(np, name)(A), rtol=1e-6)
    for found, expected in ((A - x, A - A), (np.arctan2(A, x), np.arctan2(A, A)), (A.T @ x, A.T @ A), (x > A, A < A)):
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    with pytest.raises(TypeError, match=r"numpy\.cbrt does not take tensors; use the functions of vertigrad\.ops"):
        np.cbrt(x)
    with pytest.raises(TypeError, match=r"numpy\.add\.accumulate does not take tensors"):
        np.add.accumulate(x)
    host = A.copy()
    with pytest.raises(TypeError, match=r"numpy\.add does not take tensors with \['out'\]"):
        host += x


def test_an_array_of_a_tensor_is_a_copy() -> None:
    x = Tensor.from_numpy(A)
    assert np.array_equal(np.asarray(x), A) and np.asarray(x, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="is a copy"):
        np.array(x, copy=False)


def test_one_element_is_a_number() -> None:
    assert float(Tensor.full(1, 2.75)) == 2.75 and int(Tensor.full((1, 1), 2.75)) == 2
    for number in (float, int):
        with pytest.raises(ShapeError, match="item"):
            number(Tensor.zeros(2))


def test_integers_of_numpy_are_sizes() -> None:
    two, x = np.int64(2), Tensor.from_numpy(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    assert np.array_equal(ops.pad(x, two).numpy(), np.pad(np.asarray(x), 2))
    assert np.array_equal(ops.pad(x[0, 0], [two, (two, 0)]).numpy(), np.pad(np.asarray(x)[0, 0], [(2, 2), (2, 0)]))
    for size in (two, np.array([2, 2])):
        assert ops.max_pool(x, size, stride=two).numpy().ravel().tolist() == [5, 7, 13, 15]
    assert ops.average_pool(x, two, padding=np.int64(1)).shape == (1, 1, 5, 5)
    assert ops.tile(x[0, 0], two).shape == (4, 8)


@pytest.mark.parametrize(
    ("name", "hint"), [("atan2", "arctan2"), ("abs", "absolute"), ("cat", "concatenate"), ("softmaxx", "softmax")]
)
def test_names_of_numpy_and_pytorch_are_accepted(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"vertigrad.ops has no '{name}'; did you mean {hint}"):
        getattr(ops, name)
    assert not hasattr(ops, "zzzzqq")
