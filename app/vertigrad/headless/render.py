"""Running a scene without a window."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..models.stepping import no_dropped_time
from ..renderer.bounds import Bounds
from ..renderer.layers import Layer
from ..renderer.lens import Sample, sample_count
from ..renderer.renderer import Renderer
from ..session import STEP, RunRecord, Session
from ..session.readbacks import wait_for_readbacks
from ..session.watches import Watch
from .diagnostics import DiagnosticsFile
from .exr import SUFFIX as EXR
from .exr import USUAL_EXR, ExrOptions
from .light import LightTarget
from .offscreen import FORMAT, Offscreen, enough_memory, require_drawable
from .output import LightImage, Output
from .outputs import USUAL, open_output
from .run_files import RunFile, is_run_file, open_run_file
from .video import VideoOptions

_log = logging.getLogger("vertigrad")

MEASURED = 30  # frames from one measurement of the models' diagnostics to the next


def render(
    session: Session,
    frames: int,
    size: tuple[int, int],
    outputs: Sequence[Path] = (),
    progress: Callable[[int], object] = lambda done: None,
    timed: bool = False,
    warm_up: int = 0,
    transparent: bool = False,
    supersample: int = 1,
    diagnostics: Path | None = None,
    layers: Sequence[str] = (),
    watches: Sequence[Watch] = (),
    video: VideoOptions = USUAL,
    first: int = 0,
    exr: ExrOptions = USUAL_EXR,
    draw: bool = True,
    files: Sequence[RunFile] = (),
    exposure: float = 0.0,
) -> RunRecord:
    """Run `frames` frames, write their images and geometry to `outputs`, and return the counted bytes and times.

    Models take all steps that are due, however long that takes, and are measured every `MEASURED` frames:
    `session.limits` has the exceeded limits. `progress` is called with the number of finished frames; with `timed` the
    times of the GPU are measured too. `warm_up` frames come first, neither counted nor written; `transparent` images
    have no background. With `supersample` each pixel is the mean of so many along each side. `diagnostics` is a CSV or
    NPZ file for the diagnostics and `watches` of each frame, which waits for the GPU. `layers` are those whose geometry
    is written, by default all. `video` are options of videos, which leave out frames to last as long as the run, `exr`
    those of EXR images. `files` are further ones that read the run; they are closed. Frames before `first` (from 0) are
    not written. Without `draw` nothing is drawn; there may be no images among the outputs then. The last frame ends
    this `exposure` early, a fraction of it, in which `path_trace` goes on. Raises `InputError` for outputs that cannot
    be written and for what cannot be drawn, `OutOfMemory` if there is not enough GPU memory.
    """
    gpu = session.gpu
    with ExitStack() as stack:
        stack.enter_context(no_dropped_time())
        images = [path for path in outputs if not is_run_file(path)]
        linear = any(path.suffix.lower() == EXR for path in images)
        shooting = _Shooting(session, size, transparent, supersample, exr if linear else None, draw)
        shown = [stack.enter_context(closing(open_output(path, size, transparent, video, exr))) for path in images]
        others = [*files, *(open_run_file(path, session, layers) for path in outputs if is_run_file(path))]
        others += [] if diagnostics is None else [DiagnosticsFile(diagnostics, watches)]
        for file in others:
            stack.enter_context(closing(file))
        stack.callback(setattr, gpu.timer, "enabled", gpu.timer.enabled)
        gpu.timer.enabled = timed

        for _ in range(warm_up):
            shooting.frame()
        shooting.exposure = exposure
        gpu.sync()
        record = RunRecord(gpu)
        for number in range(frames):
            begun, worked = time.perf_counter(), time.thread_time()
            shooting.frame(
                number,
                [file for file in shown if number >= first and file.wants(number - first, frames - 1 - first)],
                last=number == frames - 1,
            )
            record.frame((time.thread_time() - worked) * 1e3, (time.perf_counter() - begun) * 1e3)
            shooting.write()
            ended = session.watches.over
            for file in others if number >= first else ():
                if file.wants(number, number if ended else frames - 1):
                    file.add(session, number)
            progress(number + 1)
            if ended:
                break
        shooting.drain()
        record.take_times()
    return record


class _Shooting:
    """Draws a session's frames and passes their images to the files, when they have arrived."""

    def __init__(
        self,
        session: Session,
        size: tuple[int, int],
        transparent: bool,
        supersample: int,
        exr: ExrOptions | None,
        draws: bool = True,
    ):
        require_drawable(session.gpu, (size[0] * supersample, size[1] * supersample))
        self._session, self._supersample, self._draws = session, supersample, draws
        self.exposure = 0.0  # of the last frame, that is left for others
        with enough_memory(size):
            self._offscreen = Offscreen(session.gpu, size)
            self._renderer = Renderer(session.gpu, FORMAT, transparent)
        self._light = None if exr is None else LightTarget(session.gpu, size, exr, transparent)
        self._world_layers: Sequence[Layer] = ()
        self._bounds = Bounds(())
        self._parts_passed = 0.0  # of a frame, that the camera has not advanced yet
        self._arrived: deque[tuple[int, Sequence[Output[Any]], np.ndarray | LightImage]] = deque()

    def frame(self, number: int = 0, outputs: Sequence[Output[Any]] = (), last: bool = False) -> None:
        """Run one frame, in one submission. After the last one, `drain` warns of layers without finite positions."""
        session = self._session
        with session.gpu.frames.frame():
            session.apply()
            if last and self.exposure > 0.0:
                self._advance_until_exposed()
            else:
                self._advance_and_draw(outputs)
            if number % MEASURED == MEASURED - 1:
                session.measure()
            if session.watches.thorough:
                session.request_readbacks()
            if last:
                layers = session.stage.layers.values()
                self._world_layers = [
                    one for one in layers if one.framed and getattr(one.style, "placement", "world") == "world"
                ]
                timer, timed = session.gpu.timer, session.gpu.timer.enabled
                timer.enabled = False  # not part of the frame time
                self._bounds = Bounds(self._world_layers)
                timer.enabled = timed
            shown = [file for file in outputs if not file.is_linear]
            if shown:
                self._offscreen.read(partial(self._arrive, number, shown))
            linear = [file for file in outputs if file.is_linear]
            if linear and self._light is not None:
                self._light.read(session.camera, partial(self._arrive, number, linear))

    def _advance_and_draw(self, outputs: Sequence[Output[Any]]) -> None:
        """Advance by a frame, and draw it for these files.

        The shutter is open in the last part of the frame, in which each sample is drawn at a time of its own.
        """
        session, linear = self._session, any([file.is_linear for file in outputs])
        view = session.view
        shutter = view.shutter if outputs and self._draws else 0.0
        count = sample_count(view) if outputs and self._draws else 1
        if shutter < 1.0:
            self._advance(1.0 - shutter, last=shutter == 0.0)
        for index in range(count):
            if shutter > 0.0:
                self._advance(shutter / count, last=index == count - 1)
            if self._draws:
                self._draw(linear, Sample(index, index == count - 1) if count > 1 else None)

    def _advance_until_exposed(self) -> None:
        """Advance by the part of a frame in which the shutter is closed."""
        if self.exposure < 1.0:
            self._advance(1.0 - self.exposure, last=False)
        self._advance_camera(0.0)

    def _advance(self, part: float, last: bool) -> None:
        """Advance models and camera by a part of a frame."""
        self._advance_camera(part)
        self._session.advance(part, last)

    def _advance_camera(self, next_part: float) -> None:
        """Let the camera follow the parts that have passed, but not the next one."""
        if self._parts_passed > 0.0:
            self._session.cameras.advance(STEP * self._parts_passed)
        self._parts_passed = next_part

    def _draw(self, linear: bool, sample: Sample | None) -> None:
        """Draw the image, or one sample of it; with `linear` once more as linear light."""
        targets = [(self._renderer, self._offscreen.view, self._offscreen.size)]
        if linear and self._light is not None:
            targets.append((self._light.renderer, self._light.view, self._light.size))
        for renderer, view, size in targets:
            with enough_memory(size):
                self._session.draw(renderer, view, size, supersample=self._supersample, sample=sample)

    def write(self) -> None:
        """Write the images that have arrived. Raises `InputError`."""
        while self._arrived:
            number, files, image = self._arrived.popleft()
            for file in files:
                file.put(number, image)

    def drain(self) -> None:
        """Wait until the last image has arrived, and write it."""
        wait_for_readbacks(self._session.gpu)
        self.write()
        for layer, finite in zip(self._world_layers, self._bounds.finite(), strict=True):
            if finite == 0:
                _log.warning("layer %r shows nothing: no row of its position is finite", layer.name)

    def _arrive(self, number: int, files: Sequence[Output[Any]], image: np.ndarray | LightImage) -> None:
        """Store it for `write`: images arrive while the GPU is waited for, where no error may be raised."""
        self._arrived.append((number, files, image))
