"""`view`: shows a session in a window until it is closed, and in another one if the GPU's device is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import DeviceLost
from ..session import RunRecord, Session
from ..session.autosave import Autosave
from ..session.rescue import EVERY, recover
from .loop import Viewer
from .settings import NewerSettings, Settings, load_settings, save_settings


def view(
    session: Session,
    size: tuple[int, int] | None = None,
    frames: int | None = None,
    vsync: bool = True,
    memory: Path | None = None,
    gallery: bool = False,
    results: Path | None = None,
) -> RunRecord:
    """Show `session` in a window of `size` until it is closed, or for a number of frames; returns what was counted.

    `memory` is the file that remembers window and panels from one time to the next; with `gallery` the scenes are
    offered first; `results` is the folder of a sweep for the Results panel. If the GPU's device is lost, another
    window replaces this one, and all goes on, see `rescue.recover`. Raises `InputError` if there is no display,
    `DeviceLost` if no GPU can be reopened, and, where a number of frames is asked for, what a frame is dropped for.
    """
    memory, settings = _remembered(memory)
    record: RunRecord | None = None
    with _keeping_edits(session, memory):
        while True:
            with Viewer(session, size, vsync, settings) as viewer:
                viewer.gui.workspace.gallery = gallery
                if results is not None:
                    viewer.gui.workspace.results = results
                    viewer.gui.workspace.show("Results")
                session.rescue.every = EVERY
                session.gpu.sync()
                record = record or RunRecord(session.gpu)
                try:
                    _show(viewer, session, record, frames)
                    if memory:
                        save_settings(viewer.settings(), memory)
                    return record
                except DeviceLost:
                    session.gpu.readback.lose()  # closing waits for no frame then
                    settings, size, vsync = viewer.settings(), None, session.pacing.vsync
                    gallery = viewer.gui.workspace.gallery
            recover(session)


def _show(viewer: Viewer, session: Session, record: RunRecord, frames: int | None) -> None:
    """Frame after frame, until the window is closed or there were enough. Raises `DeviceLost`.

    Where a number of frames is asked for, nobody may be watching: what a frame is dropped for is raised then.
    """
    began = time.perf_counter()
    while not (viewer.closed or session.watches.over) and (frames is None or record.frames < frames):
        worked = time.thread_time()
        drawn = viewer.frame()
        cpu, now = time.thread_time() - worked, time.perf_counter()
        if drawn:
            record.frame(cpu * 1e3, (now - began) * 1e3)
        elif frames is not None and viewer.failure is not None:
            raise viewer.failure
        began = now


def _remembered(memory: Path | None) -> tuple[Path | None, Settings]:
    """Where to write window and panels, and how they were left; nowhere if the file is of a newer version."""
    try:
        return memory, load_settings(memory) if memory else Settings()
    except NewerSettings:
        return None, Settings()


@contextmanager
def _keeping_edits(session: Session, memory: Path | None) -> Iterator[None]:
    """Context in which unsaved edits are stored in a folder next to `memory`, until the user decides about them."""
    if memory is None:
        yield
        return
    session.autosave = Autosave(memory.parent / "unsaved")
    try:
        yield
    finally:
        session.autosave.finish(session)
        session.autosave = None
