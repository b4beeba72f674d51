"""`Computed`: what plans computed last, and of what, so that they need not compute the same again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..memory import Owner
from .dispatch import Dispatch

if TYPE_CHECKING:
    from .plan import Plan


class Computed:
    """The state after plans were replayed one after the other: their uniforms, and the revisions of what they use.

    Plans that read what they or later ones write, such as the steps of a simulation, compute something else each time.
    """

    def __init__(self) -> None:
        self._recorded: tuple[object, ...] = ()  # of the plans about which `_repeats` is known
        self._repeats = False
        self._state: tuple[Any, ...] = ()  # none if they are to be replayed in any case

    def holds(self, plans: Sequence[Plan]) -> bool:
        """Whether a replay of these plans would compute what is there."""
        known = self._state
        return (
            bool(known)
            and len(known) == len(plans)
            and all(plan.is_at(state) for plan, state in zip(plans, known, strict=True))
        )

    def note(self, plans: Sequence[Plan]) -> None:
        """These plans were replayed, and nothing since."""
        recorded = tuple(plan.recorded for plan in plans)
        if recorded != self._recorded:
            self._recorded = recorded
            dispatches = (dispatch for plan in plans for dispatch in plan.dispatches)
            self._repeats = repeats(dispatches, {owner for plan in plans for owner in plan.results.shared})
        self._state = _state(plans) if self._repeats else ()


def repeats(dispatches: Iterable[Dispatch], scratch: Collection[Owner] = ()) -> bool:
    """Whether these, done twice, compute the same twice: none reads what it or a later one then writes.

    What `scratch` holds is written, perhaps in parts, before it is read.
    """
    overwritten = {*scratch}  # whole, so that what was there before has no influence
    read: set[Owner] = set()
    for dispatch in dispatches:
        read.update(owner for owner in dispatch.reads if owner not in overwritten)
        if any(owner in read for owner, _ in dispatch.writes):
            return False
        overwritten.update(owner for owner, keep in dispatch.writes if not keep)
    return True


def _state(plans: Sequence[Plan]) -> tuple[Any, ...]:
    """Empty if a plan has none."""
    states = tuple(plan.state() for plan in plans)
    return () if None in states else states
