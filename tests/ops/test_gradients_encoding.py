"""Gradients of encodings against finite differences in float64, and their accumulation as integers for tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, learn, ops
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops.encoding import HashEncoding, PositionalEncoding
from vertigrad.ops.gradients.encodings import words_of
from vertigrad.ops.mlp import Mlp

from .differences import check, numeric
from .layouts import examples, layouts, seeds
from .test_encoding import frequencies, hashed
from .test_mlp import layers

RANDOM = np.random.default_rng(21)


def table(levels: int, entries: int, features: int) -> np.ndarray:
    return RANDOM.normal(size=(levels, entries, features)).astype(np.float32)


def leaf(array: np.ndarray) -> Tensor:
    tensor = Tensor.from_numpy(array)
    tensor.requires_grad = True
    return tensor


def gradients(x: np.ndarray, tables: np.ndarray, cells: tuple[int, int], back: np.ndarray) -> list[np.ndarray]:
    """Our gradients of points and tables."""
    leaves = leaf(x), leaf(tables)
    ops.hash_encoding(*leaves, *cells).backward(Tensor.from_numpy(back))
    return [tensor.grad.numpy() for tensor in leaves if tensor.grad is not None]


@examples
@given(st.data(), st.sampled_from([1, 5, 40]), st.integers(1, 4), st.sampled_from([1, 4]), st.booleans(), seeds)
def test_frequencies(data: st.DataObject, count: int, dimensions: int, number: int, include: bool, seed: int) -> None:
    layout, back = (
        data.draw(layouts((count, dimensions))),
        data.draw(layouts((count, dimensions * (2 * number + include)))),
    )
    random = np.random.default_rng(seed)
    x, x_tensor = layout.both(random.normal(size=layout.whole).astype(np.float32))
    gradient, gradient_tensor = back.both(random.normal(size=back.whole).astype(np.float32))
    x_tensor = x_tensor.detach()
    x_tensor.requires_grad = True
    ops.positional_encoding(x_tensor, number, include=include).backward(gradient_tensor)
    step = 1e-6
    expected = np.zeros((count, dimensions))
    for d in range(dimensions):
        away = step * (np.arange(dimensions) == d)
        wide = x.astype(np.float64)
        slope = (frequencies(wide + away, number, include) - frequencies(wide - away, number, include)) / (2.0 * step)
        expected[:, d] = (slope * gradient).sum(1)
    assert x_tensor.grad is not None
    assert np.abs(x_tensor.grad.numpy() - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("shape", "dimensions", "cells"),
    [((3, 40, 2), 3, (2, 9)), ((2, 30, 4), 2, (3, 20)), ((4, 17, 1), 1, (2, 40)), ((1, 7, 2), 4, (2, 2))],
)
def test_hash_grids(steady: Gpu, shape: tuple[int, int, int], dimensions: int, cells: tuple[int, int]) -> None:
    """Of tables and points: dense levels and hashed ones; points outside have no gradient."""
    tables = table(*shape)
    resolutions = HashEncoding(Tensor.from_numpy(tables), *cells).resolutions
    x = RANDOM.uniform(0.01, 0.99, size=(20, dimensions)).astype(np.float32)
    near = np.abs(x[:, :, None] * np.array(resolutions) % 1.0 - 0.5).max((1, 2)) > 0.499  # too close to a cell boundary
    x[near] = 0.37
    x[3], x[7, 0] = -0.5, 1.5
    back = RANDOM.normal(size=(20, shape[0] * shape[2])).astype(np.float32)
    by_x, by_tables = gradients(x, tables, cells, back)

    expected_x, expected_tables = numeric(lambda x, t: hashed(x, t, resolutions), [x, tables], back.astype(float))
    np.testing.assert_allclose(by_tables, expected_tables, atol=2e-6 * np.abs(back).max())
    np.testing.assert_allclose(by_x, expected_x, atol=2e-5 * np.abs(expected_x).max())


def test_any_order_gives_the_same_bits(steady: Gpu) -> None:
    x = RANDOM.uniform(size=(3000, 3)).astype(np.float32)
    back = RANDOM.normal(size=(3000, 8)).astype(np.float32)
    tables, order = table(4, 64, 2), RANDOM.permutation(3000)
    _, first = gradients(x, tables, (2, 30), back)
    _, again = gradients(x, tables, (2, 30), back)
    _, mixed = gradients(x[order], tables, (2, 30), back[order])
    assert np.array_equal(first, again) and np.array_equal(first, mixed)


@pytest.mark.parametrize("scale", [1e-36, 1.0, 1e33])
def test_all_contributions_to_one_entry_fit_without_overflow(steady: Gpu, scale: float) -> None:
    """All corners of all points share one entry, with the largest contributions, or ones that cancel."""
    x = RANDOM.uniform(size=(4097, 3)).astype(np.float32)
    for sign in (np.ones(4097), -np.ones(4097), np.where(np.arange(4097) % 2, 1.0, -1.0)):
        back = (sign * 1.999 * scale).astype(np.float32)[:, None]
        _, found = gradients(x, table(1, 1, 1), (5, 5), back)
        allowed = 8 * 2.0 ** -words_of(4097, 3)[0] + 2.0**-22
        assert abs(found.item() - back.astype(float).sum()) <= 4097 * 2 * scale * allowed


def test_non_finite_gradients_are_detected(steady: Gpu) -> None:
    x = RANDOM.uniform(size=(5, 2)).astype(np.float32)
    for value in (np.nan, np.inf):
        back = np.ones((5, 4), np.float32)
        back[2, 1] = value
        assert np.isnan(gradients(x, table(2, 50, 2), (2, 5), back)[1]).all()
    assert not gradients(x, table(2, 50, 2), (2, 5), np.zeros((5, 4), np.float32))[1].any()


@pytest.mark.parametrize(
    ("points", "dimensions"), [(1, 1), (1, 4), (4096, 3), (1 << 18, 3), (1 << 20, 2), (1 << 24, 4)]
)
def test_integer_accumulators_hold_the_largest_sums(points: int, dimensions: int) -> None:
    bits, low = words_of(points, dimensions)
    corners = 1 << dimensions
    assert points * corners * ((1 << low) - 1) < 1 << 32
    assert points * ((1 << max(bits - low, 0)) + corners) <= 1 << 31
    assert bits >= 10


def test_a_network_after_a_grid_trains_both(steady: Gpu) -> None:
    """One plan of a whole step; tables and weights; f16 tables get f16 gradients."""
    x = RANDOM.uniform(size=(500, 2)).astype(np.float32)
    expected = np.sin(9.0 * x[:, :1]) * np.cos(7.0 * x[:, 1:])
    tables = Tensor.from_numpy((table(4, 256, 2) * 1e-2), "tables")
    with (
        Mlp(*layers([8, 16, 1]), encoding=HashEncoding(tables, 4, 32), requires_grad=True) as mlp,
        learn.Adam([mlp.parameters, tables], lr=0.02) as optimizer,
        Plan("step") as plan,
    ):
        with plan.recording():
            loss = learn.l2_loss(mlp(Tensor.from_numpy(x)), Tensor.from_numpy(expected))
            loss.backward()
            optimizer.step()
        plan.replay(**optimizer.fields())
        first = loss.item()
        for _ in range(50):
            plan.replay(**optimizer.fields())
        assert loss.item() < 0.02 * first
    half = leaf(table(2, 50, 2).astype(np.float16))
    ops.hash_encoding(x, half, 2, 5).sum().backward()
    assert half.grad is not None and half.grad.dtype.name == "f16"


def test_frequencies_before_a_network(steady: Gpu) -> None:
    weights, biases = layers([10, 16, 2])
    check(
        lambda x, w: ops.mlp(x, [w, weights[1]], biases, activation="tanh", encoding=PositionalEncoding(2)),
        lambda x, w: np.tanh(frequencies(x, 2) @ w.T + biases[0]) @ weights[1].T.astype(float) + biases[1],
        [RANDOM.uniform(-1, 1, (5, 2)).astype(np.float32), weights[0]],
    )
