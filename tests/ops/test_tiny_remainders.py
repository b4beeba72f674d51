"""Remainders and floored quotients near the smallest normal numbers, where GPUs may flush subnormals to zero."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.tensor import Tensor

FLUSHED = runpy.run_path(str(Path(__file__).parent / "wgsl_flushed.py"))
FILE = "common/math.wgsl"
NAMES = (
    *("is_nan", "is_inf", "Division", "digits_of", "of_digits", "long_division", "is_zero", "quotient_by_zero"),
    *("scaled_up", "scaled_down", "sum_with_rest", "goes_below", "remainder_f", "floor_divide_f"),
    *("fmod_f", "truncate_divide_f"),
)
LEAST = 2.0**-126


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Dividends and divisors of both signs: from subnormal ones to 2^-80, and some ordinary ones."""
    random = np.random.default_rng(21)
    edges = np.array([LEAST, 1.5 * LEAST, 1.25 * LEAST, 2 * LEAST, LEAST / 2, 2.0**-149, 2.0**-86, 2.0**-100, 1.0, 0.0])
    edges = np.concatenate([edges, -edges, [np.nextafter(np.float32(LEAST), np.float32(0))]]).astype(np.float32)
    x, y = (random.integers(0, 48 << 23, 3000, dtype=np.uint32).view(np.float32) for _ in range(2))
    near = random.integers(1, 12 << 23, (2, 2000), dtype=np.uint32).view(np.float32)
    signs = random.choice(np.float32([-1, 1]), (2, 5000))
    drawn = np.stack([np.concatenate([x, near[0]]), np.concatenate([y, near[1]])]) * signs
    return np.concatenate([np.repeat(edges, len(edges)), drawn[0]]), np.concatenate(
        [np.tile(edges, len(edges)), drawn[1]]
    )


def bits(x: np.ndarray) -> np.ndarray:
    """The bits of floats; all NaNs are equal."""
    return np.where(np.isnan(x), np.float32(np.nan), x).view(np.uint32)


@pytest.fixture(scope="module")
def flushing() -> dict[str, Any]:
    """The shader's functions on a GPU that flushes subnormals."""
    return FLUSHED["load"](FILE, NAMES)


def test_sums_of_tiny_floats_vanish_where_they_are_flushed(flushing: dict[str, Any]) -> None:
    """The cause: 1.5 LEAST - LEAST is half of LEAST, and so is not 0, except on a GPU that flushes."""
    a, b = (FLUSHED["F32"](value) for value in (1.5 * LEAST, -LEAST))
    assert (a + b).value == 0.0 and (a + b) == FLUSHED["F32"](0.0)
    assert flushing["scaled_down"](flushing["scaled_up"](a) + flushing["scaled_up"](b)).value == LEAST / 2


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("name", "function"),
    [("remainder_f", np.remainder), ("fmod_f", np.fmod), ("floor_divide_f", None), ("truncate_divide_f", None)],
)
def test_flushing_changes_nothing(flushing: dict[str, Any], name: str, function: Any) -> None:
    x, y = pairs()
    with np.errstate(all="ignore"):
        want = function(x, y) if function else quotients(name, x, y)
    run, number = flushing[name], FLUSHED["F32"]
    got = np.array([run(number(a), number(b)).value for a, b in zip(x, y, strict=True)], np.float32)
    near = ~(np.abs(want) > 2.0**24) | np.isinf(want)
    wrong = np.flatnonzero(near & (bits(got) != bits(want)))
    assert not wrong.size, f"{name}({x[wrong]}, {y[wrong]}) gave {got[wrong]}, not {want[wrong]}"


def quotients(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integer quotients: exact in float64, since these numbers are multiples of 2^-149 of at most 72 bits."""
    rest = (np.remainder if name == "floor_divide_f" else np.fmod)(x.astype(np.float64), y.astype(np.float64))
    exact = np.round((x.astype(np.float64) - rest) / y)
    zero = np.copysign(np.float64(0), x.astype(np.float64) / y)
    return np.where(y == 0, x / y, np.where(exact == 0, zero, exact)).astype(np.float32)


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_this_gpu_agrees_where_results_are_normal(name: str) -> None:
    x, y = pairs()
    normal = (np.abs(x) >= LEAST) & (np.abs(y) >= LEAST)
    x, y = x[normal], y[normal]
    want = getattr(np, name)(x, y)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    comparable = (want == 0) | (np.abs(want) >= LEAST)
    wrong = np.flatnonzero(comparable & (bits(got) != bits(want)))
    assert not wrong.size, f"{name}({x[wrong]}, {y[wrong]}) gave {got[wrong]}, not {want[wrong]}"
