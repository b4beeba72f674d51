"""`vertigrad run`: the viewer."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import (
    AdapterOption,
    ReportOption,
    SceneArgument,
    SeedOption,
    SetOption,
    SizeOption,
    ZeroCopyOption,
    finish_run,
    open_session,
    parse_size,
)

DEFAULT_SCENE = "nbody"


def command(
    scene: SceneArgument = DEFAULT_SCENE,
    size: SizeOption = "1280x800",
    set: SetOption = [],  # noqa: B006
    seed: SeedOption = None,
    adapter: AdapterOption = "",
    require_zero_copy: ZeroCopyOption = False,
    report: ReportOption = None,
    frames: Annotated[int | None, typer.Option(min=1, help="close the window after so many frames")] = None,
    vsync: Annotated[bool, typer.Option(help="show pictures in step with the screen")] = True,
) -> None:
    """Open SCENE in the viewer."""
    from ..viewer import view  # here: a machine without a display must still be able to render

    session = open_session(scene, set, seed, adapter)
    record = view(session, parse_size(size), frames=frames, vsync=vsync)
    finish_run(record, session, report, require_zero_copy)
