"""`vertigrad run`: the viewer."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ..collector import paused
from ..errors import InputError
from . import options

DEFAULT_SCENE = "nbody"
BUDGET = 25.0  # ms: with the drawing, some 20 frames a second at least
REWIND_MEMORY = 256  # MB
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def command(
    scene: options.SceneArgument = DEFAULT_SCENE,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="size of the window in logical pixels, by default as it was last")
    ] = "",
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    camera: options.CameraOption = "",
    quality: options.QualityOption = "",
    interactions: options.InteractionsOption = None,
    touches: options.OldInteractionsOption = None,
    adapter: options.AdapterOption = "",
    trust: options.TrustOption = False,
    require_zero_copy: options.ZeroCopyOption = False,
    stop_on_nan: options.StopOnNanOption = False,
    report: options.ReportOption = None,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="close the window after so many frames")
    ] = None,
    vsync: Annotated[bool, typer.Option(help="synchronize frames with the display's refresh")] = True,
    fps: Annotated[float, typer.Option(metavar="N", help="limit on frames per second; 0: no limit")] = 0.0,
    frames_in_flight: Annotated[
        int, typer.Option(min=1, max=3, metavar="N", help="frames by which the CPU may be ahead of the GPU")
    ] = 2,
    budget: Annotated[
        float,
        typer.Option(metavar="MS", help="GPU time per frame for the models; longer steps continue; 0: no limit"),
    ] = BUDGET,
    rewind_memory: Annotated[
        int, typer.Option(min=0, metavar="MB", help="memory for stepping back in time; 0: none")
    ] = REWIND_MEMORY,
    past: Annotated[int | None, typer.Option(min=0, hidden=True)] = None,
    gallery: Annotated[bool, typer.Option("--gallery", help="offer the scenes first")] = False,
) -> None:
    """Open SCENE in the viewer."""
    pixels = options.parse_size(size) if size else None
    _require_display_for(scene)

    with paused(freeze=True):
        from ..headless import require_writable
        from ..session.commands import SetHotReload, SetPacing, SetRewindMemory
        from .running import begin, finish_run, open_session

    if report is not None:
        require_writable(report)
    past = options.renamed_option(past, "--past", "--rewind-memory")
    interactions = interactions or options.renamed_option(touches, "--touches", "--interactions")
    ahead = frames is None and interactions is None  # frames are asked for by scripts, which wait for the scene
    with open_session(scene, set, seed, adapter, camera, trust=trust, quality=quality, ahead=ahead) as session:
        with paused():  # while the GPU computes the models' start
            from ..viewer import settings_file, view

        begin(session, stop_on_nan, interactions)
        for name, value in {"fps_limit": fps, "frames_in_flight": frames_in_flight, "budget": budget}.items():
            session.carry_out(SetPacing(name, value))
        megabytes = rewind_memory if past is None else past
        session.carry_out(SetRewindMemory(megabytes << 20))
        session.carry_out(SetHotReload(True))
        memory = None if frames else settings_file()  # so many frames are asked for by scripts, which leave no trace
        record = view(session, pixels, frames=frames, vsync=vsync, memory=memory, gallery=gallery)
        finish_run(record, session, report, require_zero_copy)


def has_display() -> bool:
    """Whether there may be a display. The window system has the last word, when the window is opened."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in DISPLAYS)


def no_display(advice: str) -> InputError:
    """The error where `has_display` is false, with what to do then."""
    return InputError(f"no display to open a window on ({' and '.join(DISPLAYS)} are not set); {advice}")


def require_display(advice: str) -> None:
    """Raise `InputError` if there is no display, with what to do then."""
    if not has_display():
        raise no_display(advice)


def _require_display_for(scene: str) -> None:
    """Raise at once if there is no display, before the scene is built; an unknown name is reported first."""
    if has_display():
        return
    from ..scene.packaged import scene_path

    scene_path(scene)
    require_display(
        f"`vertigrad render {scene} -o out.mp4 --frames 120` needs none; `vertigrad scenes` lists the scenes"
    )
