"""Running a scene without a window."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..gpu import Gpu
from ..renderer.renderer import Renderer
from ..session import RunRecord, Session
from .offscreen import FORMAT, Offscreen
from .outputs import Output, open_output

RATE = 60  # pictures a second of a video: one for each step of the session


def render(
    session: Session,
    frames: int,
    size: tuple[int, int],
    outputs: Sequence[Path] = (),
    progress: Callable[[int], object] = lambda done: None,
) -> RunRecord:
    """Run `frames` frames, write their pictures to `outputs`, and return what was counted.

    `progress` is called with the number of frames that are done. Raises `InputError` for outputs that cannot be written.
    """
    gpu = session.gpu
    offscreen, renderer = Offscreen(gpu, size), Renderer(gpu, FORMAT)
    files = [open_output(path, size, RATE) for path in outputs]
    gpu.sync()
    record = RunRecord(gpu)
    try:
        for number in range(frames):
            begun, worked = time.perf_counter(), time.thread_time()
            with gpu.frames.frame():
                session.apply()
                session.advance()
                session.draw(renderer, offscreen.view, size)
                if files:
                    offscreen.read(_deliver(number, files, progress))
            record.frame((time.thread_time() - worked) * 1e3, (time.perf_counter() - begun) * 1e3)
            if not files:
                progress(number + 1)
        _drain(gpu)
    finally:
        for file in files:
            file.close()
    return record


def _deliver(number: int, files: Sequence[Output], progress: Callable[[int], object]) -> Callable[[np.ndarray], None]:
    def deliver(picture: np.ndarray) -> None:
        for file in files:
            file.put(number, picture)
        progress(number + 1)

    return deliver


def _drain(gpu: Gpu) -> None:
    """Wait until the last picture has arrived."""
    gpu.sync()
    while gpu.readback.in_flight:
        gpu.poll()
