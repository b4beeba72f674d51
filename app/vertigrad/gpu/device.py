"""`Gpu`: adapter, device, memory and the recording of the next submission; one per process."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import wgpu

from .. import errors
from ..memory import Block, BufferPool, LifetimeTracker, Owner
from . import native
from .adapter import AdapterChoice, candidates, open_first
from .frames import Frames
from .frameworks import Frameworks
from .meter import Meter, Traffic
from .readback import ReadbackRing
from .storage import BufferStorage, allocating, is_loss
from .submission import Recorder
from .timer import Timer
from .uniforms import UniformRing
from .upload import Uploads

if TYPE_CHECKING:
    from .plan import Plan

T = TypeVar("T")
EAGER_DISPATCHES = 1000  # recorded outside a frame before they are submitted, at most
FIRST_DISPATCHES = 16  # the same while the GPU is idle; then twice as many each time, while it works on those before
EAGER_BYTES = 32 << 20  # of memory handed out since the last submission, for the same: it may have been dropped since
EAGER_IN_FLIGHT = 2  # such submissions that may be in flight, so that the memory of older ones is free again


class Sync(enum.Enum):
    """How far `Gpu.sync` goes: submit what is recorded; wait for the frame k back; wait until all is done."""

    FLUSH = "flush"
    FRAME = "frame"
    WAIT = "wait"


class Gpu:
    """One device and everything counted on it. Get it with `vertigrad.gpu()`."""

    def __init__(self, choices: Sequence[AdapterChoice]):
        """Open the first of these adapters that can be opened. Raises `NoAdapter` if none can."""
        self.meter = Meter()
        self._open(choices)

    def _open(self, choices: Sequence[AdapterChoice]) -> None:
        self.adapter, self.device = open_first(choices)
        self.queue, self.limits = self.device.queue, self.device.limits
        self.features = frozenset(self.device.features)
        self._probe = native.LossProbe(self.device)
        self.tracker = LifetimeTracker()
        self.frameworks = Frameworks(self.adapter.backend)
        self.storage = BufferStorage(self.device, self.frameworks.connection)
        self.pool = BufferPool(self.storage, self.tracker)
        self.pool.reclaim = self._reclaim
        self.uniforms = UniformRing(self.device, self.meter)
        self._uploads = Uploads(self.device, self.pool, self.meter)
        self.readback = ReadbackRing(self.device, self.pool, self._probe)
        self.timer = Timer(self.device, self.readback, self.meter)
        self.recorder = Recorder(self.device, self.tracker, self.meter, self.timer, self.readback)
        self.frames = Frames(self)
        self._undivided = 0  # how many blocks of `undivided` are open
        self._running: deque[tuple[int, int]] = deque()
        self._submitting = False
        self._taken = 0  # bytes that the pool had handed out when the last submission was made
        self._eager = FIRST_DISPATCHES  # recorded outside a frame before they are submitted

    @property
    def lost(self) -> bool:
        """Whether the device is gone: nothing can be recorded, and every tensor is lost. Takes 3 µs to find out."""
        return self._probe.lost

    def reopen(self) -> None:
        """Open the adapter again after its device was lost, or another one if that one cannot be opened any more.

        Tensors, plans and kernels of the old device can still be closed; using them raises `UseAfterFree`. Kernels that
        are loaded by their file's name are compiled again. Counts, settings and the number of the frame go on. Raises
        `NoAdapter`; then it can be tried again.
        """
        tracker, pool, frames, timer = self.tracker, self.pool, self.frames, self.timer
        tracker.require_thread()
        same = [choice for choice in candidates() if str(choice) == str(self.adapter)]
        same.sort(key=lambda choice: choice.number != self.adapter.number)
        self.readback.lose()
        self.recorder.abandon()
        self._open([*same, *candidates()])
        tracker.lose()
        self.tracker.frame, self.tracker.leak_count = tracker.frame, tracker.leak_count
        self.pool.budget, self.pool.spill = pool.budget, pool.spill
        self.frames.in_flight, self.frames.live = frames.in_flight, frames.live
        self.timer.enabled, self.timer.each_kernel = timer.enabled, timer.each_kernel
        for forget in forgotten_with_the_device:
            forget(self)

    @property
    def recording(self) -> Plan | None:
        """The plan that records in this thread or task: kernels that are called are added to it, not run."""
        return _recording.get()

    @recording.setter
    def recording(self, plan: Plan | None) -> None:
        _recording.set(plan)

    # submissions ------------------------------------------------------------------------------------------------

    def submit(self) -> int:
        """Submit what is recorded, in one submission; returns its serial, or the last one if nothing was recorded.

        Raises `GpuError` if the device refuses the commands, and `DeviceLost`; they are dropped then, and the next
        recording is clean. Raises `WrongThread` outside of the thread that opened the GPU, as all that records does.
        """
        self.tracker.collect()
        self._taken = self.pool.taken_bytes
        if not self.recorder.pending:
            return self.tracker.submitted
        self.recorder.require_no_render_pass()
        self._submitting = True
        try:
            viewed = self.frameworks.wait_for(self.recorder.used)
            commands = self.recorder.finish()
            self.uniforms.flush()
            index = native.submit(self.queue, commands)
        except BaseException as error:
            self.abandon()
            if is_loss(error):
                raise errors.DeviceLost("the GPU is gone: what was recorded was not carried out") from error
            if isinstance(error, wgpu.GPUError):
                raise errors.GpuError(f"the device refused the recorded commands: {error}") from error
            raise
        finally:
            self._submitting = False
        self.meter.submits += 1
        self._uploads.submitted()
        serial = self.tracker.submit(self.recorder.submitted())
        self._running.append((serial, index))
        self.readback.submitted(serial)
        if viewed:
            self.wait(serial)  # a framework may write as soon as this returns
        return serial

    def abandon(self) -> None:
        """Drop what was recorded since the last submit: every tensor keeps the values it had then."""
        self.tracker.require_thread()
        self.recorder.abandon()
        self.uniforms.abandon()

    @contextmanager
    def undivided(self) -> Iterator[None]:
        """A `with` block that is recorded into one submission, also outside of frames. It may be nested."""
        self._undivided += 1
        try:
            yield
        finally:
            self._undivided -= 1

    def submit_if_long(self) -> None:
        """Submit commands outside of a frame if there are many, so that the GPU starts, and wait for older ones.

        What they use stays in memory until then, dropped or not; so the bytes handed out count, and the dispatches.
        """
        if self.frames.open or self._undivided:
            return
        if not self._running:
            self._eager = FIRST_DISPATCHES
        taken = self.pool.taken_bytes - self._taken
        if taken >= EAGER_BYTES or self.recorder.dispatches >= self._eager:
            self._eager = min(2 * self._eager, EAGER_DISPATCHES)
            self.wait(self.submit() - EAGER_IN_FLIGHT)

    def wait(self, serial: int) -> None:
        """Block until submission `serial` has finished; release what waited for it."""
        self.tracker.require_thread()
        index = None
        while self._running and self._running[0][0] <= serial:
            index = self._running.popleft()[1]
        if index is not None:
            native.wait(self.device, index)
            self.tracker.retire(serial)
        self.readback.collect(self.tracker.retired)

    def poll(self) -> None:
        """Deliver readbacks that have finished, without waiting, and release memory of finished submissions."""
        self.tracker.require_thread()
        native.poll(self.device)
        self.tracker.retire(self.readback.collect(self.tracker.retired))

    def wait_idle(self) -> None:
        """Submit what is recorded and block until the GPU is idle."""
        self.wait(self.submit())

    def sync(self, how: Sync = Sync.WAIT) -> None:
        """Submit what is recorded, and wait as `how` says."""
        serial = self.submit()
        if how is Sync.WAIT:
            self.wait(serial)
        elif how is Sync.FRAME:
            self.frames.wait()

    # memory -----------------------------------------------------------------------------------------------------

    def create_texture(self, **descriptor: Any) -> wgpu.GPUTexture:
        """A texture, after giving back what is not in use if memory is short; wgpu's own descriptor.

        Raises `OutOfMemory` and `DeviceLost`.
        """
        size = "x".join(map(str, descriptor["size"]))
        request = f"a texture of {size} {descriptor['format']} was asked for"
        return self._create(lambda: self.device.create_texture(**descriptor), request)

    def create_buffer(self, size: int, usage: int, label: str, data: Any = None) -> wgpu.GPUBuffer:
        """A buffer of `size` bytes for something other than a tensor, as `create_texture` makes textures.

        It holds `data` from the start, if there are any; `data` needs no upload, so a render pass may be open.
        """
        request, device = f"buffer {label!r} asked for {size:,} bytes", self.device
        if data is not None:
            return self._create(lambda: device.create_buffer_with_data(label=label, data=data, usage=usage), request)
        return self._create(lambda: device.create_buffer(label=label, size=size, usage=usage), request)

    def _create(self, create: Callable[[], T], request: str) -> T:
        return self.pool.make_room(allocating()(create), request, submit=False)

    def _reclaim(self, submit: bool) -> None:
        """Finish what can be finished now, so that its memory is free."""
        if submit and not self._submitting and not self.recorder.drawing:
            self.submit()
        self._uploads.finish()
        self.wait(self.tracker.submitted)

    def make_resident(self, owner: Owner) -> None:
        """Upload a borrowed block that has no GPU memory yet, in bounded chunks. Counted as host to device."""
        block = owner.block
        if block.storage is not None or block.borrow is None:
            return
        source = block.borrow.bytes()
        donor = self.pool.take(block.nbytes, block.name, block.origin)
        self.tracker.pin(donor)
        try:
            self.upload(donor.storage, source, unused=True)
            self.pool.move_storage(block, donor)  # only now: an upload cut short must not be taken for the whole
        finally:
            self.tracker.unpin(donor)

    def make_writable(self, owner: Owner, keep: bool = True) -> None:
        """Copy-on-write: give `owner` a block of its own if its block is shared, published or borrowed.

        With `keep` false the old bytes are not copied, because everything will be overwritten.
        """
        self._own_block(owner, keep)
        owner.block.note_write()

    def _own_block(self, owner: Owner, keep: bool) -> None:
        old, deferred = owner.block, self.recorder.deferred
        if not self.must_copy(old):
            return
        if keep:
            self.make_resident(owner)
            if old.owners == 1 and not old.published and deferred is None:
                old.release_borrow()  # the upload was the copy; from here on the bytes are ours
                return
        owner.require_movable()
        spare = deferred.block_for(owner) if deferred is not None else None
        new = spare or self.pool.take(old.nbytes, owner.name, owner.origin, old.exported)
        self.tracker.pin(new)  # so that it goes back if the copy cannot be recorded
        try:
            if keep and old.nbytes:
                self.recorder.copy(old, 0, new, 0, -(-old.nbytes // 4) * 4)
            self.recorder.move(owner, new)
        finally:
            self.tracker.unpin(new)

    def may_change(self, owners: Iterable[Owner]) -> bool:
        """Whether other code may write one of `owners` at any time, so that its revision tells nothing."""
        if not self.tracker.stays:
            return False
        return any(owner.fixed or self.frameworks.may_write(owner.block) for owner in owners)

    def must_copy(self, block: Block) -> bool:
        """Whether a write may not go into `block`: others see it, or it is to stay as it is until a step has ended."""
        deferred = self.recorder.deferred
        return block.shared or (deferred is not None and deferred.holds(block))

    def upload(
        self,
        buffer: wgpu.GPUBuffer,
        data: memoryview,
        offset: int = 0,
        traffic: Traffic = Traffic.GEOMETRY,
        unused: bool = False,
    ) -> None:
        """Write host bytes to `buffer`. Commands recorded before are submitted first: a queue write overtakes them.

        Not for a buffer that none of them uses (`unused`), such as a new tensor's: a frame stays one submission.
        Raises `StillInUse` inside a render pass.
        """
        self.recorder.require_no_render_pass()
        if not unused:
            self.submit()
        with self.frameworks.turn(buffer, self._uploads.finish):
            self._uploads.write(buffer, data, offset, traffic)

    def report(self) -> str:
        """Adapter, backend and driver in one line."""
        return f"{self.adapter}, {self.adapter.driver}"


forgotten_with_the_device: list[Callable[[Gpu], object]] = []  # what drops caches of things that a lost device made
_recording: ContextVar[Plan | None] = ContextVar("recording", default=None)
