"""Learning on the GPU: losses, optimisers, schedules of their rates, and what saves memory on the way back."""

from .checkpoint import checkpoint, custom
from .losses import cross_entropy, huber_loss, l1_loss, l2_loss
from .optimiser import Adam, Optimiser, Sgd, adam_w
from .schedules import constant, cosine, exponential, warm_up

__all__ = [
    "Adam",
    "Optimiser",
    "Sgd",
    "adam_w",
    "checkpoint",
    "constant",
    "cosine",
    "cross_entropy",
    "custom",
    "exponential",
    "huber_loss",
    "l1_loss",
    "l2_loss",
    "warm_up",
]
