"""What layers ask of an index."""

from __future__ import annotations

from ...errors import LayoutError
from ...tensor import Tensor
from .base import Attribute


def checked_index(layer: str, index: Attribute) -> Tensor:
    """The index, three rows for each triangle. Raises `LayoutError` if it is none that can be drawn as it lies."""
    if not isinstance(index, Tensor) or index.dtype.name != "u32":
        found = f"the {index.dtype} tensor {index.name!r}" if isinstance(index, Tensor) else repr(index)
        raise LayoutError(f"layer {layer!r}: index must be a u32 tensor, got {found}; cast it")
    if not index.is_contiguous or index.size == 0 or index.size % 3:
        raise LayoutError(
            f"layer {layer!r}: index {index.name!r} of shape {index.shape} and strides {index.strides} must "
            "be contiguous and hold three rows of position for each triangle; call .contiguous()"
        )
    return index
