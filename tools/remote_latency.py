"""Measure how long `vertigrad serve` takes from an input to the first image that shows it, over loopback.

`python tools/remote_latency.py [SCENE] [--sizes WxH ...] [--trials N]` starts a server in a process of its own, paused,
and drags in the viewport. A trial is one movement of the mouse. It begins when the movement is sent, and ends when the
first image in which the scene moved is decoded. Prints median and 95th percentile of each codec.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import av
import numpy as np
from PIL import Image
from websockets.sync.client import ClientConnection, connect

Size = tuple[int, int]
MIDDLE = 0.1  # of the image's height, in each direction from its middle: where the change is looked for
MOVED, PIXELS = 40, 40  # a change is so many levels, in so many pixels
STEP = 25.0  # pixels of each movement, to and fro
PAUSE = 0.15, 0.4  # seconds between two trials; an image at rest comes after 0.25 s
WARM_UP = 3
HEADER = struct.Struct("<B3xIHH")
JPEG = 3


class Browser:
    """A viewer that decodes as a browser does."""

    def __init__(self, socket: ClientConnection, codec: str, size: Size):
        self._socket, self._ids = socket, itertools.count(1)
        self._decoder: Any = av.CodecContext.create("h264", "r")
        self._decoder.thread_count, self._decoder.options = 1, {"flags": "low_delay"}
        self.image: np.ndarray | None = None
        self.call("watch", codec=codec)
        self.call("resize", width=size[0], height=size[1], scale=1.0)
        while self.image is None or self.image.shape[1::-1] != size:
            self.receive()

    def send(self, method: str, **params: Any) -> int:
        number = next(self._ids)
        self._socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def call(self, method: str, **params: Any) -> None:
        number = self.send(method, **params)
        while (answer := self.receive()) is None or answer.get("id") != number:
            pass
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']['message']}")

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next message; None after an image, which is in `image` then."""
        received = self._socket.recv(timeout)
        if isinstance(received, str):
            return json.loads(received)
        kind, number, *_ = HEADER.unpack_from(received)
        data = received[HEADER.size :]
        if kind >= JPEG:
            self.image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        else:
            for frame in self._decoder.decode(av.Packet(data)):
                self.image = frame.to_ndarray(format="rgb24")
        self.send("shown", number=number)
        return None

    @property
    def middle(self) -> np.ndarray:
        """The part of the image in which the change is looked for."""
        assert self.image is not None
        height, width = self.image.shape[:2]
        x, y, reach = width // 2, height // 2, round(MIDDLE * height)
        return self.image[y - reach : y + reach, x - reach : x + reach].astype(int)

    def let(self, seconds: float) -> None:
        """Take what comes in this time."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0.0:
            try:
                self.receive(left)
            except TimeoutError:
                return


def latencies(browser: Browser, trials: int) -> Iterator[float]:
    """Seconds of each trial."""
    assert browser.image is not None
    y, x = (side / 2 for side in browser.image.shape[:2])
    browser.call("pointer", x=x, y=y)
    browser.call("button", x=x, y=y, button=0, pressed=True)
    browser.let(1.0)
    for trial in range(trials + WARM_UP):
        browser.let(random.uniform(*PAUSE))
        before = browser.middle
        began = time.perf_counter()
        browser.send("pointer", x=x + STEP * (1 - trial % 2), y=y)
        while (np.abs(browser.middle - before).max(-1) > MOVED).sum() < PIXELS:
            if time.perf_counter() - began > 60.0:
                raise SystemExit("no image shows the change; choose a scene with something in the middle")
            browser.receive(60.0)
        if trial >= WARM_UP:
            yield time.perf_counter() - began
    browser.call("button", x=x, y=y, button=0, pressed=False)


@contextmanager
def server(scene: str) -> Iterator[str]:
    """`vertigrad serve` in a process of its own; yields the address of its WebSocket."""
    words = [sys.executable, "-m", "vertigrad", "serve", scene, "--port", "0", "--size", "640x400"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url.startswith("http://"):
                raise SystemExit(f"{scene}: the server did not start")
            yield url.replace("http:", "ws:").replace("/?", "/socket?")
        finally:
            process.send_signal(signal.SIGINT)


def measure(scene: str, size: Size, codec: str, trials: int) -> np.ndarray:
    """Milliseconds of each trial."""
    with server(scene) as url, connect(url, max_size=None) as socket:
        browser = Browser(socket, codec, size)
        browser.call("pause")
        return np.fromiter(latencies(browser, trials), float) * 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scene", nargs="?", default="nbody")
    parser.add_argument("--sizes", nargs="+", default=["1280x800", "640x400"])
    parser.add_argument("--trials", type=int, default=60)
    options = parser.parse_args()
    print("| pixels | codec | median | 95 % |\n|---|---|---|---|")
    for size, codec in itertools.product(options.sizes, ("h264", "jpeg")):
        width, height = map(int, size.split("x"))
        p50, p95 = np.percentile(measure(options.scene, (width, height), codec, options.trials), [50, 95])
        print(f"| {width}×{height} | {codec} | {p50:.0f} ms | {p95:.0f} ms |", flush=True)
