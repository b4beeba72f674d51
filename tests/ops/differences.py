"""Gradients by central differences in float64, to which those of operations are compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vertigrad import Tensor

RANDOM = np.random.default_rng(11)
STEP = 1e-5


def drawn(low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def of_both_signs(low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
    """Magnitudes between the bounds, with signs alternating along every axis."""
    odd = np.indices(shape).sum(0) % 2 == 1
    return np.where(odd, -1, 1).astype(np.float32) * drawn(low, high, shape)


def turned(array: np.ndarray) -> Tensor:
    """A tensor that is not contiguous if it has two axes or more."""
    return Tensor.from_numpy(np.ascontiguousarray(array.T)).T if array.ndim > 1 else Tensor.from_numpy(array)


def leaf(array: np.ndarray) -> Tensor:
    """A transposed tensor that requires a gradient."""
    tensor = turned(array).detach()
    tensor.requires_grad = True
    return tensor


def numeric(function: Callable[..., np.ndarray], arrays: list[np.ndarray], weights: np.ndarray) -> list[np.ndarray]:
    """The gradient of the weighted sum of the function, by central differences, element by element."""
    arrays = [array.astype(np.float64) for array in arrays]
    found = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            value = array[at]
            array[at] = value + STEP
            above = np.sum(weights * function(*arrays))
            array[at] = value - STEP
            gradient[at] = (above - np.sum(weights * function(*arrays))) / (2.0 * STEP)
            array[at] = value
        found.append(gradient)
    return found


def check(ours: Callable[..., Tensor], theirs: Callable[..., np.ndarray], arrays: list[np.ndarray]) -> None:
    """Compare both gradients of every operand, within f32 accuracy; tensors of two axes or more are not contiguous."""
    leaves = [leaf(array) for array in arrays]
    result = ours(*leaves)
    weights = np.asarray(RANDOM.normal(size=result.shape), np.float32)
    result.backward(turned(weights))
    for tensor, expected in zip(leaves, numeric(theirs, arrays, weights.astype(float)), strict=True):
        assert tensor.grad is not None and tensor.grad.shape == tensor.shape
        np.testing.assert_allclose(
            tensor.grad.numpy(), expected, rtol=2e-4, atol=2e-4 * max(1.0, np.abs(expected).max())
        )
