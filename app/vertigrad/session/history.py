"""`History`: what was done to the parameters, so that it can be undone and done again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .kept import Kept
from .parameters import Values

MOST = 300  # steps that are remembered


@dataclass(frozen=True)
class Step:
    """One thing that was done: the values it changed, before and after, and what is kept beside them, if it did."""

    label: str
    before: Values
    after: Values
    kept_before: Kept | None = None
    kept_after: Kept | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing came of it."""
        return self.before == self.after and self.kept_before == self.kept_after

    def followed_by(self, later: Step) -> Step:
        """Both as one."""
        return replace(self, after=later.after, kept_after=later.kept_after)

    def concerns_only(self, known: Callable[[object], bool]) -> bool:
        """Whether the parameters it is about, if any, are `known`."""
        return all(map(known, self.before))


@dataclass
class History:
    """Steps that were done, the latest last, and those that were undone, the next to be done again last."""

    done: list[Step] = field(default_factory=list)
    undone: list[Step] = field(default_factory=list)
    _stroke: int | None = None  # of the step that was added last

    def add(self, step: Step, stroke: int | None = None) -> None:
        """Note what was done. Changes of the same values with one `stroke`, such as a drag, become one step."""
        self.undone.clear()
        same = stroke is not None and stroke == self._stroke and self.done
        if same and self.done[-1].after.keys() == step.before.keys():
            step = self.done.pop().followed_by(step)
        self._stroke = None if step.empty else stroke  # nothing to go on with: the step before is another's
        if not step.empty:
            self.done.append(step)
            del self.done[:-MOST]

    def move_back(self) -> None:
        """The last step was undone."""
        self._stroke = None
        self.undone.append(self.done.pop())

    def move_on(self) -> None:
        """The last step that was undone was done again."""
        self._stroke = None
        self.done.append(self.undone.pop())

    def known_only(self, known: Callable[[object], bool]) -> History:
        """The same history without steps about parameters that are not `known`: the scene was read again."""
        return History(
            [step for step in self.done if step.concerns_only(known)],
            [step for step in self.undone if step.concerns_only(known)],
        )
