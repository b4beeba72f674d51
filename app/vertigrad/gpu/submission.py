"""`Recorder`: the one command encoder of the next submission, and what that submission needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import wgpu

from ..errors import StillInUse
from ..memory import Block, LifetimeTracker, Owner
from .meter import Direction, Meter, Traffic
from .native import CommandEncoder, Commands, ComputeEncoder, RenderPass
from .readback import ReadbackRing, Reading
from .timer import Timer

if TYPE_CHECKING:
    from .deferred import Deferred


class OpenPass:
    """A render pass: it begins and ends with the `with` block."""

    def __init__(self, recorder: Recorder, group: str, described: RenderPass, view: wgpu.GPUTextureView | None):
        self._recorder, self._group, self._described, self._view = recorder, group, described, view

    def __enter__(self) -> wgpu.GPURenderPassEncoder:
        recorder = self._recorder
        encoder = recorder.encoder
        self._encoder = self._described.begin(encoder, recorder.timer.writes(self._group), self._view)
        recorder.drawing = True
        return self._encoder

    def __exit__(self, *error: object) -> None:
        self._recorder.drawing = False
        self._encoder.end()


class AtomicRecording:
    """A `with` block at whose end all moves of owners hold, or, after an error, none."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder

    def __enter__(self) -> None:
        self._recorder.begin_moves()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._recorder.end_moves(kind is not None)


