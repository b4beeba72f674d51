"""`vertigrad render`: pictures and videos of a scene, without a window."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import InputError
from ..headless import render
from .options import (
    AdapterOption,
    ReportOption,
    SceneArgument,
    SeedOption,
    SetOption,
    SizeOption,
    ZeroCopyOption,
    console,
    errors_console,
    finish_run,
    open_session,
    parse_size,
)


def command(
    scene: SceneArgument,
    output: Annotated[
        list[Path],
        typer.Option("--output", "-o", help="file.png (last picture), file_%04d.png (all) or file.mp4; may be repeated"),
    ],
    frames: Annotated[int, typer.Option(min=1, help="how many frames, a sixtieth of a second each")] = 1,
    size: SizeOption = "1280x720",
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    require_zero_copy: ZeroCopyOption = False,
    report: ReportOption = None,
) -> None:
    """Draw frames of SCENE into PNG files and videos."""
    pixels = parse_size(size)
    for path in output:
        if path.suffix.lower() not in (".png", ".mp4"):
            raise InputError(f"--output {path}: pictures are written as .png and videos as .mp4")
    session = open_session(scene, set, seed, adapter)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors_console, transient=True) as progress:
        task = progress.add_task(session.scene.title, total=frames)
        record = render(session, frames, pixels, output, lambda done: progress.update(task, completed=done))
    summary = finish_run(record, session, report, require_zero_copy)
    moved = summary["bytes_per_frame"]
    geometry = sum(moved[way] for way in ("host_to_device", "device_to_device", "device_to_host"))
    files = ", ".join(str(path) for path in output)
    console.print(f"{files}: {frames} frames of {size}, {geometry:.0f} bytes of geometry copied a frame", highlight=False)
