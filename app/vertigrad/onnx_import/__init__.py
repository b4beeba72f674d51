"""ONNX networks: read, checked, lowered to `ops`, and recorded as one plan."""

from .network import Network
from .program import Program

__all__ = ["Network", "Program"]
