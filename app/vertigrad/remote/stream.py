"""`Stream`: the images of one viewer. Each is the newest there is: what a viewer is too slow for is dropped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from .encoding import H264, Encoder, Kind, lossless, packed
from .images import Image, Images
from .message import notification

_log = logging.getLogger("vertigrad")
IN_FLIGHT = 2  # images that were sent and not acknowledged: a viewer gets no more until it has shown one of them
AT_REST = 0.25, 1.0  # seconds without another image, after which the last is sent without loss; or as long as
PERIODS = 3.0  # so many images take


class Stream:
    """Encodes and sends until it is closed. `send` and `report` are the client's."""

    def __init__(
        self,
        images: Images,
        encoder: Encoder,
        send: Callable[[str | bytes], Awaitable[None]],
        report: Callable[[str, dict[str, Any]], None],
    ):
        self._images, self._encoder, self._send_message, self._report = images, encoder, send, report
        self._unshown: set[int] = set()  # the numbers of images that were sent and not acknowledged
        self._sent, self._exact = 0, True  # the image that was sent last, and whether without loss
        self._codec = ""
        self._changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        images.subscribe(self, partial(loop.call_soon_threadsafe, self._changed.set))
        self._pool = ThreadPoolExecutor(1, "encoding")
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Send no more."""
        self._images.unsubscribe(self)
        self._task.cancel()
        await asyncio.wait([self._task])
        self._pool.shutdown(wait=False)

    def shown(self, number: int) -> None:
        """The viewer has shown this image, and all before."""
        self._unshown = {sent for sent in self._unshown if sent > number}
        self._note_load()
        self._changed.set()

    @property
    def _ready(self) -> bool:
        return len(self._unshown) < IN_FLIGHT

    def _note_load(self) -> None:
        self._images.set_busy(self, not self._ready)

    async def _run(self) -> None:
        try:
            while True:
                self._changed.clear()
                seconds = await self._send_due()
                if seconds != 0.0:
                    await self._wait(seconds)
        except (RuntimeError, OSError):
            return  # the client is gone, as it finds out itself
        except Exception as error:
            _log.error("images for a browser failed", exc_info=error)
            self._report("failed", {"message": str(error)})

    async def _wait(self, seconds: float | None) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return

    async def _send_due(self) -> float | None:
        """Send the image that is due; returns how long to wait for the next: not at all, or None for any change."""
        image = self._images.newest
        if image is None or not self._ready:
            return None
        if image.number != self._sent:
            await self._send(image, image.at_rest)
            return 0.0
        left = image.time + min(max(PERIODS * image.period, AT_REST[0]), AT_REST[1]) - time.monotonic()
        if self._exact or left > 0.0:
            return None if self._exact else left
        await self._send(image, True)
        return 0.0

    async def _send(self, image: Image, exact: bool) -> None:
        encode = lossless if exact else self._encoder.encode
        kind, data = await asyncio.get_running_loop().run_in_executor(self._pool, encode, image.pixels)
        if kind == Kind.H264_KEY and isinstance(self._encoder, H264) and self._encoder.codec != self._codec:
            self._codec = self._encoder.codec
            await self._send_message(notification("video", {"codec": self._codec}))  # before the image that needs it
        self._sent, self._exact = image.number, exact
        self._unshown.add(image.number)
        self._note_load()
        await self._send_message(packed(kind, image.number, image.pixels, data))
