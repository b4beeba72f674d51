"""Gradients of pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor
from .. import functions as f
from ..differentiable import Call, rule, through
from ..pool import average_pool, max_pool, max_pool_gradient
from ..window import Sizes, Window, per_axis
from .arrangements import root
from .networks import stretched


def _by_indices(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """To the first of the largest elements of each window: every element adds up the windows that chose it."""
    x = call["x"]
    _, indices = max_pool(x, call["kernel_size"], return_indices=True, **_options(call))
    return {"x": max_pool_gradient(gradient, indices, x.shape, call["kernel_size"], **_options(call))}


rule("max_pool", "x")(_by_indices)


@rule("average_pool")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """Each window's gradient, divided equally among its elements."""
    shape = call.shapes["x"]
    window = _window(shape, call)
    counts = _counts(window, shape[2:], gradient.shape[2:], call["count_include_pad"])
    whole = float(counts.flat[0]) if counts.size and (counts == counts.flat[0]).all() else 0.0
    if not whole:
        gradient = f.divide(gradient, counts)
    with Tensor.full((shape[1], 1, *window.size), 1.0 / (whole or 1.0)) as weights:
        return {"x": stretched(gradient, weights, window, shape[2:], groups=shape[1])}


@through("lp_pool")
def _(x: Tensor, kernel_size: Sizes, p: float, **options: Any) -> Tensor:
    """The root of a sum, which is a mean times the elements of its window."""
    window = Window.of("lp_pool", x.shape[2:], per_axis("lp_pool", "size", kernel_size, x.ndim - 2), *_sliding(options))
    powers = f.square(x) if p == 2 else f.power(f.absolute(x), p)
    means = average_pool(powers, kernel_size, count_include_pad=True, **options)
    return root(f.multiply(means, _counts(window, x.shape[2:], means.shape[2:], True)), p)


def _window(shape: tuple[int, ...], call: Call) -> Window:
    kernel_size = per_axis("average_pool", "kernel_size", call["kernel_size"], len(shape) - 2)
    return Window.of("average_pool", shape[2:], kernel_size, *_sliding(_options(call)))


def _sliding(options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return options["stride"] or 1, options["padding"], options["dilation"]


def _counts(window: Window, spatial: Sequence[int], outputs: Sequence[int], padded: bool) -> np.ndarray:
    """How many elements each window's mean is of, 1 at least; those of the padding too if it is `padded`."""
    counts = np.ones((), np.float32)
    for axis, (n, m) in enumerate(zip(spatial, outputs, strict=True)):
        first = np.arange(m) * window.stride[axis] - window.begin[axis]
        taps = first[:, None] + np.arange(window.size[axis]) * window.dilation[axis]
        low, high = (-window.begin[axis], n + window.end[axis]) if padded else (0, n)
        counts = counts[..., None] * ((taps >= low) & (taps < high)).sum(1).astype(np.float32)
    return np.maximum(counts, 1)


def _options(call: Call) -> dict[str, Any]:
    return {name: call[name] for name in ("stride", "padding", "dilation", "ceil_mode")}
