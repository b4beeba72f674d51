"""The frame loop: input, commands, models, picture, GUI, one submit, present."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import RunRecord, Session
from .clipboard import share_clipboard
from .input import Input
from .window import Window

DIAGNOSTICS_EVERY = 2.0  # seconds between diagnostics, and
DIAGNOSTICS_FRAMES = 10  # frames: they may cost as much as a step, which must stay a small share
STILL_AFTER = 1.0  # seconds without input, in which the GUI comes to rest
STILL_WAIT = 0.1  # seconds between pictures while nothing changes, and between looks at a window that shows nothing


class Viewer:
    """A session in a window of `size` logical pixels: a context manager, whose `frame` is one turn of the loop.

    Raises `InputError` if there is no display.
    """

    def __init__(self, session: Session, size: tuple[int, int], vsync: bool = True):
        self._session, self._gpu = session, session.gpu
        with ExitStack() as stack:
            self.window = Window(self._gpu, _title(session), size, vsync)
            stack.callback(self.window.close)
            self.gui = Gui(self._gpu, self.window.format, self.window.scale)
            stack.callback(self.gui.close)
            share_clipboard(self.gui)
            self._input = Input(self.window, session, self.gui)
            self._renderer = Renderer(self._gpu, self.window.format)
            stack.callback(self._time, self._gpu.timer.enabled)
            stack.callback(self._gpu.sync)
            self._time(self._gpu.timer.available)
            self._stack = stack.pop_all()
        self._last = time.perf_counter()
        self._measured, self._frames_since = -DIAGNOSTICS_EVERY, DIAGNOSTICS_FRAMES
        self._shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def closed(self) -> bool:
        """Whether the user asked to close the window."""
        return self.window.closed

    def frame(self) -> bool:
        """Take in what happened and show the next picture; whether there was anything to show it on.

        Sleeps while the window shows nothing, or while nothing in it changes.
        """
        if not self._shown or self._still():
            self.window.wait(STILL_WAIT)
        with self._gpu.frames.frame():
            picture = self.window.acquire()
            self._shown = picture is not None
            self.window.poll()  # only now, after all waiting: what the user does is seen in this very picture
            self._session.apply()
            if picture is None:
                return False
            self._session.advance()
            self._measure()
            self._session.draw(self._renderer, picture.view, picture.size)
            self.gui.build(self._session, picture.size, self._seconds(), self.window.scale)
            self.gui.draw(picture.view)
        self.window.present()
        self.window.set_title(_title(self._session))
        self.window.set_cursor(self.gui.cursor)
        return True

    def _still(self) -> bool:
        return self._session.idle and time.perf_counter() - self._input.last_event > STILL_AFTER

    def _measure(self) -> None:
        now = time.perf_counter()
        self._frames_since += 1
        if now - self._measured >= DIAGNOSTICS_EVERY and self._frames_since >= DIAGNOSTICS_FRAMES:
            self._session.measure()
            self._measured, self._frames_since = now, 0

    def _seconds(self) -> float:
        """Since the last picture."""
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed

    def _time(self, on: bool) -> None:
        self._gpu.timer.enabled = on


def view(session: Session, size: tuple[int, int], frames: int | None = None, vsync: bool = True) -> RunRecord:
    """Show `session` in a window of `size` until it is closed, or for a number of frames; returns what was counted.

    Raises `InputError` if there is no display.
    """
    with Viewer(session, size, vsync) as viewer:
        session.gpu.sync()
        record = RunRecord(session.gpu)
        began = time.perf_counter()
        while not viewer.closed and (frames is None or record.frames < frames):
            worked = time.thread_time()
            drawn = viewer.frame()
            cpu, now = time.thread_time() - worked, time.perf_counter()
            if drawn:
                record.frame(cpu * 1e3, (now - began) * 1e3)
            began = now
    return record


def _title(session: Session) -> str:
    return f"{session.scene.title} – Vertigrad"
