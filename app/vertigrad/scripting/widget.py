"""`View`: the widget of a viewer in a notebook, by rendercanvas's front end. Imported only in notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from anywidget import AnyWidget
from rendercanvas.anywidget import CSS, JS
from traitlets import Bool, Dict, Unicode


class View(AnyWidget):
    """An image that reports mouse, keys and size.

    The messages and the synchronized names are those of rendercanvas's `renderview-afm.js`. rendercanvas's own canvas
    class draws in asyncio's event loop, which stands still while a cell runs; this one sends what a script's loop drew.
    `take` is called with each event, and `changed` when the front end has shown an image, or became visible or
    invisible. Both may be called in another thread than the one that computes.
    """

    _esm = JS
    _css = CSS
    _frame_feedback = Dict({}).tag(sync=True)
    _has_visible_views = Bool(False).tag(sync=True)
    _css_width = Unicode("").tag(sync=True)
    _css_height = Unicode("").tag(sync=True)
    _resizable = Bool(True).tag(sync=True)
    _is_minimizable = Bool(False).tag(sync=True)
    _is_closable = Bool(False).tag(sync=True)
    _has_titlebar = Bool(False).tag(sync=True)
    _title = Unicode("").tag(sync=True)
    _cursor = Unicode("default").tag(sync=True)

    def __init__(
        self, size: tuple[int, int], take: Callable[[dict[str, Any]], object], changed: Callable[[], object]
    ) -> None:
        super().__init__(_css_width=f"{size[0]}px", _css_height=f"{size[1]}px")
        self._shown_somewhere = self._reported = (
            False  # whether a front end sent anything; and whether it is visible there
        )

        def received(content: dict[str, Any]) -> None:
            self._shown_somewhere = True
            take(content)

        self.on_msg(lambda _, content, buffers: received(content))
        self.observe(lambda _: setattr(self, "_reported", True), names=["_has_visible_views"])
        self.observe(lambda _: changed(), names=["_frame_feedback", "_has_visible_views"])

    @property
    def visible(self) -> bool:
        """Whether it is on somebody's screen.

        Front ends hold synchronized values back until the kernel has answered those before, which it may never do for
        some that came while a cell ran. Until the first of them, a front end that sends events counts as visible.
        """
        return bool(self._has_visible_views) if self._reported else self._shown_somewhere

    @property
    def shown(self) -> int:
        """The number of the image that was shown last."""
        return int(self._frame_feedback.get("index", 0))

    def show(self, number: int, mimetype: str, data: bytes) -> None:
        """Send an encoded image."""
        message = {"type": "framebufferdata", "mimetype": mimetype, "data_b64": None, "index": number}
        self.send({**message, "timestamp": time.time()}, [data])

    def set_cursor(self, css: str) -> None:
        """Show the mouse in this shape."""
        self._cursor = css
