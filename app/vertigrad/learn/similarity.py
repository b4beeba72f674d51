"""Structural similarity of images."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..deprecation import renamed_arguments
from ..errors import DtypeError, ParameterError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32
from .checkpoint import custom

_with_old_names = renamed_arguments(result="prediction", wanted="target", span="data_range")  # up to version 0.1

SHADER = "learn/similarity.wgsl"
WINDOW, SIGMA = 11, 1.5  # pixels
K1, K2 = 0.01, 0.03
SUMS = 5  # sums over a window


@_with_old_names
def ssim(prediction: Tensor, target: Tensor, data_range: float = 1.0) -> Tensor:
    """Mean structural similarity of images (n, channels, rows, columns): 1 where they are the same.

    Wang, Bovik, Sheikh & Simoncelli 2004, Image quality assessment: from error visibility to structural similarity, eq.
    13, with their constants and their window, a Gaussian of 11 x 11 pixels, wherever all of it fits. `data_range` is
    the range of possible values: 255 for bytes. f32. Raises `ShapeError`, `DtypeError`, `ParameterError`.
    """
    _check(prediction, target, data_range)
    count, rows, columns = prediction.shape[0] * prediction.shape[1], *prediction.shape[2:]
    fields = {
        "planes": count,
        "rows": rows,
        "columns": columns,
        "c1": (K1 * data_range) ** 2,
        "c2": (K2 * data_range) ** 2,
    }
    parts: list[Tensor] = []  # how each window's value depends on its sums: computed by the forward pass

    def forward(x: Tensor, y: Tensor) -> Tensor:
        values, parts[:] = _evaluated(x.contiguous(), y.contiguous(), fields)
        return values.mean()

    def backward(gradient: Tensor, _: Tensor, x: Tensor, y: Tensor) -> list[Tensor]:
        return _backward(gradient.contiguous(), parts[0], x.contiguous(), y.contiguous(), fields)

    return custom("ssim", forward, backward)(prediction, target)


@_with_old_names
def ssim_loss(prediction: Tensor, target: Tensor, data_range: float = 1.0) -> Tensor:
    """1 − `ssim`."""
    return 1.0 - ssim(prediction, target, data_range)


def _evaluated(x: Tensor, y: Tensor, fields: dict[str, Any]) -> tuple[Tensor, list[Tensor]]:
    """The value of each window, and how it depends on the window's sums."""
    count, rows, columns = (fields[name] for name in ("planes", "rows", "columns"))
    windows = (count, rows - WINDOW + 1, columns - WINDOW + 1)
    lines = Tensor.empty((count, rows, windows[2], SUMS), temporary=True)
    values, parts = Tensor.empty(windows, temporary=True), Tensor.empty((*windows, SUMS), temporary=True)
    _launch("along", lines.size // SUMS, ("lines",), fields, x=x, y=y, lines=lines)
    _launch("evaluate", values.size, ("values", "parts"), fields, summed=lines, values=values, parts=parts)
    return values, [parts]


def _backward(gradient: Tensor, parts: Tensor, x: Tensor, y: Tensor, fields: dict[str, Any]) -> list[Tensor]:
    spread = Tensor.empty((*x.shape[:-1], parts.shape[2], SUMS), temporary=True)
    by_x, by_y = (Tensor.empty(x.shape, temporary=True) for _ in range(2))
    _launch("down", spread.size // SUMS, ("spread",), fields, known=parts, spread=spread)
    tensors = {"carried": spread, "gradient": gradient, "x": x, "y": y, "by_x": by_x, "by_y": by_y}
    _launch("back", x.size, ("by_x", "by_y"), fields, **tensors)
    return [by_x, by_y]


def _launch(entry: str, threads: int, outputs: tuple[str, ...], fields: dict[str, Any], **tensors: Tensor) -> None:
    kernel = Kernel.load(SHADER, entry, {"WEIGHTS": window()})
    images = dict.fromkeys(("x", "y", "gradient"))
    kernel(threads, overwrites=outputs, **(fields | images | tensors))


@cache
def window() -> tuple[float, ...]:
    """The Gaussian along each axis, its sum 1."""
    weights = np.exp(-0.5 * ((np.arange(WINDOW) - WINDOW // 2) / SIGMA) ** 2)
    return tuple(float(weight) for weight in weights / weights.sum())


def _check(prediction: Tensor, target: Tensor, data_range: float) -> None:
    shape = prediction.shape
    if shape != target.shape or len(shape) != 4 or min(shape[2:]) < WINDOW or not prediction.size:
        raise ShapeError(
            f"ssim: images of shape {prediction.shape} and {target.shape}; both must be (n, channels, rows, columns), "
            f"of {WINDOW} x {WINDOW} pixels at least"
        )
    if prediction.dtype is not f32 or target.dtype is not f32:
        raise DtypeError(f"ssim: images of {prediction.dtype} and {target.dtype}; both must be f32: use .to() first")
    if not data_range > 0.0:
        raise ParameterError(f"ssim: data_range is {data_range}; it must be above 0")
