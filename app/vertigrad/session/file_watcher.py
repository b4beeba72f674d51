"""`FileWatcher`: reports files that were written, once each is complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

EVERY = 0.1  # seconds between checks
DELAY = 0.1  # seconds without a change, after which a file is taken to be complete
EMPTY_DELAY = 1.0  # the same for one that is empty or not there: editors write by truncating, or by another file's name


class _FileState(NamedTuple):
    """The state of a file without reading it; None for all if it does not exist."""

    changed: int | None
    nbytes: int | None
    inode: int | None


class FileWatcher:
    """Polls the files, rather than using notifications: that works on every file system, and costs some µs."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._known: dict[Path, _FileState] = {}
        self._changed: dict[Path, tuple[_FileState, float]] = {}  # state, and since when
        self._checked = -EVERY

    @property
    def due(self) -> bool:
        """Whether it is time for another check."""
        return self._now() - self._checked >= EVERY

    def written(self, files: Collection[Path]) -> list[Path]:
        """Those of `files` that were written, removed or created since the last call, and are complete now."""
        if not self.due:
            return []
        self._checked = now = self._now()
        for gone in self._known.keys() - files:
            del self._known[gone]
            self._changed.pop(gone, None)
        return [file for file in files if self._is_written(file, now)]

    def _is_written(self, file: Path, now: float) -> bool:
        state = _file_state(file)
        if self._known.setdefault(file, state) == state:
            self._changed.pop(file, None)
            return False
        previous, since = self._changed.get(file, (None, now))
        if previous != state:
            self._changed[file] = state, now
            return False
        if now - since < (DELAY if state.nbytes else EMPTY_DELAY):
            return False
        self._known[file] = state
        del self._changed[file]
        return True


def _file_state(file: Path) -> _FileState:
    try:
        found = file.stat()
    except OSError:
        return _FileState(None, None, None)
    return _FileState(found.st_mtime_ns, found.st_size, found.st_ino)
