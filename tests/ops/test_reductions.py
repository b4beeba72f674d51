"""Composite reductions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from vertigrad import Tensor, ops

from .layouts import values

REFERENCES = {
    "l1": lambda x, **how: np.abs(x).sum(**how),
    "l2": lambda x, **how: np.sqrt((x**2).sum(**how)),
    "sum_square": lambda x, **how: (x**2).sum(**how),
    "log_sum": lambda x, **how: np.log(x.sum(**how)),
    "log_sum_exp": lambda x, **how: special.logsumexp(x, **how),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(name: str, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    a = values((3, 4, 5), "f32", 1)
    a = np.abs(a) if name == "log_sum" else a * 30
    want = REFERENCES[name](a.astype(np.float64), axis=axis, keepdims=keepdims)
    got = getattr(ops, name)(a, axis, keepdims)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-6)


def test_log_sum_exp_at_the_edges() -> None:
    rows = np.array([[-np.inf, -np.inf], [np.inf, 1], [1e30, 1e30], [np.nan, 0], [-1e30, 0]], np.float32)
    got = ops.log_sum_exp(rows, 1).numpy()
    np.testing.assert_array_equal(got, np.array([-np.inf, np.inf, 1e30, np.nan, 0], np.float32))
    assert ops.log_sum_exp(Tensor.zeros((2, 0)), 1).numpy().tolist() == [-np.inf] * 2
    assert ops.l2(Tensor.zeros((2, 0)), 1).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_last_argmax_and_argmin(axis: int) -> None:
    a = np.round(values((5, 6), "f32", 1) / 10)
    for name, reference in (("last_argmax", np.argmax), ("last_argmin", np.argmin)):
        want = a.shape[axis] - 1 - reference(np.flip(a, axis), axis)
        assert np.array_equal(getattr(ops, name)(a, axis).numpy(), want)
    assert ops.last_argmax(a, axis, True).numpy().ndim == 2
