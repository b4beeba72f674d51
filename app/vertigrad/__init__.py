"""Vertigrad: models as WGSL compute, their tensors drawn as they lie in GPU memory."""

from . import errors, ops
from .gpu.device import Sync, gpu
from .tensor import Tensor

__version__ = "0.1.0"
__all__ = ["Sync", "Tensor", "errors", "gpu", "ops"]
