"""`vertigrad bench`: what a frame of a scene costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from . import options
from .options import console, errors_console

WARM_UP = 10


def command(
    scene: options.SceneArgument,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="write all figures, as JSON")] = None,
    frames: Annotated[int, typer.Option(min=1, metavar="N", help="frames to measure")] = 200,
    size: options.SizeOption = "1280x720",
    set: options.SetOption = [],  # noqa: B006
    seed: options.SeedOption = None,
    adapter: options.AdapterOption = "",
    trust: options.TrustOption = False,
    require_zero_copy: options.ZeroCopyOption = False,
    report: options.ReportOption = None,
) -> None:
    """Measure milliseconds a frame (CPU, compute, draw), bytes moved and memory of SCENE."""
    from ..headless import render, require_writable
    from ..session import report as reports
    from .running import WAYS, finish_run, open_session

    pixels = options.parse_size(size)
    for path in (json, report):
        if path is not None:
            require_writable(path)
    with open_session(scene, set, seed, adapter, trust=trust) as session:
        with errors_console.status(Text(f"{session.scene.title}: {frames} frames of {size}")):
            record = render(session, frames, pixels, timed=True, warm_up=WARM_UP)
        figures = finish_run(record, session, report, require_zero_copy)
    if json is not None:
        reports.write(figures, json)
    moved, memory = figures["bytes_per_frame"], figures["memory"]
    console.print(_table(figures))
    geometry = ", ".join(f"{moved[way]:,.0f} {way.replace('_', ' ')}" for way in WAYS)
    console.print(f"bytes a frame: of geometry {geometry}; of uniforms {moved['uniforms']['host_to_device']:,.0f}")
    console.print(f"memory: peak {memory['peak_bytes']:,} bytes, {memory['leaked_blocks']} leaked blocks")


def _table(figures: dict[str, Any]) -> Table:
    table = Table(title=Text(f"{figures['title']} on {figures['adapter']}"), caption="milliseconds a frame")
    for heading in ("", "mean", "p50", "p95", "p99"):
        table.add_column(heading, justify="left" if not heading else "right")
    times = figures["ms_per_frame"]
    rows = {name: times[name] for name in ("cpu", "frame", "compute", "draw")}
    rows |= {f"  {group}": figure for group, figure in times["groups"].items()}
    for name, figure in rows.items():
        values = [f"{figure[key]:.3f}" for key in ("mean", "p50", "p95", "p99")] if figure else ["not measured"] * 4
        table.add_row(Text(name), *values)
    return table
