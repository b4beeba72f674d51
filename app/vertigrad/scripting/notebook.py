"""`Notebook`: a viewer's widget in a notebook, with the GUI in it, and the image that stays when it is saved."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from ..remote.canvas import RemoteCanvas
from ..remote.encoding import Jpeg, lossless
from ..remote.images import Image, Images
from ..session import Session
from ..session.commands import SetPacing
from ..viewer import Viewer as Window
from .frames import Frames
from .kernel import execution, in_notebook
from .widget_events import WidgetEvents

_log = logging.getLogger("vertigrad")
FPS = 60.0
IDLE_FPS = 30.0  # while no cell runs
RESTING = 0.1  # seconds between two looks for events, while nothing changes
IN_FLIGHT = 2  # images that the browser has not shown yet; no more are sent
UNANSWERED = 0.25  # seconds after which one is sent all the same: answers may arrive only between two cells
AT_REST = 0.3  # seconds without another image, after which the last one is sent without loss
WIDGET = "application/vnd.jupyter.widget-view+json"


class NotebookCanvas(RemoteCanvas):
    """`patient`: whether `wait` may sleep; in the kernel's event loop it must not."""

    patient = True

    def wait(self, seconds: float) -> None:
        if self.patient:
            super().wait(seconds)
        else:
            self._gpu.poll()

    def read(self) -> np.ndarray:
        """What was drawn last, with the panels, (height, width, 4) u8. Waits for the GPU."""
        found = list[np.ndarray]()
        with self._gpu.frames.frame():
            self._target.read(found.append)
        self._gpu.sync()
        while not found:
            self._gpu.poll()
        return found[0]


class Notebook:
    """The widget of one viewer. All but `_take` and `_note` are for the thread that computes.

    `update` is the viewer's, which draws by `frame`; `loop` are the steps that its script goes through, if it does.
    Raises `InputError` if the packages of widgets are not installed.
    """

    def __init__(self, session: Session, size: tuple[int, int], update: Callable[[], None]):
        view_type = _view_type()
        self._session, self._update = session, update
        self._images, self._events = Images(), WidgetEvents()
        self._canvas = canvas = NotebookCanvas(session.gpu, size, self._images)
        self.window = Window(
            session, size, vsync=False, open_canvas=lambda gpu, title, size, vsync, position: canvas, remote=True
        )
        for name, value in {"fps_limit": FPS, "unfocused_fps_limit": 0.0}.items():
            session.carry_out(SetPacing(name, value))
        self.loop: Frames[Any] | None = None
        self._encoder = Jpeg()
        self._number, self._sent, self._sent_at = 0, (0, False), 0.0  # of messages; of the image, and if without loss
        self._last_event = time.monotonic()
        self._drawn = self._closed = False
        self._outputs: list[Any] = []  # of cells that show it
        self._execution = ""  # of the last of them
        self._task: asyncio.Task[None] | None = None
        self._view = view_type(size, self._take, self._note)
        canvas.report = self._report

    def frame(self) -> None:
        """Draw the next frame, and send what has arrived of those before. Raises `DeviceLost`."""
        self.window.frame()
        self._drawn = True
        self._send_newest()

    # the front end ------------------------------------------------------------------------------------------------

    def _take(self, event: dict[str, Any]) -> None:
        self._last_event = time.monotonic()
        if event.get("type") == "resize":
            self._events.ratio = float(event["ratio"])
            self._canvas.resize(int(event["pwidth"]), int(event["pheight"]), self._events.ratio)
            self._sent = 0, False  # it may be a page that was loaded again
        elif (found := self._events.read(event)) is not None:
            self._canvas.post(found)

    def _note(self) -> None:
        if self._ready:
            self._images.subscribe(self, lambda: None)
        else:
            self._images.unsubscribe(self)

    @property
    def _ready(self) -> bool:
        """Whether the front end can take an image."""
        if self._outputs and time.monotonic() - self._sent_at > UNANSWERED:
            return True
        return self._view.visible and self._number - self._view.shown < IN_FLIGHT

    def _report(self, method: str, params: dict[str, str]) -> None:
        if method == "cursor":
            self._view.set_cursor(params["css"])

    def _send_newest(self) -> None:
        """Send the newest image if the front end does not have it, and can take it."""
        image = self._images.newest
        if self._ready and image is not None:
            number, exact = self._sent
            if image.number != number:
                self._send(image, False)
            elif not exact and time.monotonic() - image.time > AT_REST:
                self._send(image, True)
        self._note()

    def _send(self, image: Image, exact: bool) -> None:
        _, data = lossless(image.pixels) if exact else self._encoder.encode(image.pixels)
        self._number += 1
        self._sent, self._sent_at = (image.number, exact), time.monotonic()
        self._view.show(self._number, "image/png" if exact else "image/jpeg", data)

    # the output of a cell -----------------------------------------------------------------------------------------

    @property
    def displayed(self) -> bool:
        """Whether a cell shows it."""
        return bool(self._outputs)

    def display(self) -> None:
        """Show the widget under the cell that runs, once; from then on it is live whenever no cell runs."""
        from IPython.display import display

        if self.displayed and self._execution == execution():
            return
        self._execution = execution()
        if not self._drawn:
            self._update()
        self._outputs.append(display(self._data(), raw=True, display_id=True))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._stay_live())

    def renew_images(self) -> None:
        """Replace the images that stay in the notebook by the current one."""
        if self._outputs and self._drawn:
            data = self._data()
            for output in self._outputs:
                output.update(data, raw=True)

    def close(self) -> None:
        """End the widget, and leave its last image. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.renew_images()
        self._view.close()

    def forget(self) -> None:
        """Leave the outputs of cells as they are: the kernel ends, and sends nothing more."""
        self._outputs.clear()

    def _data(self) -> dict[str, Any]:
        """The output's data: the widget, and where that cannot be shown, the image."""
        bundle: Any = self._view._repr_mimebundle_()
        image = base64.b64encode(lossless(self._canvas.read())[1]).decode()
        widget = {} if self._closed else {WIDGET: bundle[0][WIDGET]}
        return {**widget, "image/png": image, "text/plain": "a Vertigrad viewer"}

    # while no cell runs -------------------------------------------------------------------------------------------

    async def _stay_live(self) -> None:
        """Show frames while the kernel waits for the next cell, until the viewer is closed."""
        seconds = 0.0
        while not self._closed:
            await asyncio.sleep(seconds)
            seconds = RESTING
            if self._view.visible and not self._closed and not (self.loop is not None and self.loop.awaited):
                try:
                    seconds = self._turn()
                except Exception as error:
                    _log.error("the widget stopped", exc_info=error)
                    return

    def _turn(self) -> float:
        """One frame; returns how many seconds it is until the next one."""
        began, self._canvas.patient = time.monotonic(), False
        try:
            self._update()
        finally:
            self._canvas.patient = True
        if self._session.idle and time.monotonic() - self._last_event > AT_REST:
            return RESTING
        return max(1.0 / IDLE_FPS - (time.monotonic() - began), 0.005)


def _view_type() -> Any:
    if not in_notebook():
        raise InputError("notebook=True needs a Jupyter kernel; leave it out in other programs")
    try:
        from .widget import View
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed; `pip install vertigrad[notebook]` installs the widget, and "
            "`Viewer(notebook=False)` opens a window, `Viewer(offscreen=True)` none"
        ) from None
    return View
