"""Random numbers: the reference against published test vectors, kernels bit for bit against it, and distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ParameterError
from vertigrad.gpu import Plan
from vertigrad.ops.philox import philox, stream

from .layouts import examples
from .primitives import replayed_twice

random = ops.random

# counter, key and result of philox4x32 with 10 rounds: kat_vectors of the Random123 library
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_the_reference_gives_the_published_results(counter: str, key: str, answer: str):
    words, keys = [int(w, 16) for w in counter.split()], [int(w, 16) for w in key.split()]
    assert [f"{w:08x}" for w in philox(np.array(words), (keys[0], keys[1]))] == answer.split()


offsets = st.one_of(st.integers(0, 9), st.integers(2**34 - 9, 2**34 + 9), st.integers(0, 2**62))
seeds = st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1))


@examples
@given(n=st.integers(0, 2000), seed=seeds, name=st.text(max_size=4), offset=offsets)
def test_kernels_give_the_bits_of_the_reference(n: int, seed: int, name: str, offset: int):
    words = stream(n, seed, name, offset)
    assert np.array_equal(random.uniform(n, seed, name, offset).numpy(), (words >> 8) * np.float32(2.0**-24))
    whole = random.integers(n, seed, name, offset, low=-(2**31), high=2**31).numpy()
    assert np.array_equal(whole.view(np.uint32), words ^ np.uint32(2**31))
    some = random.integers(n, seed, name, offset, low=-7, high=1000).numpy()
    assert np.array_equal(some, (words.astype(np.uint64) * 1007 >> 32).astype(np.int64) - 7)


def test_a_slice_of_a_stream_equals_that_of_the_whole():
    for make in (random.uniform, random.normal):
        whole = make(1000, 3, "wind").numpy()
        for first, n in ((1, 998), (4, 4), (511, 3)):
            assert make(n, 3, "wind", first).numpy().tobytes() == whole[first : first + n].tobytes()
        assert make((10, 100), 3, "wind").numpy().tobytes() == whole.tobytes()


def test_seeds_and_names_give_different_streams():
    samples = [random.uniform(64, *which).numpy() for which in ((1, "a"), (1, "b"), (2, "a"), (1 << 32, "a"), (1, ""))]
    for i, a in enumerate(samples):
        for b in samples[:i]:
            assert (a == b).mean() < 0.1


def test_distributions():
    """Means and variances within five standard errors; all sixteenths of the range equally frequent."""
    n = 1 << 20
    u, z = random.uniform(n, 5, low=-1.0, high=3.0).numpy(), random.normal(n, 5, mean=2.0, std=0.5).numpy()
    assert abs(u.mean() - 1) < 5 * 4 / np.sqrt(12 * n) and u.min() >= -1 and u.max() <= 3
    counts = np.histogram(u, 16, (-1, 3))[0]
    assert ((counts - n / 16) ** 2 / (n / 16)).sum() < 40  # chi squared of 15 degrees: 40 is passed once in 2000
    unit = (z.astype(np.float64) - 2) / 0.5
    assert abs(unit.mean()) < 5 / np.sqrt(n) and abs(unit.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((unit**3).mean()) < 5 * np.sqrt(15 / n) and abs((unit**4).mean() - 3) < 5 * np.sqrt(96 / n)
    pairs = unit[: n // 2 * 2].reshape(-1, 2)
    assert abs((pairs[:, 0] * pairs[:, 1]).mean()) < 5 / np.sqrt(n / 2)
    assert np.isfinite(z).all()


def test_normal_numbers_use_the_box_muller_transform():
    words = stream(4000, 8, "z").reshape(-1, 2).astype(np.float64)
    radius = np.sqrt(-2 * np.log((np.floor(words[:, 0] / 256) + 1) * 2.0**-24))
    angle = 2 * np.pi * np.floor(words[:, 1] / 256) * 2.0**-24
    want = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
    np.testing.assert_allclose(random.normal(4000, 8, "z").numpy(), want, rtol=2e-5, atol=2e-5)


def test_integers_reach_and_do_not_exceed_their_limits():
    got = random.integers(5000, 1, low=3, high=6, dtype="u32").numpy()
    assert set(got) == {3, 4, 5}
    assert set(random.integers(50, 1, low=-4, high=-3).numpy()) == {-4}


def test_errors():
    for seed in (-1, 1 << 64):
        with pytest.raises(ParameterError, match="a seed of random numbers"):
            random.uniform(3, seed)
    with pytest.raises(ParameterError, match="the offset in a stream"):
        random.normal(3, 0, offset=-1)
    for low, high, dtype in ((5, 5, "i32"), (-1, 4, "u32"), (0, (1 << 31) + 1, "i32")):
        with pytest.raises(ParameterError, match="none, or they do not fit"):
            random.integers(3, 0, low=low, high=high, dtype=dtype)
    with pytest.raises(DtypeError, match="random integers are i32 or u32, not f32"):
        random.integers(3, 0, high=9, dtype="f32")
    with pytest.raises(DtypeError, match="random normal: a result of f32 is not written to a tensor of i32"):
        random.normal(3, 0, out=Tensor.zeros(3, "i32"))


def test_numbers_are_written_into_a_column():
    table = Tensor.zeros((4, 3))
    column = table[:, 1]
    assert random.uniform(4, 0, out=column) is column
    assert np.array_equal(table.numpy()[:, 1], random.uniform(4, 0).numpy()) and not table.numpy()[:, ::2].any()


def test_a_plan_repeats_the_same_numbers(steady: Any):
    with (
        Tensor.zeros(101) as u,
        Tensor.empty(100) as z,
        Tensor.empty(100, "i32") as whole,
        Plan() as plan,
    ):
        with plan.recording():
            random.uniform(100, 4, "u", out=u[1:])
            random.normal(100, 4, "z", 50, out=z)
            random.integers(100, 4, "whole", low=-3, high=3, out=whole)
        got = replayed_twice(plan, u, z, whole)
        assert got[0][0] == 0 and np.array_equal(got[0][1:], random.uniform(100, 4, "u").numpy())
        assert np.array_equal(got[1], random.normal(150, 4, "z").numpy()[50:])
        assert got[2].min() == -3 and got[2].max() == 2
