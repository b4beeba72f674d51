"""Storage of tensors: the range of a block to bind, and the blocks of tensors that may move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import LimitError
from ...gpu import Gpu
from ...memory import Block
from ...tensor import Tensor


def storage_range(gpu: Gpu, tensor: Tensor, where: str, nbytes: int | None = None) -> tuple[dict[str, Any], int]:
    """The range of a block to bind as storage, and the offset in it of the tensor's first element, in bytes.

    `nbytes` counts from the tensor's offset; by default all that it spans. Raises `LimitError`, which begins with
    `where`, if that is more than this GPU can bind.
    """
    alignment, limit = (
        gpu.limits[name] for name in ("min-storage-buffer-offset-alignment", "max-storage-buffer-binding-size")
    )
    lowest = tensor.start
    start = lowest // alignment * alignment
    end = lowest + tensor.extent if nbytes is None else tensor.offset + nbytes
    size = -(-(end - start) // 4) * 4
    if size > limit:
        raise LimitError(f"{where}: tensor {tensor.name!r} spans {size:,} bytes; this GPU binds {limit:,} at most")
    return {"buffer": tensor.block.buffer, "offset": start, "size": size}, tensor.offset - start


class Blocks:
    """The blocks of tensors, cached: they are looked up only when one has been moved or closed."""

    def __init__(self, gpu: Gpu, tensors: Iterable[Tensor]):
        self._tracker = gpu.tracker
        self.tensors = tuple(tensors)
        self._moves = self._drops = -1
        self._found: list[Block] = []

    @property
    def current(self) -> list[Block]:
        """Each block once; the same list object until one changes. Raises `UseAfterFree`."""
        tracker = self._tracker
        if self._moves != tracker.moves or self._drops != tracker.drops:
            found = list(dict.fromkeys([tensor.block for tensor in self.tensors]))
            if found != self._found:
                self._found = found
            self._moves, self._drops = tracker.moves, tracker.drops
        return self._found
