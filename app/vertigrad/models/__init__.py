"""Models: simulations and networks whose outputs are tensors. One file per type, in a folder per family."""

from .base import Limit, Model, OutputSpec
from .sketch import Sketch

__all__ = ["Limit", "Model", "OutputSpec", "Sketch"]
