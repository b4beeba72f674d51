"""The command that opens a file, whatever is in it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ... import resources
from ...errors import InputError
from ...scene.kinds import INTERACTIONS, require_scene
from ..open_external import open_external
from ..saving import ask_before
from ..session import Session
from .interaction import PlayInteractions


class Open(NamedTuple):
    """Show a file: from the gallery, the browser, the recent ones, or dropped on the window.

    If something is not saved that would be lost, ask first, unless that is to be so. An interaction recording is
    played by the scene that runs.
    """

    path: Path
    discard: bool = False

    topic = "scene"

    def apply(self, session: Session) -> None:
        if self.path.suffix.lower() in INTERACTIONS:
            PlayInteractions(self.path).apply(session)
            return
        require_scene(self.path)  # nobody is asked to give anything up for a file that cannot be opened
        if self.discard or not ask_before(session, self._replace(discard=True)):
            open_path(session, self.path)


class OpenDocumentation(NamedTuple):
    """Show the documentation, in another program."""

    topic = "documentation"

    def apply(self, session: Session) -> None:
        open_external(resources.documentation(), lambda error: session.post(DocumentationFailed(error)))


class DocumentationFailed(NamedTuple):
    """There is no program to show the documentation, which is found out while frames go on."""

    error: InputError

    topic = "documentation"

    def apply(self, session: Session) -> None:
        raise self.error


def open_path(session: Session, path: Path) -> None:
    """Show what is in the file; what was shown stays if it cannot be. Raises `InputError`, `SceneError`.

    A scene takes the place of the one that runs.
    """
    require_scene(path)
    session.reload(path)
