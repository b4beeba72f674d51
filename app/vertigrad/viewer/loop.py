"""The frame loop: input, commands, models, picture, GUI, one submit, present."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import CodeError
from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import RunRecord, Session
from ..session.commands import Leave
from .clipboard import share_clipboard
from .input import Input
from .quality import QualityWatch
from .recording import Crew
from .settings import NewerSettings, Settings, load_settings, save_settings
from .tempo import Tempo
from .window import Window

DIAGNOSTICS_EVERY = 2.0  # seconds between diagnostics, and
DIAGNOSTICS_FRAMES = 10  # frames: they may cost as much as a step, which must stay a small share
STILL_AFTER = 1.0  # seconds without input, in which the GUI comes to rest
TITLE_EVERY = 4  # frames
SIZE = 1280, 800  # of the window, if nobody says another
STILL_WAIT = 0.1  # seconds between pictures while nothing changes, and between looks at a window that shows nothing


class Viewer:
    """A session in a window of `size` logical pixels: a context manager, whose `frame` is one turn of the loop.

    Window and panels are as `settings` remembers them, but for a size that is given. Raises `InputError` if there is no
    display.
    """

    def __init__(
        self,
        session: Session,
        size: tuple[int, int] | None = None,
        vsync: bool = True,
        settings: Settings | None = None,
    ):
        settings = settings or Settings()
        self._session, self._gpu, self._timeline = session, session.gpu, session.timeline
        with ExitStack() as stack:
            self.window = Window(self._gpu, _title(session), size or settings.size or SIZE, vsync, settings.position)
            stack.callback(self.window.close)
            self.gui = Gui(self._gpu, self.window.format, self.window.scale, settings.workspace())
            stack.callback(self.gui.close)
            share_clipboard(self.gui)
            self._input = Input(self.window, session, self.gui)
            self._renderer = Renderer(self._gpu, self.window.format)
            self._crew = Crew(session, self.gui, self.window.format)
            stack.callback(self._time, self._gpu.timer.enabled)
            stack.callback(self._gpu.sync)
            self._time(self._gpu.timer.available)
            stack.callback(setattr, self._gpu.frames, "live", False)
            self._gpu.frames.live = True
            self._timeline.refresh_ms = self.window.refresh_ms
            session.studio = self._crew
            stack.callback(setattr, session, "studio", None)
            stack.callback(self._crew.close)
            self._stack = stack.pop_all()
        session.pace({"vsync": vsync})
        self._tempo, self._quality = Tempo(), QualityWatch(session)
        self._last = time.perf_counter()
        self._measured, self._frames_since = -DIAGNOSTICS_EVERY, 0
        self._begun = False  # the first picture is of the start, without a step: it is there sooner
        self._shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def closed(self) -> bool:
        """Whether the user wants the window closed, and nothing that is not saved waits for an answer."""
        return self._session.leaving

    def settings(self) -> Settings:
        """Window and panels as they are now."""
        workspace = self.gui.workspace
        return Settings(
            size=self.window.logical_size,
            position=self.window.position,
            zoom=workspace.zoom,
            opened=workspace.opened,
            layout=self.gui.layout(),
            layout_scale=self.gui.scale,
            recent=workspace.recent,
        )

    def frame(self) -> bool:
        """Take in what happened and show the next picture; whether there was anything to show it on.

        Sleeps while the window shows nothing, or while nothing in it changes.
        """
        resting = not self._shown or self._still()
        if resting:
            self._timeline.rest()
            self.window.wait(STILL_WAIT)
        self._keep_pace()
        self._timeline.begin()
        self._quality.frame(not resting and self._hurried(), self._tempo.held_back)
        with self._gpu.frames.frame():
            picture = self.window.acquire()
            self._shown = picture is not None
            self._timeline.enter("input")
            self.window.poll()  # only now, after all waiting: what the user does is seen in this very picture
            self._ask_to_leave()
            self._session.apply()
            if picture is None:
                return False
            self.window.fill_screen(self.gui.workspace.fullscreen)
            self._timeline.enter("step")
            try:
                if self._begun:
                    self._session.advance()
                self._begun = True
                self._measure()
            except CodeError as error:  # of a scene's own model, which its author is writing
                self._session.halt(error)
            self._session.observe()
            self._timeline.enter("gui")
            seconds = self._seconds()
            self._session.cameras.advance(self._crew.passed(seconds))
            self.gui.build(self._session, picture.size, seconds, self.window.scale)
            self._timeline.enter("draw")
            left, top, *size = self.gui.viewport
            self._session.draw(self._renderer, picture.view, (size[0], size[1]), (left, top), self.gui.handles)
            self.gui.draw(picture.view)
            self._crew.shoot_frame()
            self._timeline.enter("submit")
        self._timeline.enter("present")
        self.window.present()
        self._crew.look_after()
        if self._gpu.tracker.frame % TITLE_EVERY == 0:  # whether something is unsaved takes a while to find out
            self.window.set_title(_title(self._session))
        self.window.set_cursor(self.gui.cursor)
        self._timeline.end()
        return True

    def _ask_to_leave(self) -> None:
        """Let the session decide about a window that the user asked to close."""
        if self.window.closed or self.gui.workspace.closing:
            self.gui.workspace.closing = False
            self.window.stay_open()
            self._session.post(Leave())

    def _keep_pace(self) -> None:
        """Hold this picture back if there were to be too many of them."""
        pacing = self._session.pacing
        self.window.set_vsync(pacing.vsync)
        if self._hurried():
            self._tempo.wait(pacing.rate, self.window.wait)
        else:
            self._tempo.wait(min(pacing.rate or pacing.unfocused, pacing.unfocused), self.window.wait, self._attended)

    def _hurried(self) -> bool:
        """Whether pictures are to come as fast as the user wants to see them."""
        return not self._session.pacing.unfocused or self._attended()

    def _attended(self) -> bool:
        """Whether the user has to do with the window, or needs every picture of it."""
        recently = time.perf_counter() - self._input.last_event < STILL_AFTER
        return self._input.focused or recently or self._crew.busy

    def _still(self) -> bool:
        return self._session.idle and not self._crew.busy and time.perf_counter() - self._input.last_event > STILL_AFTER

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


def view(
    session: Session,
    size: tuple[int, int] | None = None,
    frames: int | None = None,
    vsync: bool = True,
    memory: Path | None = None,
    gallery: bool = False,
) -> RunRecord:
    """Show `session` in a window of `size` until it is closed, or for a number of frames; returns what was counted.

    `memory` is the file that remembers window and panels from one time to the next; with `gallery` the scenes are
    offered first. Raises `InputError` if there is no display.
    """
    with _remembering(session, size, vsync, memory) as viewer:
        viewer.gui.workspace.gallery = gallery
        session.gpu.sync()
        record = RunRecord(session.gpu)
        began = time.perf_counter()
        while not (viewer.closed or session.watches.over) and (frames is None or record.frames < frames):
            worked = time.thread_time()
            drawn = viewer.frame()
            cpu, now = time.thread_time() - worked, time.perf_counter()
            if drawn:
                record.frame(cpu * 1e3, (now - began) * 1e3)
            began = now
    return record


@contextmanager
def _remembering(session: Session, size: tuple[int, int] | None, vsync: bool, memory: Path | None) -> Iterator[Viewer]:
    """A viewer that is as it was left, and will be again."""
    settings = Settings()
    try:
        settings = load_settings(memory) if memory else settings
    except NewerSettings:
        memory = None
    with Viewer(session, size, vsync, settings) as viewer:
        yield viewer
        if memory:
            save_settings(viewer.settings(), memory)


def _title(session: Session) -> str:
    return f"{'● ' if session.unsaved else ''}{session.scene.title} – Vertigrad"
