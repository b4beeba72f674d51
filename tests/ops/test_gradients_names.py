"""Gradients of composite functions and of methods, by central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu

from .differences import check, drawn, leaf

ROWS = (4, 3)
MASK = np.array([True, False, True, True])
CASES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray]]] = {
    "var": (lambda x: ops.var(x, 1, ddof=1), lambda a: np.var(a, 1, ddof=1)),
    "std": (lambda x: ops.std(x, 0), lambda a: np.std(a, 0)),
    "flip": (lambda x: ops.flip(x, 0), lambda a: np.flip(a, 0)),
    "outer": (lambda x: ops.outer(x[0], x[:, 1]), lambda a: np.outer(a[0], a[:, 1])),
    "meshgrid": (lambda x: ops.meshgrid(x[0], x[1])[1], lambda a: np.meshgrid(a[0], a[1])[1]),
    "masked_select": (lambda x: ops.masked_select(x, MASK), lambda a: a[MASK]),
    "split": (lambda x: ops.split(x, [1], 1)[1], lambda a: a[:, 1:]),
    "indices": (lambda x: x[[2, 2, 0]], lambda a: a[[2, 2, 0]]),
    "squeeze": (lambda x: x[:, :1].squeeze(1).unsqueeze(0), lambda a: a[None, :, 0]),
    "swapaxes": (lambda x: x.swapaxes(0, 1).flatten(), lambda a: a.T.flatten()),
    "clip": (lambda x: x.clip(0.4, 0.6).exp(), lambda a: np.exp(np.clip(a, 0.4, 0.6))),
    "cumsum": (lambda x: x.cumsum(), lambda a: np.cumsum(a)),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_equal_finite_differences(gpu: Gpu, name: str) -> None:
    ours, theirs = CASES[name]
    check(ours, theirs, [drawn(0.2, 0.8, ROWS)])


def test_dropout_passes_gradients_where_it_passes_values(gpu: Gpu) -> None:
    x = leaf(drawn(0.2, 0.8, (100,)))
    y = ops.dropout(x, 0.5, seed=3)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.where(y.numpy() == 0.0, 0.0, 2.0))


def test_written_rows_pass_gradients_to_the_values(gpu: Gpu) -> None:
    x, row = leaf(drawn(0.2, 0.8, ROWS)), leaf(drawn(0.2, 0.8, (3,)))
    y = x * 1.0
    y[[1, 3]] = row
    y[np.array([True, False, False, False])] = 0.0
    y.sum().backward()
    assert x.grad is not None and row.grad is not None
    assert x.grad.numpy().tolist() == [[0.0] * 3, [0.0] * 3, [1.0] * 3, [0.0] * 3]
    assert row.grad.numpy().tolist() == [2.0] * 3
