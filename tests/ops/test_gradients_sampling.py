"""Gradients of resampling: resize and pad against their matrix, grid sampling by finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan

from .differences import check, drawn, leaf, turned

RANDOM = np.random.default_rng(31)
PADDING = ("zeros", "border", "reflection")


def transposed(operation: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> None:
    """A linear operation on `shape` and an axis that it does not change: its gradient is its transposed matrix."""
    size = int(np.prod(shape))
    basis = np.eye(size, dtype=np.float32).reshape(size, *shape)
    with Tensor.zeros((size, *shape)) as nothing:
        matrix = operation(Tensor.from_numpy(basis)).numpy().astype(float) - operation(nothing).numpy()
    x = leaf(drawn(-1, 1, (2, *shape)))
    result = operation(x)
    upstream = drawn(-1, 1, result.shape)
    result.backward(turned(upstream))
    assert x.grad is not None
    expected = (upstream.reshape(2, -1) @ matrix.reshape(size, -1).T).reshape(2, *shape)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "how",
    [
        {"size": [9, 3]},
        {"size": [2, 4]},
        {"size": [3, 9], "mode": "cubic"},
        {"size": [2, 2], "mode": "cubic", "antialias": True, "exclude_outside": True},
        {"scale": [2.5, 0.4], "antialias": True},
        {"size": [11, 2], "mode": "nearest"},
        {"size": [7, 4], "coordinates": "align_corners"},
        {"size": [40, 30], "mode": "cubic"},
        {"size": [7, 3], "coordinates": "tf_crop_and_resize", "region": [(-0.3, 0.8), (0.2, 1.4)], "outside": 5.0},
        {"size": [9, 9], "keep": "not_larger"},
    ],
    ids=str,
)
def test_resize(gpu: Gpu, how: dict[str, Any]) -> None:
    """Filters of all widths, elements that no result reads, values outside, and axes one by one."""
    transposed(lambda x: ops.resize(x, axes=[1, 2], **how), (5, 4))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(gpu: Gpu, mode: str) -> None:
    """Also by more than the size, and with negative padding."""
    for padding in ([(0, 0), (2, 3), (7, 1)], [(0, 0), (-1, 2), (3, -2)], [(0, 0), (-2, -1), (0, 0)]):
        transposed(lambda x, padding=padding: ops.pad(x, padding, mode, 3.0 if mode == "constant" else 0), (5, 4))


def test_elements_that_are_not_read_have_no_gradient(gpu: Gpu) -> None:
    """Not even where the gradient of the result is infinite."""
    x = leaf(drawn(-1, 1, (8,)))
    upstream = np.array([np.inf, 1.0, 1.0], np.float32)
    ops.resize(x, [3]).backward(Tensor.from_numpy(upstream))
    assert x.grad is not None
    assert np.isfinite(x.grad.numpy()[2:]).all() and np.isinf(x.grad.numpy()[:2]).any()


# grid sampling --------------------------------------------------------------------------------------------------------


def reflected(position: np.ndarray, low: float, high: float) -> np.ndarray:
    wide = high - low
    if wide <= 0:
        return np.zeros_like(position)
    turned = np.mod(position - low, 2 * wide)
    return np.where(turned <= wide, turned, 2 * wide - turned) + low


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, corners: bool) -> np.ndarray:
    """Grid sampling in float64, axis by axis and tap by tap."""
    spatial = x.shape[2:]
    low = 0.0 if corners else -0.5
    readings = []
    for axis, n in enumerate(spatial):
        c, high = grid[..., len(spatial) - 1 - axis], n - 1 - low
        position = (c + 1) / 2 * (n - 1) if corners else ((c + 1) * n - 1) / 2
        position = np.round(position) if mode == "nearest" else position
        if padding == "border":
            position = np.where((position < low) | (position > high), np.clip(position, 0, n - 1), position)
        elif padding == "reflection":
            position = reflected(position, low, high)
        first = np.floor(position)
        t = position - first
        far = [((-0.75 * d + 3.75) * d - 6) * d + 3 for d in (1 + t, 2 - t)]
        near = [(1.25 * d - 2.25) * d * d + 1 for d in (t, 1 - t)]
        weights = {"nearest": [1 + 0 * t], "linear": [1 - t, t], "cubic": [far[0], *near, far[1]]}[mode]
        readings.append([(first + k - (mode == "cubic"), weight) for k, weight in enumerate(weights)])
    total = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for taps in itertools.product(*readings):
        inside, share, at = np.ones(grid.shape[:-1], bool), np.ones(grid.shape[:-1]), []
        for (position, weight), n in zip(taps, spatial, strict=True):
            position = reflected(position, low, n - 1 - low) if padding == "reflection" else position
            inside &= (padding != "zeros") | ((position >= 0) & (position < n))
            at.append(np.clip(position, 0, n - 1).astype(int))
            share = share * weight
        for member in range(len(x)):
            values = x[member][(slice(None), *(part[member] for part in at))]
            total[member] += np.where(inside[member], share[member] * values, 0)
    return total


def positions(shape: tuple[int, ...], spatial: tuple[int, ...], reach: float = 1.7) -> np.ndarray:
    """Positions inside and outside, but not within a difference step of a corner of the function."""
    while True:
        grid = RANDOM.uniform(-reach, reach, (*shape, len(spatial))).astype(np.float32)
        sizes = np.array(spatial[::-1])
        corners = np.stack([(grid + 1) * sizes - 1, (grid + 1) * (sizes - 1)]).astype(float)
        if np.abs(corners / 2 * 2 - np.round(corners / 2 * 2)).min() > 1e-3:
            return grid


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("spatial", "mode", "padding", "corners"),
    [
        *(((4, 3), "linear", padding, corners) for padding, corners in zip(PADDING, (0, 1, 1), strict=True)),
        *(((4, 3), "cubic", padding, corners) for padding, corners in zip(PADDING, (1, 0, 0), strict=True)),
        ((5,), "cubic", "border", 1),
        ((5,), "linear", "reflection", 0),
        ((2, 3, 2), "linear", "zeros", 0),
        ((2, 3, 2), "cubic", "border", 0),
    ],
)
def test_grid_sample(gpu: Gpu, spatial: tuple[int, ...], mode: str, padding: str, corners: int) -> None:
    how = {"mode": mode, "padding": padding}
    reach = 6.0 if padding == "reflection" else 1.7  # so that some are reflected several times
    check(
        lambda x, grid: ops.grid_sample(x, grid, align_corners=bool(corners), **how),
        lambda x, grid: sampled(x, grid, corners=bool(corners), **how),
        [drawn(-1, 1, (2, 2, *spatial)), positions((2, *(6, 2, 1)[: len(spatial)]), spatial, reach)],
    )


def test_grid_sample_by_nearest(gpu: Gpu) -> None:
    """The elements have a gradient; the grid has none, which is reported."""
    grid = positions((2, 5, 3), (4, 3))
    check(
        lambda x: ops.grid_sample(x, grid, mode="nearest"),
        lambda x: sampled(x, grid, "nearest", "zeros", False),
        [drawn(-1, 1, (2, 3, 4, 3))],
    )
    named = leaf(grid)
    named.name = "places"
    result = ops.grid_sample(Tensor.zeros((2, 3, 4, 3)), named, mode="nearest")
    with pytest.raises(GradientError, match=r"'nearest'.*tensor 'places'.*mode='linear'"):
        result.sum().backward()


def test_samples_of_one_element_give_the_same_bits(gpu: Gpu) -> None:
    """Thousands of positions read four elements; eagerly, and from a plan."""
    x, grid = drawn(-1, 1, (1, 2, 2, 2)), drawn(-0.9, 0.9, (1, 60, 50, 2))
    upstream = (RANDOM.normal(size=(1, 2, 60, 50)) * 10.0 ** RANDOM.uniform(-4, 1, (1, 2, 60, 50))).astype(np.float32)
    found = []
    with (
        Tensor.from_numpy(x) as a,
        Tensor.from_numpy(grid) as b,
        Tensor.from_numpy(upstream) as g,
        Plan("step") as plan,
    ):
        a.requires_grad = b.requires_grad = True
        for run in range(3):
            if run < 2:
                ops.grid_sample(a, b).backward(g)
            else:
                with plan.recording():
                    ops.grid_sample(a, b).backward(g)
                plan.replay()
            assert a.grad is not None and b.grad is not None
            found.append((a.grad.numpy(), b.grad.numpy()))
            a.grad = b.grad = None
    for other in found[1:]:
        assert np.array_equal(found[0][0], other[0]) and np.array_equal(found[0][1], other[1])
    one = sampled(np.ones((1, 1, 2, 2)), grid.astype(float), "linear", "zeros", False)
    np.testing.assert_allclose(found[0][0].sum((2, 3)), (upstream * one).sum((2, 3)), rtol=1e-4)


def test_affine_grid_and_sampling_together(gpu: Gpu) -> None:
    """An image is translated, rotated and scaled by trainable parameters."""
    size = (3, 4)
    lines = [(2 * np.arange(n) + 1) / n - 1 for n in size]
    mesh = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], -1)
    theta = (np.eye(2, 3) + RANDOM.normal(size=(2, 2, 3)) * 0.07).astype(np.float32)
    check(
        lambda x, t: ops.grid_sample(x, ops.affine_grid(t, size), padding="reflection"),
        lambda x, t: sampled(x, np.einsum("nij,...j->n...i", t, mesh), "linear", "reflection", False),
        [drawn(-1, 1, (2, 2, 5, 4)), theta],
    )


def test_normals_of_a_grid(gpu: Gpu) -> None:
    def normals(p: np.ndarray) -> np.ndarray:
        east = np.concatenate([p[:, 1:], p[:, -1:]], 1) - np.concatenate([p[:, :1], p[:, :-1]], 1)
        south = np.concatenate([p[1:], p[-1:]]) - np.concatenate([p[:1], p[:-1]])
        normal = np.cross(south, east)
        return normal / np.linalg.norm(normal, axis=-1, keepdims=True)

    flat = np.stack([*np.meshgrid(range(4), range(3))[::1], np.zeros((3, 4))], -1)[..., [0, 2, 1]]
    check(ops.grid_normals, normals, [(flat + RANDOM.normal(size=flat.shape) * 0.2).astype(np.float32)])
    points = leaf(np.zeros((2, 2, 3), np.float32))
    ops.grid_normals(points).sum().backward()
    assert points.grad is not None and (points.grad.numpy() == 0).all(), "no normal, so (0, 1, 0) wherever they move"
