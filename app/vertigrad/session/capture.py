"""`CaptureService`: takes screenshots and videos of a session, where there is a window; and requests for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

LARGEST = 1 << 16  # pixels a side that may be asked for; each adapter has a limit of its own


class CaptureRequest(NamedTuple):
    """A screenshot to take: of `size` in pixels, or of the viewport's size times `scale`.

    With `panels` it shows the whole window at its own size; else the viewport only, without its background if
    `transparent`. It is written to `folder`, by default the current one, or only copied to the `clipboard`.
    """

    scale: float = 1.0
    size: tuple[int, int] | None = None
    panels: bool = False
    transparent: bool = False
    folder: Path | None = None
    clipboard: bool = False


class RecordingOptions(NamedTuple):
    """A video to record into `folder`, by default the current one.

    `suffix` is its format. `rate` [frames per second], `codec` and `quality` (1 to 100) are those of
    `headless.video.VideoOptions`; 0 or empty: the usual ones. It ends after so many `frames` of 1/60 s; 0: when it is
    stopped.
    """

    folder: Path | None = None
    suffix: str = ".mp4"
    rate: float = 0.0
    codec: str = ""
    quality: int = 0
    frames: int = 0


class RecordingStatus(NamedTuple):
    """The progress of a video that is being recorded; `nbytes` is the size of the file so far."""

    path: Path
    size: tuple[int, int]
    seconds: float
    nbytes: int


class CaptureService(Protocol):
    """Captures the next frames as requested, and posts the results to the session."""

    @property
    def recording(self) -> RecordingStatus | None:
        """The video that is being recorded."""
        ...

    def take_screenshot(self, request: CaptureRequest) -> None:
        """Capture the next frame. Raises `InputError` if that is not possible."""
        ...

    def start_recording(self, options: RecordingOptions) -> None:
        """Record every frame from the next one on. Raises `InputError` if the video cannot be written."""
        ...

    def stop_recording(self) -> None:
        """End the video with the previous frame. Raises `InputError` if none is being recorded."""
        ...
