"""`Handle`: a tensor's hold on its memory, from its construction until it is closed or collected."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import wgpu

from ..closing import Closing
from ..errors import BorrowInUse, UseAfterFree
from ..gpu import gpu
from ..memory import Block, LifetimeTracker, Owner
from .dtype import DType
from .shape import Layout
from .strided import Strided


class Resource(NamedTuple):
    """The memory of a tensor, for other wgpu code: buffer, offset of its lowest byte, and size in bytes."""

    buffer: wgpu.GPUBuffer
    offset: int
    size: int


class Handle(Strided, Closing):
    """One handle on an owner of a block, and the layout of the elements in it."""

    def __init__(self, owner: Owner, layout: Layout, dtype: DType, name: str, temporary: bool):
        """For `ops` and models; takes over one handle of `owner`. See `empty`, `zeros`, `from_numpy`, `from_blob`."""
        self._owner = owner
        self._closed_in = -1
        self.shape, self.strides, offset = layout
        self.offset = 0 if 0 in self.shape else offset  # an empty one may have been cut behind the end of its block
        self.dtype = dtype
        self.name = name
        tracker = gpu().tracker
        self._finalizer = weakref.finalize(self, tracker.drop_later, _dropper(owner, tracker, temporary))
        self._finalizer.atexit = False

    @property
    def owner(self) -> Owner:
        """The owner of the block, shared with all views. Raises `UseAfterFree` if this tensor was closed."""
        if self._closed_in >= 0:
            raise UseAfterFree(
                f"tensor {self.name or 'unnamed'!r}, created at {self._owner.origin}, was freed in frame "
                f"{self._closed_in}; keep a clone() if it is needed longer"
            )
        return self._owner

    @property
    def block(self) -> Block:
        """The block of the elements. Raises `UseAfterFree`."""
        return self.owner.block

    @contextmanager
    def resource(self, writable: bool = False) -> Iterator[Resource]:
        """The tensor's memory, for other wgpu code; while open, nothing frees, moves or reuses it.

        What was recorded before is submitted on entry, so commands that the other code submits see it. With `writable`
        the block is made this tensor's own first; without, other code may read only. Inside, a clone is a copy made at
        once, and a write that would have to move the tensor, since it is shared or published, raises `StillInUse`; so
        does a tensor that has no values before a plan is replayed, unless it is `writable`.
        """
        device, owner = gpu(), self.owner
        if writable:
            device.make_writable(owner)
            owner.version += 1
            owner.unset = ""
        owner.require_values()
        device.make_resident(owner)
        device.submit()
        with owner.stay() as block:
            try:
                yield Resource(block.buffer, self.start, self.extent)
            finally:
                if writable:
                    block.note_write()
                device.recorder.use((block,))  # the next submission follows the other code's on the same queue
                device.recorder.encoder  # noqa: B018  so that there is one

    def close(self) -> None:
        """Release the memory: at once, or when the GPU and other owners no longer need it. Idempotent."""
        if self._closed_in < 0:
            tracker = gpu().tracker
            self._finalizer.detach()
            self._closed_in = tracker.frame
            self._owner.drop()
            tracker.collect()  # views that were let go of may be all that still holds the memory

    def release(self) -> None:
        """Give borrowed host memory back; the tensor lives on with its copy on the GPU.

        Raises `BorrowInUse` while the bytes are only on the host (upload them first, by `gpu.make_resident` or any
        use, or `close` the tensor).
        """
        block = self.block
        if block.borrow is None:
            return
        if block.storage is None:
            raise BorrowInUse(
                f"tensor {self.name or 'unnamed'!r} still needs the memory it borrowed: it was not uploaded yet; "
                "close() it, or use it on the GPU first"
            )
        block.release_borrow()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """For a tensor under construction: nobody else could close it."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def _dropper(owner: Owner, tracker: LifetimeTracker, temporary: bool) -> Callable[[], None]:
    """The finalizer, run at a safe time, of a tensor that was collected without being closed."""

    def drop() -> None:
        if not temporary and owner.handles:
            tracker.report_leak(owner.name, owner.block.nbytes, owner.origin)
        owner.drop()

    return drop
