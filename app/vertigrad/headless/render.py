"""Running a scene without a window."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import numpy as np

from ..gpu import Gpu
from ..renderer.renderer import Renderer
from ..session import RunRecord, Session
from .offscreen import FORMAT, Offscreen
from .outputs import Output, open_output

RATE = 60  # pictures a second of a video: one for each step of the session

Arrived = deque[tuple[int, np.ndarray]]  # frames and their pictures, read back and not written yet


def render(
    session: Session,
    frames: int,
    size: tuple[int, int],
    outputs: Sequence[Path] = (),
    progress: Callable[[int], object] = lambda done: None,
) -> RunRecord:
    """Run `frames` frames, write their pictures to `outputs`, and return what was counted.

    `progress` is called with the number of frames that are done. Raises `InputError` for outputs that cannot be written
    and for a size that cannot be drawn.
    """
    gpu = session.gpu
    offscreen, renderer = Offscreen(gpu, size), Renderer(gpu, FORMAT)
    arrived: Arrived = deque()
    with ExitStack() as stack:
        files = [stack.enter_context(closing(open_output(path, size, RATE))) for path in outputs]
        gpu.sync()
        record = RunRecord(gpu)
        for number in range(frames):
            begun, worked = time.perf_counter(), time.thread_time()
            with gpu.frames.frame():
                session.apply()
                session.advance()
                session.draw(renderer, offscreen.view, size)
                if any(file.wants(number, frames - 1) for file in files):
                    offscreen.read(partial(_keep, arrived, number))
            record.frame((time.thread_time() - worked) * 1e3, (time.perf_counter() - begun) * 1e3)
            _write(arrived, files, frames - 1)
            progress(number + 1)
        _drain(gpu)
        record.drained()
        _write(arrived, files, frames - 1)
    return record


def _keep(arrived: Arrived, number: int, picture: np.ndarray) -> None:
    """Written later: pictures arrive while the GPU is waited for, where no error may interrupt."""
    arrived.append((number, picture))


def _write(arrived: Arrived, files: Sequence[Output], last: int) -> None:
    while arrived:
        number, picture = arrived.popleft()
        for file in files:
            if file.wants(number, last):
                file.put(number, picture)


def _drain(gpu: Gpu) -> None:
    """Wait until the last picture has arrived."""
    gpu.sync()
    while gpu.readback.in_flight:
        gpu.poll()
