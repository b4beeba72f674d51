"""Programs of tests: they talk to a `Served` from other threads, while the test's own thread has the GPU."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

from websockets.sync.client import ClientConnection, connect

from vertigrad.remote import Served
from vertigrad.remote.encoding import HEADER, Kind

T = TypeVar("T")
PATIENCE = 60.0


def driven(served: Served, act: Callable[[], T]) -> T:
    """What `act` returns in another thread; frames continue meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(act)
        while not future.done():
            served.frame()
        return future.result()


class Refused(Exception):
    def __init__(self, error: dict[str, Any]):
        super().__init__(error["message"])
        self.code = error["code"]


class Program:
    """A client: `call` sends a request and returns the answer; images and notifications on the way are stored."""

    def __init__(self, served: Served | str, **options: Any):
        """`served` may be the address of a page."""
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.images: list[tuple[Kind, int, int, int, bytes]] = []
        self.acknowledges = True
        self._ids = itertools.count(1)
        self._stack = ExitStack()
        url = (
            served.replace("http:", "ws:").replace("/?", "/socket?") if isinstance(served, str) else socket_url(served)
        )
        opened = connect(url, open_timeout=PATIENCE, max_size=None, **options)
        self.socket: ClientConnection = self._stack.enter_context(opened)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        while True:
            message = self.receive()
            if message is not None and message.get("id") == number:
                if "error" in message:
                    raise Refused(message["error"])
                return message["result"]

    def notify(self, method: str, **params: Any) -> None:
        self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def receive(self, timeout: float = PATIENCE) -> dict[str, Any] | None:
        """The next message; None after an image, which is added to `images`."""
        received = self.socket.recv(timeout)
        if isinstance(received, str):
            message = json.loads(received)
            if "method" in message:
                self.notes.append((message["method"], message["params"]))
            return message
        kind, number, width, height = HEADER.unpack_from(received)
        self.images.append((Kind(kind), number, width, height, received[HEADER.size :]))
        if self.acknowledges:
            self.notify("shown", number=number)
        return None

    def image(self, kind: Kind | None = None) -> tuple[Kind, int, int, int, bytes]:
        """The next image, of that kind."""
        while True:
            if self.receive() is None and kind in (None, self.images[-1][0]):
                return self.images[-1]

    def note(self, method: str) -> dict[str, Any]:
        """The next notification of that name."""
        while True:
            message = self.receive()
            if message is not None and message.get("method") == method:
                return message["params"]


def settled(test: Callable[[], bool]) -> bool:
    """Whether it is true before long."""
    end = time.monotonic() + PATIENCE
    while not test() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(test())


def socket_url(served: Served, token: str | None = None) -> str:
    return f"ws://127.0.0.1:{served.server.port}/socket?token={served.server.token if token is None else token}"
