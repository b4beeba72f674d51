"""`path_trace`: one image of what a session shows, path-traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..models.stepping import no_dropped_time
from ..path_trace import BOUNCES, Gathered, PathTracer, TracedImage, flat_view, gather, untraced
from ..renderer.layers import Layer
from ..renderer.quality import HIGH
from ..renderer.renderer import Renderer
from ..renderer.view_uniforms import moment_of
from ..session import STEP, Session
from ..session.readbacks import wait_for_readbacks
from .exr import SUFFIX as EXR
from .exr import USUAL_EXR, ExrOptions, save_exr
from .light import LightTarget
from .offscreen import FORMAT, Offscreen, enough_memory, require_drawable
from .output import LightImage
from .outputs import is_numbered, save_png

SUFFIXES = (".png", EXR)


class Traced(NamedTuple):
    """How many samples each pixel has, at least, and how long they took [s]."""

    samples: int
    seconds: float


def require_still(path: Path) -> None:
    """Raise `InputError` if a path-traced image cannot be written to `path`."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise InputError(
            f"{path}: a path-traced image is written as {' or '.join(SUFFIXES)}, not as {kind or 'no suffix'}"
        )
    if is_numbered(path):
        raise InputError(f"{path}: a path-traced image is one of the last frame; leave out the %d")


def path_trace(
    session: Session,
    samples: int,
    size: tuple[int, int],
    outputs: Sequence[Path],
    progress: Callable[[float], object] = lambda done: None,
    stopped: Callable[[], bool] = lambda: False,
    warn: Callable[[str], object] = lambda sentence: None,
    bounces: int = BOUNCES,
    seed: int = 0,
    transparent: bool = False,
    exr: ExrOptions = USUAL_EXR,
    exposure: float = 0.0,
) -> Traced:
    """Trace `samples` paths through each of `size` pixels of what the session shows now, and write the image.

    `progress` is called with the samples that a pixel has on average. As soon as `stopped` says so the image is
    written as it is then; without a sample in each pixel it is not. `warn` gets sentences on what is left out. The same
    seed gives the same image on the same GPU. With an `exposure`, the fraction of a frame by which `render` ended
    early, the session goes on for as long, and samples are spread over moments of it: motion blur. Raises `InputError`
    if nothing can be traced or written, `LimitError` and `OutOfMemory` if it is too much for this GPU.
    """
    if samples < 1:
        raise InputError(f"{samples} samples; a path-traced image needs at least 1")
    for path in outputs:
        require_still(path)
    gpu = session.gpu
    require_drawable(gpu, size)
    session.look(size)
    gpu.sync()
    moments = min(session.view.samples, samples) if exposure > 0.0 else 1
    if exposure > 0.0:
        _expose(session, exposure / moments, moments == 1)
    gathered = _gathered(session)
    for sentence in (*gathered.left_out, *untraced(session.view)):
        warn(sentence)
    if session.view.shutter > 0.0 and exposure == 0.0:
        warn("view.shutter: this path-traced image is of one moment, and has no motion blur")
    begun = time.perf_counter()
    with (
        enough_memory(size),
        no_dropped_time(),
        closing(PathTracer(gpu, gathered, session.view, session.camera, size, bounces, seed)) as tracer,
    ):
        for index in range(moments):
            if index > 0:
                session.cameras.advance(STEP * exposure / moments)
                _expose(session, exposure / moments, index == moments - 1)
                tracer.move(_gathered(session), session.camera)
            limit = -(-samples * (index + 1) // moments)
            while tracer.samples < limit and not stopped():
                tracer.advance(limit)
                progress(tracer.done)
        seconds = time.perf_counter() - begun
        for path in outputs if tracer.samples else ():
            write_image(session, tracer, path, transparent, exr, gathered.overlays)
        return Traced(tracer.samples, seconds)


def _expose(session: Session, part: float, last: bool) -> None:
    """Advance the models by a part of the frame."""
    with session.gpu.frames.frame():
        session.advance(part, last)
    session.gpu.sync()


def _gathered(session: Session) -> Gathered:
    moment = moment_of(session.view, session.camera, session.time)
    return gather(list(session.stage.layers.values()), moment)


def write_image(
    session: Session,
    tracer: PathTracer,
    path: Path,
    transparent: bool = False,
    exr: ExrOptions = USUAL_EXR,
    overlays: Sequence[Layer] = (),
) -> None:
    """Post-process the samples so far, draw `overlays` over them, and write the image. Raises `InputError`."""
    gpu, size, found = session.gpu, tracer.size, list[np.ndarray]()
    is_linear = path.suffix.lower() == EXR
    if is_linear:
        light = LightTarget(gpu, size, exr, transparent)
        renderer, view = light.renderer, light.view
    else:
        offscreen, renderer = Offscreen(gpu, size), Renderer(gpu, FORMAT, transparent)
        view = offscreen.view
    images = list[LightImage]()
    with gpu.frames.frame():
        image: list = [TracedImage(gpu, tracer), *overlays]
        renderer.draw(image, session.camera, flat_view(session.view), view, size, session.time, level=HIGH)
        if is_linear:
            light.read(session.camera, images.append)
        else:
            offscreen.read(found.append)
    wait_for_readbacks(gpu)
    if is_linear:
        save_exr(images[0], path, transparent)
    else:
        save_png(found[0], path, transparent)
