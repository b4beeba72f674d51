"""Gradients of the variants of layers: windows of attention, pools with padding, norms, transposed sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu

from . import test_attention
from .differences import RANDOM, check, drawn, leaf
from .test_gradients import normal, reference_transpose

LENGTHS = np.array([3, 5], np.int32)
HEADS = [(2, 2, 4, 3), (2, 1, 5, 3), (2, 1, 5, 2)]  # two heads of queries share one of keys and values


@pytest.mark.parametrize(
    "how",
    [
        {"left": 1, "right": 1},
        {"left": 2, "offset": 1, "softcap": 1.5},
        {"causal": True, "lengths": LENGTHS},
        {"causal": True, "offset": -2},
        {"lengths": LENGTHS, "mask": RANDOM.random((4, 5)) > 0.3},
        {"left": 1, "mask": np.where(RANDOM.random((2, 1, 4, 5)) > 0.3, 0.5, -np.inf).astype(np.float32)},
    ],
    ids=lambda how: ", ".join(how),
)
def test_attention_with_windows(gpu: Gpu, how: dict[str, Any]) -> None:
    """Also for a fully masked row: it is 0, and so is its gradient."""
    exact = {name: value for name, value in how.items() if name != "causal"}
    exact |= {"right": 0} if "causal" in how else {}
    if "lengths" in how and "offset" not in how:
        exact["offset"] = LENGTHS - HEADS[0][2]
    check(
        lambda *three: ops.attention(*three, **how),
        lambda *three: test_attention.reference(*three, **exact),
        [drawn(-1, 1, shape) for shape in HEADS],
    )


def test_attention_with_a_trainable_mask(gpu: Gpu) -> None:
    check(
        lambda *four: ops.attention(*four, causal=True),
        lambda *four: test_attention.reference(*four, right=0),
        [*(drawn(-1, 1, shape) for shape in HEADS), drawn(-1, 1, (2, 1, 4, 5))],
    )


def test_a_fully_masked_row_is_the_same_as_without_gradients(gpu: Gpu) -> None:
    arrays = [drawn(-1, 1, shape) for shape in HEADS]
    mask = np.ones((4, 5), bool)
    mask[2] = False
    plain = ops.attention(*arrays, mask).numpy()
    leaves = [leaf(array) for array in arrays]
    tracked = ops.attention(*leaves, mask)
    np.testing.assert_allclose(tracked.numpy(), plain, rtol=1e-5, atol=1e-6)
    tracked.sum().backward()
    assert all(np.isfinite(tensor.grad.numpy()).all() for tensor in leaves)  # type: ignore[union-attr]
    assert (leaves[0].grad.numpy()[:, :, 2] == 0).all()  # type: ignore[union-attr]


# pools ----------------------------------------------------------------------------------------------------------------


def windows(n: int, size: int, stride: int, padding: int, dilation: int, ceil: bool) -> list[list[int]]:
    """The taps of each window, including padding; no window begins in the padding at the end."""
    reach = (size - 1) * dilation + 1
    starts = range(-padding, n + padding - (1 if ceil else reach) + 1, stride)
    valid_starts = [s for s in starts if s + reach <= n + padding or (ceil and s < n)]
    counts = -(-(n + 2 * padding - reach) // stride) + 1 if ceil else (n + 2 * padding - reach) // stride + 1
    return [[s + k * dilation for k in range(size)] for s in valid_starts[:counts]]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("padding", "dilation", "ceil"), [(1, 1, True), (1, 2, False), (0, 2, True)])
def test_means_of_windows(gpu: Gpu, padded: bool, padding: int, dilation: int, ceil: bool) -> None:
    n, size, stride = 8, 3, 2
    taps = windows(n, size, stride, padding, dilation, ceil)

    def theirs(x: np.ndarray) -> np.ndarray:
        found = []
        for window in taps:
            inside = [tap for tap in window if 0 <= tap < n]
            count = sum(-padding <= tap < n + padding for tap in window) if padded else len(inside)
            found.append(x[..., inside].sum(-1) / count)
        return np.stack(found, -1)

    how = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
    check(
        lambda x: ops.average_pool(x, (size,), count_include_pad=padded, **how),  # type: ignore[arg-type]
        theirs,
        [drawn(-1, 1, (2, 3, n))],
    )
    if padded:
        check(
            lambda x: ops.lp_pool(x, (size,), p=3.0, **how),  # type: ignore[arg-type]
            lambda x: np.stack(
                [(np.abs(x[..., [t for t in w if 0 <= t < n]]) ** 3).sum(-1) ** (1 / 3) for w in taps], -1
            ),
            [drawn(0.1, 1, (2, 3, n)) * RANDOM.choice([-1, 1], (2, 3, n)).astype(np.float32)],
        )


def test_pools_of_two_axes(gpu: Gpu) -> None:
    def parts(x: np.ndarray) -> np.ndarray:
        return np.stack([x[:, :, i : i + 2, j : j + 2].reshape(*x.shape[:2], 4) for i in (0, 1) for j in (0, 2)], -2)

    how = {"stride": (1, 2)}
    shape = (2, 2, 3, 4)
    check(
        lambda x: ops.lp_pool(x, (2, 2), **how).reshape(2, 2, 4),
        lambda x: np.linalg.norm(parts(x), axis=-1),
        [drawn(-1, 1, shape)],
    )
    check(
        lambda x: ops.max_pool(x, (2, 2), return_indices=True, **how)[0].reshape(2, 2, 4),
        lambda x: parts(x).max(-1),
        [drawn(-1, 1, shape)],
    )
    check(
        lambda x: ops.global_lp_pool(x, 3.0)[..., 0, 0],
        lambda x: (np.abs(x) ** 3).sum((2, 3)) ** (1 / 3),
        [drawn(0.1, 1, shape)],
    )
    check(lambda x: ops.global_max_pool(x), lambda x: x.max((2, 3), keepdims=True), [drawn(-1, 1, shape)])


def test_a_window_of_zeros_has_a_corner(gpu: Gpu) -> None:
    x = leaf(np.array([[[0.0, 0.0, 0.0, 2.0]]], np.float32))
    ops.lp_pool(x, (2,), stride=2).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [[[0, 0, 0, 1]]]


# norms and transposed convolutions ------------------------------------------------------------------------------------


def test_norms(gpu: Gpu) -> None:
    def statistics(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
        rows = x.reshape(2, -1)
        parts = [normal(rows, 1).reshape(x.shape) * s + b, rows.mean(1), 1 / np.sqrt(rows.var(1) + 1e-5)]
        return np.concatenate([part.ravel() for part in parts])

    def local(x: np.ndarray) -> np.ndarray:
        squares = np.pad(x * x, [(0, 0), (1, 2), (0, 0)])
        return x / (1.5 + 0.2 * sum(squares[:, i : i + x.shape[1]] for i in range(4))) ** 0.75

    check(
        lambda x, s, b: ops.concatenate(list(ops.layer_norm_with_statistics(x, s, b, axes=2)), None),  # type: ignore[arg-type]
        statistics,
        [drawn(-1, 1, (2, 3, 4)), drawn(-1, 1, (3, 4)), drawn(-1, 1, (4,))],
    )
    check(
        lambda x, s, b: ops.instance_norm(x, s, b),
        lambda x, s, b: normal(x, 2) * s[:, None] + b[:, None],
        [drawn(-1, 1, (2, 3, 4)), drawn(-1, 1, (3,)), drawn(-1, 1, (3,))],
    )
    check(lambda x: ops.local_response_norm(x, 4, alpha=0.8, k=1.5), local, [drawn(-1, 1, (2, 5, 3))])


@pytest.mark.parametrize(
    ("how", "cut"),
    [
        ({"output_shape": (5, 6)}, (1, 1, 0, 0)),
        ({"padding": "same_lower"}, (1, 0, 0, 0)),
        ({"output_shape": (9, 10)}, (-1, -1, -2, -2)),
    ],
)
def test_transposed_convolutions_with_an_output_size(gpu: Gpu, how: dict[str, Any], cut: tuple[int, ...]) -> None:
    """`cut` is removed from, or added to, both ends of rows and columns."""
    top, bottom, left, right = cut

    def theirs(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        whole = np.pad(reference_transpose(x, w, 2, 0, 0), [(0, 0), (0, 0), (2, 2), (2, 2)])
        return whole[:, :, 2 + top : whole.shape[2] - 2 - bottom, 2 + left : whole.shape[3] - 2 - right]

    arrays = [drawn(-1, 1, (2, 2, 3, 3)), drawn(-1, 1, (2, 3, 3, 2))]
    with Tensor.from_numpy(arrays[0]) as x, Tensor.from_numpy(arrays[1]) as w:
        plain = ops.conv_transpose(x, w, stride=2, **how).numpy()
    np.testing.assert_allclose(plain, theirs(*(a.astype(float) for a in arrays)), rtol=1e-4, atol=1e-5)
    check(lambda x, w: ops.conv_transpose(x, w, stride=2, **how), theirs, arrays)
