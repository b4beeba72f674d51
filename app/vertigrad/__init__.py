"""Vertigrad: models as WGSL compute shaders, whose tensors are drawn from GPU memory without a copy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .collector import paused

with paused():
    from . import errors, ops
    from .gpu import Sync, gpu
    from .tensor import Tensor, from_dlpack
    from .tensor.graph import enable_grad, no_grad

if TYPE_CHECKING:
    from .scripting import Scene, Viewer, model, show, torch_model
    from .sweeps import sweep

__version__ = "0.1.0"
__all__ = [
    "Scene",
    "Sync",
    "Tensor",
    "Viewer",
    "enable_grad",
    "errors",
    "from_dlpack",
    "gpu",
    "model",
    "no_grad",
    "ops",
    "show",
    "sweep",
    "torch_model",
]


def __getattr__(name: str) -> Any:
    """What is imported when it is first used: tensors alone need no renderer."""
    if name in ("Scene", "Viewer", "model", "show", "torch_model"):
        return getattr(import_module(".scripting", __name__), name)
    if name == "sweep":
        return import_module(".sweeps", __name__).sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
