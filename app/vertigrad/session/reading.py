"""What a session does with files: opens a scene, reads it again, takes over what changed in it and in its models."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UntrustedCode
from ..scene import trust
from .questions import Question
from .running import Running

if TYPE_CHECKING:
    from .command import Command
    from .session import Session


ALWAYS = "Always: in later runs too, and with what you write into it while this one lasts."


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


def ask_to_run(session: Session, error: UntrustedCode, command: Command) -> None:
    """Let the user decide whether a scene's Python may run; `command` waits for that."""
    session.questions.ask(Question("code", f"{error}.\n{ALWAYS}", Allow(tuple(error.texts.items()), command)))


def open_anew(session: Session, path: Path | None) -> None:
    """Build the scene of `path`, or the one that runs, from the start, in the place of what runs.

    Raises what reading and building raise; what runs stays then.
    """
    before = session.running
    running = Running(session.gpu, before.source.with_path(path), session.sizes, before)
    session.running = running
    before.close()
    session.messages.clear()
    for command in session.questions.nothing_unsaved():
        session.post(command)
    session.report("edits", _told(running, running.scene_edits.notes))


def take_over(session: Session) -> None:
    """Become what the scene's file says now. Raises as `load` and `Stage.adopt`; all is as it was then."""
    running = session.running
    session.report("edits", _told(running, running.take_over(running.source.read(session.sizes))))


def reread(session: Session, file: Path) -> None:
    """Take in a file that models were made of and that was written anew. Raises as `take_over` and `Stage.reread`."""
    if file in session.stage.sources():
        take_over(session)
    elif session.stage.reread(file):
        session.running.rebuilt()
    session.clock.code_changed()


def _told(running: Running, notes: list[str]) -> str:
    """What became of edits that are not saved, where the file was edited too."""
    if not notes:
        return ""
    return "\n".join([f"{running.scene.path.name} was read again, beside changes that are not saved:", *notes])
