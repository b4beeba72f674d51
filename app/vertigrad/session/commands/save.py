"""Commands that write the scene's file, and those that have to wait for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import saving
from ..questions import Question
from ..session import Session

if TYPE_CHECKING:
    from .base import Command


class Save(NamedTuple):
    """Write what was changed into the scene's file; `then` is done after that. Asks if somebody else wrote it."""

    overwrite: bool = False
    then: Command | None = None

    topic = "save"

    def apply(self, session: Session) -> None:
        saving.try_to_save(session, None, self.overwrite, self.then)


class SaveAs(NamedTuple):
    """Write the scene with what was changed into another file, and go on with that; `overwrite` one that there is."""

    path: Path
    overwrite: bool = False
    then: Command | None = None

    topic = "save"

    def apply(self, session: Session) -> None:
        saving.try_to_save(session, self.path, self.overwrite, self.then)


class Ask(NamedTuple):
    """Let the user decide something, after what is asked already; None: the first question is answered."""

    question: Question | None

    topic = "question"

    def apply(self, session: Session) -> None:
        if self.question is None:
            session.questions.close_first()
        else:
            session.questions.ask(self.question)


class Leave(NamedTuple):
    """Close the window; if something is not saved, ask first, unless that is to be lost."""

    discard: bool = False

    topic = "question"

    def apply(self, session: Session) -> None:
        if self.discard or not saving.ask_before(session, Leave(discard=True)):
            session.leaving = True
