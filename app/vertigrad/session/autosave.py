"""`Autosave`: the scene's text with the edits that are not saved, kept in a file until they are, or were given up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..params import same
from ..renderer.themes import THEMED
from ..scene import Scene, load
from .autosave_slot import Slot, take_slot
from .command import command
from .merging import MISSING
from .parameters import THEME, file_values
from .questions import Question
from .saving import text_to_save
from .scene_extras import SceneExtras, merge_extras

if TYPE_CHECKING:
    from .session import Session

EVERY = 2.0  # seconds after a change in which it is written, with those that follow

_log = logging.getLogger("vertigrad")


class Autosave:
    """Call `follow` in each frame, and `finish` at the end. Edits that an earlier run left are offered to the user.

    They stay as they are until they are restored or discarded; new ones go into another slot until then. A folder that
    cannot be written is reported once.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic):
        self._folder, self._now = folder, now
        self._scene: Path | None = None  # whose edits are in the slot
        self._slot: Slot | None = None
        self._offered: Slot | None = None  # left by an earlier run, and not decided about
        self._known: tuple[int, Scene] | None = None
        self._due: float | None = None
        self._reported = False

    def follow(self, session: Session) -> None:
        """Write what was changed, a little later; drop it once it was saved or undone."""
        if session.scene.path != self._scene:
            self._turn_to(session)
        known = session.scene_edits.revision, session.scene
        if known != self._known:
            self._known = known
            self._due = self._due or self._now() + EVERY
        if self._due is not None and self._now() >= self._due:
            self.write(session)

    def write(self, session: Session) -> None:
        """Write what is not saved, now."""
        self._due = None
        if self._slot is None:
            return
        if not session.unsaved:
            self._slot.clear()
            return
        try:
            self._slot.write(session.scene.places.text, text_to_save(session))
        except (OSError, InputError) as error:
            self._report(error)

    def finish(self, session: Session) -> None:
        """The window closes. What is not saved stays, unless the user decided to give it up."""
        if self._slot is not None and session.leaving:
            self._slot.clear()
        elif self._due is not None:
            self.write(session)
        self._close()

    # what was left ------------------------------------------------------------------------------------------------

    def restore(self, session: Session) -> None:
        """Take what an earlier run left into the session, as one step that can be undone.

        Raises `InputError` and `SceneError` if it cannot be used; it stays where it is then.
        """
        slot, self._offered = self._offered, None
        if slot is None:
            return
        try:
            base, edited = slot.texts()
            _apply(session, base, edited)
        except (OSError, UnicodeDecodeError) as error:
            slot.close()
            raise InputError(f"{slot.edited}: cannot be read ({error})") from error
        except BaseException:
            slot.close()
            raise
        self._replace(slot)
        self.write(session)

    def discard(self) -> None:
        """Drop what an earlier run left."""
        slot, self._offered = self._offered, None
        if slot is not None:
            slot.clear()
            self._replace(slot)

    def keep(self) -> None:
        """Decide another time: the next start asks again."""
        if self._offered is not None:
            self._offered.close()
            self._offered = None

    # inside -------------------------------------------------------------------------------------------------------

    def _turn_to(self, session: Session) -> None:
        """Another scene: the edits of the one before it were saved or given up."""
        if self._slot is not None:
            self._slot.clear()
        self._close()
        self._scene = path = session.scene.path
        try:
            self._slot = take_slot(self._folder, path)
            if self._slot is not None and self._slot.used:
                self._offered = self._slot
                self._slot = take_slot(self._folder, path, but=(self._offered.edited,))
        except OSError as error:
            self._report(error)
        if self._offered is not None:
            session.questions.ask(Question("restore", _offer(path, self._offered), Restore()))

    def _replace(self, slot: Slot) -> None:
        if self._slot is not None:
            self._slot.clear()
            self._slot.close()
        self._slot = slot

    def _close(self) -> None:
        for slot in (self._slot, self._offered):
            if slot is not None:
                slot.close()
        self._slot = self._offered = self._scene = self._due = None

    def _report(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            _log.warning("changes that are not saved are not kept for the case of a crash: %s", error)


@command("autosave")
def Restore(session: Session) -> None:
    """Take the edits in that an earlier run left."""
    if session.autosave is not None:
        session.autosave.restore(session)


@command("autosave")
def DiscardAutosave(session: Session) -> None:
    """Drop them."""
    if session.autosave is not None:
        session.autosave.discard()


@command("autosave")
def KeepAutosave(session: Session) -> None:
    """Leave them for the next start."""
    if session.autosave is not None:
        session.autosave.keep()


def _offer(scene: Path, slot: Slot) -> str:
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(slot.edited.stat().st_mtime))
    return (
        f"{scene.name} has changes of {when} that were not saved when Vertigrad ended. To compare them with the scene, "
        f"see {slot.edited}"
    )


def _apply(session: Session, base_text: str, edited_text: str) -> None:
    """What was changed between two texts of the scene's file, as one edit. What the file has otherwise now stays."""
    scene, scene_edits = session.scene, session.scene_edits
    base, edited = (load(scene.path, text=text) for text in (base_text, edited_text))
    before, after = file_values(base), file_values(edited)
    changed = {key: value for key, value in after.items() if not same(value, before.get(key, MISSING))}
    if THEME in changed:  # which sets others, but for those that the text has
        changed |= {key: value for key, value in after.items() if key.owner == "view" and key.name in THEMED}
    here = file_values(scene)
    values = {key: value for key, value in changed.items() if key in here}
    known = scene_edits.file_extras.presets
    kept, _ = merge_extras(SceneExtras.of(base, known), scene_edits.extras, SceneExtras.of(edited, known))
    scene_edits.change(values, "restore what was not saved", kept)
