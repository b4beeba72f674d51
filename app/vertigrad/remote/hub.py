"""`Hub`: the clients of a session, and which of them is in control."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from .canvas import RemoteCanvas
from .events import Focus, InputEvent
from .guest import WindowGuest
from .images import Images
from .message import REFUSED, MessageError
from .requests import Requests

if TYPE_CHECKING:
    from .client import Client

_log = logging.getLogger("vertigrad")
MOST_CLIENTS = 16


class Hub:
    """All but `report` is for the server's thread.

    Mouse and keyboard of one client go to the session, and the images have the size of its page: the first that
    watches is in control, until it goes or another takes control.
    """

    def __init__(self, canvas: RemoteCanvas | WindowGuest, images: Images, requests: Requests):
        self.images, self.requests = images, requests
        self._canvas = canvas
        canvas.report = self.report
        self._clients: dict[int, Client] = {}  # in the order in which they came
        self._controller: Client | None = None
        self._shown: dict[str, dict[str, Any]] = {}  # what was reported last: title and cursor
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def full(self) -> bool:
        """Whether there are as many clients as there may be."""
        return len(self._clients) >= MOST_CLIENTS

    def enter(self, client: Client) -> None:
        """A client came."""
        self._loop = asyncio.get_running_loop()
        self._clients[client.number] = client

    def leave(self, client: Client) -> None:
        """A client went; if it was in control, the next that watches is."""
        del self._clients[client.number]
        if self._controller is client:
            self.give_control(next((other for other in self._clients.values() if other.watching), None))
        else:
            self._report_control()

    def watches(self, client: Client) -> None:
        """A client begins to watch, or ends it."""
        for method, params in self._shown.items():
            client.report(method, params)
        if self._controller is None and client.watching:
            self.give_control(client)
        else:
            self._report_control()

    def give_control(self, client: Client | None) -> None:
        """Let this client be in control. What the one before held is released."""
        if self._controller is not None and self._controller is not client:
            self._canvas.post(Focus(focused=False))
        self._controller = client
        if client is not None:
            self._canvas.post(Focus(focused=True))
            self.resized(client)
        self._report_control()

    def resized(self, client: Client) -> None:
        """The page of a client has another size."""
        if client is self._controller and client.size is not None:
            self._canvas.resize(client.size.width, client.size.height, client.size.scale)

    def input(self, client: Client, event: InputEvent) -> None:
        """Pass an event on. Raises `MessageError` unless the client is in control."""
        if client is not self._controller:
            raise MessageError(REFUSED, "another viewer is in control, or none; send take_control first")
        self._canvas.post(event)

    def report(self, method: str, params: dict[str, Any]) -> None:
        """For the thread of the GPU: tell those who watch."""
        if method != "clipboard":
            self._shown[method] = params
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._report, method, params)

    def log_error(self, what: str, error: Exception) -> None:
        """Write an unexpected error to the log, with its traceback."""
        _log.error("%s, asked for over the network, failed", what, exc_info=error)

    def _report(self, method: str, params: dict[str, Any]) -> None:
        for client in self._clients.values():
            if client.watching and (method != "clipboard" or client is self._controller):
                client.report(method, params)

    def _report_control(self) -> None:
        watching = [client for client in self._clients.values() if client.watching]
        for client in watching:
            client.report("control", {"yours": client is self._controller, "viewers": len(watching)})
