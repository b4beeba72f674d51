"""`Still`: images of a session, drawn on demand."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..renderer.renderer import Renderer
from ..session import Session
from .exr import USUAL_EXR, ExrOptions
from .light import LightTarget
from .offscreen import FORMAT, Offscreen, enough_memory
from .output import LightImage

T = TypeVar("T")


class Still:
    """Draws what a session shows into images, of one size at a time."""

    def __init__(self, session: Session):
        self.session = session
        self._renderers: dict[bool, Renderer] = {}  # by whether they are transparent
        self._target: Offscreen | None = None
        self._light: tuple[tuple[object, ...], LightTarget] | None = None  # and what it is for

    def image(self, size: tuple[int, int], transparent: bool = False) -> np.ndarray:
        """Draw now, and wait for the image: (height, width, 4) u8 RGBA.

        Raises `InputError` for a size that cannot be drawn, `OutOfMemory` for one that is too large for the memory.
        """
        found = list[np.ndarray]()
        with self.session.gpu.frames.frame():
            self.draw(size, transparent).read(found.append)
        return self._arrived(found)

    def light(self, size: tuple[int, int], options: ExrOptions = USUAL_EXR, transparent: bool = False) -> LightImage:
        """The same as linear light. Raises `InputError` also for what this GPU cannot draw."""
        key, session, found = (size, options, transparent), self.session, list[LightImage]()
        if self._light is None or self._light[0] != key:
            self._light = key, LightTarget(session.gpu, size, options, transparent)
        target = self._light[1]
        with session.gpu.frames.frame(), enough_memory(size):
            session.draw_to_file(target.renderer, target.view, size)
            target.read(session.camera, found.append)
        return self._arrived(found)

    def draw(self, size: tuple[int, int], transparent: bool = False) -> Offscreen:
        """Record what the session shows, within a frame; returns what it is drawn to. Raises as `image`."""
        with enough_memory(size):
            if self._target is None or self._target.size != size:
                self._target = Offscreen(self.session.gpu, size)
            if transparent not in self._renderers:
                self._renderers[transparent] = Renderer(self.session.gpu, FORMAT, transparent)
            self.session.draw_to_file(self._renderers[transparent], self._target.view, size)
        return self._target

    def _arrived(self, found: list[T]) -> T:
        self.session.gpu.sync()
        while not found:
            self.session.gpu.poll()
        return found[0]
