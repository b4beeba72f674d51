"""Losses: how far results are from what they should be, as one number, a tensor without axes."""

from __future__ import annotations

from .. import ops
from ..errors import ShapeError
from ..tensor import Tensor


def l1_loss(result: Tensor, wanted: Tensor) -> Tensor:
    """Mean of |result − wanted|."""
    _require_alike("l1_loss", result, wanted)
    return ops.absolute(result - wanted).mean()


def l2_loss(result: Tensor, wanted: Tensor) -> Tensor:
    """Mean of (result − wanted)²."""
    _require_alike("l2_loss", result, wanted)
    return ops.square(result - wanted).mean()


def huber_loss(result: Tensor, wanted: Tensor, delta: float = 1.0) -> Tensor:
    """Mean of ½ e² where |e| ≤ delta, and delta (|e| − ½ delta) beyond (Huber 1964), e being result − wanted."""
    _require_alike("huber_loss", result, wanted)
    away = ops.absolute(result - wanted)
    near = ops.minimum(away, delta)
    return (near * (away - near * 0.5)).mean()


def cross_entropy(scores: Tensor, classes: Tensor) -> Tensor:
    """Mean of −log of the share that softmax gives to the right class.

    `scores` (..., n) are not normalized; `classes` (...) are integers from 0 to n − 1. Raises `ShapeError`.
    """
    if classes.shape != scores.shape[:-1]:
        raise ShapeError(f"cross_entropy: classes of shape {classes.shape} for scores of shape {scores.shape}")
    shares = ops.log_softmax(scores)
    return -ops.take_along_axis(shares, classes[..., None], -1).mean()


def _require_alike(name: str, result: Tensor, wanted: Tensor) -> None:
    """Raise `ShapeError` unless both have one shape: broadcasting would compare what does not belong together."""
    if result.shape != wanted.shape:
        raise ShapeError(f"{name}: results of shape {result.shape}, and {wanted.shape} is wanted")
