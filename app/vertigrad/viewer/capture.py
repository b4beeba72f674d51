"""`WindowCapture`: screenshots, videos and geometry of the window, written while the window continues."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from .. import export
from ..errors import GpuError, InputError, VertigradError
from ..gpu import Reading
from ..headless.exr import SUFFIX as EXR
from ..headless.exr import Exr, ExrOptions
from ..headless.frame_writer import FrameWriter
from ..headless.light import LightTarget
from ..headless.offscreen import FORMAT, Offscreen, enough_memory
from ..headless.output import LightImage
from ..headless.outputs import Png, require_output, require_writable
from ..headless.video import VideoOptions
from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import STEP, Session
from ..session.capture import CaptureRequest, ExportStatus, RecordingOptions, RecordingStatus
from ..session.commands import CaptureFinished
from ..session.files import new_file
from ..session.readbacks import wait_for_readbacks
from .image_clipboard import ClipboardImage, require_clipboard
from .recording import GeometryExport, Recording, RunRecording, VideoRecording

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
        self._recording: Recording | None = None
        self._exports: dict[Path, tuple[FrameWriter, int]] = {}  # and of how many layers
        self._received: deque[tuple[FrameWriter, np.ndarray | LightImage, bool]] = deque()
        self._readbacks: dict[FrameWriter, Reading] = {}  # of screenshots

    # requests of commands ----------------------------------------------------------------------------------------

    @property
    def recording(self) -> RecordingStatus | None:
        """What is being recorded."""
        return self._recording.status if self._recording is not None else None

    @property
    def exports(self) -> Sequence[ExportStatus]:
        """The files of geometry that are being written; writing counts as a layer more."""
        return [ExportStatus(path, writer.frames / (count + 1)) for path, (writer, count) in self._exports.items()]

    @property
    def behind(self) -> bool:
        """Whether frames are recorded faster than they are written: then the models wait, and the window does not."""
        return self._recording is not None and self._recording.writer.behind

    @property
    def busy(self) -> bool:
        """Whether captures are being drawn, read back or written."""
        return bool(self._requests or self._writers or self._recording or self._received)

    def take_screenshot(self, request: CaptureRequest) -> None:
        path = self._file(None if request.clipboard else request.folder, request.suffix)
        if request.clipboard:
            require_clipboard()
        else:
            if request.panels and request.suffix == EXR:
                raise InputError("a screenshot with panels is a .png file")
            require_output(path, self._size(request), request.transparent, exr=ExrOptions(request.bits, request.depth))
        self._requests.append((request, path))

    def start_recording(self, options: RecordingOptions) -> None:
        if self._recording is not None:
            raise InputError("a recording is in progress already; stop it first")
        path = self._file(options.folder, options.suffix)
        if options.suffix in export.USD_SUFFIXES:
            require_writable(path)
            self._recording = RunRecording(self._session, path, options.layers, options.frames)
        else:
            self._recording = self._video(path, options)
        self._writers.append((self._recording.writer, "recording"))

    def _video(self, path: Path, options: RecordingOptions) -> VideoRecording:
        width, height = (side // 2 * 2 for side in self._session.viewport_size)
        video = VideoOptions(options.rate, options.codec, options.quality)
        if min(width, height) < SMALLEST:
            raise InputError("the viewport is too small for a video")
        require_output(path, (width, height), options=video)
        with enough_memory((width, height)):
            return VideoRecording(self._session, (width, height), path, video, options.frames)

    def stop_recording(self) -> None:
        if self._recording is None:
            raise InputError("nothing is being recorded")
        self._recording.ended = True
        self._end_when_read()

    def cancel_recording(self) -> None:
        if self._recording is None:
            raise InputError("nothing is being recorded")
        self._recording.writer.cancel()
        self._recording = None

    def export_geometry(self, path: Path, layers: Sequence[str]) -> None:
        if path in self._exports:
            raise InputError(f"{path} is being written already; cancel that first")
        stage, up = self._session.stage, self._session.scene.camera.up
        found = [export.snapshot(stage.layers[name]) for name in export.require_layers(path, stage.layers, layers)]
        writer = FrameWriter[Callable[[], export.Geometry]](path, lambda: GeometryExport(path, up), room=len(found) + 1)
        for make in found:
            writer.put(make)
        writer.finish()
        self._exports[path] = writer, len(found)
        self._writers.append((writer, "export"))

    def cancel_export(self, path: Path) -> None:
        if path not in self._exports:
            raise InputError(f"{path} is not being written")
        self._exports[path][0].cancel()

    def frame_duration(self, seconds: float) -> float:
        """Seconds that a frame lasts for the camera: as long as it took, or while recording as long as in the video."""
        if self.recording is None:
            return seconds
        return STEP if self._recording is not None and self._recording.is_due else 0.0

    # frames -------------------------------------------------------------------------------------------------------

    def capture_frame(self) -> None:
        """Record the copies of this frame, which has been drawn, into the open submission.

        A screenshot or a video that fails is abandoned.
        """
        while self._requests:
            request, path = self._requests.popleft()
            try:
                draw = self._draw_light if path.suffix == EXR else self._draw_screenshot
                draw(request, path)
            except VertigradError as error:
                topic = "clipboard" if request.clipboard else "screenshot"
                self._session.post(CaptureFinished(topic, error=error))
        recording = self._recording
        if recording is not None and recording.is_due:
            try:
                recording.draw(lambda image: self._received.append((recording.writer, image, False)))
            except BaseException:
                recording.ended = True
                raise

    def collect(self) -> None:
        """Write images that have been read back, and report finished files. Call it between frames."""
        while self._received:
            writer, image, last = self._received.popleft()
            if not writer.canceled:
                writer.put(image)
            if last:
                writer.finish()
        if self._recording is not None:
            self._recording.collect()
        self._end_when_read()
        for writer in [writer for writer, reading in self._readbacks.items() if reading.done]:
            if self._readbacks.pop(writer).dropped:
                writer.abort(GpuError("the frame of the screenshot was dropped; please retry"))
        for writer, topic in [entry for entry in self._writers if entry[0].done]:
            self._writers.remove((writer, topic))
            self._exports = {path: each for path, each in self._exports.items() if each[0] is not writer}
            path = None if topic == "clipboard" or writer.canceled else writer.path
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

    def _draw_light(self, request: CaptureRequest, path: Path) -> None:
        """Draw a screenshot that is an EXR file."""
        session, size, transparent = self._session, self._size(request), request.transparent
        light = LightTarget(session.gpu, size, ExrOptions(request.bits, request.depth), transparent)
        with enough_memory(size):
            session.draw_to_file(light.renderer, light.view, size)
        writer = FrameWriter[LightImage](path, lambda: Exr(path, transparent))
        self._writers.append((writer, "screenshot"))
        self._readbacks[writer] = light.read(session.camera, lambda image: self._received.append((writer, image, True)))

    def _end_when_read(self) -> None:
        """Finish the recording once its last frame has been passed on; at once if writing it failed."""
        recording = self._recording
        if recording is None:
            return
        if recording.writer.error is not None or (recording.ended and not recording.pending and not self._received):
            recording.writer.finish()
            self._recording = None
