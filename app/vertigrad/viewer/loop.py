"""The frame loop: input, commands, models, viewport, GUI, one submit, present."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Self

from ..panels import Gui
from ..renderer.renderer import Renderer
from ..resources import log_file
from ..session import Session
from ..session.commands import Leave, SetPacing
from ..session.failures import Failures
from .canvas import Canvas, OpenCanvas, SurfaceTexture
from .capture import WindowCapture
from .events import Events, IsDown, nobody
from .frame_limiter import FrameLimiter
from .logfile import writing_log
from .quality import QualityWatch
from .settings import Settings
from .viewport_samples import ViewportSamples
from .window import Window

DIAGNOSTICS_EVERY = 2.0  # seconds between diagnostics, and
DIAGNOSTICS_FRAMES = 10  # frames: they may cost as much as a step, which must stay a small part
IDLE_AFTER = 1.0  # seconds without input, in which the GUI settles
TITLE_EVERY = 4  # frames
SIZE = 1280, 800  # of the window, by default
RETRY_DRAWING = 1.0  # seconds after which a viewport that could not be drawn is retried
IDLE_WAIT = 0.1  # seconds between frames while nothing changes, or while the window shows nothing


class Viewer:
    """A session in a window of `size` logical pixels: a context manager, whose `frame` is one turn of the loop.

    Window and panels are as `settings` remembers them, but for an explicit `size`. `open_canvas` opens what takes the
    place of a window; where it is `remote`, the GUI leads to no files. Raises `InputError` if there is no display.
    """

    def __init__(
        self,
        session: Session,
        size: tuple[int, int] | None = None,
        vsync: bool = True,
        settings: Settings | None = None,
        open_canvas: OpenCanvas = Window,
        remote: bool = False,
    ):
        settings = settings or Settings()
        self._session, self._gpu, self._timeline = session, session.gpu, session.timeline
        with ExitStack() as stack:
            size = size or settings.size or SIZE
            self.window: Canvas = open_canvas(self._gpu, _title(session), size, vsync, settings.position)
            stack.callback(self.window.close)
            self.gui = Gui(self._gpu, self.window.format, self.window.scale, settings.workspace(), remote)
            stack.callback(self.gui.close)
            self._events = self.window.connect(session, self.gui)
            self._renderer = Renderer(self._gpu, self.window.format)
            self._capture = WindowCapture(session, self.gui, self.window.format)
            stack.callback(setattr, self._gpu.timer, "enabled", self._gpu.timer.enabled)
            stack.callback(self._gpu.sync)
            self._gpu.timer.enabled = self._gpu.timer.available
            stack.callback(setattr, self._gpu.frames, "live", False)
            self._gpu.frames.live = True
            stack.enter_context(writing_log(log_file()))
            self._timeline.refresh_ms = self.window.refresh_ms
            session.failures = Failures()
            stack.callback(setattr, session, "failures", None)
            session.reads_ahead = True
            stack.callback(setattr, session, "reads_ahead", False)
            session.capture = self._capture
            stack.callback(setattr, session, "capture", None)
            stack.callback(self._capture.close)
            self._stack = stack.pop_all()
        session.carry_out(SetPacing("vsync", vsync))
        self._limiter, self._quality = FrameLimiter(), QualityWatch(session)
        self._samples = ViewportSamples(session)
        self._last = time.perf_counter()
        self._measured, self._frames_since = -DIAGNOSTICS_EVERY, 0
        self._begun = False  # the first frame shows the start, without a step: it is ready sooner
        self._shown = True
        self._acquired = False  # whether there ever was something to draw on
        self.failure: Exception | None = None  # why the last frame was dropped
        self._retry_at = 0.0  # when drawing is retried, after it failed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def closed(self) -> bool:
        """Whether the user wants the window closed, and no question about unsaved changes is open."""
        return self._session.leaving

    def join(self, is_down: IsDown | None) -> Events:
        """Let another keyboard take part, which reports held modifiers, or none; returns where its events go."""
        self._events.also_down = is_down or nobody
        return self._events

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
        """Handle events and present the next frame; whether there was a surface to present it on.

        Sleeps while the window shows nothing, or while nothing in it changes. Whatever goes wrong is shown and logged:
        the frame in which it happened is dropped if parts of it were recorded, and the next one is another try.
        Raises `DeviceLost`: the window cannot go on without its device; `view` opens another one.
        """
        session, shown = self._session, False
        self.failure = None
        try:
            shown = self._frame()
        except Exception as error:
            self.failure = error
            self._session.require_device(error)
            if not self._acquired:  # nothing can be shown in this window, the error neither
                raise
            self._shown = False
            session.frame_dropped()
            session.fail("frame", error)
        with session.guarded("autosave"):
            if session.autosave is not None:
                session.autosave.follow(session)
        return shown

    def _frame(self) -> bool:
        session, guarded = self._session, self._session.guarded
        session.require_device()  # presenting to a lost device ends the process
        idle = not self._shown or self._is_idle()
        with guarded("input"):
            self._wait(idle)
        self._timeline.begin()
        is_steady = not idle and self._hurried() and not self._renderer.reused
        self._quality.frame(is_steady, self._limiter.held_back)
        with self._gpu.frames.frame():
            surface = self.window.acquire()
            self._acquired, self._shown = True, surface is not None
            self._timeline.enter("input")
            with guarded("input"):
                self._events.frame()
                self.window.poll()  # only now, after all waiting: input takes effect in this very frame
            self._ask_to_leave()
            session.apply()
            if surface is None:
                return False
            self.window.fill_screen(self.gui.workspace.fullscreen)
            self._timeline.enter("step")
            if self._begun and not self._capture.behind:
                session.try_to_advance()
            self._begun = True
            with guarded("diagnostics"):
                self._measure()
            with guarded("watches"):
                session.request_readbacks()
            self._timeline.enter("gui")
            seconds = self._seconds()
            with guarded("camera"):
                session.cameras.advance(self._capture.frame_duration(seconds))
            with guarded("panels"):
                self.gui.build(session, surface.size, seconds, self.window.scale)
            self._timeline.enter("draw")
            self._draw(surface)
            self._timeline.enter("submit")
        self._timeline.enter("present")
        self.window.present()
        with guarded("capture"):
            self._capture.collect()
        if self._gpu.tracker.frame % TITLE_EVERY == 0:  # whether something is unsaved takes a while to find out
            with guarded("title"):
                self.window.set_title(_title(session))
        self.window.set_cursor(self.gui.cursor)
        self._timeline.end()
        return True

    def _draw(self, surface: SurfaceTexture) -> None:
        """Record the viewport, the panels over it, and captures of both.

        If the viewport cannot be drawn, the frame is dropped: nothing of it is submitted. The next ones show the panels
        alone, with the error, until it is retried.
        """
        left, top, *size = self.gui.viewport
        if time.perf_counter() < self._retry_at:
            self._blank(surface)
        else:
            self._samples.frame((size[0], size[1]))
            corner, handles, sample = (left, top), self.gui.handles, self._samples.sample
            try:
                self._session.draw(self._renderer, surface.view, (size[0], size[1]), corner, handles, sample=sample)
            except Exception:
                self._retry_at = time.perf_counter() + RETRY_DRAWING
                raise
        self.gui.draw(surface.view)
        self._capture.capture_frame()
        self.window.record()

    def _blank(self, surface: SurfaceTexture) -> None:
        """Record a black frame."""
        black = {"view": surface.view, "load_op": "clear", "store_op": "store", "clear_value": (0.0, 0.0, 0.0, 1.0)}
        with self._gpu.recorder.render_pass("draw", color_attachments=[black]):
            pass

    def _wait(self, idle: bool) -> None:
        if idle:
            self._timeline.mark_idle()
            self.window.wait(IDLE_WAIT)
        self._limit_frame_rate()

    def _ask_to_leave(self) -> None:
        """Let the session decide about a window that the user asked to close."""
        if self.window.closed or self.gui.workspace.closing:
            self.gui.workspace.closing = False
            self.window.stay_open()
            self._session.post(Leave())

    def _limit_frame_rate(self) -> None:
        """Delay this frame to hold the FPS limit."""
        pacing = self._session.pacing
        self.window.set_vsync(pacing.vsync)
        if self._hurried():
            self._limiter.wait(pacing.fps_limit, self.window.wait)
        else:
            self._limiter.wait(
                min(pacing.fps_limit or pacing.unfocused_fps_limit, pacing.unfocused_fps_limit),
                self.window.wait,
                self._attended,
            )

    def _hurried(self) -> bool:
        """Whether the frame rate of a focused window applies."""
        return not self._session.pacing.unfocused_fps_limit or self._attended()

    def _attended(self) -> bool:
        """Whether the user interacts with the window, or needs every frame of it."""
        recently = time.perf_counter() - self._events.last_event < IDLE_AFTER
        return self._events.focused or recently or self._capture.busy

    def _is_idle(self) -> bool:
        return (
            self._session.idle
            and not (self._capture.busy or self._samples.pending)
            and time.perf_counter() - self._events.last_event > IDLE_AFTER
        )

    def _measure(self) -> None:
        now = time.perf_counter()
        self._frames_since += 1
        if now - self._measured >= DIAGNOSTICS_EVERY and self._frames_since >= DIAGNOSTICS_FRAMES:
            self._session.measure()
            self._measured, self._frames_since = now, 0

    def _seconds(self) -> float:
        """Seconds since the last frame."""
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed


def _title(session: Session) -> str:
    return f"{'● ' if session.unsaved else ''}{session.scene.title} – Vertigrad"
