"""Whether a result is as accurate as f32 can make it: tight enough that operands rounded to TF32, f16 or bf16 fail."""

from __future__ import annotations

import numpy as np

UNIT = 2.0**-24  # relative error of one rounding in f32
ROUNDINGS = 32  # of a sum's magnitude: f32 needs 1 to 4 for any length up to 4096, TF32 400 and bf16 4000


def assert_f32_product(found: np.ndarray, exact: np.ndarray, magnitude: np.ndarray) -> None:
    """Fail unless each sum of products is off by a few roundings of `magnitude`, the sum of their absolute values."""
    assert np.isfinite(found).all()
    worst = np.max(np.abs(found - exact) / (UNIT * magnitude))
    assert worst <= ROUNDINGS, f"an element is off by {worst:.0f} roundings of f32, more than {ROUNDINGS}"


def assert_close_in_norm(found: np.ndarray, exact: np.ndarray, most: float) -> None:
    """Fail unless ‖found − exact‖ ≤ `most` ‖exact‖, and no element is off by more than 100 times its part of that."""
    assert np.isfinite(found).all()
    difference, norm = np.abs(found - exact.astype(np.float64)), np.sqrt(np.mean(np.square(exact, dtype=np.float64)))
    error = np.sqrt(np.mean(np.square(difference))) / norm
    assert error <= most, f"relative error {error:.2e}, more than {most:.0e}"
    assert difference.max() <= 100 * most * norm, f"one element is off by {difference.max() / norm:.2e} of the norm"
