"""Training on the GPU: losses, optimizers, learning rate schedules, and checkpointing of activations."""

from .checkpoint import checkpoint, checkpointed_steps, custom
from .losses import cross_entropy, huber_loss, l1_loss, l2_loss
from .optimizer import Adam, Optimizer, Sgd, adam_w
from .point_sets import chamfer, nearest
from .scaling import LossScale
from .schedules import constant, cosine, exponential, warm_up
from .similarity import ssim, ssim_loss

__all__ = [
    "Adam",
    "LossScale",
    "Optimizer",
    "Sgd",
    "adam_w",
    "chamfer",
    "checkpoint",
    "checkpointed_steps",
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
