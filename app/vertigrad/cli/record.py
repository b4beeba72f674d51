"""`vertigrad record`: outputs of models in each frame of a run, as a file that opens as a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import InputError, RequirementError
from . import options
from .options import console, errors_console


def command(
    scene: options.SceneArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="run.vgz, or a folder run.zarr")],
    frames: Annotated[int, typer.Option(min=1, metavar="N", help="how many frames, a sixtieth of a second each")] = 600,
    tensor: Annotated[
        list[str],
        typer.Option(metavar="MODEL.OUTPUT", help="what to record, may be repeated; by default what layers draw"),
    ] = [],  # noqa: B006
    every: Annotated[int, typer.Option(min=1, metavar="N", help="record each N-th frame only")] = 1,
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    adapter: options.AdapterOption = "",
    trust: options.TrustOption = False,
    stop_on_nan: options.StopOnNanOption = False,
    allow_nan: options.AllowNanOption = False,
) -> None:
    """Record outputs of SCENE in each frame; `vertigrad run FILE` plays them, a scene compares them with a run."""
    from ..headless import render
    from ..headless.outputs import require_writable
    from ..headless.recorded_run import RecordedRun
    from ..models.data.recording_file import SUFFIXES, is_recording, require_zarr
    from .running import begin, open_session, problem_of

    if not is_recording(output):
        raise InputError(f"{output}: recordings are {' or '.join(SUFFIXES)}")
    require_zarr()
    if not output.is_dir():
        require_writable(output)
    if frames < every:
        raise InputError(f"--every {every}: is more than the {frames} frames of the run")
    with open_session(scene, set, seed, adapter, trust=trust) as session, _progress() as progress:
        begin(session, stop_on_nan, None)
        file = RecordedRun(output, session, tensor, frames, every)
        task = progress.add_task(session.scene.title, total=frames)
        shown = lambda done: progress.update(task, completed=done)  # noqa: E731
        render(session, frames, (1, 1), progress=shown, draw=False, files=[file])
        problem = problem_of(session, require_finite=not allow_nan)
    size = output.stat().st_size if output.is_file() else sum(one.stat().st_size for one in output.rglob("*"))
    console.print(f"{output}: {frames // every} frames, {size:,} bytes")
    if problem:
        raise RequirementError(problem)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=errors_console, disable=not errors_console.is_terminal)
