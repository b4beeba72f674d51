"""How alike pictures are to an eye: structural similarity."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..errors import DtypeError, ParameterError, ShapeError
from ..tensor import Tensor, f32

WINDOW, SIGMA = 11, 1.5  # pixels
K1, K2 = 0.01, 0.03


def ssim(result: Tensor, wanted: Tensor, span: float = 1.0) -> Tensor:
    """Mean structural similarity of pictures (n, channels, rows, columns): 1 where they are the same.

    Wang, Bovik, Sheikh & Simoncelli 2004, Image quality assessment: from error visibility to structural similarity,
    eq. 13, with their constants and their window, a Gaussian of 11 x 11 pixels, wherever it fits in whole. `span` is
    that of possible values: 255 for bytes. f32. Raises `ShapeError`, `DtypeError`, `ParameterError`.
    """
    _check(result, wanted, span)
    count, rows, columns = result.shape[0] * result.shape[1], *result.shape[2:]
    x, y = (picture.contiguous().reshape(count, 1, rows, columns) for picture in (result, wanted))
    means = _blurred(ops.concatenate([x, y, x * x, y * y, x * y], 0))
    mean_x, mean_y, square_x, square_y, product = (means[i * count : (i + 1) * count] for i in range(5))
    c1, c2 = (K1 * span) ** 2, (K2 * span) ** 2
    both, squares = mean_x * mean_y, mean_x * mean_x + mean_y * mean_y
    light = (both * 2.0 + c1) / (squares + c1)
    structure = ((product - both) * 2.0 + c2) / (square_x + square_y - squares + c2)
    return (light * structure).mean()


def ssim_loss(result: Tensor, wanted: Tensor, span: float = 1.0) -> Tensor:
    """1 − `ssim`."""
    return 1.0 - ssim(result, wanted, span)


def _blurred(pictures: Tensor) -> Tensor:
    """The Gaussian window over pictures (n, 1, rows, columns), one axis after the other."""
    offsets = np.arange(WINDOW) - WINDOW // 2
    shares = np.exp(-0.5 * (offsets / SIGMA) ** 2)
    row = (shares / shares.sum()).astype(np.float32).reshape(1, 1, 1, WINDOW)
    with Tensor.from_numpy(row) as along:
        return ops.conv(ops.conv(pictures, along), along.reshape(1, 1, WINDOW, 1))


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
