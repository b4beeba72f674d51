"""`WindowCapture`: screenshots and videos of the window, read back some frames after they were drawn."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

from ..errors import GpuError, InputError, VertigradError
from ..gpu import Reading
from ..headless.frame_writer import FrameWriter
from ..headless.offscreen import FORMAT, Offscreen, enough_memory
from ..headless.outputs import Png, require_output
from ..headless.video import Video, VideoOptions, is_shown
from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import FPS, STEP, Session
from ..session.capture import CaptureRequest, RecordingOptions, RecordingStatus
from ..session.commands import CaptureFinished
from ..session.files import new_file
from ..session.readbacks import wait_for_readbacks
from .image_clipboard import ClipboardImage, require_clipboard

SMALLEST = 2  # pixels a side of a video


class WindowCapture:
    """The session's `CaptureService`: call `capture_frame` at the end of each frame, and `collect` between frames.

    A video has the size of the viewport at its start. Each of its frames lasts a sixtieth of a second,
    however long it took to draw.
    """

    def __init__(self, session: Session, gui: Gui, color_format: str):
        self._session, self._gui, self._format = session, gui, color_format
        self._requests: deque[tuple[CaptureRequest, Path]] = deque()
        self._writers: list[tuple[FrameWriter, str]] = []
        self._recording: _Recording | None = None
        self._received: deque[tuple[FrameWriter, np.ndarray, bool]] = deque()
        self._readbacks: dict[FrameWriter, Reading] = {}  # of screenshots

    # requests of commands ----------------------------------------------------------------------------------------

    @property
    def recording(self) -> RecordingStatus | None:
        """The video that is being recorded."""
        recording = self._recording
        if recording is None:
            return None
        return RecordingStatus(
            recording.writer.path, recording.offscreen.size, recording.frames / FPS, recording.writer.nbytes
        )

    @property
    def busy(self) -> bool:
        """Whether captures are being drawn, read back or written."""
        return bool(self._requests or self._writers or self._recording or self._received)

    def take_screenshot(self, request: CaptureRequest) -> None:
        path = self._file(None if request.clipboard else request.folder, ".png")
        if request.clipboard:
            require_clipboard()
        else:
            require_output(path, self._size(request), request.transparent)
        self._requests.append((request, path))

    def start_recording(self, options: RecordingOptions) -> None:
        if self._recording is not None:
            raise InputError("a video is being recorded already; stop it first")
        width, height = (side // 2 * 2 for side in self._session.viewport_size)
        video = VideoOptions(options.rate, options.codec, options.quality)
        if min(width, height) < SMALLEST:
            raise InputError("the viewport is too small for a video")
        path = self._file(options.folder, options.suffix)
        require_output(path, (width, height), options=video)
        writer = FrameWriter(path, lambda: Video(path, (width, height), video))
        try:
            with enough_memory((width, height)):
                self._recording = _Recording(
                    self._session, (width, height), writer, video.rate_of(path), options.frames
                )
        except BaseException:
            writer.finish()
            raise
        self._writers.append((writer, "recording"))

    def stop_recording(self) -> None:
        if self._recording is None:
            raise InputError("no video is being recorded")
        self._recording.ended = True
        self._end_when_read()

    def frame_duration(self, seconds: float) -> float:
        """Seconds that a frame lasts for the camera: as long as it took, or while recording as long as in the video."""
        if self.recording is None:
            return seconds
        return STEP if self._is_due else 0.0

    # frames -------------------------------------------------------------------------------------------------------

    def capture_frame(self) -> None:
        """Record the copies of this frame, which has been drawn, into the open submission.

        A screenshot or a video that fails is abandoned.
        """
        while self._requests:
            request, path = self._requests.popleft()
            try:
                self._draw_screenshot(request, path)
            except VertigradError as error:
                topic = "clipboard" if request.clipboard else "screenshot"
                self._session.post(CaptureFinished(topic, error=error))
        recording = self._recording
        if recording is not None and self._is_due:
            try:
                recording.draw(lambda image: self._received.append((recording.writer, image, False)))
            except BaseException:
                recording.ended = True
                raise

    def collect(self) -> None:
        """Write images that have been read back, and report finished files. Call it between frames."""
        while self._received:
            writer, image, last = self._received.popleft()
            writer.put(image)
            if last:
                writer.finish()
        self._end_when_read()
        for writer in [writer for writer, reading in self._readbacks.items() if reading.done]:
            if self._readbacks.pop(writer).dropped:
                writer.abort(GpuError("the frame of the screenshot was dropped; please retry"))
        for writer, topic in [entry for entry in self._writers if entry[0].done]:
            self._writers.remove((writer, topic))
            path = None if topic == "clipboard" else writer.path
            self._session.post(CaptureFinished(topic, path, writer.error))

    def close(self) -> None:
        """Finish everything: waits for the GPU, and for the files to be written."""
        if self._recording is not None:
            self._recording.ended = True
        wait_for_readbacks(self._session.gpu)
        self.collect()
        for writer, _ in self._writers:
            writer.wait()
        self.collect()

    # inside -------------------------------------------------------------------------------------------------------

    @property
    def _is_due(self) -> bool:
        """Whether this frame is one of the video: not while the models are in the middle of a step."""
        recording, session = self._recording, self._session
        if recording is None or recording.ended:
            return False
        return not session.playing or session.changes != recording.changes

    def _file(self, folder: Path | None, suffix: str) -> Path:
        """A free file name, also not that of a file that is about to be written."""
        taken = {*(path for _, path in self._requests), *(writer.path for writer, _ in self._writers)}
        return new_file(f"{self._session.scene.path.stem}-{datetime.now():%Y-%m-%d-%H%M%S}", suffix, folder, taken)

    def _size(self, request: CaptureRequest) -> tuple[int, int]:
        if request.panels:
            display = self._gui.io.display_size
            return int(display.x), int(display.y)
        if request.size is not None:
            return request.size
        if not (math.isfinite(request.scale) and request.scale > 0.0):
            raise InputError(f"a screenshot cannot be {request.scale} times as large as the viewport")
        width, height = self._session.viewport_size
        return round(width * request.scale), round(height * request.scale)

    def _draw_screenshot(self, request: CaptureRequest, path: Path) -> None:
        session, size = self._session, self._size(request)
        with enough_memory(size):
            offscreen = Offscreen(session.gpu, size, self._format if request.panels else FORMAT)
            if request.panels:
                left, top, width, height = self._gui.viewport
                session.draw(Renderer(session.gpu, self._format), offscreen.view, (width, height), (left, top))
                self._gui.draw(offscreen.view)
            else:
                session.draw_to_file(Renderer(session.gpu, FORMAT, request.transparent), offscreen.view, size)
        output = ClipboardImage(request.transparent) if request.clipboard else Png(path, request.transparent)
        writer = FrameWriter(path, lambda: output)
        self._writers.append((writer, "clipboard" if request.clipboard else "screenshot"))
        self._readbacks[writer] = offscreen.read(lambda image: self._received.append((writer, image, True)))

    def _end_when_read(self) -> None:
        """Finish the video once its last image has been passed on; at once if writing it failed."""
        recording = self._recording
        if recording is None:
            return
        if recording.writer.error is not None or (recording.ended and not recording.pending and not self._received):
            recording.writer.finish()
            self._recording = None


class _Recording:
    """A video that is being recorded, with its own render target."""

    def __init__(self, session: Session, size: tuple[int, int], writer: FrameWriter, rate: float, most: int):
        self._session = session
        self.writer, self._rate, self._most = writer, rate, most
        self.offscreen = Offscreen(session.gpu, size)
        self._renderer = Renderer(session.gpu, FORMAT)
        self.frames = 0
        self.changes = -1  # the session's, as of the last frame
        self.ended = False
        self._reading: Reading | None = None  # the last one; they arrive in their order

    @property
    def pending(self) -> bool:
        """Whether an image is being read back."""
        return self._reading is not None and not self._reading.done

    def draw(self, then: Callable[[np.ndarray], object]) -> None:
        """Render this frame for the video, unless its rate leaves it out; the last one ends it."""
        if is_shown(self.frames, self._rate):
            self._session.draw_to_file(self._renderer, self.offscreen.view, self.offscreen.size)
            self._reading = self.offscreen.read(then)
        self.frames += 1
        self.changes = self._session.changes
        self.ended = self._most > 0 and self.frames >= self._most
