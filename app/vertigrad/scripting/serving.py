"""`ServeMethods`: a script's viewer in browsers, and for programs."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InputError
from .checks import checked_integer
from .content import Content

if TYPE_CHECKING:
    from ..remote import Served
    from ..viewer import Viewer as Window
    from .notebook import Notebook

LAST_PORT = 65535
PORT = 8765  # as of `vertigrad serve`


class ServeMethods(ABC):
    """The server of `vertigrad serve` beside a script's own loop."""

    _content: Content
    _size: tuple[int, int]
    _window: Window | None
    _notebook: Notebook | None
    _served: Served | None

    def serve(
        self, port: int = PORT, host: str = "127.0.0.1", token: str | None = None, names: Sequence[str] = ()
    ) -> str:
        """Show this viewer in browsers while your loop goes on; returns the address, with the token that admits to it.

        Panels, mouse and keys work there as in a window, and callbacks are called in your loop. Port 0 takes a free
        one, `host` "0.0.0.0" listens on every network, without `token` a new random one is made, and `names` are others
        by which browsers may reach this machine. An offscreen viewer draws images of the size of the page then. A
        window shows the same as its browsers; as long as it is served nobody opens files by its panels. Ends when the
        viewer is closed. Raises `InputError` for a notebook's widget, and if it cannot listen there or what a
        server needs is not installed.
        """
        self._content.require_open()
        if checked_integer(port, "port") > LAST_PORT:
            raise InputError(f"port: expected a number from 0 to {LAST_PORT}, got {port}")
        if self._served is not None:
            raise InputError(f"the viewer is served already, at {self._served.url}")
        if self._notebook is not None:
            raise InputError("a widget is shown by its notebook; serve a Viewer(offscreen=True)")
        from ..remote import Served

        self._served = served = Served(
            self._content.session, host, port, size=self._size, token=token, names=tuple(names), window=self._window
        )
        self._window = served.viewer
        return served.url
