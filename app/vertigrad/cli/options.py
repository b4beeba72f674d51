"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import resources
from ..errors import InputError, RequirementError
from ..gpu import Gpu, gpu
from ..session import RunRecord, Session
from ..session import report as reports

console = Console(soft_wrap=True)
errors_console = Console(stderr=True, soft_wrap=True)

SceneArgument = Annotated[str, typer.Argument(help="a scene file, or the name of a scene that comes with Vertigrad")]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="replace a value of the scene, e.g. galaxy.softening=0.1")
]
SeedOption = Annotated[int | None, typer.Option(help="start of the random numbers of every model")]
AdapterOption = Annotated[str, typer.Option(help="part of the name, kind or backend of the GPU to use")]
ZeroCopyOption = Annotated[bool, typer.Option(help="exit with 3 if any bytes of geometry were copied")]
ReportOption = Annotated[Path | None, typer.Option(metavar="FILE", help="write a report of the run, as JSON")]
SizeOption = Annotated[str, typer.Option(metavar="WxH", help="size of the picture in pixels")]


def scene_path(name: str) -> Path:
    """The file a SCENE argument means: a path, or the name of a packaged scene. The loader says if there is none."""
    path = Path(name)
    if path.exists() or path.suffix:
        return path
    for scene in resources.scenes():
        if scene.stem == name:
            return scene
    known = ", ".join(scene.stem for scene in resources.scenes())
    raise InputError(f"{name}: neither a file nor a scene of Vertigrad; those are {known}")


def parse_size(text: str) -> tuple[int, int]:
    """`1280x720` as (1280, 720). Raises `InputError`."""
    match = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", text.strip())
    if not match or "0" in (match[1].lstrip("0") or "0", match[2].lstrip("0") or "0"):
        raise InputError(f"--size {text}: expected WIDTHxHEIGHT in pixels, such as 1280x720")
    return int(match[1]), int(match[2])


def open_session(scene: str, sets: list[str], seed: int | None, adapter: str) -> Session:
    """The GPU, and the scene running on it."""
    return Session(open_gpu(adapter), scene_path(scene), sets, seed)


def open_gpu(adapter: str) -> Gpu:
    """The GPU; says on stderr which one it is if that is a software adapter."""
    found = gpu(adapter or None)
    if found.adapter.kind == "software":
        errors_console.print(f"no GPU found: drawing on the processor with {found.adapter}", style="yellow")
    return found


def finish_run(record: RunRecord, session: Session, report_file: Path | None, require_zero_copy: bool) -> dict[str, Any]:
    """Close the session, write the report, and hold the run to what was required. Raises `RequirementError`."""
    report = record.finish(session)
    leaks = record.close(session, report)
    if report_file is not None:
        reports.write(report, report_file)
    if leaks:
        errors_console.print(f"leaked:\n{leaks}", style="red", markup=False)
    if require_zero_copy and record.geometry_bytes:
        moved = {way: n for way, n in report["bytes_per_frame"].items() if isinstance(n, float) and n}
        raise RequirementError(f"geometry was copied, bytes a frame: {moved}; zero copies were required")
    return report
