"""`SceneFiles`: whether the files of a sweep's scene are still what they were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

LARGEST = 64 << 20  # bytes of a file that is read; of larger ones the size is compared

Stamp = tuple[int, int]  # time of the last change and size of a file, (-1, -1) if there is none


def fingerprints(files: Iterable[Path]) -> dict[str, str]:
    """The digest of each file by its path, or the size of one that is large. Files that cannot be read have none."""
    return {str(file): _fingerprint(file) for file in files}


class SceneFiles:
    """Files with the `fingerprints` that they had."""

    def __init__(self, expected: Mapping[str, str]):
        self._expected = dict(expected)
        self._known: dict[str, tuple[Stamp, str]] = {}  # of each file, as it was read last

    def changed(self) -> list[Path]:
        """The files that differ or are missing. A file is read again only if its time or size is another one."""
        return [Path(name) for name, expected in self._expected.items() if self._now(name) != expected]

    def _now(self, name: str) -> str:
        stamp = _stamp(Path(name))
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = self._known[name] = stamp, _fingerprint(Path(name))
        return known[1]


def _fingerprint(file: Path) -> str:
    try:
        if (size := file.stat().st_size) > LARGEST:
            return f"{size} bytes"
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return ""


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return -1, -1
    return found.st_mtime_ns, found.st_size
