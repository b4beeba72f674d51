"""Normalizations against float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError

from .layouts import examples, layouts, seeds, shapes, values


def normal(x: np.ndarray, axes: tuple[int, ...], epsilon: float = 1e-5) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def close(got: Tensor, want: np.ndarray, dtype: str = "f32") -> None:
    tolerance = {"f32": 3e-6, "f16": 3e-3}[dtype]
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy().astype(np.float64), want, rtol=tolerance, atol=4 * tolerance)


@examples
@given(st.data(), seeds)
def test_blocks_of_any_layout(data: st.DataObject, seed: int) -> None:
    shape = tuple(max(n, 1) for n in data.draw(shapes(min_rank=1)))
    layout, axes = data.draw(layouts(shape)), data.draw(st.integers(1, len(shape)))
    a, x = layout.both(values(layout.whole, "f32", seed))
    block = shape[len(shape) - axes :]
    s, b = values(block, "f32", seed + 1), values(block[-1:], "f32", seed + 2)
    last = tuple(range(len(shape) - axes, len(shape)))
    close(ops.layer_norm(x, s, b, axes=axes), normal(a, last) * s + b)
    got, mean, inverse = ops.layer_norm_with_statistics(x, s, axes=axes, epsilon=1e-3)
    close(got, normal(a, last, 1e-3) * s)
    close(mean, a.astype(np.float64).mean(last, keepdims=True))
    np.testing.assert_allclose(
        inverse.numpy(), (a.astype(np.float64).var(last, keepdims=True) + 1e-3) ** -0.5, rtol=1e-5
    )
    square = (a.astype(np.float64) ** 2).mean(last, keepdims=True)
    close(ops.rms_norm(x, s, axes=axes), a / np.sqrt(square + 1e-5) * s)


@pytest.mark.parametrize(("rows", "count"), [(1, 5000), (300, 9), (7, 256), (3, 257), (1, 1)])
def test_long_and_short_rows(rows: int, count: int) -> None:
    a = values((rows, count), "f32", 1) + 300
    close(ops.layer_norm(Tensor.from_numpy(a), epsilon=1e-2), normal(a, (1,), 1e-2))


@pytest.mark.parametrize("spatial", [(), (7,), (5, 6), (2, 3, 4)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_groups_of_channels(spatial: tuple[int, ...], groups: int) -> None:
    a = values((3, 6, *spatial), "f32", 1)
    s, b = values((6,), "f32", 2), values((6,), "f32", 3)
    flat = normal(a.reshape(3, groups, -1), (2,)).reshape(a.shape)
    wide = (6, *[1] * len(spatial))
    close(ops.group_norm(a, groups, s, b), flat * s.reshape(wide) + b.reshape(wide))
    each = values((groups,), "f32", 4)
    close(ops.group_norm(a, groups, each), flat * np.repeat(each, 6 // groups).reshape(wide))
    if spatial:
        axes = tuple(range(2, 2 + len(spatial)))
        close(ops.instance_norm(a, s, b), normal(a, axes) * s.reshape(wide) + b.reshape(wide))


@pytest.mark.parametrize("spatial", [(), (7,), (5, 6)])
def test_batches(spatial: tuple[int, ...]) -> None:
    a = values((3, 4, *spatial), "f32", 1)
    s, b, m = (values((4,), "f32", i) for i in (2, 3, 4))
    v = np.abs(values((4,), "f32", 5))
    wide = [t.astype(np.float64).reshape(4, *[1] * len(spatial)) for t in (s, b, m, v)]
    want = (a - wide[2]) / np.sqrt(wide[3] + 1e-5) * wide[0] + wide[1]
    got = ops.batch_norm(a, s, b, m, v)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
@pytest.mark.parametrize("axis", [0, -1])
def test_lengths(p: float, axis: int) -> None:
    a = values((4, 5, 6), "f32", 1)
    want = (np.abs(a.astype(np.float64))).max(axis, keepdims=True) if p == np.inf else None
    want = (np.abs(a.astype(np.float64)) ** p).sum(axis, keepdims=True) ** (1 / p) if want is None else want
    close(ops.lp_norm(a, axis, p), want)
    close(ops.lp_normalize(a, axis, p), a / want)
    assert not ops.lp_normalize(Tensor.zeros((2, 3)), axis, p).numpy().any()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_neighboring_channels(size: int) -> None:
    a = values((2, 5, 3), "f32", 1).astype(np.float64)
    want = np.empty_like(a)
    for c in range(5):
        low, high = max(0, c - (size - 1) // 2), min(4, c + size // 2) + 1
        want[:, c] = a[:, c] / (2.0 + 0.3 / size * (a[:, low:high] ** 2).sum(1)) ** 0.6
    close(ops.local_response_norm(a.astype(np.float32), size, alpha=0.3, beta=0.6, k=2.0), want)


def test_half_precision() -> None:
    a = values((3, 40), "f16", 1)
    close(ops.layer_norm(a), normal(a, (1,)), "f16")
    assert ops.layer_norm(a).dtype.name == "f16"


def test_out_in_place_and_strided() -> None:
    a = values((6, 8), "f32", 1)
    x = Tensor.from_numpy(a)
    assert ops.layer_norm(x, out=x) is x
    close(x, normal(a, (1,)))
    whole = Tensor.full((8, 12), 7.0)
    ops.layer_norm(a, out=whole.T[2:8])
    got = whole.numpy().T
    np.testing.assert_allclose(got[2:8], normal(a, (1,)), rtol=1e-5, atol=1e-5)
    assert (got[[0, 1, 8, 9]] == 7).all()


def test_invalid_arguments() -> None:
    x = Tensor.zeros((2, 6, 4))
    with pytest.raises(ShapeError, match="4 groups"):
        ops.group_norm(x, 4)
    with pytest.raises(ShapeError, match="scale of shape"):
        ops.group_norm(x, 2, Tensor.zeros((5,)))
    with pytest.raises(ShapeError, match="does not expand"):
        ops.layer_norm(x, Tensor.zeros((3,)))
    with pytest.raises(ShapeError, match="4 last axes"):
        ops.layer_norm(x, axes=4)
    with pytest.raises(ShapeError, match="mean of shape"):
        ops.batch_norm(x, *[Tensor.zeros((6,))] * 2, Tensor.zeros((2,)), Tensor.zeros((6,)))
    with pytest.raises(DtypeError, match="cast it first"):
        ops.layer_norm(x.to("i32"))
    assert ops.layer_norm(Tensor.zeros((0, 4))).shape == (0, 4)
