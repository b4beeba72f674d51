"""ONNX networks: read, checked, lowered to `ops`, and recorded as one plan."""

from .network import Network, Program

__all__ = ["Network", "Program"]
