"""`Dialogs`: the modal windows, which wait for an answer."""

from __future__ import annotations

from collections.abc import Sequence

from ..scene.kinds import DATA, INTERACTIONS, SCENES
from ..session import Session
from ..session.commands import Ask, Open
from .actions import Action
from .exporting import ExportDialogs
from .files import FileDialog
from .gallery import Gallery
from .palette import Palette
from .thumbnails import Thumbnails
from .unsaved import SavingDialogs
from .workspace import Workspace


class Dialogs:
    """The gallery, the command palette, the dialogs that open a file or export to one, and what is asked."""

    def __init__(self, thumbnails: Thumbnails, actions: Sequence[Action]):
        self._actions = actions
        self.browser = FileDialog("Open a file", "Open", SCENES | DATA | INTERACTIONS)
        self.gallery, self.palette = Gallery(thumbnails), Palette()
        self._saving, self._exporting = SavingDialogs(), ExportDialogs()

    def draw(self, session: Session, workspace: Workspace) -> None:
        """Draw those that the workspace or the session has open."""
        self._draw_browser(session, workspace)
        self._saving.draw(session)
        self._exporting.draw(session, workspace)
        self.gallery.draw(session, workspace)
        self.palette.draw(self._actions, session, workspace)

    def close(self, session: Session, workspace: Workspace) -> None:
        """Close all of them without an answer, because one cannot be drawn."""
        self.close_files()
        workspace.gallery = workspace.palette = workspace.browser = False
        if session.questions.first is not None:
            session.post(Ask(None))

    def close_files(self) -> None:
        """Close the dialogs in which a file is chosen, also those of the desktop."""
        self.browser.close()
        self._saving.close()
        self._exporting.close()

    def _draw_browser(self, session: Session, workspace: Workspace) -> None:
        if workspace.browser and not self.browser.is_open:
            self.browser.ask(session.scene.path.parent, recent=workspace.recent)
        workspace.browser = False
        chosen = self.browser.draw()
        if chosen is not None:
            session.post(Open(chosen))
