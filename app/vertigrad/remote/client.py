"""`Client`: one connection: the messages it sends, the images it gets."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import VertigradError
from .encoding import H264, Jpeg
from .events import EVENTS
from .message import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REFUSED,
    Message,
    MessageError,
    Params,
    checked,
    failure,
    notification,
    read_id,
    read_message,
    result,
)
from .methods import work_of
from .stream import Stream

if TYPE_CHECKING:
    from .hub import Hub

GONE = (WebSocketDisconnect, RuntimeError, OSError)  # what a send raises when the client is
MOST_REQUESTS = 16  # of one client, that wait for an answer


class Watch(Params):
    """Send images: "h264" where the viewer can decode it, else "jpeg"; None: no more."""

    codec: Literal["h264", "jpeg"] | None = "h264"


class Resize(Params):
    """The size of the viewer's page in pixels of its screen, and how many of them are one of CSS."""

    width: Annotated[int, Field(ge=1, le=100_000)]
    height: Annotated[int, Field(ge=1, le=100_000)]
    scale: Annotated[float, Field(ge=0.25, le=8.0, allow_inf_nan=False)] = 1.0


class Shown(Params):
    """The viewer has decoded and drawn this image."""

    number: Annotated[int, Field(ge=0)]


class NoParams(Params):
    """Nothing."""


class Client:
    """A connection that was admitted. `run` lasts as long as it does."""

    _numbers = itertools.count(1)

    def __init__(self, socket: WebSocket, hub: Hub):
        self._socket, self._hub = socket, hub
        self.number = next(self._numbers)
        self.size: Resize | None = None  # of its page
        self._sending = asyncio.Lock()
        self._requests: set[asyncio.Task[None]] = set()
        self._stream: Stream | None = None
        self._notes: dict[str, dict[str, Any]] = {}
        self._noting: asyncio.Task[None] | None = None
        self._local = {
            "watch": (Watch, self._watch),
            "resize": (Resize, self._resize),
            "shown": (Shown, self._shown),
            "take_control": (NoParams, self._take_control),
        }

    @property
    def watching(self) -> bool:
        """Whether it gets images."""
        return self._stream is not None

    async def run(self) -> None:
        """Answer messages until the client is gone."""
        try:
            while True:
                received = await self._socket.receive()
                if received["type"] != "websocket.receive":
                    return
                await self._take(received.get("text"))
        except GONE:
            return  # it vanished: a send failed
        finally:
            for task in (*self._requests, *([self._noting] if self._noting else [])):
                task.cancel()
            await self._close_stream()

    async def send(self, content: str | bytes) -> None:
        """Send a message; one after the other. Raises if the client is gone."""
        async with self._sending:
            if isinstance(content, bytes):
                await self._socket.send_bytes(content)
            else:
                await self._socket.send_text(content)

    def report(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification, when the client has taken those before; of one method only the last counts."""
        self._notes[method] = params
        if self._noting is None or self._noting.done():
            self._noting = asyncio.create_task(self._send_notes())

    async def _send_notes(self) -> None:
        try:
            while self._notes:
                method = next(iter(self._notes))
                await self.send(notification(method, self._notes.pop(method)))
        except GONE:
            return

    async def _take(self, text: str | None) -> None:
        """Do what a message asks for. One that cannot be used is answered with an error."""
        if text is None:
            return await self.send(failure(None, INVALID_REQUEST, "expected text with JSON, not bytes"))
        try:
            message = read_message(text)
            if message.method in EVENTS:
                event = checked(message.method, EVENTS[message.method], message.params)
                self._hub.input(self, event)
                return await self._answer(message, {})
            if message.method in self._local:
                kind, function = self._local[message.method]
                return await self._answer(message, await function(checked(message.method, kind, message.params)) or {})
            self._ask(message)
        except MessageError as error:
            await self.send(failure(read_id(text), error.code, str(error)))
        except VertigradError as error:
            await self.send(failure(read_id(text), REFUSED, str(error)))

    def _ask(self, message: Message) -> None:
        """Ask the session; other messages go on meanwhile."""
        if len(self._requests) >= MOST_REQUESTS:
            raise MessageError(REFUSED, f"{MOST_REQUESTS} requests wait already; wait for their answers")
        future = asyncio.wrap_future(self._hub.requests.ask(work_of(message.method, message.params)))
        task = asyncio.create_task(self._answer_when_done(message, future))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _answer_when_done(self, message: Message, future: asyncio.Future[Any]) -> None:
        try:
            answer = result(message.id, await future)
        except VertigradError as error:
            answer = failure(message.id, REFUSED, str(error))
        except Exception as error:
            self._hub.log_error(message.method, error)
            answer = failure(message.id, INTERNAL_ERROR, f"{message.method}: {type(error).__name__}: {error}")
        if message.id is not None:
            try:
                await self.send(answer)
            except GONE:
                return

    async def _answer(self, message: Message, value: Any) -> None:
        if message.id is not None:
            await self.send(result(message.id, value))

    # images -------------------------------------------------------------------------------------------------------

    async def _watch(self, params: Watch) -> None:
        await self._close_stream()
        if params.codec is not None:
            encoder = H264() if params.codec == "h264" else Jpeg()
            self._stream = Stream(self._hub.images, encoder, self.send, self.report)
        self._hub.watches(self)

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def _resize(self, params: Resize) -> None:
        self.size = params
        self._hub.resized(self)

    async def _shown(self, params: Shown) -> None:
        if self._stream is not None:
            self._stream.shown(params.number)

    async def _take_control(self, params: NoParams) -> None:
        self._hub.give_control(self)
