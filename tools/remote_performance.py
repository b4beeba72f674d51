"""Measure `vertigrad serve` over loopback: images and bytes a second, from a click to its pixel, and a slow reader.

`python tools/remote_performance.py [SCENE] [--set VALUE ...] [--sizes WxH ...] [--trials N] [--seconds S]` starts
servers in processes of their own and prints the tables of docs/remote.md. A viewer decodes each image before it
acknowledges it, as browsers do. A trial of latency begins when the input is sent, and ends when the first image that
shows it is decoded: a click changes the play button of the Run panel, the mouse with its button down turns the scene.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from PIL import Image
from websockets.sync.client import ClientConnection, connect

Size = tuple[int, int]
MOVED, PIXELS = 40, 20  # a change is so many levels, in so many pixels
STEP = 25.0  # pixels of each movement, to and fro
PAUSE = 0.4, 0.8  # seconds between two trials; an image at rest comes after 0.25 s
WARM_UP = 3
PLAY_ROW, BUTTON = 66.0, 14.0  # pixels from the top to the play button, and half its width
READING = 1.0  # seconds that a slow reader takes for an image
HEADER = struct.Struct("<B3xIHH")
JPEG, PNG = 3, 4


class Viewer:
    """A viewer that decodes as a browser does, and waits `reading` seconds before it acknowledges an image."""

    def __init__(self, socket: ClientConnection, codec: str, size: Size, reading: float = 0.0):
        self._socket, self._ids, self._reading = socket, itertools.count(1), reading
        self._decoder: Any = av.CodecContext.create("h264", "r")
        self._decoder.thread_count, self._decoder.options = 1, {"flags": "low_delay"}
        self.image: np.ndarray | None = None
        self.numbers: list[int] = []
        self.nbytes, self.lossless, self.exact = 0, 0, False
        self.call("watch", codec=codec)
        self.call("resize", width=size[0], height=size[1], scale=1.0)
        while self.image is None or self.image.shape[1::-1] != size:
            self.receive()

    def send(self, method: str, **params: Any) -> int:
        number = next(self._ids)
        self._socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def call(self, method: str, **params: Any) -> Any:
        number = self.send(method, **params)
        while (answer := self.receive()) is None or answer.get("id") != number:
            pass
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']['message']}")
        return answer["result"]

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
        time.sleep(self._reading)
        self.numbers.append(number)
        self.exact = kind == PNG
        self.nbytes, self.lossless = self.nbytes + len(received), self.lossless + self.exact
        self.send("shown", number=number)
        return None

    def watch(self, seconds: float) -> None:
        """Take what comes in this time, and forget what was counted before it."""
        self.numbers, self.nbytes, self.lossless = [], 0, 0
        self.let(seconds)

    def let(self, seconds: float) -> None:
        """Take what comes in this time."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0.0:
            try:
                self.receive(left)
            except TimeoutError:
                return

    def around(self, x: float, y: float, reach: float) -> np.ndarray:
        """The pixels around a position."""
        assert self.image is not None
        left, top = round(x - reach), round(y - reach)
        return self.image[top : top + round(2 * reach), left : left + round(2 * reach)].astype(int)


