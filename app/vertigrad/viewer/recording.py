"""`Crew`: screenshots and videos, taken from frames while they are drawn and read back later."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

from ..errors import GpuError, InputError, VertigradError
from ..gpu import Reading
from ..headless.film import Reel
from ..headless.offscreen import FORMAT, Offscreen, enough_memory
from ..headless.outputs import LastPng, Mp4, require_output
from ..panels import Gui
from ..renderer.renderer import Renderer
from ..session import FPS, STEP, Session
from ..session.commands import Captured
from ..session.files import new_file
from ..session.output import Film, Shot

SMALLEST = 2  # pixels a side of a video


class Crew:
    """The session's `Studio`: call `shoot_frame` in each frame after all of it was drawn, and `look_after` outside.

    Videos have the size that the picture has when they are begun, whatever becomes of the window; each frame is one
    sixtieth of a second of them, however long it took.
    """

    def __init__(self, session: Session, gui: Gui, color_format: str):
        self._session, self._gui, self._format = session, gui, color_format
        self._wanted: deque[tuple[Shot, Path]] = deque()
        self._reels: list[tuple[Reel, str]] = []
        self._recording: _Recording | None = None
        self._arrived: deque[tuple[Reel, np.ndarray, bool]] = deque()
        self._readings: dict[Reel, Reading] = {}  # of screenshots

    # what commands ask for ----------------------------------------------------------------------------------------

    @property
    def film(self) -> Film | None:
        """The video that is being recorded."""
        recording = self._recording
        if recording is None:
            return None
        return Film(recording.reel.path, recording.offscreen.size, recording.frames / FPS, recording.reel.nbytes)

    @property
    def busy(self) -> bool:
        """Whether something is to be drawn, read back or written: the frames must go on."""
        return bool(self._wanted or self._reels or self._recording or self._arrived)

    def shoot(self, shot: Shot) -> None:
        path = self._file(shot.folder, ".png")
        require_output(path, self._size(shot), shot.transparent)
        self._wanted.append((shot, path))

    def start(self, folder: Path | None) -> None:
        if self._recording is not None:
            raise InputError("a video is being recorded already; stop it first")
        width, height = (side // 2 * 2 for side in self._session.picture_size)
        if min(width, height) < SMALLEST:
            raise InputError("the picture is too small for a video")
        path = self._file(folder, ".mp4")
        require_output(path, (width, height))
        reel = Reel(path, lambda: Mp4(path, (width, height), FPS))
        try:
            with enough_memory((width, height)):
                self._recording = _Recording(self._session, (width, height), reel)
        except BaseException:
            reel.finish()
            raise
        self._reels.append((reel, "recording"))

    def stop(self) -> None:
        if self._recording is None:
            raise InputError("no video is being recorded")
        self._recording.ended = True
        self._end_when_read()

    def passed(self, seconds: float) -> float:
        """How long a frame lasts for the camera: as long as it took, or as the video has it."""
        if self.film is None:
            return seconds
        return STEP if self._is_due else 0.0

    # frames -------------------------------------------------------------------------------------------------------

    def shoot_frame(self) -> None:
        """Record what is wanted of this frame, which has been drawn, into the open submission.

        A screenshot or a video that fails is given up.
        """
        while self._wanted:
            shot, path = self._wanted.popleft()
            try:
                self._take(shot, path)
            except VertigradError as error:
                self._session.post(Captured("screenshot", error=error))
        recording = self._recording
        if recording is not None and self._is_due:
            try:
                recording.draw(lambda picture: self._arrived.append((recording.reel, picture, False)))
            except BaseException:
                recording.ended = True
                raise

    def look_after(self) -> None:
        """Pass on what has arrived, and tell what was finished. Call it between frames."""
        while self._arrived:
            reel, picture, last = self._arrived.popleft()
            reel.put(picture)
            if last:
                reel.finish()
        self._end_when_read()
        for reel in [reel for reel, reading in self._readings.items() if reading.done]:
            if self._readings.pop(reel).dropped:
                reel.abort(GpuError("the screenshot was lost with its frame; take it again"))
        for reel, topic in [entry for entry in self._reels if entry[0].done]:
            self._reels.remove((reel, topic))
            self._tell(reel, topic)

    def close(self) -> None:
        """Finish everything: waits for the GPU, and for the files to be written."""
        if self._recording is not None:
            self._recording.ended = True
        gpu = self._session.gpu
        gpu.sync()
        while gpu.readback.in_flight:
            gpu.poll()
        self.look_after()
        for reel, _ in self._reels:
            reel.wait()
        self.look_after()

    # inside -------------------------------------------------------------------------------------------------------

    @property
    def _is_due(self) -> bool:
        """Whether this frame is one of the video: not while the models are in the middle of a step."""
        recording, session = self._recording, self._session
        if recording is None or recording.ended:
            return False
        return not session.playing or session.changes != recording.changes

    def _file(self, folder: Path | None, suffix: str) -> Path:
        """A name that is still free: files are written later than they are named."""
        taken = {*(path for _, path in self._wanted), *(reel.path for reel, _ in self._reels)}
        return new_file(f"{self._session.scene.path.stem}-{datetime.now():%Y-%m-%d-%H%M%S}", suffix, folder, taken)

    def _size(self, shot: Shot) -> tuple[int, int]:
        if shot.panels:
            display = self._gui.io.display_size
            return int(display.x), int(display.y)
        if shot.size is not None:
            return shot.size
        if not (math.isfinite(shot.scale) and shot.scale > 0.0):
            raise InputError(f"a picture cannot be {shot.scale} times as large as the window")
        width, height = self._session.picture_size
        return round(width * shot.scale), round(height * shot.scale)

    def _take(self, shot: Shot, path: Path) -> None:
        session, size = self._session, self._size(shot)
        with enough_memory(size):
            offscreen = Offscreen(session.gpu, size, self._format if shot.panels else FORMAT)
            if shot.panels:
                left, top, width, height = self._gui.viewport
                session.draw(Renderer(session.gpu, self._format), offscreen.view, (width, height), (left, top))
                self._gui.draw(offscreen.view)
            else:
                session.draw_elsewhere(Renderer(session.gpu, FORMAT, shot.transparent), offscreen.view, size)
        reel = Reel(path, lambda: LastPng(path, shot.transparent))
        self._reels.append((reel, "screenshot"))
        self._readings[reel] = offscreen.read(lambda picture: self._arrived.append((reel, picture, True)))

    def _end_when_read(self) -> None:
        """Close the video once its last picture has been passed on; at once if it can go no further."""
        recording = self._recording
        if recording is None:
            return
        if recording.reel.error is not None or (recording.ended and not recording.pending and not self._arrived):
            recording.reel.finish()
            self._recording = None

    def _tell(self, reel: Reel, topic: str) -> None:
        self._session.post(Captured(topic, reel.path, reel.error))


class _Recording:
    """A video in progress: its own picture of each frame, whatever the window's is."""

    def __init__(self, session: Session, size: tuple[int, int], reel: Reel):
        self._session = session
        self.reel = reel
        self.offscreen = Offscreen(session.gpu, size)
        self._renderer = Renderer(session.gpu, FORMAT)
        self.frames = 0
        self.changes = -1  # the session's, as of the last picture
        self.ended = False
        self._reading: Reading | None = None  # the last one; they arrive in their order

    @property
    def pending(self) -> bool:
        """Whether pictures are to arrive."""
        return self._reading is not None and not self._reading.done

    def draw(self, then: Callable[[np.ndarray], object]) -> None:
        """Draw this frame into the video."""
        self._session.draw_elsewhere(self._renderer, self.offscreen.view, self.offscreen.size)
        self._reading = self.offscreen.read(then)
        self.frames += 1
        self.changes = self._session.changes
