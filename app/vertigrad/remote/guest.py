"""`WindowGuest`: browsers that see what a window of this machine shows, and use it as its user does."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import wgpu

from ..gpu import Gpu, Reading
from ..headless.offscreen import read_texture
from ..session import Session
from ..viewer import Viewer, dom
from ..viewer.clipboard import set_clipboard, share_clipboard
from ..viewer.window import Window
from .canvas import SETTLED
from .events import Focus, InputEvent, Keyboard
from .images import Images
from .inbox import Inbox


class WindowGuest:
    """Implements `viewer.window.Guest`. `post`, `resize` and `wake` are for other threads, all else for the GPU's.

    Mouse and keys of browsers and those of the window's user go to the same GUI. That GUI cannot know whose they are:
    until `close` nobody opens files in it, and fields paste only what was copied in it. Raises `InputError` if
    the window cannot be copied.
    """

    def __init__(self, session: Session, viewer: Viewer, images: Images):
        assert isinstance(viewer.window, Window)
        self._session, self._viewer, self._window = session, viewer, viewer.window
        self._gpu: Gpu = session.gpu
        self._images = images
        self.report: Callable[[str, dict[str, str]], None] = lambda method, params: None
        self._inbox = Inbox(self.wake)
        self._reading: Reading | None = None
        self._clipboard = ""
        self._keyboard = Keyboard()
        self._window.share(self)
        self._events = self._keyboard.events = viewer.join(self._keyboard.is_down)
        viewer.gui.remote = True
        set_clipboard(viewer.gui, lambda: self._clipboard, self._copy)

    def post(self, event: InputEvent) -> None:
        """Queue an event for the next frame."""
        self._inbox.post(event)

    def resize(self, width: int, height: int, scale: float) -> None:
        """The image has the size of the window, whatever the page's is."""

    def wake(self) -> None:
        """End the window's `wait`: there is something to do."""
        self._window.wake()

    def poll(self) -> None:
        for event in self._inbox.take():
            if not isinstance(event, Focus):
                event.happen(self._keyboard)
            elif not event.focused:  # the window itself has the focus, or not
                self._keyboard.release()

    def record(self, texture: wgpu.GPUTexture) -> None:
        """Read the image back, if anybody wants it and the last one has arrived."""
        if self._images.wanted and (self._reading is None or self._reading.done):
            settled = time.perf_counter() - self._events.last_event > SETTLED
            at_rest = settled and self._session.idle
            self._reading = read_texture(
                self._gpu, texture, lambda pixels: self._images.put(_with_even_sides(pixels), at_rest)
            )

    def set_title(self, title: str) -> None:
        self.report("title", {"text": title})

    def set_cursor(self, shape: int) -> None:
        self.report("cursor", {"css": dom.cursor(shape)})

    def close(self) -> None:
        """Leave the window to its user."""
        self._keyboard.release()
        self._viewer.join(None)
        self._viewer.gui.remote = False
        share_clipboard(self._viewer.gui)
        self._window.share(None)

    def _copy(self, text: str) -> None:
        self._clipboard = text
        self.report("clipboard", {"text": text})


def _with_even_sides(pixels: np.ndarray) -> np.ndarray:
    """The image without its last row or column if there is an odd number of them: H.264 halves it for colors."""
    return pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2]
