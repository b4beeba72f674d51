"""`Gpu`: adapter, device, memory and the recording of the next submission; one per process."""

from __future__ import annotations

import atexit
import enum
import logging
import os
from collections import deque
from typing import TYPE_CHECKING

import wgpu

from .. import errors
from ..memory import Block, BufferPool, LifetimeTracker, Owner
from . import native
from .adapter import AdapterChoice, candidates, open_device
from .frames import Frames
from .meter import Direction, Meter, Traffic
from .readback import ReadbackRing
from .storage import BufferStorage
from .submission import Recorder
from .timer import Timer
from .uniforms import UniformRing

if TYPE_CHECKING:
    from .plan import Plan

UPLOAD_CHUNK = 32 << 20  # bytes written before the queue is flushed, and two under way: bounds the staging memory
EAGER_DISPATCHES = 1000  # recorded outside a frame before they are submitted
EAGER_UNDER_WAY = 2  # such submissions that may be under way, so that the memory of older ones is free again


class Sync(enum.Enum):
    """How far `Gpu.sync` goes: submit what is recorded; wait for the frame k back; wait until all is done."""

    FLUSH = "flush"
    FRAME = "frame"
    WAIT = "wait"


class Gpu:
    """One device and everything counted on it. Get it with `vertigrad.gpu()`.

    `memory` bounds the bytes of GPU memory used, in bytes; the device's own limit applies in any case.
    """

    def __init__(self, choice: AdapterChoice, memory: int | None = None):
        self.adapter = choice
        self.device = open_device(choice)
        self.queue = self.device.queue
        self.limits = self.device.limits
        self.features = frozenset(self.device.features)
        self.meter = Meter()
        self.tracker = LifetimeTracker()
        self.pool = BufferPool(BufferStorage(self.device), self.tracker, memory)
        self.pool.reclaim = self.wait_idle
        self.uniforms = UniformRing(self.device, self.meter)
        self.readback = ReadbackRing(self.device)
        self.timer = Timer(self.device, self.readback, self.meter)
        self.recorder = Recorder(self.device, self.tracker, self.meter, self.timer, self.readback)
        self.frames = Frames(self)
        self.recording: Plan | None = None  # what kernels that are called now are added to, instead of being run
        self._running: deque[tuple[int, int]] = deque()

    # submissions ------------------------------------------------------------------------------------------------

    def submit(self) -> int:
        """Submit what is recorded, in one submission; returns its serial, or the last one if nothing was recorded.

        Raises `GpuError` if the device refuses the commands; they are dropped then, and the next recording is clean.
        """
        self.tracker.collect()
        if not self.recorder.pending:
            return self.tracker.submitted
        self.recorder.require_no_render_pass()
        try:
            commands = self.recorder.finish()
            self.uniforms.flush()
            index = native.submit(self.queue, commands)
        except BaseException as error:
            self.abandon()
            if isinstance(error, wgpu.GPUError):
                raise errors.GpuError(f"the device refused the recorded commands: {error}") from error
            raise
        self.meter.submits += 1
        serial = self.tracker.submit(self.recorder.submitted())
        self._running.append((serial, index))
        self.readback.submitted(serial)
        return serial

    def abandon(self) -> None:
        """Drop what was recorded since the last submit: every tensor keeps the values it had then."""
        self.recorder.abandon()
        self.uniforms.abandon()

    def submit_if_long(self) -> None:
        """Bound what commands outside of a frame pile up: submit them, and wait for those before the last two."""
        if not self.frames.open and self.recorder.dispatches >= EAGER_DISPATCHES:
            self.wait(self.submit() - EAGER_UNDER_WAY)

    def wait(self, serial: int) -> None:
        """Block until submission `serial` has finished; what waited for it is released."""
        index = None
        while self._running and self._running[0][0] <= serial:
            index = self._running.popleft()[1]
        if index is not None:
            native.wait(self.device, index)
            self.tracker.retire(serial)
        self.readback.collect(self.tracker.retired)

    def poll(self) -> None:
        """Hand out the readings that have arrived, without waiting, and release what they prove finished."""
        native.poll(self.device)
        self.tracker.retire(self.readback.collect(self.tracker.retired))

    def wait_idle(self) -> None:
        """Submit what is recorded and block until the GPU is idle."""
        self.wait(self.submit())

    def sync(self, how: Sync = Sync.WAIT) -> None:
        """Bring the GPU as far as `how` says."""
        serial = self.submit()
        if how is Sync.WAIT:
            self.wait(serial)
        elif how is Sync.FRAME:
            self.frames.wait()

    # memory -----------------------------------------------------------------------------------------------------

    def make_resident(self, owner: Owner) -> None:
        """Upload a borrowed block that has no GPU memory yet, in bounded chunks. Counted as host to device."""
        block = owner.block
        if block.storage is not None or block.borrow is None:
            return
        source = block.borrow.bytes()
        donor = self.pool.take(block.nbytes, block.name, block.origin)
        self.tracker.pin(donor)
        try:
            self.upload(donor.storage, source)
            self.pool.place(block, donor)  # only now: an upload cut short must not be taken for the whole
        finally:
            self.tracker.unpin(donor)

    def make_writable(self, owner: Owner, keep: bool = True) -> None:
        """Copy-on-write: give `owner` a block of its own if its block is shared, published or borrowed.

        With `keep` false the old bytes are not copied, because everything will be overwritten.
        """
        old, deferred = owner.block, self.recorder.deferred
        if not self.must_copy(old):
            return
        if keep:
            self.make_resident(owner)
            if old.owners == 1 and not old.published and deferred is None:
                old.give_back()  # the upload was the copy; from here on the bytes are ours
                return
        spare = deferred.block_for(owner) if deferred is not None else None
        new = spare or self.pool.take(old.nbytes, owner.name, owner.origin)
        self.tracker.pin(new)  # so that it goes back if the copy cannot be recorded
        try:
            if keep and old.nbytes:
                self.recorder.copy(old, 0, new, 0, -(-old.nbytes // 4) * 4)
            self.recorder.move(owner, new)
        finally:
            self.tracker.unpin(new)

    def must_copy(self, block: Block) -> bool:
        """Whether a write may not go into `block`: others see it, or it is to stay as it is until a step has ended."""
        deferred = self.recorder.deferred
        return block.shared or (deferred is not None and deferred.keeps(block))

    def upload(
        self,
        buffer: wgpu.GPUBuffer,
        data: memoryview,
        offset: int = 0,
        traffic: Traffic = Traffic.GEOMETRY,
        unused: bool = False,
    ) -> None:
        """Write host bytes to `buffer`. Commands recorded before are submitted first: a queue write overtakes them.

        Not for a buffer that none of them uses (`unused`), such as a new tensor's.
        """
        if not unused:
            self.submit()
        end = data.nbytes - data.nbytes % 4
        under_way: deque[int] = deque()
        for start in range(0, end, UPLOAD_CHUNK):
            size = min(UPLOAD_CHUNK, end - start)
            self.queue.write_buffer(buffer, offset + start, data, start, size)
            if start + size < end:
                under_way.append(native.submit_writes(self.queue))
                if len(under_way) > 1:
                    native.wait(self.device, under_way.popleft())
        if end < data.nbytes:  # queue writes take whole words
            self.queue.write_buffer(buffer, offset + end, bytes(data[end:]).ljust(4, b"\0"))
        self.meter.count(Direction.HOST_TO_DEVICE, data.nbytes, traffic)

    def report(self) -> str:
        """Adapter, driver and backend in one line."""
        return f"{self.adapter}, {self.adapter.driver}"


_the_gpu: Gpu | None = None


def gpu(adapter: str | None = None, memory: int | None = None) -> Gpu:
    """The one `Gpu` of this process, opened by the first call.

    `adapter` picks the best adapter whose name, kind or backend contains it (default: the environment variable
    VERTIGRAD_ADAPTER, else discrete before integrated before software, Vulkan before GL); `memory` bounds its
    memory in bytes. Raises `NoAdapter` if none fits, and `StillInUse` if one that does not fit is open already.
    """
    global _the_gpu
    if _the_gpu is None:
        _the_gpu = _first_that_opens(adapter or os.environ.get("VERTIGRAD_ADAPTER", ""), memory)
        atexit.register(_close)
    elif adapter and adapter.lower() not in str(_the_gpu.adapter).lower():
        raise errors.StillInUse(
            f"the GPU of this process is {_the_gpu.adapter}; {adapter!r} cannot be opened beside it"
        )
    return _the_gpu


def _first_that_opens(wanted: str, memory: int | None) -> Gpu:
    """The best adapter that can be opened; those passed over for it are told in the log, which goes to stderr."""
    refusals = []
    for choice in candidates(wanted):
        try:
            return Gpu(choice, memory)
        except errors.NoAdapter as refusal:
            refusals.append(str(refusal))
            logging.getLogger("vertigrad").warning("passed over: %s", refusal)
    raise errors.NoAdapter("\n".join(refusals))


def _close() -> None:
    """Let the GPU finish before the interpreter takes the objects apart."""
    if _the_gpu is not None:
        _the_gpu.abandon()
        native.wait_all(_the_gpu.device)
