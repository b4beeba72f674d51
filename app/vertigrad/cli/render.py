"""`vertigrad render`: images and videos of a scene, without a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..collector import paused
from ..errors import InputError
from . import options
from .interrupt import stop_by_interrupt
from .options import console, errors_console

OutputOption = Annotated[
    list[Path],
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="file.png (the last image), file_%04d.png (all), the same as .exr, a video (.mp4, .webm, .gif, .webp), or "
        "geometry (.ply, .obj, .glb; .usdc: all frames); may be repeated",
    ),
]


def command(
    scene: options.SceneArgument,
    output: OutputOption,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="how many frames, a sixtieth of a second each; by default 1")
    ] = None,
    size: options.SizeOption = "1280x720",
    range: Annotated[
        str, typer.Option(metavar="FIRST:LAST", help="the frames to write, from 0; those before run too")
    ] = "",
    fps: Annotated[
        float,
        typer.Option(metavar="N", help="frames per second of videos; frames of the run are left out for less than 60"),
    ] = 0.0,
    codec: Annotated[
        str, typer.Option(metavar="NAME", help="of videos: h264, h265 or av1 in .mp4, vp9 or av1 in .webm")
    ] = "",
    video_quality: Annotated[
        int, typer.Option(metavar="N", help="of videos, from 1 to 100 (GIF: percent of 256 colors)")
    ] = 0,
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    camera: options.CameraOption = "",
    quality: options.QualityOption = "",
    interactions: options.InteractionsOption = None,
    touches: options.OldInteractionsOption = None,
    turntable: Annotated[
        float, typer.Option(metavar="DEG", help="circle the target, so many degrees a second of the video")
    ] = 0.0,
    layer: Annotated[
        list[str], typer.Option(metavar="NAME", help="whose geometry is written; by default all; may be repeated")
    ] = [],  # noqa: B006
    transparent: Annotated[
        bool, typer.Option("--transparent", help="no background: PNG and EXR files with alpha")
    ] = False,
    exr_bits: Annotated[int, typer.Option(metavar="N", help="bits of the floats of EXR files: 16 or 32")] = 16,
    exr_depth: Annotated[
        bool, typer.Option("--exr-depth", help="a channel Z in EXR files: the distance from the camera")
    ] = False,
    supersample: Annotated[
        int, typer.Option(min=1, max=4, metavar="N", help="draw N times as many pixels along each side, and show means")
    ] = 1,
    path_trace: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="path-trace the last frame, N samples of each pixel, into a .png or .exr"
        ),
    ] = None,
    bounces: Annotated[
        int | None,
        typer.Option(min=0, max=1024, metavar="N", help="with --path-trace: bounces of light; by default 8"),
    ] = None,
    adapter: options.AdapterOption = "",
    trust: options.TrustOption = False,
    require_zero_copy: options.ZeroCopyOption = False,
    stop_on_nan: options.StopOnNanOption = False,
    allow_nan: options.AllowNanOption = False,
    report: options.ReportOption = None,
    diagnostics: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write what the models measure in each frame, as a table: .csv or .npz"),
    ] = None,
    watch: Annotated[
        list[str],
        typer.Option(
            metavar="TENSOR:STATISTIC", help="a column of that table, such as galaxy.velocity:max; may be repeated"
        ),
    ] = [],  # noqa: B006
) -> None:
    """Draw frames of SCENE into PNG files and videos, and write what layers draw as geometry."""
    with paused(freeze=True):
        from ..export import USD_SUFFIXES, require_usd
        from ..headless import is_run_file, numbered, render, require_output, require_writable
        from ..headless.exr import SUFFIX as EXR
        from ..headless.exr import USUAL_EXR, ExrOptions
        from ..headless.outputs import USUAL
        from ..headless.video import VideoOptions, is_video
        from ..session.catalog import require
        from ..session.commands import FollowKeyframes, Turntable
        from ..session.measurements import parse_watch, require_table
        from .running import begin, finish_run, geometry_bytes, open_session

    pixels = options.parse_size(size)
    video, exr = VideoOptions(options.finite("--fps", fps), codec, video_quality), ExrOptions(exr_bits, exr_depth)
    first, count = options.parse_range(range, frames)
    if path_trace is not None:
        from .path_trace import require_one_image

        drawn = {"--range": range, "--turntable": turntable, "--supersample": supersample > 1, "--exr-depth": exr_depth}
        require_one_image(output, [name for name, is_set in drawn.items() if is_set])
    elif bounces is not None:
        raise InputError("--bounces: are of path-traced images; add --path-trace N")
    for path in output:
        if is_run_file(path):
            require_writable(numbered(path, 0))
            if path.suffix.lower() in USD_SUFFIXES:
                require_usd(path)
        else:
            require_output(path, pixels, transparent, video, exr)
    if exr != USUAL_EXR and all(path.suffix.lower() != EXR for path in output):
        raise InputError("--exr-bits, --exr-depth: are of EXR files; add one, such as -o file.exr")
    if video != USUAL and not any(map(is_video, output)):
        raise InputError("--fps, --codec, --video-quality: are of videos; add one, such as -o file.mp4")
    if diagnostics is not None:
        require_table(diagnostics)
    if watch and diagnostics is None:
        raise InputError("--watch: is a column of the table that --diagnostics writes; add --diagnostics FILE.csv")
    watches = [parse_watch(text) for text in watch]
    if layer and not any(map(is_run_file, output)):
        raise InputError("--layer: names the layers of a geometry file; add one, such as -o file.ply")
    for path in (report, diagnostics):
        if path is not None:
            require_writable(path)
    interactions = interactions or options.renamed_option(touches, "--touches", "--interactions")
    with open_session(scene, set, seed, adapter, camera, trust=trust, quality=quality) as session:
        begin(session, stop_on_nan, interactions)
        for one in watches:
            require(session.stage, one.tensor)
        if turntable:
            session.carry_out(FollowKeyframes(False))
        session.carry_out(Turntable(options.finite("--turntable", turntable)))
        done, exposure = 0, session.view.shutter if path_trace is not None else 0.0

        def show(finished: int) -> None:
            nonlocal done
            done = finished
            progress.update(task, completed=finished)
            if stopped():  # between frames: raised anywhere, it could be in a finalizer, which ignores it
                raise KeyboardInterrupt

        with _progress() as progress, _interruption(lambda: done, first, count, output), stop_by_interrupt() as stopped:
            task = progress.add_task(session.scene.title, total=count)
            record = render(
                *(session, count, pixels, output if path_trace is None else (), show),
                timed=report is not None,
                transparent=transparent,
                supersample=supersample,
                diagnostics=diagnostics,
                layers=layer,
                watches=watches,
                video=video,
                first=first,
                exr=exr,
                draw=path_trace is None,
                exposure=exposure,
            )
        if path_trace is not None:
            from .path_trace import traced

            text = traced(session, path_trace, pixels, output, bounces, seed or 0, transparent, exr, exposure)
        summary = finish_run(record, session, report, require_zero_copy, require_finite=not allow_nan)
    if path_trace is not None:
        console.print(text)
        return
    files, written = ", ".join(str(path) for path in output), count - first
    moved = f"{geometry_bytes(summary):,.0f} bytes of geometry copied a frame"
    console.print(f"{files}: {written} frame{'s' * (written != 1)} of {size}, {moved}")


@contextmanager
def _interruption(done: Callable[[], int], first: int, count: int, outputs: Sequence[Path]) -> Iterator[None]:
    """Say after Ctrl-C which files were finished early; nothing if no frame was written."""
    from ..export import USD_SUFFIXES
    from ..headless.video import is_video

    try:
        yield
    except KeyboardInterrupt:
        runs = [path for path in outputs if is_video(path) or path.suffix.lower() in USD_SUFFIXES]
        names = [str(path) for path in runs if path.exists()]
        if names and done() > first:
            text = f"interrupted after {done()} of {count} frames; what was written until then can be opened: "
            errors_console.print(text + ", ".join(names))
        raise


def _progress() -> Progress:
    """A bar on stderr; nothing if that is not a terminal."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=errors_console, transient=True, disable=not errors_console.is_terminal)
