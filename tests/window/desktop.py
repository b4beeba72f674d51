"""A screen that exists only in memory (Xvfb), and real mouse and key events on it (xdotool)."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char, c_int, c_long, c_ulong, c_void_p

import numpy as np
from PIL import ImageGrab

LEFT, MIDDLE, RIGHT, WHEEL_UP, WHEEL_DOWN = 1, 2, 3, 4, 5
SIZE = (1280, 900)
_ICONIC, _NORMAL = 3, 1  # WM_STATE, ICCCM section 4.1.3.1


class Desktop:
    """The screen `name` (such as ":7") and a second client on it, which acts as a window manager."""

    def __init__(self, name: str):
        self.name = name
        self._x = _xlib()
        self._connection = self._x.XOpenDisplay(name.encode())
        assert self._connection, f"no connection to {name}"
        self._pressed: set[int] = set()

    def xdotool(self, *arguments: object) -> str:
        """Run xdotool with a chain of commands; returns what it prints."""
        done = subprocess.run(
            ["xdotool", *map(str, arguments)],
            env={**os.environ, "DISPLAY": self.name},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def move(self, x: float, y: float) -> None:
        self.xdotool("mousemove", round(x), round(y))

    def press(self, button: int = LEFT) -> None:
        self._pressed.add(button)
        self.xdotool("mousedown", button)

    def release(self, button: int = LEFT) -> None:
        self.xdotool("mouseup", button)
        self._pressed.discard(button)

    def click(self, button: int = LEFT, times: int = 1) -> None:
        self.xdotool("click", "--repeat", times, "--delay", 1, button)

    def key(self, *names: str) -> None:
        self.xdotool("key", "--delay", 1, *names)

    def type(self, text: str) -> None:
        self.xdotool("type", "--delay", 1, "--", text)

    def resize(self, window: int, width: int, height: int) -> None:
        self.xdotool("windowsize", window, width, height)

    def minimize(self, window: int) -> None:
        self._x.XUnmapWindow(self._connection, window)
        self._set_state(window, _ICONIC)

    def restore(self, window: int) -> None:
        self._set_state(window, _NORMAL)
        self._x.XMapWindow(self._connection, window)
        self._x.XSync(self._connection, 0)

    def press_close_button(self, window: int) -> None:
        """Ask the window's program to close it."""
        event = _ClientMessage(
            type=33,
            display=self._connection,
            window=window,
            message_type=self._atom("WM_PROTOCOLS"),
            format=32,
            data=(c_long * 5)(self._atom("WM_DELETE_WINDOW")),
        )
        self._x.XSendEvent(self._connection, window, 0, 0, ctypes.byref(event))
        self._x.XSync(self._connection, 0)

    def set_resources(self, text: str) -> None:
        """The user's settings, such as `Xft.dpi: 192`; for programs started later."""
        root = self._x.XDefaultRootWindow(self._connection)
        name, kind = self._atom("RESOURCE_MANAGER"), self._atom("STRING")
        self._x.XChangeProperty(self._connection, root, name, kind, 8, 0, text.encode(), len(text))
        self._x.XSync(self._connection, 0)

    def windows(self) -> list[int]:
        """The windows of Vertigrad."""
        found = subprocess.run(
            ["xdotool", "search", "--name", "Vertigrad"],
            env={**os.environ, "DISPLAY": self.name},
            capture_output=True,
            text=True,
            timeout=900,
        )
        return [int(line) for line in found.stdout.split()]

    def screenshot(self) -> np.ndarray:
        """The whole screen, uint8, shape (height, width, 3)."""
        return np.asarray(ImageGrab.grab(xdisplay=self.name).convert("RGB"))

    def close(self) -> None:
        """Disconnect; a button that a failed test left pressed would take the next one's clicks."""
        for button in list(self._pressed):
            self.release(button)
        self._x.XCloseDisplay(self._connection)

    def _atom(self, name: str) -> int:
        return self._x.XInternAtom(self._connection, name.encode(), 0)

    def _set_state(self, window: int, state: int) -> None:
        name, values = self._atom("WM_STATE"), (c_ulong * 2)(state, 0)
        self._x.XChangeProperty(self._connection, window, name, name, 32, 0, values, 2)
        self._x.XSync(self._connection, 0)


@contextmanager
def running_server() -> Iterator[str]:
    """Start an X server on a free display number; yield its name."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(
        [*command, "-noreset"], pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            number = pipe.readline().strip()
        if not number:
            server.kill()
            raise RuntimeError(f"Xvfb did not start: {server.communicate()[1].decode(errors='replace').strip()}")
        yield f":{number}"
    finally:
        server.terminate()
        server.communicate(timeout=900)


def wait_until(condition: object, seconds: float = 300.0) -> bool:
    """Whether `condition()` becomes true before the timeout, which is long enough for a busy machine."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # pyright: ignore
            return True
        time.sleep(0.02)
    return False


class _ClientMessage(ctypes.Structure):
    """XClientMessageEvent, padded to the size of XEvent."""

    _fields_ = (
        ("type", c_int),
        ("serial", c_ulong),
        ("send_event", c_int),
        ("display", c_void_p),
        ("window", c_ulong),
        ("message_type", c_ulong),
        ("format", c_int),
        ("data", c_long * 5),
        ("pad", c_char * 128),
    )


def _xlib() -> ctypes.CDLL:
    x = ctypes.CDLL("libX11.so.6")
    window, display = c_ulong, c_void_p
    x.XOpenDisplay.restype = display
    for function, arguments, result in (
        (x.XOpenDisplay, [ctypes.c_char_p], display),
        (x.XCloseDisplay, [display], c_int),
        (x.XDefaultRootWindow, [display], window),
        (x.XInternAtom, [display, ctypes.c_char_p, c_int], c_ulong),
        (x.XSync, [display, c_int], c_int),
        (x.XMapWindow, [display, window], c_int),
        (x.XUnmapWindow, [display, window], c_int),
        (x.XSendEvent, [display, window, c_int, c_long, c_void_p], c_int),
        (x.XChangeProperty, [display, window, c_ulong, c_ulong, c_int, c_int, c_void_p, c_int], c_int),
    ):
        function.argtypes, function.restype = arguments, result
    return x
