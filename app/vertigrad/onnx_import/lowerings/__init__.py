"""How each ONNX operator is done with `ops`: a function for one or several, registered by `lowers`."""

from ..node import LOWERINGS
from . import (
    arithmetic,
    comparing,
    control,
    moving,
    networks,
    products,
    recurrent,
    reducing,
    sampling,
    sequences,
    shaping,
    spectra,
)

__all__ = [
    "LOWERINGS",
    "arithmetic",
    "comparing",
    "control",
    "moving",
    "networks",
    "products",
    "recurrent",
    "reducing",
    "sampling",
    "sequences",
    "shaping",
    "spectra",
]
