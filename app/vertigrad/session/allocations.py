"""`Allocations`: the geometry that a session copied in order to load models, and the blocks that it leaves behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ..gpu import Gpu, Traffic
from ..gpu.meter import difference
from ..memory import Block


class Allocations:
    """`loaded` are bytes of geometry by direction, copied once instead of in each frame; `loaded_at_start` at first."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.loaded: Counter[str] = Counter()
        self.loaded_at_start: Counter[str] = Counter()
        self.device_opened()

    def device_opened(self) -> None:
        """The blocks that are live now are not the session's: it begins, or the GPU has another device."""
        self._live_before = self._live().keys()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Context in which copied geometry counts as `loaded`."""
        before = self._gpu.meter.read()
        try:
            yield
        finally:
            self.loaded.update(difference(self._gpu.meter.read(), before)[Traffic.GEOMETRY.value])

    def left_behind(self) -> list[Block]:
        """Blocks that are live and were not before the session began; after it was closed, those that leaked."""
        return [block for key, block in self._live().items() if key not in self._live_before]

    def _live(self) -> dict[tuple[int, int], Block]:
        """Live blocks by number and generation: a block that was freed and reused is another one."""
        self._gpu.tracker.collect()
        return {(block.id, block.generation): block for block in self._gpu.tracker.live}
