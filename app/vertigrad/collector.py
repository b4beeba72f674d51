"""Python's collector of reference cycles while modules are imported: it finds none, and takes a fifth of the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused(freeze: bool = False) -> Iterator[None]:
    """Collect nothing inside, for imports: what modules create lives as long as the process.

    With `freeze` what exists at the end is never searched again, so that later collections take less time: only where
    the process is ours, before there is anything that may be dropped, and once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        if freeze and not gc.get_freeze_count():
            gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
