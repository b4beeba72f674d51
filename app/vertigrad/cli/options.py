"""Options of several verbs, and how their values are read. Imports nothing that takes long."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from ..errors import InputError

# No markup and no highlighting: titles and paths have brackets in them that mean nothing.
console = Console(soft_wrap=True, markup=False, highlight=False)
errors_console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)


def printable(text: str) -> str:
    """A text from a file whose control characters, which would command a terminal, are escaped; lines stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


SceneArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENE",
        help="a scene file, the name of a scene that comes with Vertigrad, a file of data such as .ply, .splat, .spz, "
        ".glb or .onnx, or a folder of photos with a sparse model of COLMAP",
    ),
]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="replace a value of the scene, e.g. galaxy.softening=0.1"),
]
SeedOption = Annotated[int | None, typer.Option(metavar="N", help="random seed of every model")]
AdapterOption = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="GPU to use: its number in `vertigrad info`, or a part of its name, kind or backend"
    ),
]
ZeroCopyOption = Annotated[
    bool, typer.Option("--require-zero-copy", help="exit with 3 if any bytes of geometry were copied")
]
StopOnNanOption = Annotated[
    bool, typer.Option("--stop-on-nan", help="exit with 3 as soon as an output has NaN or infinity in it")
]
AllowNanOption = Annotated[
    bool,
    typer.Option("--allow-nan", help="exit with 0, not 3, if a model has NaN or infinity in its outputs at the end"),
]
ReportOption = Annotated[Path | None, typer.Option(metavar="FILE", help="write a report of the run, as JSON")]
InteractionsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="replay the interactions of another run, as the viewer saved them"),
]
OldInteractionsOption = Annotated[Path | None, typer.Option("--touches", hidden=True)]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="run the Python that the scene names, for this once without being asked")
]
QualityOption = Annotated[
    str, typer.Option(metavar="LEVEL", help="rendering quality: auto, low, medium, high or ultra")
]
SizeOption = Annotated[str, typer.Option(metavar="WxH", help="image size in pixels")]
CameraOption = Annotated[
    str,
    typer.Option(
        metavar="VIEW", help='where from: a bookmark of the scene, or "x,y,z;x,y,z" of eye and target[;fov=DEG]'
    ),
]


_Value = TypeVar("_Value")


def renamed_option(value: _Value | None, old: str, new: str) -> _Value | None:
    """The value of an option under its old name; if it was used, print a notice of the new one."""
    if value is not None:
        errors_console.print(f"{old} is now called {new}")
    return value


def finite(option: str, value: float) -> float:
    """The value of an option, which must be a number that can be calculated with. Raises `InputError`."""
    if not math.isfinite(value):
        raise InputError(f"{option} {value}: expected a finite number")
    return value


def parse_range(text: str, frames: int | None) -> tuple[int, int]:
    """`60:119` as the first frame to write (60), and how many frames are run (120). Raises `InputError`.

    `frames` is how many are run by another option: without a range all of them are written, 1 by default.
    """
    if not text:
        return 0, frames or 1
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})?", text.strip(), re.ASCII)
    last = (int(match[2]) if match[2] else (frames or 0) - 1) if match else -1
    if not match or int(match[1]) > last:
        raise InputError(f"--range {text}: expected FIRST:LAST, frames from 0 on, such as 60:119")
    if frames is not None and last >= frames:
        raise InputError(f"--range {text}: there is no frame {last} in a run of --frames {frames}")
    return int(match[1]), last + 1


def parse_size(text: str) -> tuple[int, int]:
    """`1280x720` as (1280, 720). Raises `InputError`."""
    match = re.fullmatch(r"(\d{1,6})[xX×](\d{1,6})", text.strip(), re.ASCII)
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(size):
        raise InputError(f"--size {text}: expected WIDTHxHEIGHT in pixels, such as 1280x720")
    return size
