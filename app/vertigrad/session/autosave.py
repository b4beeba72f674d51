"""`Autosave`: stores the scene's text with unsaved edits in a file until they are saved or discarded.

The files of an autosave are a `Slot`, which belongs to one running program at a time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..atomic_file import write_file
from ..errors import InputError
from ..params import same
from ..renderer.themes import THEMED
from ..scene import load
from .command import command, command_of
from .merging import MISSING
from .parameters import THEME, file_values
from .questions import Question
from .saving import text_to_save
from .scene_extras import SceneExtras, merge_extras

if TYPE_CHECKING:
    from .session import Session

SLOTS = 8  # windows on one scene that each have an autosave of their own
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
        self._revision = -1  # of the edits, when they were checked last
        self._due: float | None = None
        self._reported = False

    def follow(self, session: Session) -> None:
        """Write what was changed, a little later; drop it once it was saved or undone."""
        if session.scene.path != self._scene:
            self._turn_to(session)
        if session.scene_edits.revision != self._revision:
            self._revision = session.scene_edits.revision
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
            self._slot.write(session.scene.source_map.text, text_to_save(session))
        except (OSError, InputError) as error:
            self._report(error)

    def finish(self, session: Session) -> None:
        """The window closes. Unsaved edits stay stored, unless the user decided to discard them."""
        if self._slot is not None and session.leaving:
            self._slot.clear()
        elif self._due is not None:
            self.write(session)
        self._close()

    # what was left ------------------------------------------------------------------------------------------------

    def restore(self, session: Session) -> None:
        """Restore what an earlier run left, as one step that can be undone.

        Raises `InputError` and `SceneError` if it cannot be used; its file stays then.
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

    def postpone(self) -> None:
        """Decide another time: the next start asks."""
        if self._offered is not None:
            self._offered.close()
            self._offered = None

    # inside -------------------------------------------------------------------------------------------------------

    def _turn_to(self, session: Session) -> None:
        """Another scene: the edits of the previous one were saved or discarded."""
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
            _log.warning("unsaved changes would be lost in a crash: they cannot be stored: %s", error)


def _autosave(session: Session) -> Autosave:
    assert session.autosave is not None, "only an autosave asks about itself"
    return session.autosave


@command("autosave")
def Restore(session: Session) -> None:
    """Restore the edits that an earlier run left."""
    _autosave(session).restore(session)


DiscardAutosave = command_of("autosave", _autosave)(Autosave.discard)
PostponeAutosave = command_of("autosave", _autosave)(Autosave.postpone)


def _offer(scene: Path, slot: Slot) -> str:
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(slot.edited.stat().st_mtime))
    return (
        f"{scene.name} has changes of {when} that were not saved when Vertigrad ended. To compare them with the scene, "
        f"see {slot.edited}"
    )


def _apply(session: Session, base_text: str, edited_text: str) -> None:
    """Apply the changes between two texts of the scene's file, as one edit. Other changes of the file stay."""
    scene, scene_edits = session.scene, session.scene_edits
    base, edited = (load(scene.path, text=text) for text in (base_text, edited_text))
    before, after = file_values(base), file_values(edited)
    changed = {key: value for key, value in after.items() if not same(value, before.get(key, MISSING))}
    if THEME in changed:  # which sets others, but for those that the text has
        changed |= {key: value for key, value in after.items() if key.owner == "view" and key.name in THEMED}
    here = file_values(scene)
    values = {key: value for key, value in changed.items() if key in here}
    known = scene_edits.file_extras.presets
    extras, _ = merge_extras(SceneExtras.of(base, known), scene_edits.extras, SceneExtras.of(edited, known))
    scene_edits.change(values, "restore unsaved changes", extras)


# slots ----------------------------------------------------------------------------------------------------------------


class Slot:
    """Holds the lock of `name` in `folder` until `close`; the system releases it when the process ends.

    `edited` has the scene's text with the edits, `base` the text without them.
    """

    def __init__(self, folder: Path, name: str, lock: BinaryIO):
        self.edited, self.base = folder / f"{name}.toml", folder / f"{name}.base.toml"
        self._lock: BinaryIO | None = lock

    @property
    def used(self) -> bool:
        """Whether there are edits in it."""
        return self.edited.is_file() and self.base.is_file()

    def write(self, base: str, edited: str) -> None:
        """Store these texts: whole or not at all, and never edits of another text. Raises `InputError`."""
        if _read(self.base) != base:
            self.edited.unlink(missing_ok=True)
            write_file(self.base, base.encode())
        write_file(self.edited, edited.encode())

    def texts(self) -> tuple[str, str]:
        """The text without the edits, and with them. Raises `OSError` and `UnicodeDecodeError`."""
        return self.base.read_text(encoding="utf-8"), self.edited.read_text(encoding="utf-8")

    def clear(self) -> None:
        """Drop the edits."""
        with suppress(OSError):
            self.edited.unlink(missing_ok=True)
            self.base.unlink(missing_ok=True)

    def close(self) -> None:
        """Release it for other programs. Idempotent."""
        lock, self._lock = self._lock, None
        if lock is not None:
            if not self.used:
                with suppress(OSError):  # an open file cannot be removed everywhere
                    os.unlink(lock.name)
            lock.close()


def take_slot(folder: Path, scene: Path, but: tuple[Path, ...] = ()) -> Slot | None:
    """A slot for the edits of a scene: one with edits left by a program, and not among `but`; else an empty one.

    None if all are in use. Raises `OSError` if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{scene.stem[:40]}-{hashlib.sha256(str(scene).encode(errors='replace')).hexdigest()[:12]}"
    taken = [slot for number in range(SLOTS) if (slot := _locked(folder, f"{stem}-{number}")) is not None]
    left = [slot for slot in taken if slot.used and slot.edited not in but]
    found = next(iter([*left, *(slot for slot in taken if not slot.used)]), None)
    for slot in taken:
        if slot is not found:
            slot.close()
    return found


def _locked(folder: Path, name: str) -> Slot | None:
    path = folder / f"{name}.lock"
    lock = path.open("ab")
    try:
        _lock(lock)
        if not os.path.samestat(os.fstat(lock.fileno()), path.stat()):
            raise FileNotFoundError(path)  # it was removed before it was locked
    except OSError:
        lock.close()
        return None
    return Slot(folder, name, lock)


def _lock(file: BinaryIO) -> None:
    """Lock a file. Raises `OSError` if another process has."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
