"""Layers: each draws one kind of thing from tensors, from their own blocks."""

from .base import AttributeSpec, Constant, Frame, Layer
from .registry import types

__all__ = ["AttributeSpec", "Constant", "Frame", "Layer", "types"]
