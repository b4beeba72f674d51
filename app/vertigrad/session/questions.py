"""`Questions`: what the user has to decide, one after the other."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import UntrustedCode
from ..scene import trust

if TYPE_CHECKING:
    from .command import Command
    from .session import Session

About = Literal["leave", "changed", "name", "replace", "overwrite", "code", "restore"]
SAVING: tuple[About, ...] = ("changed", "name", "replace")
ABOUT_SAVING = (*SAVING, "leave")
ALWAYS = "Always: in later runs too, and with what you write into it while this one lasts."


@dataclass(frozen=True)
class Question:
    """What the user has to decide. `then` is what was to be done and waits for the answer; None if that is all.

    "leave": there are changes that would be lost. "changed": the file is not what it was when it was read. "name": it
    may not be written where it is, another name is needed. "replace": there is a file of that name; "overwrite": as
    that, of an export. "code": the scene runs Python that was not allowed to run. "restore": an earlier run left edits
    that were not saved.
    """

    about: About
    reason: str
    then: Command | None = None


@dataclass(frozen=True)
class Allow:
    """A command: the user lets these texts of Python files run; then what waited for that is done.

    `always`: in later runs too, and whatever is written into the files in this one.
    """

    texts: tuple[tuple[Path, str], ...]
    then: Command
    always: bool = field(default=False, compare=False)  # either answers the same question

    topic = "scene"

    def apply(self, session: Session) -> None:
        """Carry it out."""
        trust.allow_texts(dict(self.texts), remember=self.always, edits=self.always)
        session.post(self.then)


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

    def ask_to_run(self, error: UntrustedCode, command: Command) -> None:
        """Ask whether a scene's Python may run; `command` waits for that."""
        self.ask(Question("code", f"{error}.\n{ALWAYS}", Allow(tuple(error.texts.items()), command)))

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
