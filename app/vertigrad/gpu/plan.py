"""`Plan`: a recorded list of dispatches, replayed every frame."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..closing import Closing
from ..errors import UseAfterFree
from ..memory import LifetimeTracker, Origin, Owner
from .computed import Computed
from .dispatch import Dispatch
from .kernel import Kernel, loaded
from .native import DispatchList
from .plan_encodings import Encoded, Encodings
from .plan_uniforms import PlanUniforms
from .process import gpu
from .results import Mark, Results


class Plan(Closing):
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
        self._encodings = Encodings(self._gpu)
        self._computed = Computed()
        self.recorded = object()  # another one after each change of the dispatches
        self._results = Results(self._gpu, name)
        self._is_new = True  # whether something was added since the last replay
        self._closed = False
        finalize = partial(_collected, self._gpu.tracker, name, Origin.of_caller(), self._owners, self._results.scratch)
        self._finalizer = weakref.finalize(self, self._gpu.tracker.drop_later, finalize)
        self._finalizer.atexit = False
        _plans.add(self)

    def dispatch(
        self,
        kernel: Kernel,
        threads: int | Sequence[int],
        *,
        overwrites: Sequence[str] = (),
        indirect: Any = None,
        **arguments: Any,
    ) -> None:
        """Add one dispatch; arguments and errors as for `Dispatch`."""
        self.append(Dispatch(kernel, threads, overwrites, arguments, indirect))

    @contextmanager
    def recording(self) -> Iterator[Plan]:
        """Add every kernel that is called inside to the plan instead of running it: so any function of `ops` records.

        Values given to the functions are frozen; arrays are uploaded once, so they are constants, which nothing inside
        may write. What is cloned, set to zero or written in place inside is so again at each replay. New results are in
        memory of the plan; those that nobody holds at the end share it where they are not needed at the same time.
        Nothing has a value before `replay`, so reading it raises `StillInUse`. If something is raised inside, or
        `OutOfMemory` at the end, the plan is what it was before.
        """
        self._require_open()
        outer, before = self._gpu.recording, self._mark()
        self._gpu.recording = self
        try:
            try:
                yield self
            finally:
                self._gpu.recording = outer
            self._require_open()
            if outer is not self:
                self._allocate_results()
        except BaseException:
            self._restore(*before)
            raise
        finally:
            if outer is not self:
                self._results.end_recording()

    @property
    def results(self) -> Results:
        """What was created while this plan recorded."""
        return self._results

    def is_alone(self, owner: Owner) -> bool:
        """Whether only one tensor refers to `owner`, a result of this plan: its memory can then be reused."""
        return self._results.held_once(owner, self._owners)

    def append(self, dispatch: Dispatch) -> None:
        """Add an existing dispatch."""
        self._require_open()
        for owner in dispatch.owners:
            owner.block  # noqa: B018  raises if it is gone, before anything has changed
        dispatch.keep()
        if self._gpu.recording is self:
            self._results.writing(dispatch)
        dispatch.note_writes()
        self._note_writes(dispatch, self._owners)
        for owner in dispatch.owners:
            if owner not in self._owners:
                self._owners[owner.hold()] = None
        self._uniforms.append(dispatch)
        self._dispatches.append(dispatch)
        self._changed()

    def rebuilt(self, kernels: Mapping[Kernel, Kernel]) -> list[Dispatch] | None:
        """Its dispatches with some kernels replaced, for `replace_dispatches`; None if it has none of those.

        Raises what `Dispatch.rebuilt` does; nothing has changed then.
        """
        if self._closed or not any(dispatch.kernel in kernels for dispatch in self._dispatches):
            return None
        return [
            dispatch.rebuilt(kernels[dispatch.kernel]) if dispatch.kernel in kernels else dispatch
            for dispatch in self._dispatches
        ]

    def replace_dispatches(self, dispatches: Sequence[Dispatch]) -> None:
        """Replay these dispatches from here on, over the same tensors."""
        self._dispatches = list(dispatches)
        self._uniforms, self._writes = PlanUniforms(self._gpu.uniforms), {}
        used: dict[Owner, None] = {}
        for dispatch in dispatches:
            self._note_writes(dispatch, used)
            used |= dict.fromkeys(dispatch.owners)
            self._uniforms.append(dispatch)
        self._changed()

    def replay(self, **fields: Any) -> None:
        """Encode all dispatches into the open submission, with a value for each open field.

        Raises `ShaderError` if a value is missing or unknown, `StillInUse` if it reads what a plan is to make that was
        not replayed yet, and `UseAfterFree` after `close`.
        """
        self._require_open()
        self._uniforms.set(self.name, fields)
        self._replay()

    def update(self, **fields: Any) -> bool:
        """As `replay`, but only if that could change anything; returns whether it was replayed.

        It could not if every value and the bytes of every tensor that the plan uses are as they were after the last
        `update`, and the plan reads nothing that it writes later. Raises as `replay`.
        """
        self._require_open()
        self._uniforms.set(self.name, fields)
        if self._computed.holds((self,)):
            return False
        self._replay()
        self._computed.note((self,))
        return True

    def state(self) -> tuple[object, bytes, tuple[int, ...]] | None:
        """Its dispatches, their values, and the revisions of the bytes that they use: alike means unchanged.

        None if other code may write what it uses at any time.
        """
        if self._gpu.may_change(self._owners):
            return None
        return self.recorded, bytes(self._uniforms.image), tuple([owner.block.revision for owner in self._owners])

    def is_at(self, state: tuple[object, bytes, tuple[int, ...]]) -> bool:
        """Whether its state is this one; looks at values first, which change most often."""
        return state[0] is self.recorded and state[1] == self._uniforms.image and state == self.state()

    @property
    def dispatches(self) -> Sequence[Dispatch]:
        """What it replays, in order."""
        return self._dispatches

    @property
    def first_uses(self) -> list[Dispatch]:
        """The first dispatch of each of its kernels."""
        return list({dispatch.kernel: dispatch for dispatch in reversed(self._dispatches)}.values())[::-1]

    def close(self) -> None:
        """Release the tensors. Idempotent."""
        self._gpu.tracker.require_thread()
        if not self._closed:
            self._closed = True
            self._finalizer.detach()
            self._encodings.clear()
            self._dispatches.clear()
            _drop([*self._owners, *self._results.scratch])

    def __len__(self) -> int:
        return len(self._dispatches)

    def _replay(self) -> None:
        if self._is_new:
            self._results.require_values(self._owners, self._writes)
        recorder = self._gpu.recorder
        with recorder.atomic_recording():
            ready = self._encodings.current(self._dispatches, self._owners, self._writes, self._uniforms.starts)
            for block in ready.written:
                block.note_write()  # before: if the rest is interrupted, some of it may have been recorded
            if recorder.deferred is not None:
                recorder.use(ready.blocks)
                image, starts = bytes(self._uniforms.image), self._uniforms.starts
                recorder.deferred.add(self.name, self._dispatches, ready.dispatches, starts, image)
            else:
                self._encode_now(ready)
        if self._is_new:
            self._results.replayed(self._writes)
            self._is_new = False
        if recorder.deferred is None:
            recorder.dispatches += len(self._dispatches)
            self._gpu.submit_if_long()

    def _allocate_results(self) -> None:
        """Memory for what was recorded; dispatches use that of others where results share it."""
        moved, gone = self._results.allocate(self._dispatches)
        if moved:
            for dispatch in self._dispatches:
                dispatch.move(moved)
            self.replace_dispatches(self._dispatches)
        self._results.release(gone)
        self._forget([owner for owner in gone if owner in self._owners])

    def _mark(self) -> tuple[int, int, Mark]:
        return len(self._dispatches), len(self._owners), self._results.mark()

    def _restore(self, dispatches: int, owners: int, mark: Mark) -> None:
        if self._closed:
            return
        self._results.restore(mark)
        self._forget(list(self._owners)[owners:])
        self.replace_dispatches(self._dispatches[:dispatches])

    def _forget(self, owners: Iterable[Owner]) -> None:
        for owner in owners:
            del self._owners[owner]
            owner.drop()

    def _note_writes(self, dispatch: Dispatch, used: Collection[Owner]) -> None:
        for owner, keep in dispatch.writes:
            # what an earlier dispatch reads must be there, even if this one overwrites it
            self._writes.setdefault(owner, keep or owner in used)

    def _changed(self) -> None:
        self._encodings.clear()
        self.recorded = object()
        self._is_new = True

    def _require_open(self) -> None:
        if self._closed:
            raise UseAfterFree(f"plan {self.name!r} was closed")

    def _encode_now(self, ready: Encoded) -> None:
        gpu_, recorder, image = self._gpu, self._gpu.recorder, self._uniforms.image
        if not gpu_.uniforms.fits(len(image)):
            gpu_.submit()
        recorder.use(ready.blocks)
        base = gpu_.uniforms.push(image) if image else 0
        if not gpu_.timer.enabled:
            ready.dispatches.encode(recorder.compute_pass(), base)
            return
        with recorder.group(self.name):
            if gpu_.timer.times_kernels:
                self._encode_each(ready.dispatches, base)
            else:
                ready.dispatches.encode(recorder.compute_pass(), base)

    def _encode_each(self, dispatches: DispatchList, base: int) -> None:
        """Each dispatch in a pass of its own, so that its time can be taken."""
        for number, dispatch in enumerate(self._dispatches):
            with self._gpu.recorder.kernel(dispatch.kernel.label):
                dispatches.encode_one(self._gpu.recorder.compute_pass(), number, base)


_plans: weakref.WeakSet[Plan] = weakref.WeakSet()


def replace_kernels(files: Collection[str]) -> bool:
    """Hot-swap the kernels of shader files in all plans and callers that use them; whether there are any.

    Raises `ShaderError`, and what else a dispatch raises that does not fit its kernel any more; then all is as it was.
    """
    recompiled = {kernel: kernel.recompiled() for kernel in loaded(files)}
    rebuilt = [(plan, dispatches) for plan in _plans if (dispatches := plan.rebuilt(recompiled)) is not None]
    previous = {new: old for old, new in recompiled.items()}
    for old, new in recompiled.items():
        old.replace_with(new)
    for plan, dispatches in rebuilt:
        for dispatch in dispatches:
            dispatch.kernel = previous.get(dispatch.kernel, dispatch.kernel)
        plan.replace_dispatches(dispatches)
    return bool(recompiled)


def _drop(owners: Iterable[Owner]) -> None:
    for owner in owners:
        owner.drop()


def _collected(
    tracker: LifetimeTracker, name: str, origin: Origin, owners: Iterable[Owner], scratch: Iterable[Owner]
) -> None:
    """Finalizer, run at a safe time, of a plan that was collected without being closed."""
    held = [*owners, *scratch]
    tracker.report_leak(f"plan {name}", sum(owner.block.nbytes for owner in dict.fromkeys(held)), origin)
    _drop(held)
