"""`vertigrad run`: the viewer."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ..errors import InputError
from .options import (
    AdapterOption,
    ReportOption,
    SceneArgument,
    SeedOption,
    SetOption,
    SizeOption,
    ZeroCopyOption,
    parse_size,
)

DEFAULT_SCENE = "nbody"
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def command(
    scene: SceneArgument = DEFAULT_SCENE,
    size: SizeOption = "1280x800",
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    require_zero_copy: ZeroCopyOption = False,
    report: ReportOption = None,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="close the window after so many frames")
    ] = None,
    vsync: Annotated[bool, typer.Option(help="show pictures in step with the screen")] = True,
) -> None:
    """Open SCENE in the viewer."""
    pixels = parse_size(size)
    _require_display(scene)

    from ..headless import require_writable
    from ..viewer import view
    from .running import finish_run, open_session

    if report is not None:
        require_writable(report)
    with open_session(scene, set, seed, adapter) as session:
        record = view(session, pixels, frames=frames, vsync=vsync)
        finish_run(record, session, report, require_zero_copy)


def _require_display(scene: str) -> None:
    """Say so at once, before the scene is built. The window system has the last word, when the window is opened."""
    if sys.platform == "linux" and not any(os.environ.get(name) for name in DISPLAYS):
        raise InputError(
            f"no display to open a window on ({' and '.join(DISPLAYS)} are not set); "
            f"`vertigrad render {scene} -o out.mp4 --frames 120` needs none"
        )
