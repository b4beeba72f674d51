"""`Encodings`: a plan's dispatches as lists of raw calls, for the blocks that its tensors have."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..memory import Block, Owner
from .dispatch import Dispatch
from .native import DispatchList

if TYPE_CHECKING:
    from .device import Gpu

CACHED_LISTS = 4  # sets of blocks with cached bind groups: outputs that are drawn while the next are made alternate


@dataclass(slots=True)
class Encoded:
    """A plan encoded for certain blocks, and the tracker's counts when they were last read."""

    dispatches: DispatchList
    blocks: tuple[Block, ...]
    written: tuple[Block, ...]
    moves: int = -1
    claims: int = -1


class Encodings:
    """The encodings of one plan for the sets of blocks that it used last."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._lists: OrderedDict[tuple[int, ...], Encoded] = OrderedDict()
        self._last: Encoded | None = None

    def clear(self) -> None:
        """Forget all, since the dispatches have changed."""
        self._lists.clear()
        self._last = None

    def current(
        self,
        dispatches: Sequence[Dispatch],
        owners: Mapping[Owner, None],
        writes: Mapping[Owner, bool],
        starts: Sequence[int],
    ) -> Encoded:
        """What is encoded, for the blocks of `owners` as they are now.

        Owners of `writes` get blocks of their own first, and the old bytes where it is true. `starts` are the bytes in
        the uniforms at which the structs of `dispatches` begin.
        """
        encoded, tracker = self._last, self._gpu.tracker
        if encoded is not None and encoded.moves == tracker.moves and self._gpu.recorder.deferred is None:
            if encoded.claims == tracker.claims:
                return encoded
            if not any([block.shared for block in encoded.written]):
                encoded.claims = tracker.claims
                return encoded
        for owner, keep in writes.items():
            if self._gpu.must_copy(owner.block):
                self._gpu.make_writable(owner, keep)
        key = tuple([owner.block.id for owner in owners])
        if key not in self._lists:
            for dispatch in dispatches:
                dispatch.kernel.start()
            for dispatch in dispatches:
                dispatch.make_ready()
            key = tuple([owner.block.id for owner in owners])
            self._lists[key] = _encoded(dispatches, owners, writes, starts)
            if len(self._lists) > CACHED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(key)
        self._last = encoded = self._lists[key]
        encoded.moves, encoded.claims = tracker.moves, tracker.claims
        return encoded


def _encoded(
    dispatches: Sequence[Dispatch], owners: Mapping[Owner, None], writes: Mapping[Owner, bool], starts: Sequence[int]
) -> Encoded:
    calls = [(d.kernel.pipeline, d.kernel.bind_group(d.entries), d.size) for d in dispatches]
    offsets = [
        None if d.kernel.interface.uniform is None else start for d, start in zip(dispatches, starts, strict=True)
    ]
    blocks = tuple({owner.block: None for owner in owners})
    return Encoded(DispatchList(calls, offsets), blocks, tuple({owner.block: None for owner in writes}))
