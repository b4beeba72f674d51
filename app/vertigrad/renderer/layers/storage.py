"""How shaders read tensors as storage: the range of a block that is bound."""

from __future__ import annotations

from typing import Any

from ...errors import LimitError
from ...gpu import Gpu
from ...tensor import Tensor


def storage_range(gpu: Gpu, tensor: Tensor, where: str, nbytes: int | None = None) -> tuple[dict[str, Any], int]:
    """The range of a block to bind as storage, and the byte of it that is the first of the tensor's elements.

    `nbytes` counts from the tensor's offset, if not all that it spans is needed. Raises `LimitError`, which begins
    with `where`, if that is more than this adapter binds.
    """
    alignment, limit = (
        gpu.limits[name] for name in ("min-storage-buffer-offset-alignment", "max-storage-buffer-binding-size")
    )
    lowest = tensor.start
    start = lowest // alignment * alignment
    end = lowest + tensor.extent if nbytes is None else tensor.offset + nbytes
    size = -(-(end - start) // 4) * 4
    if size > limit:
        raise LimitError(f"{where}: tensor {tensor.name!r} spans {size:,} bytes; this adapter binds {limit:,} at most")
    return {"buffer": tensor.block.buffer, "offset": start, "size": size}, tensor.offset - start
