"""The rules by which gradients flow back through operations; importing this gives them to `ops.differentiable`."""

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
