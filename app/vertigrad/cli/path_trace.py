"""`vertigrad render --path-trace`: the progress bar, Ctrl-C, and what is written then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import InputError
from ..headless.exr import ExrOptions
from ..headless.path_trace import path_trace, require_still
from ..path_trace import BOUNCES
from ..session import Session
from .interrupt import stop_by_interrupt
from .options import errors_console


def require_one_image(outputs: Sequence[Path], others: Sequence[str]) -> None:
    """Raise `InputError` for outputs that are no images, and for options of other images."""
    for path in outputs:
        require_still(path)
    if others:
        raise InputError(f"{', '.join(others)}: not of path-traced images; leave out --path-trace, or these")


def traced(
    session: Session,
    samples: int,
    size: tuple[int, int],
    outputs: Sequence[Path],
    bounces: int | None,
    seed: int,
    transparent: bool,
    exr: ExrOptions,
    exposure: float,
) -> str:
    """Trace and write the image; returns a summary.

    After Ctrl-C the image has the samples so far, and `KeyboardInterrupt` is raised.
    """
    columns: Any = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    columns += (TextColumn("samples"), TimeRemainingColumn())
    bar = Progress(*columns, console=errors_console, transient=True, disable=not errors_console.is_terminal)
    files = ", ".join(str(path) for path in outputs)
    with bar, stop_by_interrupt() as stopped:
        task = bar.add_task("path tracing", total=samples)
        found = path_trace(
            *(session, samples, size, outputs),
            progress=lambda done: bar.update(task, completed=done),
            stopped=stopped,
            warn=lambda sentence: errors_console.print(f"warning: {sentence}", style="yellow", markup=False),
            bounces=BOUNCES if bounces is None else bounces,
            seed=seed,
            transparent=transparent,
            exr=exr,
            exposure=exposure,
        )
    if found.samples < samples:
        result = f"{files}: the image has these" if found.samples else "no image was written"
        errors_console.print(f"interrupted after {found.samples} of {samples} samples; {result}")
        raise KeyboardInterrupt
    rate = found.samples * size[0] * size[1] / max(found.seconds, 1e-9) / 1e6
    speed = f"in {found.seconds:.1f} s, {rate:.2f} million a second"
    return f"{files}: {found.samples} samples of {size[0]}x{size[1]} pixels {speed}"
