"""`RemoteCanvas`: a texture in place of a window, whose user sits at a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..gpu import Gpu, Reading
from ..headless.offscreen import FORMAT, Offscreen
from ..panels import Gui
from ..session import Session
from ..viewer import dom
from ..viewer.canvas import SurfaceTexture
from ..viewer.clipboard import set_clipboard
from ..viewer.events import Events
from .events import InputEvent, Keyboard
from .images import Images
from .inbox import Inbox

SMALLEST, LARGEST = 64, 4096  # pixels a side
SETTLED = 1.0  # seconds without input after which an image is at rest, if the session is idle
ARRIVES = 0.001  # seconds between two looks whether an image has arrived


class RemoteCanvas:
    """Implements `viewer.canvas.Canvas`. `post`, `resize` and `wake` are for other threads, all else for the GPU's.

    `report` is called with what the browser is to show: ("cursor", {...}), ("clipboard", {...}) or ("title", {...}).
    """

    format: str = FORMAT

    def __init__(self, gpu: Gpu, size: tuple[int, int], images: Images):
        self._gpu, self._images = gpu, images
        self.report: Callable[[str, dict[str, str]], None] = lambda method, params: None
        self._size, self._scale = size, 1.0
        self._target = Offscreen(gpu, size)
        self._keyboard = Keyboard()
        self._clipboard = self._title = ""
        self._shape = 0
        self._reading: Reading | None = None
        self._session: Session | None = None
        self._inbox = Inbox(self.wake)
        self._changed = threading.Condition()
        self._awake = False
        self.closed = False

    # other threads ------------------------------------------------------------------------------------------------

    def post(self, event: InputEvent) -> None:
        """Queue an event for the next frame."""
        self._inbox.post(event)

    def resize(self, width: int, height: int, scale: float) -> None:
        """Draw images of this size from the next frame on, within the limits, and the GUI `scale` times as large."""
        with self._changed:
            self._size = _fitting(width), _fitting(height)
            self._scale = scale
            self._wake()

    def wake(self) -> None:
        """End `wait`: there is something to do."""
        with self._changed:
            self._wake()

    def _wake(self) -> None:
        self._awake = True
        self._changed.notify()

    # the canvas ---------------------------------------------------------------------------------------------------

    refresh_ms = 0.0
    position = None

    @property
    def scale(self) -> float:
        return self._scale

    @property
    def logical_size(self) -> tuple[int, int]:
        return self._size

    def connect(self, session: Session, gui: Gui) -> Events:
        def copy(text: str) -> None:
            self._clipboard = text
            self.report("clipboard", {"text": text})

        set_clipboard(gui, lambda: self._clipboard, copy)
        self._session = session
        self._keyboard.events = Events(session, gui, self._keyboard.is_down)
        return self._keyboard.events

    def reopen(self) -> None:
        """Begin again on another device, after the one before was lost."""
        self._target = Offscreen(self._gpu, self._size)
        self._reading, self._shape = None, 0
        self.closed = False

    def stay_open(self) -> None:
        """Nobody closes it but the program."""

    def fill_screen(self, on: bool) -> None:
        """The browser does."""

    def set_vsync(self, on: bool) -> None:
        """There is no screen to wait for."""

    def set_title(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self.report("title", {"text": title})

    def set_cursor(self, shape: int) -> None:
        if shape != self._shape:
            self._shape = shape
            self.report("cursor", {"css": dom.cursor(shape)})

    def poll(self) -> None:
        with self._changed:
            self._awake = False
        for event in self._inbox.take():
            event.happen(self._keyboard)

    def wait(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0.0:
            arriving = self._arriving
            if arriving:
                self._gpu.poll()  # delivers it
            with self._changed:
                if self._awake or self._changed.wait(min(left, ARRIVES) if arriving else left):
                    return

    def acquire(self) -> SurfaceTexture:
        if self._size != self._target.size:
            self._target = Offscreen(self._gpu, self._size)
        return SurfaceTexture(self._target.view, self._target.size)

    def record(self) -> None:
        """Read the image back, if anybody wants it and the last one has arrived: no frame waits for another."""
        if self._images.wanted and not self._arriving:
            at_rest = self._is_at_rest()
            self._reading = self._target.read(lambda pixels: self._images.put(pixels, at_rest))

    def present(self) -> None:
        """The image is on its way."""

    def close(self) -> None:
        self.closed = True

    def _is_at_rest(self) -> bool:
        settled = time.perf_counter() - self._keyboard.events.last_event > SETTLED
        return settled and self._session is not None and self._session.idle

    @property
    def _arriving(self) -> bool:
        return self._reading is not None and not self._reading.done


def _fitting(side: int) -> int:
    """The nearest even length within the limits: H.264 halves it for colors."""
    return min(max(side, SMALLEST), LARGEST) // 2 * 2
