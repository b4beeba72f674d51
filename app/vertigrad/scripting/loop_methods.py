"""`LoopMethods`: the frames of a script's viewer, one for each turn of the script's loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError
from ..session import STEP
from .checks import checked_integer
from .content import Content
from .event_pump import EventPump
from .events import Events
from .frames import Frames
from .ipython import show_at_prompt
from .shooting import Camera, Recording

if TYPE_CHECKING:
    from ..remote import Served
    from ..viewer import Viewer as Window
    from .notebook import Notebook


class Step(NamedTuple):
    """One turn of a script's loop: `number` counts from 0, `dt` and `time` are in seconds of the simulation.

    `dt` is 0 while the user has paused.
    """

    number: int
    dt: float
    time: float


class LoopMethods(ABC):
    """Shows frames, in a window, a widget, browsers, or without any of them."""

    _content: Content
    _events: Events
    _camera: Camera
    _recordings: list[Recording]
    _frames: int  # that were shown
    _window: Window | None
    _pump: EventPump | None
    _notebook: Notebook | None
    _served: Served | None

    @abstractmethod
    def close(self) -> None:
        """Close the window, and release the memory."""

    @abstractmethod
    def _fit(self) -> None:
        """Move the camera before the first frame, if the script did not place it."""

    @abstractmethod
    def _image_size(self) -> tuple[int, int]:
        """The size of images by default."""

    @property
    def closed(self) -> bool:
        """Whether the viewer, or its window, was closed."""
        return self._content.closed or (self._window is not None and self._window.closed)

    def frames(self, count: int | None = None) -> Frames[Step]:
        """Steps of your own loop: what the loop writes into tensors is shown at its end, without a copy.

        Ends when the window is closed, or after `count` steps. In a notebook `async for` takes events in front ends
        that deliver none while a cell runs. Raises `InputError` for a count that is none.
        """
        count = None if count is None else checked_integer(count, "count")
        frames = Frames(self._steps(count))
        if self._notebook is not None:
            self._notebook.loop = frames
        return frames

    def _steps(self, count: int | None) -> Iterator[Step]:
        number = 0
        if self._notebook is not None and not self._notebook.displayed:
            self._notebook.display()
        try:
            while not self.closed and (count is None or number < count):
                clock = self._content.session.clock
                yield Step(number, STEP * clock.speed if clock.moves else 0.0, clock.time)
                if self._content.closed:
                    return
                self.update()
                number += 1
        finally:
            if self._notebook is not None and not self._content.closed:
                self._notebook.renew_images()

    def show(self, block: bool = True) -> None:
        """Show frames until the window is closed; with `block=False`, while IPython waits at its prompt.

        In a notebook: show the widget under this cell, and return at once.
        Raises `InputError` without a window, and with `block=False` outside of IPython in a terminal.
        """
        self._content.require_open()
        if self._window is None:
            raise InputError("an offscreen viewer has no window to show; ask it for its image, or call `serve` first")
        if self._notebook is not None:
            return self._notebook.display()
        if not block:
            return show_at_prompt(self)
        for _ in self.frames():
            pass

    def update(self) -> None:
        """Show the next frame and call the functions of its events, in a loop that does not use `frames`.

        Raises `InputError` if the viewer is closed, or from a callback.
        """
        self._content.require_open()
        if self._events.running:
            raise InputError("a callback cannot show frames: let it return, and the loop goes on")
        self._fit()
        self._frames += 1
        with self._content.drawing():
            self._draw()
            for recording in self._recordings:
                if not recording.closed:
                    recording.add()
        self._events.deliver()

    def _draw(self) -> None:
        if self._notebook is not None:
            return self._notebook.frame()
        if self._window is not None:
            with self._pump.frame() if self._pump is not None else nullcontext():
                (self._served.frame if self._served is not None else self._window.frame)()
            return
        with self._content.session.gpu.frames.frame():
            self._content.session.apply()
            self._content.session.advance()
            self._camera.draw(self._image_size())

    def _poll(self) -> None:
        """Let events take effect while the script computes; the next frame shows it."""
        if self._window is not None and not self._content.closed:
            with self._content.session.guarded("input"):
                self._window.window.poll()
