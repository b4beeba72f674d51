"""Recordings of a session: of its images, or of the geometry of a run, in a window or without one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType

from ..errors import InputError
from ..headless.exr import USUAL_EXR, ExrOptions
from ..headless.outputs import open_output
from ..headless.run_files import RunFile
from ..headless.still import Still as Camera
from ..headless.video import VideoOptions


class Recording(ABC):
    """A file, or numbered ones, with every frame from now on; close it, or use it with `with`.

    `frames` is how many it has. It ends with an error in writing: then the file is removed.
    """

    def __init__(self, path: Path):
        self.path, self.frames, self.closed = path, 0, False

    @property
    @abstractmethod
    def size(self) -> tuple[int, int] | None:
        """Width and height of its images; None if it has none."""

    def add(self) -> None:
        """Write what is shown now as the next frame. Raises `InputError` if it cannot be written, or has ended."""
        if self.closed:
            raise InputError(f"{self.path}: the recording has ended")
        try:
            self._put(self.frames)
        except BaseException:
            self.closed = True
            self._discard()
            raise
        self.frames += 1

    def close(self) -> None:
        """Finish the file. Idempotent. Raises `InputError` if it cannot be written."""
        if not self.closed:
            self.closed = True
            self._finish()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _put(self, frame: int) -> None:
        """Write a frame."""

    @abstractmethod
    def _finish(self) -> None:
        """Finish the file."""

    @abstractmethod
    def _discard(self) -> None:
        """End without a file."""


class ImageRecording(Recording):
    """A video, or images."""

    def __init__(
        self,
        camera: Camera,
        path: Path,
        size: tuple[int, int],
        video: VideoOptions,
        exr: ExrOptions = USUAL_EXR,
        transparent: bool = False,
    ):
        super().__init__(path)
        self._camera, self._size, self._exr, self._transparent = camera, size, exr, transparent
        self._output = open_output(path, size, transparent, video, exr)

    @property
    def size(self) -> tuple[int, int]:
        return self._size

    def _put(self, frame: int) -> None:
        if self._output.is_linear:
            self._output.put(frame, self._camera.light(self._size, self._exr, self._transparent))
        else:
            self._output.put(frame, self._camera.image(self._size, self._transparent))

    def _finish(self) -> None:
        self._output.close()

    def _discard(self) -> None:
        self._output.discard()


class RunRecording(Recording):
    """What is no image: the geometry of layers, in a USD file or a numbered file for each frame, or a table."""

    def __init__(self, camera: Camera, path: Path, file: RunFile):
        super().__init__(path)
        self._session, self._file = camera.session, file

    @property
    def size(self) -> None:
        return None

    def _put(self, frame: int) -> None:
        self._file.add(self._session, frame)

    def _finish(self) -> None:
        self._file.close()

    def _discard(self) -> None:
        self._file.discard()
