"""`Canvas`: what the frame loop draws on and gets its events from: a window, or an image for a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import wgpu

if TYPE_CHECKING:
    from ..gpu import Gpu
    from ..panels import Gui
    from ..session import Session
    from .events import Events


class SurfaceTexture(NamedTuple):
    """What a frame is drawn into: its view, and its size in pixels."""

    view: wgpu.GPUTextureView
    size: tuple[int, int]


class Canvas(Protocol):
    """A texture for each frame, and the user in front of it."""

    format: str  # of the textures

    @property
    def closed(self) -> bool:
        """Whether the user asked to close it."""
        ...

    @property
    def scale(self) -> float:
        """Size of the user interface, 1 on an ordinary screen."""
        ...

    @property
    def refresh_ms(self) -> float:
        """The refresh period of the screen; 0 if it is unknown."""
        ...

    @property
    def logical_size(self) -> tuple[int, int]:
        """Its size in pixels of an ordinary screen."""
        ...

    @property
    def position(self) -> tuple[int, int] | None:
        """Where it is on the screen, if that is known."""
        ...

    def connect(self, session: Session, gui: Gui) -> Events:
        """Let events and the clipboard reach the session and the GUI; returns where the events go."""
        ...

    def stay_open(self) -> None:
        """Forget that the user asked to close it."""
        ...

    def fill_screen(self, on: bool) -> None:
        """Fill the screen, or return from it."""
        ...

    def set_vsync(self, on: bool) -> None:
        """Synchronize frames with the display's refresh, or present them at once."""
        ...

    def set_title(self, title: str) -> None:
        """Show a title."""
        ...

    def set_cursor(self, shape: int) -> None:
        """Show the mouse in one of ImGui's shapes."""
        ...

    def poll(self) -> None:
        """Let events that have arrived take their effect."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleep until an event arrives, `seconds` at most."""
        ...

    def acquire(self) -> SurfaceTexture | None:
        """What to draw this frame into; None if there is nothing to draw on now."""
        ...

    def record(self) -> None:
        """Record what follows on the drawing, into the frame's submission."""
        ...

    def present(self) -> None:
        """Show what was drawn."""
        ...

    def close(self) -> None:
        """Close it. Idempotent."""
        ...


class OpenCanvas(Protocol):
    """Opens a canvas with this title, of `size` logical pixels."""

    def __call__(
        self, gpu: Gpu, title: str, size: tuple[int, int], vsync: bool, position: tuple[int, int] | None
    ) -> Canvas: ...
