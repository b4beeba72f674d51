"""Losses: scalar tensors that compare predictions with targets."""

from __future__ import annotations

from .. import ops
from ..deprecation import renamed_arguments
from ..errors import ShapeError
from ..tensor import Tensor

_with_old_names = renamed_arguments(result="prediction", wanted="target")  # up to version 0.1


@_with_old_names
def l1_loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of |prediction − target|."""
    _require_same_shape("l1_loss", prediction, target)
    return ops.absolute(prediction - target).mean()


@_with_old_names
def l2_loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of (prediction − target)²."""
    _require_same_shape("l2_loss", prediction, target)
    return ops.square(prediction - target).mean()


@_with_old_names
def huber_loss(prediction: Tensor, target: Tensor, delta: float = 1.0) -> Tensor:
    """Mean of ½ e² where |e| ≤ delta, and delta (|e| − ½ delta) beyond (Huber 1964), e being prediction − target."""
    _require_same_shape("huber_loss", prediction, target)
    error = ops.absolute(prediction - target)
    clipped = ops.minimum(error, delta)
    return (clipped * (error - clipped * 0.5)).mean()


@renamed_arguments(scores="logits", classes="target")
def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Mean of −log softmax(logits) at the target classes.

    `logits` (..., n) are not normalized; `target` (...) are integers from 0 to n − 1. Raises `ShapeError`.
    """
    if target.shape != logits.shape[:-1]:
        raise ShapeError(f"cross_entropy: target of shape {target.shape} for logits of shape {logits.shape}")
    log_probabilities = ops.log_softmax(logits)
    return -ops.take_along_axis(log_probabilities, target[..., None], -1).mean()


def _require_same_shape(name: str, prediction: Tensor, target: Tensor) -> None:
    """Raise `ShapeError` unless both have one shape: broadcasting would pair elements by accident."""
    if prediction.shape != target.shape:
        raise ShapeError(
            f"{name}: prediction of shape {prediction.shape}, target of shape {target.shape}; both must have one shape"
        )
