"""Memory that nothing has set: NaN and large integers, instead of what it last held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import gpu
from vertigrad.memory import Block, BufferPool

WORD = 0x7FFFFFFF  # NaN as f32, and the largest i32
MOST = 1 << 20  # bytes of a block that are set
WORDS = np.full(MOST // 4, WORD, np.uint32)


def fill(patch: pytest.MonkeyPatch) -> None:
    """From now on memory is set before it becomes a tensor's: what reads an element that nothing has written differs.

    Without it the element is what the memory last held, most often 0.
    """
    take = BufferPool.take

    def filled(*arguments: Any) -> Block:
        block = take(*arguments)
        if isinstance(block.buffer, wgpu.GPUBuffer) and not block.exported:  # others may write to that at once
            queue = gpu().device.queue  # whose method a test may have replaced
            type(queue).write_buffer(queue, block.buffer, 0, WORDS, 0, min(block.capacity, MOST))
        return block

    patch.setattr(BufferPool, "take", filled)
