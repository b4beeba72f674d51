"""`serve`: shows a session to browsers and programs until it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ..session import Session
from ..session.commands import SetPacing
from ..viewer.loop import Viewer
from .canvas import RemoteCanvas
from .hub import Hub
from .images import Images
from .permitted import refusal
from .requests import Requests
from .server import Server

SIZE = 1280, 800  # pixels, until a viewer says how large its page is
FPS = 60.0


class Served:
    """A session with its server: a context manager, whose `frame` is one turn of the loop.

    `requests` are for other threads, all else for the thread of the GPU. Raises `InputError` if the server cannot
    listen on `host` and `port`, or is not installed.
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
    ):
        self._session, self._stopped = session, threading.Event()
        images = Images()
        self._canvas = canvas = RemoteCanvas(session.gpu, size, images)
        self.requests = Requests(canvas.wake)
        hub = Hub(canvas, images, self.requests)
        self.viewer = Viewer(
            session, size, vsync=False, open_canvas=lambda gpu, title, size, vsync, position: canvas, remote=True
        )
        try:
            self.server = Server(hub, host, port, token, names)
        except BaseException:
            self.viewer.__exit__(None, None, None)
            raise
        for name, value in {"fps_limit": fps, "unfocused_fps_limit": 0.0}.items():
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
        """Frame after frame, until `stop`. Raises `DeviceLost`."""
        while not self._stopped.is_set():
            self.frame()

    def close(self) -> None:
        """End the connections, and leave the session as it is. Idempotent."""
        self.requests.close()
        self.server.close()
        self._session.refusal = None
        self.viewer.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(session: Session, host: str, port: int, *, begun: Callable[[Served], None], **options: object) -> None:
    """Serve a session until Ctrl-C; `begun` is called as soon as viewers may come. Raises as `Served` and `run`."""
    with Served(session, host, port, **options) as served:  # pyright: ignore[reportArgumentType]
        begun(served)
        served.run()
