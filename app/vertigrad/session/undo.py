"""`UndoHistory`: the changes of a scene, to undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .parameters import Values
from .row_selection import RowState
from .scene_extras import SceneExtras

MOST = 300  # steps in the history


@dataclass(frozen=True)
class UndoStep:
    """One change: values and the scene's extras before and after it; or the rows that are selected and hidden."""

    label: str
    before: Values
    after: Values
    extras_before: SceneExtras
    extras_after: SceneExtras
    rows_before: RowState | None = None
    rows_after: RowState | None = None

    @property
    def reversed(self) -> UndoStep:
        """The step that undoes it."""
        extras, rows = (self.extras_after, self.extras_before), (self.rows_after, self.rows_before)
        return UndoStep(self.label, self.after, self.before, *extras, *rows)

    @property
    def empty(self) -> bool:
        """Whether it changed nothing."""
        same = self.before == self.after and self.extras_before == self.extras_after
        return same and self.rows_before == self.rows_after

    def followed_by(self, later: UndoStep) -> UndoStep:
        """Both in one step."""
        return replace(self, after=later.after, extras_after=later.extras_after)


@dataclass
class UndoHistory:
    """Steps that were done, the latest last, and steps that were undone, the next to redo last."""

    done: list[UndoStep] = field(default_factory=list)
    undone: list[UndoStep] = field(default_factory=list)
    _stroke: int | None = None  # of the step that was added last

    def add(self, step: UndoStep, stroke: int | None = None) -> None:
        """Add a step. Changes of the same values with one `stroke`, such as a drag, become one step."""
        self.undone.clear()
        same = stroke is not None and stroke == self._stroke and self.done
        if same and self.done[-1].after.keys() == step.before.keys():
            step = self.done.pop().followed_by(step)
        self._stroke = None if step.empty else stroke  # the previous step belongs to something else
        if not step.empty:
            self.done.append(step)
            del self.done[:-MOST]

    def move_back(self) -> None:
        """The last step was undone."""
        self._stroke = None
        self.undone.append(self.done.pop())

    def move_on(self) -> None:
        """The step that was undone last was redone."""
        self._stroke = None
        self.done.append(self.undone.pop())

    def known_only(self, known: Callable[[object], bool]) -> UndoHistory:
        """The history without steps about parameters that are not `known`: the scene was reloaded."""
        return UndoHistory(
            [step for step in self.done if all(map(known, step.before))],
            [step for step in self.undone if all(map(known, step.before))],
        )
