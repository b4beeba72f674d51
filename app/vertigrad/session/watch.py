"""`Watch`: which files were written anew, told once each of them is whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

EVERY = 0.1  # seconds between looks
SETTLED = 0.1  # seconds without a change, after which a file is taken to be whole
PATIENCE = 1.0  # the same for one that is empty or not there: editors write by truncating, or by another file's name


class _Look(NamedTuple):
    """What is seen of a file without reading it; None for all if it is not there."""

    changed: int | None
    nbytes: int | None
    inode: int | None


class Watch:
    """Looks at files now and then, rather than being told by the system: that works on every file system, and costs
    some µs.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._known: dict[Path, _Look] = {}
        self._seen: dict[Path, tuple[_Look, float]] = {}  # of files that have changed: how they look, and since when
        self._looked = -EVERY

    @property
    def due(self) -> bool:
        """Whether it is time for another look."""
        return self._now() - self._looked >= EVERY

    def written(self, files: Collection[Path]) -> list[Path]:
        """Those of `files` that were written, removed or made since the last call that had them, and are whole now."""
        if not self.due:
            return []
        self._looked = now = self._now()
        for gone in self._known.keys() - files:
            del self._known[gone]
            self._seen.pop(gone, None)
        return [file for file in files if self._is_written(file, now)]

    def _is_written(self, file: Path, now: float) -> bool:
        look = _look(file)
        if self._known.setdefault(file, look) == look:
            self._seen.pop(file, None)
            return False
        seen, since = self._seen.get(file, (None, now))
        if seen != look:
            self._seen[file] = look, now
            return False
        if now - since < (SETTLED if look.nbytes else PATIENCE):
            return False
        self._known[file] = look
        del self._seen[file]
        return True


def _look(file: Path) -> _Look:
    try:
        found = file.stat()
    except OSError:
        return _Look(None, None, None)
    return _Look(found.st_mtime_ns, found.st_size, found.st_ino)
