"""`Results`: tensors created while a plan records, until they have memory and values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import LayoutError, StillInUse
from ..memory import Origin, Owner
from .dispatch import Dispatch
from .packing import ArenaSlot, LiveRange, pack

if TYPE_CHECKING:
    from .device import Gpu


class Mark(NamedTuple):
    """A state of `Results` to restore."""

    scratch: int
    unset: int
    slots: tuple[ArenaSlot, ...]
    residents: dict[int, Owner]


class Results:
    """Tensors that are created while a plan records.

    Those of operations (`scratch`) get memory when the recording ends: of their own if somebody holds them, else
    shared with others that are not needed at the same time. None has values before the plan's first replay.
    """

    def __init__(self, gpu: Gpu, plan: str):
        self._gpu = gpu
        self._plan = plan
        self.scratch: dict[Owner, None] = {}
        self._unset: dict[Owner, None] = {}
        self._constants: set[Owner] = set()
        self._keepers: dict[Owner, list[Callable[[], Callable[[], None] | None]]] = {}
        self._slots: list[ArenaSlot] = []  # memory that results share: that of the largest, one of `_residents`
        self._residents: dict[int, Owner] = {}

    @property
    def shared(self) -> Collection[Owner]:
        """Memory that results share, of which nothing is needed from one replay to the next."""
        return self._residents.values()

    # while the plan records ----------------------------------------------------------------------------------------

    def reserve(self, nbytes: int, name: str, origin: Origin) -> Owner:
        """A handle on memory for a result, reserved now and committed when the recording ends."""
        owner = Owner(self._gpu.tracker, self._gpu.pool.reserve(nbytes, name, origin), name, origin)
        self.scratch[owner] = None
        self.add(owner)
        return owner.hold()

    def add(self, owner: Owner) -> None:
        """A tensor was made that has no values before the plan is replayed."""
        owner.unset = f"plan {self._plan!r}, in whose recording it was made, was not replayed yet; call replay() first"
        self._unset[owner] = None

    def set_once(self, owner: Owner) -> None:
        """A tensor was made and filled now: for the plan it is a constant, so nothing in the recording may write it."""
        owner.unset = ""
        self._unset.pop(owner, None)
        self._constants.add(owner)

    def before_write(self, owner: Owner, keep: Callable[[], Callable[[], None] | None]) -> None:
        """Call what `keep`, a weak reference, refers to before a dispatch that writes `owner` is added."""
        self._keepers.setdefault(owner, []).append(keep)

    def writing(self, dispatch: Dispatch) -> None:
        """Let values be copied that `dispatch` is about to overwrite. Raises `LayoutError` if it writes a constant."""
        for owner, _ in dispatch.writes:
            if owner in self._constants:
                raise LayoutError(
                    f"kernel {dispatch.kernel.name} writes tensor {owner.name or 'unnamed'!r}, which was uploaded "
                    "inside of this recording, so only once: the next replay would find it changed; write a clone() of "
                    "it, or upload it before the recording"
                )
        for owner, _ in dispatch.writes:
            for keep in self._keepers.pop(owner, ()):
                copy_value = keep()
                if copy_value is not None:
                    copy_value()

    def held_once(self, owner: Owner, users: Collection[Owner]) -> bool:
        """Whether `owner` is of a result that one tensor alone refers to; `users` are the owners that the plan uses."""
        self._gpu.tracker.collect()
        return owner in self.scratch and owner.handles == 2 + (owner in users)

    # the end of a recording ------------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """The state to `restore` if the recording fails."""
        return Mark(len(self.scratch), len(self._unset), tuple(self._slots), dict(self._residents))

    def restore(self, mark: Mark) -> None:
        """Release what was created since: it never gets values."""
        for owner in list(self._unset)[mark.unset :]:
            owner.unset = f"the recording of plan {self._plan!r}, in which it was made, failed"
            del self._unset[owner]
        self._slots[:], self._residents = mark.slots, dict(mark.residents)
        self.release(list(self.scratch)[mark.scratch :])

    def end_recording(self) -> None:
        """Forget what holds only while the plan records."""
        self._constants.clear()
        self._keepers.clear()

    def allocate(self, dispatches: Sequence[Dispatch]) -> tuple[Mapping[Owner, Owner], Collection[Owner]]:
        """Give results memory: of their own if somebody holds them, shared if only the plan needs them.

        Returns which owners are replaced by others, and which are not needed any more. Raises `OutOfMemory`.
        """
        self._gpu.tracker.collect()
        live_ranges = _live_ranges(dispatches)
        unallocated = [owner for owner in self.scratch if owner.block.storage is None]
        transient = [owner for owner in unallocated if _is_transient(owner, live_ranges.get(owner), dispatches)]
        chosen = pack([live_ranges[owner] for owner in transient], self._slots)
        moved: dict[Owner, Owner] = {}
        for number, owner in sorted(zip(chosen, transient, strict=True), key=lambda pair: -pair[1].block.nbytes):
            if self._residents.setdefault(number, owner) is not owner:
                moved[owner] = self._residents[number]
        for owner in unallocated:
            if owner not in moved and (owner in live_ranges or owner.handles > 1):
                self._gpu.pool.commit(owner.block)
        return moved, [owner for owner in unallocated if owner.block.storage is None]

    def release(self, owners: Collection[Owner]) -> None:
        """Drop results that are not needed any more."""
        for owner in owners:
            del self.scratch[owner]
            self._unset.pop(owner, None)
            owner.drop()

    # the first replay ------------------------------------------------------------------------------------------------

    def require_values(self, used: Collection[Owner], writes: Mapping[Owner, bool]) -> None:
        """Raise `StillInUse` if dispatches that use and write these owners read what another plan is yet to make."""
        missing = [owner for owner in used if owner.unset and owner not in self._unset and writes.get(owner, True)]
        if missing:
            raise StillInUse(
                f"plan {self._plan!r} reads tensor {missing[0].name or 'unnamed'!r}, which has no values: "
                f"{missing[0].unset}"
            )

    def replayed(self, writes: Mapping[Owner, bool]) -> None:
        """Dispatches that write these owners were replayed: there are values now."""
        for owner in (*self._unset, *writes):
            owner.unset = ""
        self._unset.clear()


def _live_ranges(dispatches: Sequence[Dispatch]) -> dict[Owner, LiveRange]:
    live_ranges: dict[Owner, LiveRange] = {}
    for number, dispatch in enumerate(dispatches):
        for owner in dispatch.owners:
            known = live_ranges.get(owner)
            live_ranges[owner] = LiveRange(known.first if known else number, number, owner.block.nbytes)
    return live_ranges


def _is_transient(owner: Owner, live_range: LiveRange | None, dispatches: Sequence[Dispatch]) -> bool:
    """Whether nobody but the plan needs a result, and nothing of it from one replay to the next."""
    if live_range is None or owner.handles > 2 or owner.block.owners > 1:  # two: as a result, and as used
        return False
    return any(written is owner for written, _ in dispatches[live_range.first].writes)
