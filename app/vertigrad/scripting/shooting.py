"""Images of a session, drawn on demand, in a window or without one."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from ..headless.offscreen import FORMAT, Offscreen, enough_memory
from ..headless.outputs import open_output
from ..headless.video import VideoOptions
from ..renderer.renderer import Renderer
from ..session import Session


class Camera:
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


class Recording:
    """A video, or numbered images, of every frame from now on; close it, or use it with `with`."""

    def __init__(self, camera: Camera, path: Path, size: tuple[int, int], options: VideoOptions):
        self.path, self.size, self.frames = path, size, 0
        self._camera = camera
        self._output = open_output(path, size, options=options)
        self.closed = False

    def add(self) -> None:
        """Write what is shown now as the next frame. Raises `InputError` if it cannot be written."""
        self._output.put(self.frames, self._camera.image(self.size))
        self.frames += 1

    def close(self) -> None:
        """Finish the file. Idempotent. Raises `InputError` if it cannot be written."""
        if not self.closed:
            self.closed = True
            self._output.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
