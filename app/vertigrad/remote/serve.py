"""`serve`: shows a session to browsers and programs until it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ..errors import DeviceLost
from ..session import Session
from ..session.commands import SetPacing
from ..session.rescue import EVERY, recover
from ..viewer.loop import Viewer
from ..viewer.settings import Settings
from .canvas import RemoteCanvas
from .guest import WindowGuest
from .hub import Hub
from .images import Images
from .permitted import refusal
from .requests import Requests
from .server import Server

SIZE = 1280, 800  # pixels, until a viewer says how large its page is
FPS = 60.0
IN_FLIGHT = 1  # frames: input waits for no frame that was recorded before it


class Served:
    """A session with its server: a context manager, whose `frame` is one turn of the loop.

    Browsers see a window that exists only for them, of `size` pixels, or `window`, if that is given. `requests` are for
    other threads, all else for the thread of the GPU. Raises `InputError` if the server cannot listen on `host` and
    `port`, or is not installed, or if images of the window cannot be copied.
    """

    def __init__(
        self,
        session: Session,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        size: tuple[int, int] = SIZE,
        fps: float = FPS,
        token: str | None = None,
        names: tuple[str, ...] = (),
        window: Viewer | None = None,
    ):
        self._session, self._stopped = session, threading.Event()
        self._size, images = size, Images()
        self._guest: WindowGuest | None = None
        if window is None:
            self._canvas = RemoteCanvas(session.gpu, size, images)
            self.viewer = self._open(None)
        else:
            self._canvas = self._guest = WindowGuest(session, window, images)
            self.viewer = window
        self.requests = Requests(self._canvas.wake)
        try:
            self.server = Server(Hub(self._canvas, images, self.requests), host, port, token, names)
        except BaseException:
            self._leave()
            raise
        self._gpu, self._in_flight = session.gpu, session.gpu.frames.in_flight
        limits = {} if window is not None else {"fps_limit": fps, "frames_in_flight": IN_FLIGHT}
        for name, value in {**limits, "unfocused_fps_limit": 0.0}.items():
            session.carry_out(SetPacing(name, value))
        session.refusal = lambda command: refusal(session, command)

    @property
    def url(self) -> str:
        """The address of the page, with the token that admits to it."""
        return self.server.url

    def stop(self) -> None:
        """End `run`; for other threads and signals."""
        self._stopped.set()
        self._canvas.wake()

    def frame(self) -> None:
        """Handle events and requests, and draw the next frame. Raises `DeviceLost`."""
        self.viewer.frame()
        self.requests.work(self._session)

    def run(self) -> None:
        """Frame after frame, until `stop`. If the GPU's device is lost, all goes on with another, see `rescue.recover`.

        Connections stay. Raises `DeviceLost` if no GPU can be reopened.
        """
        self._session.rescue.every = EVERY
        while not self._stopped.is_set():
            try:
                self.frame()
            except DeviceLost:
                self._recover()

    def close(self) -> None:
        """End the connections, and leave the session as it is. Idempotent."""
        self.requests.close()
        self.server.close()
        if self._session.refusal is not None:
            self._session.refusal = None
            self._leave()
            self._gpu.frames.in_flight = self._in_flight

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, settings: Settings | None) -> Viewer:
        """A window for browsers alone."""
        canvas = self._canvas
        assert isinstance(canvas, RemoteCanvas)
        return Viewer(
            self._session,
            self._size,
            vsync=False,
            settings=settings,
            open_canvas=lambda gpu, title, size, vsync, position: canvas,
            remote=True,
        )

    def _recover(self) -> None:
        """Replace device and window. Raises `DeviceLost`, also if the window is one of this machine."""
        if not isinstance(self._canvas, RemoteCanvas):
            raise DeviceLost("the GPU's device was lost")
        self._session.gpu.readback.lose()  # closing waits for no frame then
        settings = self.viewer.settings()
        self.viewer.__exit__(None, None, None)
        recover(self._session)
        self._canvas.reopen()
        self.viewer = self._open(settings)

    def _leave(self) -> None:
        if self._guest is not None:
            self._guest.close()
        else:
            self.viewer.__exit__(None, None, None)


def serve(session: Session, host: str, port: int, *, begun: Callable[[Served], None], **options: object) -> None:
    """Serve a session until Ctrl-C; `begun` is called as soon as viewers may come. Raises as `Served` and `run`."""
    with Served(session, host, port, **options) as served:  # pyright: ignore[reportArgumentType]
        begun(served)
        served.run()
