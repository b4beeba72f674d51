"""`Page`: a page in headless Chromium, driven by the DevTools protocol."""

from __future__ import annotations

import base64
import io
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from websockets.sync.client import ClientConnection, connect

PATIENCE = 60.0
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--remote-debugging-port=0",
)


def chromium() -> str | None:
    """The browser of this system."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


@contextmanager
def browsing(folder: Path, size: tuple[int, int]) -> Iterator[Page]:
    """A browser with one empty page."""
    program = chromium()
    assert program is not None
    words = [
        program,
        *OPTIONS,
        f"--user-data-dir={folder}",
        f"--window-size={size[0]},{size[1]}",
        "about:blank",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(folder / "DevToolsActivePort", process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
            targets = json.load(answer)
        url = next(one["webSocketDebuggerUrl"] for one in targets if one["type"] == "page")
        with connect(url, max_size=None, open_timeout=PATIENCE) as socket:
            page = Page(socket)
            page.command("Page.enable")
            width, height = size
            page.command(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            yield page
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "Chromium ended"
        if file.is_file() and (lines := file.read_text().split()):
            return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("Chromium did not start")


class Page:
    def __init__(self, socket: ClientConnection):
        self._socket, self._ids = socket, itertools.count(1)

    def command(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(PATIENCE))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression: str) -> Any:
        """The value of an expression as soon as it is true."""
        return until(lambda: self.evaluate(expression), expression)

    def open(self, url: str) -> None:
        self.command("Page.navigate", url=url)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *begin)
        self.mouse("mousePressed", *begin, button="left", buttons=1, clickCount=1)
        for part in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + (b - a) * part for a, b in zip(begin, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
            time.sleep(0.05)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def wheel(self, x: float, y: float, pixels: float) -> None:
        """Turn the wheel; positive is down."""
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=pixels)

    def key(self, code: str, key: str) -> None:
        self.command("Input.dispatchKeyEvent", type="keyDown", code=code, key=key)
        self.command("Input.dispatchKeyEvent", type="keyUp", code=code, key=key)

    def screenshot(self) -> np.ndarray:
        """What the page shows, (height, width, 3) u8."""
        png = base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def until(test: Callable[[], Any], what: str = "") -> Any:
    end = time.monotonic() + PATIENCE
    while not (value := test()):
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)
    return value
