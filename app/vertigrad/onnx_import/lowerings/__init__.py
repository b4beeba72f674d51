"""How each ONNX operator is done with `ops`: a function for one or several, registered by `lowers`."""

import pkgutil
from importlib import import_module

from ..registry import LOWERINGS

__all__ = ["LOWERINGS"]

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
