"""Vertigrad: models as WGSL compute shaders, whose tensors are drawn from GPU memory without a copy."""

from . import errors, ops
from .gpu.device import Sync, gpu
from .tensor import Tensor
from .tensor.graph import enable_grad, no_grad

__version__ = "0.1.0"
__all__ = ["Sync", "Tensor", "enable_grad", "errors", "gpu", "no_grad", "ops"]
