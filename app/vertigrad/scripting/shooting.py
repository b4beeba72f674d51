"""Videos of a session, in a window or without one."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ..headless.outputs import open_output
from ..headless.still import Still as Camera
from ..headless.video import VideoOptions


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