class Recorder:
    """Collects commands until `Gpu.submit`. Consecutive dispatches share one compute pass.

    Every block that a command uses is handed to `use`: it stays pinned until it is submitted, and is checked
    before the submit, because a command buffer with a destroyed buffer in it ends the process (wgpu-native #588).
    """

    def __init__(
        self, device: wgpu.GPUDevice, tracker: LifetimeTracker, meter: Meter, timer: Timer, readback: ReadbackRing
    ):
        self._device = device
        self._tracker = tracker
        self._meter = meter
        self.timer = timer
        self._readback = readback
        self._encoder: CommandEncoder | None = None
        self._pass: wgpu.GPUComputePassEncoder | None = None
        self.drawing = False  # whether a render pass is open
        self._used: dict[Block, None] = {}
        self._moves: list[tuple[Owner, Block]] = []
        self._if_dropped: list[Callable[[], object]] = []
        self._atomic_recording = AtomicRecording(self)
        self._unfinished: int | None = None  # moves from here on belong to a command that is not recorded yet
        self._group, self._kernel = "compute", ""
        self.dispatches = 0
        self.abandoned = 0  # recordings that were dropped, so far
        self.deferred: Deferred | None = None  # what keeps the commands that are recorded now

    @property
    def pending(self) -> bool:
        """Whether anything was recorded or deferred since the last submit, or moved, be it without a byte to copy."""
        deferred = self.deferred is not None and self.deferred.pending
        moved = bool(self._moves if self._unfinished is None else self._unfinished)
        return deferred or self._encoder is not None or moved

    @property
    def used(self) -> Iterable[Block]:
        """The blocks that the next submission uses so far."""
        return self._used

    def use(self, blocks: Iterable[Block]) -> None:
        """Keep `blocks` alive until this submission is made, and stamp them with it."""
        if self.deferred is not None:
            self.deferred.hold(blocks)
        else:
            self._tracker.pin_once(blocks, self._used)

    def move(self, owner: Owner, block: Block) -> None:
        """Let `owner` own `block` from here on; should this recording be dropped, it gets its old block back."""
        if self.deferred is not None:
            self.deferred.move(owner, block)
            return
        self._tracker.pin(owner.block)
        self._moves.append((owner, owner.block))
        owner.move_to(block)

    def follow(self, owner: Owner, clone: Owner) -> None:
        """Let a clone of what moved in this recording go back with it: what is to fill their block may be dropped."""
        old = next((old for moved, old in self._moves if moved is owner), None)
        if old is not None:
            self._tracker.pin(old)
            self._moves.append((clone, old))

    def if_dropped(self, forget: Callable[[], object]) -> None:
        """Call `forget` if this recording is dropped: whoever does not record again what it holds finds out so."""
        self._if_dropped.append(forget)

    def atomic_recording(self) -> AtomicRecording:
        """Owners that move inside go back if it raises: what is to fill their new blocks was not recorded.

        A submission in the middle of it, made for an upload, does not end their right to go back.
        """
        return self._atomic_recording

    def begin_moves(self) -> None:
        """Moves from here on belong to a command that is not recorded yet."""
        self._unfinished = len(self._moves)

    def end_moves(self, failed: bool) -> None:
        """That command was recorded, or failed: its owners go back then."""
        if failed and self._unfinished is not None:
            self._move_back(self._unfinished)
        self._unfinished = None

    @property
    def encoder(self) -> CommandEncoder:
        """The open encoder, outside of any pass. Raises `StillInUse` inside a render pass, and `WrongThread`."""
        self._tracker.require_thread()
        if self.drawing:
            self.require_no_render_pass()
        if self.deferred is not None:
            self.deferred.flush()
        if self._pass is not None:
            self._end_pass()
        if self._encoder is None:
            self._encoder = CommandEncoder(self._device)
        return self._encoder

    def compute_pass(self) -> wgpu.GPUComputePassEncoder:
        """The open compute pass; begun if there is none. Raises as `encoder` does."""
        if self._pass is None:
            self._pass = ComputeEncoder(self.encoder, self.timer.writes(self._group, self._kernel))
        else:
            self._tracker.require_thread()
        return self._pass

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Time the dispatches recorded inside under `name`."""
        outer, self._group = self._group, name
        if self.timer.enabled:
            self._end_pass()
        try:
            yield
        finally:
            if self.timer.enabled:
                self._end_pass()
            self._group = outer

    @contextmanager
    def kernel(self, name: str) -> Iterator[None]:
        """A compute pass of its own for what is recorded inside, timed under its kernel's name as well as its group."""
        self._end_pass()
        self._kernel = name
        try:
            yield
        finally:
            self._end_pass()
            self._kernel = ""

    def render_pass(
        self,
        group: str = "draw",
        described: RenderPass | None = None,
        view: wgpu.GPUTextureView | None = None,
        **descriptor: Any,
    ) -> OpenPass:
        """A render pass, timed under `group`.

        `described` is one used from frame to frame, and `view` what to draw into where its first attachment leaves that
        open; for a pass that is recorded once, wgpu's own descriptor (`color_attachments`, ...) will do.
        """
        return OpenPass(self, group, described or RenderPass(**descriptor), view)

    def require_no_render_pass(self) -> None:
        """Raise `StillInUse` inside a render pass: WebGPU takes nothing but its draws until it has ended."""
        if self.drawing:
            raise StillInUse(
                "a render pass is open: tensors cannot be written, uploaded, read back or submitted inside of it; "
                "do that before gpu.recorder.render_pass(...)"
            )

    def copy(
        self,
        source: Block,
        source_offset: int,
        target: Block,
        target_offset: int,
        nbytes: int,
        traffic: Traffic = Traffic.GEOMETRY,
    ) -> None:
        """Copy bytes between blocks; offsets and size are multiples of 4. Counted as device to device."""
        if self.deferred is not None:  # what is drawn is separate from what is written: that is no copy of geometry
            self.deferred.hold((source, target))
            copied = source, source_offset, target, target_offset, nbytes, Traffic.SNAPSHOTS
            self.deferred.call(lambda: self.copy(*copied))
            return
        self.encoder.copy_buffer_to_buffer(source.buffer, source_offset, target.buffer, target_offset, nbytes)
        self.use((source, target))
        self._meter.count(Direction.DEVICE_TO_DEVICE, nbytes, traffic)

    def read(self, source: Block, offset: int, nbytes: int, traffic: Traffic, then: Any = None) -> Reading:
        """Record a copy to the host; the bytes arrive through `ReadbackRing`. Multiples of 4."""
        reading = self._readback.reading(nbytes, then)
        if self.deferred is not None:
            self.deferred.hold((source,))
            self.deferred.call(lambda: self._read(reading, source, offset, traffic), reading.drop)
        else:
            self._read(reading, source, offset, traffic)
        return reading

    def _read(self, reading: Reading, source: Block, offset: int, traffic: Traffic) -> None:
        self._readback.record(self.encoder, reading, source.buffer, offset)
        self.use((source,))
        self._meter.count(Direction.DEVICE_TO_HOST, reading.nbytes, traffic)

    def finish(self) -> Commands:
        """End the encoder and return its commands, their blocks checked. Raises what the device found."""
        encoder = self.encoder
        self.timer.resolve(encoder, self._tracker.frame)
        self._tracker.preflight(self._used)
        return encoder.finish()

    def submitted(self) -> list[Block]:
        """What was recorded was submitted: start again. Returns the blocks it uses, each pinned once for it."""
        used, moves, done = list(self._used), self._moves, self._unfinished
        self._clear()
        if done is not None:
            moves, self._moves, self._unfinished = moves[:done], moves[done:], 0
        for _, old in moves:
            self._tracker.unpin(old)
        return used

    def abandon(self) -> None:
        """Drop what was recorded, after an error in it; owners that moved for it go back."""
        self.abandoned += 1
        used, forget = list(self._used), self._if_dropped
        self._move_back(0)
        self._clear()
        self.timer.abandon()
        self._readback.abandon()
        for block in used:
            block.note_write()
            self._tracker.unpin(block)
        for each in forget:
            each()

    def _move_back(self, since: int) -> None:
        while len(self._moves) > since:
            owner, old = self._moves.pop()
            if owner.handles:
                owner.move_to(old)
            self._tracker.unpin(old)

    def _clear(self) -> None:
        self._encoder = self._pass = None
        self._used, self._moves, self._if_dropped = {}, [], []
        self.dispatches = 0

    def _end_pass(self) -> None:
        open_pass, self._pass = self._pass, None
        if open_pass is not None:
            open_pass.end()
