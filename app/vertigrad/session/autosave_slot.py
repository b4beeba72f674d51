"""`Slot`: the files of one autosave, which belong to one running program at a time."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..atomic_file import write_file

SLOTS = 8  # windows on one scene that each have an autosave of their own


class Slot:
    """Holds the lock of `name` in `folder` until `close`; the system lets go of it when the process ends, however.

    `edited` is the scene's text with the edits, `base` the text that they were made to.
    """

    def __init__(self, folder: Path, name: str, lock: BinaryIO):
        self.edited, self.base = folder / f"{name}.toml", folder / f"{name}.base.toml"
        self._lock: BinaryIO | None = lock

    @property
    def used(self) -> bool:
        """Whether there are edits in it."""
        return self.edited.is_file() and self.base.is_file()

    def write(self, base: str, edited: str) -> None:
        """Keep these texts: whole or not at all, and never edits of another text. Raises `InputError`."""
        if _read(self.base) != base:
            self.edited.unlink(missing_ok=True)
            write_file(self.base, base.encode())
        write_file(self.edited, edited.encode())

    def texts(self) -> tuple[str, str]:
        """The text that the edits were made to, and the one with them. Raises `OSError` and `UnicodeDecodeError`."""
        return self.base.read_text(encoding="utf-8"), self.edited.read_text(encoding="utf-8")

    def clear(self) -> None:
        """Drop the edits."""
        with suppress(OSError):
            self.edited.unlink(missing_ok=True)
            self.base.unlink(missing_ok=True)

    def close(self) -> None:
        """Let another program have it. Idempotent."""
        lock, self._lock = self._lock, None
        if lock is not None:
            if not self.used:
                with suppress(OSError):  # an open file cannot be removed everywhere
                    os.unlink(lock.name)
            lock.close()


def take_slot(folder: Path, scene: Path, but: tuple[Path, ...] = ()) -> Slot | None:
    """A slot for the edits of a scene: one that a program left edits in and that is not among `but`, else an empty one.

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
    """Raises `OSError` if another process has it."""
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
