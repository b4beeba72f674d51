"""Files of a run that are no images: geometry, and what else is written frame by frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from .. import export
from ..errors import InputError
from ..session import FPS, Session
from .outputs import is_numbered, numbered


class RunFile(ABC):
    """Reads a session after its frames, and writes what it reads. Raises `InputError` if that cannot be written."""

    @abstractmethod
    def wants(self, frame: int, last: int) -> bool:
        """Whether `add` must be called after `frame` (from 0); the run ends with the frame `last`."""

    @abstractmethod
    def add(self, session: Session, frame: int) -> None:
        """Read the session as it is after `frame`; waits for the GPU."""

    @abstractmethod
    def close(self) -> None:
        """Complete the file."""

    @abstractmethod
    def discard(self) -> None:
        """End without `close`, and remove what was written of an unfinished file."""


class GeometryFile(RunFile):
    """What layers draw after the last frame, in one file; if its name has a number in it, after each, in one for each.

    `layers` are their names, by default all that can be exported.
    """

    def __init__(self, path: Path, layers: Sequence[str] = ()):
        self._path, self._layers = path, layers

    def wants(self, frame: int, last: int) -> bool:
        return frame == last or is_numbered(self._path)

    def add(self, session: Session, frame: int) -> None:
        path = numbered(self._path, frame)
        export.write_layers(path, session.stage.layers, self._layers, session.scene.camera.up)

    def close(self) -> None:
        """Does nothing: files are complete after `add`."""

    def discard(self) -> None:
        """Does nothing: no file is unfinished after `add`."""


class UsdRunFile(RunFile):
    """What layers draw after each frame, and the camera, as time samples of a USD file, `rate` frames per second."""

    def __init__(self, path: Path, session: Session, layers: Sequence[str], rate: float = FPS):
        self._path, self._names = path, layers
        self._file = export.UsdFile(path, session.scene.camera.up, rate)

    def wants(self, frame: int, last: int) -> bool:
        return True

    def add(self, session: Session, frame: int) -> None:
        layers = session.stage.layers
        if missing := [name for name in self._names if name not in layers]:
            raise InputError(f"{self._path}: the scene has no layer {missing[0]!r} any more")
        self._file.add(frame, [export.geometry(layers[name]) for name in self._names], session.camera)

    def close(self) -> None:
        """Write the file."""
        self._file.close()

    def discard(self) -> None:
        """End without a file."""
        self._file.discard()


def is_run_file(path: Path) -> bool:
    """Whether what is written to a file of this suffix is geometry, not images."""
    return path.suffix.lower() in (*export.SUFFIXES, *export.USD_SUFFIXES)


def open_run_file(path: Path, session: Session, layers: Sequence[str], rate: float = FPS) -> RunFile:
    """The file for geometry of a session, by its suffix. Raises `InputError` if it cannot hold these layers.

    `rate` is how many of its frames a USD file shows in a second.
    """
    chosen = export.require_layers(path, session.stage.layers, layers)
    if path.suffix.lower() in export.USD_SUFFIXES:
        return UsdRunFile(path, session, chosen, rate)
    return GeometryFile(path, layers)
