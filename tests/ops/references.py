"""Convolution and pooling in float64, in a readable form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np


def windows(
    x: np.ndarray,
    size: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    fill: float = 0.0,
    ceil: bool = False,
) -> np.ndarray:
    """(N, C, ...counts, ...taps) of x (N, C, ...spatial), padded where a window extends outside."""
    rank = len(size)
    extent = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    counts = []
    for n, e, s, (b, a) in zip(x.shape[2:], extent, stride, pads, strict=True):
        count = (n + b + a - e + (s - 1 if ceil else 0)) // s + 1
        if ceil and (count - 1) * s >= n + b:
            count -= 1
        counts.append(max(count, 0))
    far = [(b, a + s + e) for (b, a), s, e in zip(pads, stride, extent, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *far], constant_values=fill)
    result = np.empty((*x.shape[:2], *counts, *size), x.dtype)
    for index in product(*map(range, counts)):
        for tap in product(*map(range, size)):
            at = tuple(p * s + t * d for p, s, t, d in zip(index, stride, tap, dilation, strict=True))
            result[(slice(None), slice(None), *index, *tap)] = padded[(slice(None), slice(None), *at)]
    assert rank == len(counts)
    return result


def conv(
    x: np.ndarray,
    w: np.ndarray,
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> np.ndarray:
    rank = w.ndim - 2
    patches = windows(x, w.shape[2:], stride, pads, dilation)
    parts = []
    for a, b in zip(np.split(patches, groups, 1), np.split(w, groups, 0), strict=True):
        taps = list(range(2 + rank, 2 + 2 * rank))
        part = np.tensordot(a, b, ([1, *taps], [1, *range(2, 2 + rank)]))
        parts.append(np.moveaxis(part, -1, 1))
    return np.concatenate(parts, 1)


def conv_transpose(
    x: np.ndarray,
    w: np.ndarray,
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
    more: Sequence[int],
) -> np.ndarray:
    """Every element of x adds its multiple of the kernel to the result."""
    rank, results = w.ndim - 2, w.shape[1] * groups
    full = [
        (n - 1) * s + (k - 1) * d + 1 + p
        for n, s, k, d, p in zip(x.shape[2:], stride, w.shape[2:], dilation, more, strict=True)
    ]
    whole = np.zeros((x.shape[0], results, *full))
    inputs, outputs = x.shape[1] // groups, w.shape[1]
    for group in range(groups):
        a = x[:, group * inputs : (group + 1) * inputs]
        b = w[group * inputs : (group + 1) * inputs]
        for tap in product(*map(range, w.shape[2:])):
            part = np.einsum("nc...,co->no...", a, b[(..., *tap)])
            at = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in _zip(tap, dilation, x.shape[2:], stride)]
            whole[(slice(None), slice(group * outputs, (group + 1) * outputs), *at)] += part
    cut = [slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(full, pads, strict=True)]
    assert rank == len(cut)
    return whole[(slice(None), slice(None), *cut)]


def _zip(*rows: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return zip(*rows, strict=True)
