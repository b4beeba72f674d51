"""Learning on the GPU: losses, optimisers, schedules of their rates, and what saves memory on the way back."""

from .checkpoint import checkpoint, custom
from .losses import cross_entropy, huber_loss, l1_loss, l2_loss
from .optimiser import Adam, Optimiser, Sgd, adam_w
from .point_sets import chamfer, nearest
from .scaling import LossScale
from .schedules import constant, cosine, exponential, warm_up
from .similarity import ssim, ssim_loss

__all__ = [
    "Adam",
    "LossScale",
    "Optimiser",
    "Sgd",
    "adam_w",
    "chamfer",
    "checkpoint",
    "constant",
    "cosine",
    "cross_entropy",
    "custom",
    "exponential",
    "huber_loss",
    "l1_loss",
    "l2_loss",
    "nearest",
    "ssim",
    "ssim_loss",
    "warm_up",
]
