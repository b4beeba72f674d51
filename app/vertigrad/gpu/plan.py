"""`Plan`: a recorded list of dispatches, replayed every frame."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from ..errors import UseAfterFree
from ..memory import Block, LifetimeTracker, Origin, Owner
from .device import gpu
from .dispatch import Dispatch
from .kernel import Kernel
from .native import DispatchList
from .plan_uniforms import PlanUniforms

REMEMBERED = 4  # sets of blocks whose bind groups are kept: outputs that are drawn while the next are made alternate


class Plan:
    """Dispatches recorded once, with their tensors held until `close`, and replayed by raw calls.

    Uniform fields not given to `dispatch` are open: `replay` takes their values by name and gives each to every
    dispatch that has a field of that name. Blocks are looked up at each replay, so a tensor that copy-on-write moved
    is followed; what the plan writes is copied first if it is shared or published at that moment.
    """

    def __init__(self, name: str = "plan"):
        self.name = name
        self._gpu = gpu()
        self._dispatches: list[Dispatch] = []
        self._owners: dict[Owner, None] = {}
        self._writes: dict[Owner, bool] = {}
        self._uniforms = PlanUniforms(self._gpu.uniforms)
        self._lists: OrderedDict[tuple[int, ...], _Ready] = OrderedDict()
        self._last: _Ready | None = None
        self._closed = False
        net = partial(_collected, self._gpu.tracker, name, Origin.of_caller(), self._owners)
        self._net = weakref.finalize(self, self._gpu.tracker.drop_later, net)
        self._net.atexit = False

    def dispatch(
        self, kernel: Kernel, threads: int | Sequence[int], *, overwrites: Sequence[str] = (), **arguments: Any
    ) -> None:
        """Add one dispatch; arguments as for `Dispatch`, which says what is raised."""
        self._require_open()
        dispatch = Dispatch(kernel, threads, overwrites, arguments)
        for owner, keep in dispatch.writes:
            # what an earlier dispatch reads must be there, even if this one overwrites it
            self._writes.setdefault(owner, keep or owner in self._owners)
        for entry in dispatch.entries:
            if entry.owner not in self._owners:
                self._owners[entry.owner.hold()] = None
        self._uniforms.append(dispatch)
        self._dispatches.append(dispatch)
        self._lists.clear()
        self._last = None

    def replay(self, **fields: Any) -> None:
        """Encode all dispatches into the open submission, with a value for each open field.

        Raises `ShaderError` if a value is missing or unknown, and `UseAfterFree` after `close`.
        """
        self._require_open()
        self._uniforms.set(self.name, fields)
        image = self._uniforms.image
        gpu_, recorder = self._gpu, self._gpu.recorder
        with recorder.all_or_nothing():
            ready = self._ready()
            if not gpu_.uniforms.fits(len(image)):
                gpu_.submit()
            with recorder.group(self.name) if gpu_.timer.enabled else nullcontext():
                compute = recorder.compute_pass()
                recorder.use(ready.blocks)
                ready.dispatches.encode(compute, gpu_.uniforms.push(image) if image else 0)
        recorder.dispatches += len(self._dispatches)
        gpu_.submit_if_long()

    def close(self) -> None:
        """Let go of the tensors. Idempotent."""
        if not self._closed:
            self._closed = True
            self._net.detach()
            self._lists.clear()
            self._dispatches.clear()
            _drop(self._owners)

    def __len__(self) -> int:
        return len(self._dispatches)

    def __enter__(self) -> Plan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise UseAfterFree(f"plan {self.name!r} was closed")

    def _ready(self) -> _Ready:
        """What is encoded, for the blocks as they are now; those that are written are this plan's own."""
        ready, tracker = self._last, self._gpu.tracker
        if ready is not None and ready.moves == tracker.moves:
            if ready.claims == tracker.claims:
                return ready
            if not any([block.shared for block in ready.written]):
                ready.claims = tracker.claims
                return ready
        for owner, keep in self._writes.items():
            if owner.block.shared:
                self._gpu.make_writable(owner, keep)
        key = tuple([owner.block.id for owner in self._owners])
        if key not in self._lists:
            for dispatch in self._dispatches:
                dispatch.make_ready()
            key = tuple([owner.block.id for owner in self._owners])
            self._lists[key] = self._encode()
            if len(self._lists) > REMEMBERED:
                self._lists.popitem(last=False)
        self._lists.move_to_end(key)
        self._last = ready = self._lists[key]
        ready.moves, ready.claims = tracker.moves, tracker.claims
        return ready

    def _encode(self) -> _Ready:
        calls = [(d.kernel.pipeline, d.kernel.bind_group(d.entries), d.workgroups) for d in self._dispatches]
        offsets = [
            None if d.kernel.interface.uniform is None else start
            for d, start in zip(self._dispatches, self._uniforms.starts, strict=True)
        ]
        blocks = tuple({owner.block: None for owner in self._owners})
        written = tuple({owner.block: None for owner in self._writes})
        return _Ready(DispatchList(calls, offsets), blocks, written)


@dataclass(slots=True)
class _Ready:
    """A plan encoded for certain blocks, and the tracker's counts when they were last looked at."""

    dispatches: DispatchList
    blocks: tuple[Block, ...]
    written: tuple[Block, ...]
    moves: int = -1
    claims: int = -1


def _drop(owners: Iterable[Owner]) -> None:
    for owner in owners:
        owner.drop()


def _collected(tracker: LifetimeTracker, name: str, origin: Origin, owners: Iterable[Owner]) -> None:
    """What the net does, at a safe time, for a plan that was collected without being closed."""
    tracker.report_leak(f"plan {name}", sum(owner.block.nbytes for owner in owners), origin)
    _drop(owners)
