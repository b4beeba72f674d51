"""`Still`: images of a session, drawn on demand."""

from __future__ import annotations

import numpy as np

from ..renderer.renderer import Renderer
from ..session import Session
from .offscreen import FORMAT, Offscreen, enough_memory


class Still:
    """Draws what a session shows into images of one size at a time."""

    def __init__(self, session: Session):
        self._session = session
        self._renderer = Renderer(session.gpu, FORMAT)
        self._target: Offscreen | None = None

    def image(self, size: tuple[int, int]) -> np.ndarray:
        """Draw now, and wait for the image: (height, width, 4) u8 RGBA.

        Raises `InputError` for a size that cannot be drawn, `OutOfMemory` for one that is too large for the memory.
        """
        session, found = self._session, list[np.ndarray]()
        with session.gpu.frames.frame():
            self.draw(size).read(found.append)
        session.gpu.sync()
        while not found:
            session.gpu.poll()
        return found[0]

    def draw(self, size: tuple[int, int]) -> Offscreen:
        """Record what the session shows, within a frame; returns what it is drawn to. Raises as `image`."""
        with enough_memory(size):
            if self._target is None or self._target.size != size:
                self._target = Offscreen(self._session.gpu, size)
            self._session.draw_to_file(self._renderer, self._target.view, size)
        return self._target
