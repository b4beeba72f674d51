"""`vertigrad results`: the results of a sweep in the viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .run import require_display


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="what `vertigrad sweep` wrote")],
    adapter: options.AdapterOption = "",
    trust: options.TrustOption = False,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="close the window after so many frames")
    ] = None,
) -> None:
    """Show the runs of a sweep: table, parallel coordinates, scatter matrix, contact sheet; a click opens one."""
    from ..results import SweepFolder

    found, results = SweepFolder(folder.absolute()), SweepFolder(folder.absolute()).results()
    definition = found.definition()
    require_display(f"the table is {folder / 'runs.csv'}")

    from ..session.commands import SetHotReload
    from ..viewer import settings_file, view
    from .running import open_session

    first = results.runs[0] if len(results) else None
    sets, seed = (list(first.sets), first.seed) if first else ([], None)
    with open_session(definition.scene, sets, seed, adapter, trust=trust) as session:
        session.carry_out(SetHotReload(True))
        view(session, frames=frames, memory=None if frames else settings_file(), results=found.path)
