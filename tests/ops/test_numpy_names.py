"""Functions and methods with names of NumPy and PyTorch, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError, ParameterError, ShapeError, StillInUse
from vertigrad.gpu import Gpu, Plan

pytestmark = pytest.mark.usefixtures("gpu")
A = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]], np.float32)
METHODS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "abs": (lambda x: x.abs(), np.abs),
    "exp": (lambda x: x.exp(), np.exp),
    "log": (lambda x: x.abs().log(), lambda a: np.log(np.abs(a))),
    "sqrt": (lambda x: x.abs().sqrt(), lambda a: np.sqrt(np.abs(a))),
    "square": (lambda x: x.square(), np.square),
    "sin": (lambda x: x.sin(), np.sin),
    "cos": (lambda x: x.cos(), np.cos),
    "tanh": (lambda x: x.tanh(), np.tanh),
    "sigmoid": (lambda x: x.sigmoid(), lambda a: 1 / (1 + np.exp(-a))),
    "relu": (lambda x: x.relu(), lambda a: np.maximum(a, 0)),
    "clip": (lambda x: x.clip(-1.0, 2.0), lambda a: np.clip(a, -1, 2)),
    "clip from below": (lambda x: x.clip(min=0.0), lambda a: np.clip(a, 0, None)),
    "clip from above": (lambda x: x.clip(max=0.0), lambda a: np.clip(a, None, 0)),
    "astype": (lambda x: x.astype("i32"), lambda a: a.astype(np.int32)),
    "var": (lambda x: x.var(), np.var),
    "var of rows": (lambda x: x.var(1, keepdims=True, ddof=1), lambda a: np.var(a, 1, keepdims=True, ddof=1)),
    "std": (lambda x: x.std(0), lambda a: np.std(a, 0)),
    "cumsum": (lambda x: x.cumsum(), np.cumsum),
    "cumprod": (lambda x: x.cumprod(1), lambda a: np.cumprod(a, 1)),
    "argsort": (lambda x: x.argsort(), lambda a: np.argsort(a)),
    "masked_select": (lambda x: x.masked_select(x > 0.0), lambda a: a[a > 0]),
    "mask of rows": (lambda x: x[np.array([False, True])], lambda a: a[[False, True]]),
    "mask as a list": (lambda x: x[[True, False]], lambda a: a[[True, False]]),
    "indices": (lambda x: x[np.array([[1, 0], [-1, 1]])], lambda a: a[np.array([[1, 0], [-1, 1]])]),
    "indices as a list": (lambda x: x[[1, 1, 0]], lambda a: a[[1, 1, 0]]),
    "indices as a tensor": (lambda x: x[Tensor.from_numpy([1, 0])], lambda a: a[[1, 0]]),
    "squeeze": (lambda x: x[:, None, :1].squeeze(), lambda a: a[:, None, :1].squeeze()),
    "squeeze one": (lambda x: x[:, None, :1].squeeze(-2), lambda a: a[:, None, :1].squeeze(1)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda a: a[:, None]),
    "unsqueeze at the end": (lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
    "flatten": (lambda x: x.T.flatten(), lambda a: a.T.flatten()),
    "transpose": (lambda x: x.transpose(), lambda a: a.transpose()),
    "transpose by axes": (lambda x: x[None].transpose(2, 0, 1), lambda a: a[None].transpose(2, 0, 1)),
    "swapaxes": (lambda x: x[None].swapaxes(0, -1), lambda a: a[None].swapaxes(0, -1)),
    "flip": (lambda x: ops.flip(x), np.flip),
    "flip one": (lambda x: ops.flip(x, 1), lambda a: np.flip(a, 1)),
    "outer": (lambda x: ops.outer(x, x[0]), lambda a: np.outer(a, a[0])),
    "isfinite": (lambda x: ops.isfinite(x / (x - 0.5)), lambda a: np.abs(a - 0.5) > 0),
}


@pytest.mark.parametrize("name", METHODS)
def test_values_are_those_of_numpy(name: str) -> None:
    ours, theirs = METHODS[name]
    result, expected = ours(Tensor.from_numpy(A)).numpy(), np.asarray(theirs(A))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_shapes_share_memory() -> None:
    x = Tensor.from_numpy(A)
    for view in (x.squeeze(), x.unsqueeze(0), x.flatten(), x.transpose(), x.swapaxes(0, 1), ops.flip(x)):
        assert view.block is x.block
    assert all(part.block is x.block for part in ops.split(x, 3, axis=1))


def test_split() -> None:
    x = Tensor.from_numpy(A)
    for sections in (3, [1], [1, 1, 2]):
        parts, expected = ops.split(x, sections, axis=1), np.split(A, sections, axis=1)
        assert [part.numpy().tolist() for part in parts] == [part.tolist() for part in expected]
    with pytest.raises(ShapeError, match="does not divide into 2 equal parts"):
        ops.split(x, 2, axis=1)


def test_writing_through_indices_and_masks() -> None:
    for key in ([1, 0], np.array([True, False]), [-1], A > 0):
        x, a = Tensor.from_numpy(A), A.copy()
        x[key] = 7.0
        a[key] = 7.0
        assert np.array_equal(x.numpy(), a)
    x, a = Tensor.from_numpy(A), A.copy()
    x[Tensor.from_numpy([1, 0])] = Tensor.from_numpy(2 * A)
    a[[1, 0]] = 2 * A
    assert np.array_equal(x.numpy(), a)
    with pytest.raises(ShapeError, match="mask of shape"):
        x[[True, False, True]] = 0.0


def test_tensors_of_one_value() -> None:
    x = Tensor.from_numpy(A.astype(np.int32))
    assert ops.zeros((2, 3)).tolist() == [[0.0] * 3] * 2 and Tensor.ones(2, "u32").tolist() == [1, 1]
    assert ops.ones(2, "i32").dtype.name == "i32" and ops.full(3, 2.5).tolist() == [2.5] * 3
    assert ops.full(2, 2**32 - 1, "u32").tolist() == [2**32 - 1] * 2
    for like, value in ((ops.zeros_like(x), 0), (ops.ones_like(x), 1), (ops.full_like(x, 5), 5)):
        assert like.shape == x.shape and like.dtype is x.dtype and like.tolist() == [[value] * 3] * 2
    assert ops.ones_like(x, "f32").dtype.name == "f32"


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing: Any) -> None:
    vectors = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)]
    for ours, theirs in zip(
        ops.meshgrid(*vectors, indexing=indexing), np.meshgrid(*vectors, indexing=indexing), strict=True
    ):
        assert np.array_equal(ours.numpy(), theirs)
    with pytest.raises(ShapeError, match="indexing"):
        ops.meshgrid(vectors[0], indexing="yx")


def test_allclose() -> None:
    x = Tensor.from_numpy(np.array([1.0, np.inf, np.nan], np.float32))
    assert not ops.allclose(x, x) and ops.allclose(x, x, equal_nan=True)
    assert ops.allclose(x[:2], x[:2]) and not ops.allclose(x[:2], -x[:2])
    assert ops.allclose(x[:1], [1.0 + 1e-6]) and not ops.allclose(x[:1], [1.001])


def test_dropout() -> None:
    x = Tensor.full(10_000, 3.0)
    dropped = ops.dropout(x, 0.25, seed=1).numpy()
    assert set(np.unique(dropped)) == {0.0, 4.0} and abs((dropped == 0).mean() - 0.25) < 0.02
    assert np.array_equal(dropped, ops.dropout(x, 0.25, seed=1).numpy())
    assert not np.array_equal(dropped, ops.dropout(x, 0.25, seed=2).numpy())
    with pytest.raises(ParameterError, match="dropout"):
        ops.dropout(x, 1.0, seed=1)


def test_requires_grad_in_a_chain() -> None:
    x = Tensor.ones(3).requires_grad_()
    assert x.requires_grad and not x.requires_grad_(False).requires_grad
    with pytest.raises(GradientError, match="only floats"):
        Tensor.ones(3, "i32").requires_grad_()


def test_readbacks_are_rejected_in_a_recording(gpu: Gpu) -> None:
    x = Tensor.from_numpy(A)
    with Plan() as plan, pytest.raises(StillInUse), plan.recording():
        x.masked_select(x > 0.0)


def test_axes_out_of_range() -> None:
    x = Tensor.from_numpy(A)
    for wrong in (lambda: x.squeeze(0), lambda: x.unsqueeze(4), lambda: x.swapaxes(0, 2)):
        with pytest.raises(ShapeError):
            wrong()
