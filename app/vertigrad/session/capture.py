"""`CaptureService`: takes screenshots and videos of a session, where there is a window; and requests for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

LARGEST = 1 << 16  # pixels a side that may be asked for; each adapter has a limit of its own


class CaptureRequest(NamedTuple):
    """A screenshot to take: of `size` in pixels, or of the viewport's size times `scale`.

    With `panels` it shows the whole window at its own size; else the viewport only, without its background if
    `transparent`. It is written to `folder`, by default the current one, or only copied to the `clipboard`. With the
    `suffix` ".exr" it is linear light, of floats of so many `bits` (16 or 32), and with `depth` has a channel for that.
    """

    scale: float = 1.0
    size: tuple[int, int] | None = None
    panels: bool = False
    transparent: bool = False
    folder: Path | None = None
    clipboard: bool = False
    suffix: str = ".png"
    bits: int = 16
    depth: bool = False


class RecordingOptions(NamedTuple):
    """What to record into `folder`, by default the current one.

    `suffix` is its format, of a video or of a USD file, which has the geometry of each frame. `rate` [frames per
    second], `codec` and `quality` (1 to 100) are those of `headless.video.VideoOptions`; 0 or empty: the usual ones. It
    ends after so many `frames` of 1/60 s; 0: when it is stopped.
    """

    folder: Path | None = None
    suffix: str = ".mp4"
    rate: float = 0.0
    codec: str = ""
    quality: int = 0
    frames: int = 0
    layers: tuple[str, ...] = ()  # of a USD file: those to record, by default all


class RecordingStatus(NamedTuple):
    """The progress of what is being recorded: a video, or with `size` None the geometry of a run.

    `nbytes` is the size of the file so far. `part` is from 0 to 1; None if it lasts until it is stopped.
    """

    path: Path
    size: tuple[int, int] | None
    seconds: float
    nbytes: int
    part: float | None = None


class ExportStatus(NamedTuple):
    """The progress of geometry that is being written: `part` is from 0 to 1."""

    path: Path
    part: float


class CaptureService(Protocol):
    """Captures the next frames as requested, and posts the results to the session."""

    @property
    def recording(self) -> RecordingStatus | None:
        """The video that is being recorded."""
        ...

    @property
    def exports(self) -> Sequence[ExportStatus]:
        """The files of geometry that are being written."""
        ...

    def take_screenshot(self, request: CaptureRequest) -> None:
        """Capture the next frame. Raises `InputError` if that is not possible."""
        ...

    def start_recording(self, options: RecordingOptions) -> None:
        """Record every frame from the next one on. Raises `InputError` if the video cannot be written."""
        ...

    def stop_recording(self) -> None:
        """End the recording with the previous frame. Raises `InputError` if nothing is being recorded."""
        ...

    def cancel_recording(self) -> None:
        """End the recording without a file. Raises `InputError` if nothing is being recorded."""
        ...

    def export_geometry(self, path: Path, layers: Sequence[str]) -> None:
        """Read what layers draw now, and write it while the window continues. Raises `InputError`."""
        ...

    def cancel_export(self, path: Path) -> None:
        """Do not write this file. Raises `InputError` if it is not being written."""
        ...
