"""`Progress`: how far work in another thread has come, and whether it is to stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Cancelled(Exception):
    """The work was cancelled."""


class Progress:
    """`fraction` is from 0 to 1, `what` the current activity, such as "reading scan.las"."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.what = ""
        self.cancelled = False

    @contextmanager
    def followed(self) -> Iterator[None]:
        """What this thread reports within the block is reported here."""
        _current.progress = self
        try:
            yield
        finally:
            _current.progress = None


_current = threading.local()


def report(what: str, done: float, total: float) -> None:
    """Report that `done` of `total` is done, if anybody follows. Raises `Cancelled` if the work is to stop."""
    progress: Progress | None = getattr(_current, "progress", None)
    if progress is None:
        return
    if progress.cancelled:
        raise Cancelled
    progress.what, progress.fraction = what, min(max(done / max(total, 1e-30), 0.0), 1.0)
