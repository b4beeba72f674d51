"""Encodings of points against NumPy in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, InputError, ShapeError
from vertigrad.ops.encoding import HashEncoding, PositionalEncoding

from .layouts import examples, layouts, seeds

PRIMES = (1, 2654435761, 805459861, 3674653429)


def frequencies(x: np.ndarray, count: int, include: bool = True) -> np.ndarray:
    """Sines and cosines of x · 2ᶠ π."""
    wide = x.astype(np.float64)
    parts = [wide] if include else []
    for f in range(count):
        parts += [np.sin(2.0**f * np.pi * wide), np.cos(2.0**f * np.pi * wide)]
    return np.concatenate(parts, axis=1)


def hashed(x: np.ndarray, tables: np.ndarray, resolutions: list[int]) -> np.ndarray:
    """d-linear interpolation of table entries, level by level, point by point."""
    levels, entries, features = tables.shape
    dimensions = x.shape[1]
    result = np.zeros((len(x), levels, features))
    for level, cells in enumerate(resolutions):
        position = np.clip(x, np.float32(0), np.float32(1)) * np.float32(cells)
        low = np.minimum(np.floor(position).astype(np.int64), cells - 1)
        share = position.astype(np.float64) - low
        for corner in itertools.product((0, 1), repeat=dimensions):
            at = low + corner
            if (cells + 1) ** dimensions <= entries:
                number = sum(at[:, d] * (cells + 1) ** d for d in range(dimensions))
            else:
                number = np.bitwise_xor.reduce([(at[:, d] * PRIMES[d]) % 2**32 for d in range(dimensions)]) % entries
            weight = np.prod(np.where(corner, share, 1.0 - share), axis=1)
            result[:, level] += weight[:, None] * tables[level, number].astype(np.float64)
    return result.reshape(len(x), -1)


@examples
@given(st.data(), st.sampled_from([0, 1, 5, 130]), st.integers(1, 4), st.sampled_from([1, 7]), st.booleans(), seeds)
def test_frequencies_of_any_layout(
    data: st.DataObject, count: int, dimensions: int, number: int, include: bool, seed: int
) -> None:
    layout = data.draw(layouts((count, dimensions)))
    x, x_tensor = layout.both(np.random.default_rng(seed).normal(size=layout.whole).astype(np.float32))
    got = ops.positional_encoding(x_tensor, number, include=include)
    want = frequencies(x, number, include)
    assert got.shape == want.shape
    assert np.allclose(got.numpy(), want, rtol=0, atol=5e-7)


def test_high_frequencies_of_large_coordinates_keep_their_digits() -> None:
    x = np.array([[1234.5678], [-98765.4], [3.0e5], [0.1]], np.float32)
    got = ops.positional_encoding(x, 16, include=False).numpy()
    turns = np.mod(x.astype(np.float64) * 2.0 ** np.arange(16), 2.0)
    want = np.stack([np.sin(np.pi * turns), np.cos(np.pi * turns)], axis=2).reshape(4, 32)
    assert np.abs(got - want).max() < 5e-7


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize(("levels", "entries", "features"), [(1, 50, 1), (6, 256, 2), (9, 1000, 4)])
def test_hash_grids(dimensions: int, levels: int, entries: int, features: int) -> None:
    random = np.random.default_rng(4)
    tables = random.normal(size=(levels, entries, features)).astype(np.float32)
    x = random.uniform(-0.2, 1.2, size=(200, dimensions)).astype(np.float32)
    x[:3] = np.array([0.0, 1.0, 0.5])[:, None]
    encoding = HashEncoding(Tensor.from_numpy(tables), 2, 50)
    assert encoding.resolutions[0] == 2 and (levels == 1 or encoding.resolutions[-1] == 50)
    got = ops.hash_encoding(x, encoding.tables, 2, 50)
    want = hashed(x, tables, encoding.resolutions)
    assert got.shape == want.shape
    assert np.abs(got.numpy() - want).max() < 3e-5  # positions are f32, cells up to 50 per unit


def test_a_level_of_the_paper() -> None:
    tables = Tensor.zeros((16, 1 << 14, 2))
    resolutions = HashEncoding(tables, 16, 512).resolutions
    growth = np.exp((np.log(512) - np.log(16)) / 15)
    assert resolutions == [int(np.floor(16 * growth**level + 1e-6)) for level in range(16)]


def test_views_types_and_out() -> None:
    random = np.random.default_rng(5)
    whole = random.normal(size=(3, 4, 64, 2)).astype(np.float16)
    tables = Tensor.from_numpy(whole)[1]
    x = random.uniform(size=(40, 2)).astype(np.float32)
    encoding = HashEncoding(tables, 3, 9)
    out = Tensor.full((40, 10), -3.0)
    assert np.allclose(
        ops.encode(x, encoding, out=out[:, 1:9]).numpy(), hashed(x, whole[1], encoding.resolutions), atol=1e-5
    )
    assert np.all(out.numpy()[:, [0, 9]] == -3.0)
    half = ops.positional_encoding(x.astype(np.float16), 3)
    assert half.dtype.name == "f16"
    assert np.abs(half.numpy() - frequencies(x.astype(np.float16), 3)).max() < 1e-3


def test_invalid_arguments_are_reported() -> None:
    x = np.zeros((4, 2), np.float32)
    with pytest.raises(InputError, match="0 frequencies"):
        PositionalEncoding(0)
    with pytest.raises(ShapeError, match="1 to 4 coordinates"):
        ops.positional_encoding(np.zeros((4, 5), np.float32), 2)
    with pytest.raises(ShapeError, match="1 to 4 coordinates"):
        ops.positional_encoding(np.zeros(4, np.float32), 2)
    with pytest.raises(DtypeError, match="points are i32"):
        ops.positional_encoding(np.zeros((4, 2), np.int32), 2)
    with pytest.raises(ShapeError, match="tables have shape"):
        ops.hash_encoding(x, Tensor.zeros((2, 8, 3)), 2, 4)
    with pytest.raises(ShapeError, match="contiguous"):
        ops.hash_encoding(x, Tensor.zeros((2, 8, 4))[:, :, ::2], 2, 4)
    with pytest.raises(DtypeError, match="f32 or f16"):
        ops.hash_encoding(x, Tensor.zeros((2, 8, 2), "i32"), 2, 4)
    with pytest.raises(InputError, match="coarsest"):
        ops.hash_encoding(x, Tensor.zeros((2, 8, 2)), 5, 4)
    with pytest.raises(ShapeError, match="not written to a tensor of shape"):
        ops.positional_encoding(x, 2, out=Tensor.zeros((4, 9)))
