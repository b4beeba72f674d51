"""Models: simulations and networks whose outputs are tensors. One file per type, in a folder per family."""

from .base import Limit, Model, OutputSpec
from .custom_model import CustomModel
from .torch_model import TorchModel

Sketch = CustomModel  # its name up to version 0.1

__all__ = ["CustomModel", "Limit", "Model", "OutputSpec", "TorchModel"]
