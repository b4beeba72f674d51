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
    from .running import DIRECTIONS, finish_run, open_session

    pixels = options.parse_size(size)
    for path in (json, report):
        if path is not None:
            require_writable(path)
    with open_session(scene, set, seed, adapter, trust=trust) as session:
        with errors_console.status(Text(f"{session.scene.title}: {frames} frames of {size}")):
            record = render(session, frames, pixels, timed=True, warm_up=WARM_UP)
        results = finish_run(record, session, report, require_zero_copy)
    if json is not None:
        reports.write(results, json)
    moved, memory = results["bytes_per_frame"], results["memory"]
    console.print(_table(results))
    geometry = ", ".join(f"{moved[key]:,.0f} {key.replace('_', ' ')}" for key in DIRECTIONS)
    console.print(f"bytes a frame: of geometry {geometry}; of uniforms {moved['uniforms']['host_to_device']:,.0f}")
    console.print(f"memory: peak {memory['peak_bytes']:,} bytes, {memory['leaked_blocks']} leaked blocks")


def _table(results: dict[str, Any]) -> Table:
    table = Table(title=Text(f"{results['title']} on {results['adapter']}"), caption="milliseconds a frame")
    for heading in ("", "mean", "p50", "p95", "p99"):
        table.add_column(heading, justify="left" if not heading else "right")
    times = results["ms_per_frame"]
    rows = {name: times[name] for name in ("cpu", "frame", "compute", "draw")}
    rows |= {f"  {group}": statistics for group, statistics in times["groups"].items()}
    for name, found in rows.items():
        values = [f"{found[key]:.3f}" for key in ("mean", "p50", "p95", "p99")] if found else ["not measured"] * 4
        table.add_row(Text(name), *values)
    return table
