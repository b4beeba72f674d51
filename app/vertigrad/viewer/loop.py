"""The frame loop: input, commands, models, picture, GUI, one submit, present."""

from __future__ import annotations

import time

from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import RunRecord, Session
from .input import Input
from .window import Window

DIAGNOSTICS_EVERY = 2.0  # seconds between updates of the diagnostics


def view(session: Session, size: tuple[int, int], frames: int | None = None, vsync: bool = True) -> RunRecord:
    """Show `session` in a window of `size` until it is closed, or for a number of frames; returns what was counted.

    Raises `InputError` if there is no display.
    """
    gpu = session.gpu
    window = Window(gpu, f"{session.scene.title} – Vertigrad", size, vsync)
    gui = Gui(gpu, window.format, window.scale)
    Input(window, session, gui)
    renderer = Renderer(gpu, window.format)
    gpu.timer.enabled = gpu.timer.available
    gpu.sync()
    record = RunRecord(gpu)
    try:
        last = measured = time.perf_counter()
        while not window.closed and (frames is None or record.frames < frames):
            worked = time.thread_time()
            window.poll()
            now = time.perf_counter()
            if now - measured > DIAGNOSTICS_EVERY:
                session.measure()
                measured = now
            if _frame(window, session, gui, renderer, now - last):
                record.frame((time.thread_time() - worked) * 1e3, (now - last) * 1e3)
            last = now
    finally:
        gpu.sync()
        gui.close()
        window.close()
    return record


def _frame(window: Window, session: Session, gui: Gui, renderer: Renderer, seconds: float) -> bool:
    """One frame; whether there was anything to draw it on."""
    gpu, size = session.gpu, window.size
    with gpu.frames.frame():
        session.apply()
        target = window.acquire()
        if target is None:
            return False
        session.advance()
        session.draw(renderer, target, size)
        gui.build(session, size, seconds)
        gui.draw(target)
    window.present()
    return True