class Server(NamedTuple):
    """A running `vertigrad serve`."""

    url: str
    process: subprocess.Popen[str]

    @contextmanager
    def viewer(self, codec: str, size: Size, reading: float = 0.0) -> Iterator[Viewer]:
        with connect(self.url, max_size=None) as socket:
            yield Viewer(socket, codec, size, reading)

    @property
    def megabytes(self) -> float:
        """Resident memory [MB]."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6


@contextmanager
def server(scene: str, sets: list[str]) -> Iterator[Server]:
    """`vertigrad serve` in a process of its own."""
    words = [sys.executable, "-m", "vertigrad", "serve", scene, "--port", "0", "--size", "640x400"]
    for one in sets:
        words += ["--set", one]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url.startswith("http://"):
                raise SystemExit(f"{scene}: the server did not start")
            yield Server(url.replace("http:", "ws:").replace("/?", "/socket?"), process)
        finally:
            process.send_signal(signal.SIGINT)


def throughput(viewer: Viewer, seconds: float) -> tuple[float, float]:
    """Images and MB a second while the scene plays."""
    viewer.call("play")
    viewer.let(2.0)
    viewer.watch(seconds)
    return (len(viewer.numbers) - viewer.lossless) / seconds, viewer.nbytes / seconds / 1e6


def latencies(viewer: Viewer, trials: int, act: Callable[[int], tuple[float, float, float]]) -> Iterator[float]:
    """Seconds of each trial. `act` sends the input, and returns where in the image it is looked for, and how far."""
    for trial in range(trials + WARM_UP):
        viewer.call("pause")
        viewer.let(random.uniform(*PAUSE))
        while not viewer.exact:
            viewer.receive(60.0)
        assert viewer.image is not None
        before = viewer.image.astype(int)
        began = time.perf_counter()
        x, y, reach = act(trial)
        left, top = round(x - reach), round(y - reach)
        before = before[top : top + round(2 * reach), left : left + round(2 * reach)]
        while (np.abs(viewer.around(x, y, reach) - before).max(-1) > MOVED).sum() < PIXELS:
            if time.perf_counter() - began > 60.0:
                raise SystemExit("no image shows the change; choose a scene with something in the middle")
            viewer.receive(60.0)
        if trial >= WARM_UP:
            yield time.perf_counter() - began


def click(viewer: Viewer, x: float, y: float) -> None:
    for pressed in (True, False):
        viewer.send("button", x=x, y=y, button=0, pressed=pressed)


def play_button(viewer: Viewer) -> float:
    """Pixels from the left to the play button, found by clicks from the right on."""
    assert viewer.image is not None
    width = viewer.image.shape[1]
    for x in np.arange(width - BUTTON, width / 2, -BUTTON):
        if all(plays(viewer, x) for _ in range(2)):
            return x - BUTTON / 2
    raise SystemExit("no play button was found")


def plays(viewer: Viewer, x: float) -> bool:
    """Whether a click there starts a paused scene."""
    viewer.call("pause")
    viewer.call("pointer", x=x, y=PLAY_ROW)
    viewer.let(0.4)
    click(viewer, x, PLAY_ROW)
    viewer.let(1.0)
    return viewer.call("status")["playing"]


def clicks(viewer: Viewer, trials: int) -> list[float]:
    """Seconds from a click at the play button to the image with another button."""
    x = play_button(viewer)
    viewer.call("pointer", x=x, y=PLAY_ROW)

    def act(trial: int) -> tuple[float, float, float]:
        click(viewer, x, PLAY_ROW)
        return x, PLAY_ROW, BUTTON

    return list(latencies(viewer, trials, act))


def movements(viewer: Viewer, trials: int) -> list[float]:
    """Seconds from a movement of the mouse to the image in which the scene has turned."""
    assert viewer.image is not None
    y, x = (side / 2 for side in viewer.image.shape[:2])
    viewer.call("pointer", x=x, y=y)
    viewer.call("button", x=x, y=y, button=0, pressed=True)

    def move(trial: int) -> tuple[float, float, float]:
        viewer.send("pointer", x=x + STEP * (1 - trial % 2), y=y)
        return x, y, y / 5

    found = list(latencies(viewer, trials, move))
    viewer.call("button", x=x, y=y, button=0, pressed=False)
    return found


def slow_reader(run: Server, size: Size, seconds: float) -> list[str]:
    """Rows of a quick viewer and of a slow one next to it: images and images left out a second; the server's memory."""
    with run.viewer("jpeg", size) as quick, run.viewer("jpeg", size, READING) as slow:
        quick.call("play")
        quick.let(2.0)
        before = run.megabytes
        thread = threading.Thread(target=slow.watch, args=(seconds,))
        thread.start()
        quick.watch(seconds)
        thread.join()
        behind = quick.numbers[-1] - slow.numbers[-1]
        grown = run.megabytes - before
    rows = []
    for name, viewer in (("at once", quick), (f"after {READING:.0f} s", slow)):
        dropped = viewer.numbers[-1] - viewer.numbers[0] + 1 - len(set(viewer.numbers))
        rows.append(f"| {name} | {len(viewer.numbers) / seconds:.1f} | {dropped / seconds:.1f} |")
    return [*rows, f"At the end the slow one is {behind} images behind; the server grew by {grown:.0f} MB."]


def _milliseconds(found: list[float]) -> str:
    median, most = np.percentile(np.array(found) * 1e3, [50, 95])
    return f"{median:.0f} ms | {most:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scene", nargs="?", default="nbody")
    parser.add_argument("--set", nargs="+", dest="sets", default=["galaxy.count=1024"])
    parser.add_argument("--sizes", nargs="+", default=["1280x800", "640x400"])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    sizes = [(int(width), int(height)) for width, height in (size.split("x") for size in options.sizes)]
    print("| pixels | codec | images/s | MB/s | click | 95 % | drag | 95 % |\n|---|---|---|---|---|---|---|---|")
    gpu = ""
    for size, codec in itertools.product(sizes, ("h264", "jpeg")):
        with server(options.scene, options.sets) as run, run.viewer(codec, size) as viewer:
            gpu = viewer.call("status")["gpu"]
            rate, megabytes = throughput(viewer, options.seconds)
            times = [_milliseconds(measured(viewer, options.trials)) for measured in (clicks, movements)]
        print(f"| {size[0]}×{size[1]} | {codec} | {rate:.1f} | {megabytes:.2f} | {' | '.join(times)} |", flush=True)
    print("\n| acknowledges an image | images/s | left out/s |\n|---|---|---|")
    with server(options.scene, options.sets) as run:
        print("\n".join(slow_reader(run, sizes[0], options.seconds)))
    print(f"\n{gpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
