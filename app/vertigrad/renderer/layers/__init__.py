"""Layers: each draws one kind of thing from tensors, as they lie in their blocks."""

from .base import AttributeSpec, Frame, Layer
from .registry import types

__all__ = ["AttributeSpec", "Frame", "Layer", "types"]
