"""How alike pictures are to an eye: structural similarity."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..errors import DtypeError, ParameterError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32
from .checkpoint import custom

SHADER = "learn/similarity.wgsl"
WINDOW, SIGMA = 11, 1.5  # pixels
K1, K2 = 0.01, 0.03
SUMS = 5  # numbers that are summed over a window


def ssim(result: Tensor, wanted: Tensor, span: float = 1.0) -> Tensor:
    """Mean structural similarity of pictures (n, channels, rows, columns): 1 where they are the same.

    Wang, Bovik, Sheikh & Simoncelli 2004, Image quality assessment: from error visibility to structural similarity,
    eq. 13, with their constants and their window, a Gaussian of 11 x 11 pixels, wherever it fits in whole. `span` is
    that of possible values: 255 for bytes. f32. Raises `ShapeError`, `DtypeError`, `ParameterError`.
    """
    _check(result, wanted, span)
    count, rows, columns = result.shape[0] * result.shape[1], *result.shape[2:]
    fields = {"planes": count, "rows": rows, "columns": columns, "c1": (K1 * span) ** 2, "c2": (K2 * span) ** 2}
    parts: list[Tensor] = []  # how each window's value depends on its sums: made by the way forward

    def forward(x: Tensor, y: Tensor) -> Tensor:
        values, parts[:] = _judged(x.contiguous(), y.contiguous(), fields)
        return values.mean()

    def backward(gradient: Tensor, _: Tensor, x: Tensor, y: Tensor) -> list[Tensor]:
        return _backward(gradient.contiguous(), parts[0], x.contiguous(), y.contiguous(), fields)

    return custom("ssim", forward, backward)(result, wanted)


def ssim_loss(result: Tensor, wanted: Tensor, span: float = 1.0) -> Tensor:
    """1 − `ssim`."""
    return 1.0 - ssim(result, wanted, span)


def _judged(x: Tensor, y: Tensor, fields: dict[str, Any]) -> tuple[Tensor, list[Tensor]]:
    """The value of each window, and how it depends on the window's sums."""
    count, rows, columns = (fields[name] for name in ("planes", "rows", "columns"))
    windows = (count, rows - WINDOW + 1, columns - WINDOW + 1)
    lines = Tensor.empty((count, rows, windows[2], SUMS), temporary=True)
    values, parts = Tensor.empty(windows, temporary=True), Tensor.empty((*windows, SUMS), temporary=True)
    _launch("along", lines.size // SUMS, ("lines",), fields, x=x, y=y, lines=lines)
    _launch("judge", values.size, ("values", "parts"), fields, summed=lines, values=values, parts=parts)
    return values, [parts]


def _backward(gradient: Tensor, parts: Tensor, x: Tensor, y: Tensor, fields: dict[str, Any]) -> list[Tensor]:
    """The gradients by both pictures."""
    spread = Tensor.empty((*x.shape[:-1], parts.shape[2], SUMS), temporary=True)
    by_x, by_y = (Tensor.empty(x.shape, temporary=True) for _ in range(2))
    _launch("down", spread.size // SUMS, ("spread",), fields, known=parts, spread=spread)
    told = {"carried": spread, "gradient": gradient, "x": x, "y": y, "by_x": by_x, "by_y": by_y}
    _launch("back", x.size, ("by_x", "by_y"), fields, **told)
    return [by_x, by_y]


def _launch(entry: str, threads: int, made: tuple[str, ...], fields: dict[str, Any], **tensors: Tensor) -> None:
    unused = {f"{name}_offset": 0 for name in ("x", "y", "gradient") if name not in tensors}
    Kernel.load(SHADER, entry, {"SHARES": window()})(threads, overwrites=made, **tensors, **fields, **unused)


@cache
def window() -> tuple[float, ...]:
    """The Gaussian along each axis, its sum 1."""
    shares = np.exp(-0.5 * ((np.arange(WINDOW) - WINDOW // 2) / SIGMA) ** 2)
    return tuple(float(share) for share in shares / shares.sum())


def _check(result: Tensor, wanted: Tensor, span: float) -> None:
    if result.shape != wanted.shape or result.ndim != 4 or min(result.shape[2:]) < WINDOW or not result.size:
        raise ShapeError(
            f"ssim: pictures of shape {result.shape} and {wanted.shape}; both must be (n, channels, rows, columns), "
            f"of {WINDOW} x {WINDOW} pixels at least"
        )
    if result.dtype is not f32 or wanted.dtype is not f32:
        raise DtypeError(f"ssim: pictures of {result.dtype} and {wanted.dtype}; both must be f32: use .to() first")
    if not span > 0.0:
        raise ParameterError(f"ssim: span is {span}; it must be above 0")
