"""A progress bar in the terminal, for files that take long to read and kernels that take long to compile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from ..progress import Progress
from .options import errors_console

DELAY = 0.5  # seconds after which it is shown
EVERY = 0.1  # seconds


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show what this thread reports within the block, if errors go to a terminal; Ctrl+C cancels as usual."""
    if not errors_console.is_terminal:
        yield
        return
    progress, ended = Progress(), threading.Event()
    thread = threading.Thread(target=_show, args=(progress, ended), name="progress", daemon=True)
    thread.start()
    try:
        with progress.followed():
            yield
    finally:
        ended.set()
        thread.join()


def _show(progress: Progress, ended: threading.Event) -> None:
    if ended.wait(DELAY):
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    with Bars(*columns, console=errors_console, transient=True) as bars:
        task = bars.add_task(progress.what, total=1.0)
        while not ended.wait(EVERY):
            bars.update(task, description=progress.what, completed=progress.fraction)
