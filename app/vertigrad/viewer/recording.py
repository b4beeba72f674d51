"""What is recorded frame by frame from a window: a video, or the geometry of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .. import export
from ..errors import InputError, VertigradError
from ..gpu import Reading
from ..headless.frame_writer import FrameWriter
from ..headless.offscreen import FORMAT, Offscreen
from ..headless.video import Video, VideoOptions, is_shown
from ..renderer.camera import OrbitCamera
from ..renderer.renderer import Renderer
from ..session import FPS, Session
from ..session.capture import RecordingStatus

Layers = Sequence[Callable[[], export.Geometry]]


class Recording(ABC):
    """A recording of `most` frames, or with 0 until it has `ended`."""

    writer: FrameWriter

    def __init__(self, session: Session, most: int):
        self._session, self._most = session, most
        self.frames = 0
        self.ended = False
        self._changes = -1  # the session's, as of the last frame

    @property
    def status(self) -> RecordingStatus:
        """Its progress."""
        part = self.frames / self._most if self._most else None
        return RecordingStatus(self.writer.path, self.size, self.frames / FPS, self.writer.nbytes, part)

    @property
    def is_due(self) -> bool:
        """Whether this frame is one of the recording: not while the models are in the middle of a step."""
        if self.ended or self.writer.behind:
            return False
        return not self._session.playing or self._session.changes != self._changes

    @property
    @abstractmethod
    def size(self) -> tuple[int, int] | None:
        """Of images, in pixels."""

    @property
    @abstractmethod
    def pending(self) -> bool:
        """Whether frames that were drawn have not arrived yet."""

    @abstractmethod
    def draw(self, then: Callable[[np.ndarray], object]) -> None:
        """Record this frame, within the open submission; images go to `then`."""

    @abstractmethod
    def collect(self) -> None:
        """Read what can only be read between frames."""

    def _counted(self) -> None:
        """A frame was recorded; the last one ends it."""
        self.frames += 1
        self._changes = self._session.changes
        self.ended = self._most > 0 and self.frames >= self._most


class VideoRecording(Recording):
    """A video that is being recorded, with its own render target."""

    def __init__(self, session: Session, size: tuple[int, int], path: Path, video: VideoOptions, most: int):
        super().__init__(session, most)
        self._rate = video.rate_of(path)
        self._offscreen = Offscreen(session.gpu, size)
        self._renderer = Renderer(session.gpu, FORMAT)
        self._reading: Reading | None = None  # the last one; they arrive in their order
        self.writer = FrameWriter[np.ndarray](path, lambda: Video(path, size, video))

    @property
    def size(self) -> tuple[int, int]:
        return self._offscreen.size

    @property
    def pending(self) -> bool:
        return self._reading is not None and not self._reading.done

    def draw(self, then: Callable[[np.ndarray], object]) -> None:
        """Render this frame for the video, unless its rate leaves it out."""
        if is_shown(self.frames, self._rate):
            self._session.draw_to_file(self._renderer, self._offscreen.view, self._offscreen.size)
            self._reading = self._offscreen.read(then)
        self._counted()

    def collect(self) -> None:
        """Does nothing: images arrive."""


class RunRecording(Recording):
    """The geometry of layers in each frame, and the camera, for a USD file."""

    def __init__(self, session: Session, path: Path, layers: Sequence[str], most: int):
        super().__init__(session, most)
        export.require_usd(path)
        self._names = export.require_layers(path, session.stage.layers, layers)
        up = session.scene.camera.up
        self._waits = False
        self.writer = FrameWriter[tuple[Layers, OrbitCamera]](path, lambda: UsdFrames(path, up))

    @property
    def size(self) -> None:
        return None

    @property
    def pending(self) -> bool:
        return self._waits

    def draw(self, then: Callable[[np.ndarray], object]) -> None:
        """Layers are read by `collect`, since that waits for this frame."""
        self._waits = True
        self._counted()

    def collect(self) -> None:
        """Read the layers as they were drawn; a failure ends the recording."""
        if not self._waits:
            return
        self._waits = False
        layers = self._session.stage.layers
        try:
            if missing := [name for name in self._names if name not in layers]:
                raise InputError(f"{self.writer.path}: the scene has no layer {missing[0]!r} any more")
            found = [export.snapshot(layers[name]) for name in self._names]
        except VertigradError as error:
            self.ended = True
            self.writer.abort(error)
        else:
            camera = self._session.camera
            self.writer.put((found, OrbitCamera(**vars(camera))))


class UsdFrames:
    """A USD file as what frames are written to."""

    def __init__(self, path: Path, up: str):
        self._file = export.UsdFile(path, up, FPS)

    def put(self, frame: int, shown: tuple[Layers, OrbitCamera]) -> None:
        """Add the geometry of a frame."""
        layers, camera = shown
        self._file.add(frame, [make() for make in layers], camera)

    def close(self) -> None:
        """Write the file."""
        self._file.close()

    def discard(self) -> None:
        """End without a file."""
        self._file.discard()


class GeometryExport:
    """One file of geometry as what layers are written to, one after the other."""

    def __init__(self, path: Path, up: str):
        self._path, self._up = path, up
        self._found: list[export.Geometry] = []

    def put(self, frame: int, make: Callable[[], export.Geometry]) -> None:
        """Make the geometry of a layer."""
        self._found.append(make())

    def close(self) -> None:
        """Write the file."""
        export.write_geometries(self._path, self._found, self._up)

    def discard(self) -> None:
        """Does nothing: the file is written at the end."""
