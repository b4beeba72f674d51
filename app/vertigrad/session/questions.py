"""`Questions`: what the user has to decide, one after the other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .command import Command

About = Literal["leave", "changed", "name", "replace", "code", "restore"]
SAVING: tuple[About, ...] = ("changed", "name", "replace")
ABOUT_SAVING = (*SAVING, "leave")


@dataclass(frozen=True)
class Question:
    """What the user has to decide. `then` is what was to be done and waits for the answer; None if that is all.

    "leave": there are changes that would be lost. "changed": the file is not what it was when it was read. "name": it
    may not be written where it is, another name is needed. "replace": there is a file of that name. "code": the scene
    runs Python that was not allowed to run. "restore": an earlier run left edits that were not saved.
    """

    about: About
    reason: str
    then: Command | None = None


class Questions:
    """The one that is asked comes `first`, the others wait in their order."""

    def __init__(self) -> None:
        self._waiting: deque[Question] = deque()

    @property
    def first(self) -> Question | None:
        """What is asked now."""
        return self._waiting[0] if self._waiting else None

    def ask(self, question: Question) -> None:
        """Ask after those that wait. One about how to save goes on with the first, if that is about saving too."""
        first = self.first
        if first is not None and question.about in SAVING and first.about in ABOUT_SAVING:
            self._waiting[0] = question
        elif question not in self._waiting:
            self._waiting.append(question)

    def close_first(self) -> None:
        """The first one is answered."""
        if self._waiting:
            self._waiting.popleft()

    def answered(self, command: Command) -> None:
        """What waited for an answer is done now: nothing has to be asked about it."""
        self._waiting = deque(one for one in self._waiting if one.then != command)

    def saved(self) -> None:
        """The first one, if it was about saving, is answered by that."""
        if self.first is not None and self.first.about in ABOUT_SAVING:
            self.close_first()

    def nothing_unsaved(self) -> list[Command]:
        """No change would be lost any more: take back all that asks about one. Returns what waited for that."""
        waited = [one.then for one in self._waiting if one.about == "leave" and one.then is not None]
        self._waiting = deque(one for one in self._waiting if one.about not in ABOUT_SAVING)
        return waited
