"""A file manager from which files are dragged onto a window: the source's side of the XDND protocol, version 5."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, Structure, Union, byref, c_char, c_int, c_long, c_ubyte, c_uint, c_ulong, c_void_p
from pathlib import Path

from .desktop import Desktop, _ClientMessage

SELECTION_REQUEST, SELECTION_NOTIFY, CLIENT_MESSAGE = 30, 31, 33
VERSION = 5


class _Request(Structure):
    """XSelectionRequestEvent."""

    _fields_ = (
        ("type", c_int),
        ("serial", c_ulong),
        ("send_event", c_int),
        ("display", c_void_p),
        ("owner", c_ulong),
        ("requestor", c_ulong),
        ("selection", c_ulong),
        ("target", c_ulong),
        ("property", c_ulong),
        ("time", c_ulong),
    )


class _Notify(Structure):
    """XSelectionEvent."""

    _fields_ = (
        ("type", c_int),
        ("serial", c_ulong),
        ("send_event", c_int),
        ("display", c_void_p),
        ("requestor", c_ulong),
        ("selection", c_ulong),
        ("target", c_ulong),
        ("property", c_ulong),
        ("time", c_ulong),
    )


class _Event(Union):
    _fields_ = (
        ("type", c_int),
        ("request", _Request),
        ("notify", _Notify),
        ("message", _ClientMessage),
        ("pad", c_char * 192),
    )


def drop(desktop: Desktop, window: int, files: Sequence[Path], frame: Callable[[], object], most: int = 100) -> None:
    """Drag the files over the middle of a window and drop them; `frame` runs a frame of the window's program."""
    source = _Source(desktop, window, files)
    try:
        source.drop()
        for _ in range(most):
            frame()
            source.answer()
            if source.finished:
                return
        raise AssertionError("the window did not take what was dropped on it")
    finally:
        source.close()


class _Source:
    def __init__(self, desktop: Desktop, window: int, files: Sequence[Path]):
        self._x, self._display, self._target = _declared(desktop._x), desktop._connection, window
        self._atom = desktop._atom
        self._data = "".join(f"{path.resolve().as_uri()}\r\n" for path in files).encode()
        root = self._x.XDefaultRootWindow(self._display)
        self._own = self._x.XCreateSimpleWindow(self._display, root, 0, 0, 1, 1, 0, 0, 0)
        self.finished = False

    def drop(self) -> None:
        """Send what is dragged, its position, and the drop."""
        self._x.XSetSelectionOwner(self._display, self._atom("XdndSelection"), self._own, 0)
        self._send("XdndEnter", VERSION << 24, self._atom("text/uri-list"), 0, 0)
        self._send("XdndPosition", 0, (50 << 16) | 50, 0, self._atom("XdndActionCopy"))
        self._send("XdndDrop", 0, 0, 0, 0)
        self._x.XSync(self._display, 0)

    def answer(self) -> None:
        """Send the files when they are requested, and record the end."""
        event = _Event()
        while self._x.XPending(self._display):
            self._x.XNextEvent(self._display, byref(event))
            if event.type == SELECTION_REQUEST:
                self._hand_over(event.request)
            elif event.type == CLIENT_MESSAGE and event.message.message_type == self._atom("XdndFinished"):
                self.finished = True

    def close(self) -> None:
        self._x.XDestroyWindow(self._display, self._own)
        self._x.XSync(self._display, 0)

    def _send(self, name: str, *data: int) -> None:
        message = _ClientMessage(
            type=CLIENT_MESSAGE,
            display=self._display,
            window=self._target,
            message_type=self._atom(name),
            format=32,
            data=(c_long * 5)(self._own, *data),
        )
        self._x.XSendEvent(self._display, self._target, 0, 0, byref(message))

    def _hand_over(self, request: _Request) -> None:
        property_, size = request.property, len(self._data)
        self._x.XChangeProperty(
            self._display, request.requestor, property_, request.target, 8, 0, (c_ubyte * size)(*self._data), size
        )
        answer = _Event()
        answer.notify = _Notify(
            type=SELECTION_NOTIFY,
            display=self._display,
            requestor=request.requestor,
            selection=request.selection,
            target=request.target,
            property=property_,
            time=request.time,
        )
        self._x.XSendEvent(self._display, request.requestor, 0, 0, byref(answer))
        self._x.XSync(self._display, 0)


def _declared(x: ctypes.CDLL) -> ctypes.CDLL:
    window, display = c_ulong, c_void_p
    for function, arguments, result in (
        (x.XCreateSimpleWindow, [display, window, c_int, c_int, c_uint, c_uint, c_uint, c_ulong, c_ulong], window),
        (x.XDestroyWindow, [display, window], c_int),
        (x.XSetSelectionOwner, [display, c_ulong, window, c_ulong], c_int),
        (x.XPending, [display], c_int),
        (x.XNextEvent, [display, POINTER(_Event)], c_int),
    ):
        function.argtypes, function.restype = arguments, result
    return x
