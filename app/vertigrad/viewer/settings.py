"""What the viewer remembers from one time to the next: its window, its panels, the files that were open."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ..atomic_file import write_state
from ..panels.workspace import RECENT, ZOOMS, Workspace
from ..resources import state_folder

FILE = "viewer.json"
VERSION = 1
LONGEST = 4 << 20  # bytes of a file that may be ours

_log = logging.getLogger("vertigrad")


Side = Annotated[int, Field(ge=1, le=1 << 14)]  # of a window, in logical pixels
Coordinate = Annotated[int, Field(ge=-(1 << 20), le=1 << 20)]


class Settings(BaseModel):
    """`size` and `position` are those of the window: logical pixels, and coordinates on the screen.

    `layout` is where the panels were docked, as ImGui writes it, for `layout_scale` pixels to a logical one.
    """

    version: Literal[1] = VERSION
    size: tuple[Side, Side] | None = None
    position: tuple[Coordinate, Coordinate] | None = None
    zoom: float = Field(default=1.0, ge=ZOOMS[0], le=ZOOMS[-1])
    opened: dict[str, bool] = {}
    layout: str = ""
    layout_scale: float = Field(default=1.0, ge=0.1, lt=100.0)
    recent: list[Path] = []

    def workspace(self) -> Workspace:
        """The GUI as it was left."""
        return Workspace(
            opened=dict(self.opened),
            zoom=self.zoom,
            recent=self.recent[:RECENT],
            layout=self.layout,
            layout_scale=self.layout_scale,
        )


def settings_file() -> Path:
    """The file of the settings."""
    return state_folder() / FILE


def load_settings(file: Path) -> Settings:
    """The settings in a file. Invalid entries are left out, with a line in the log; the file is renamed then.

    Raises `NewerSettings` for a file of a later version of Vertigrad, which must be left as it is.
    """
    try:
        values = _read(file)
    except FileNotFoundError:
        return Settings()
    except (ValueError, RecursionError) as error:
        _put_aside(file, error)
        return Settings()
    except OSError as error:
        _log.warning("%s: cannot be read (%s); window and panels are as at first", file, error.strerror)
        return Settings()
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        _put_aside(file, error)
        wrong = {fault["loc"][0] for fault in error.errors() if fault["loc"]}
        return Settings.model_validate({key: value for key, value in values.items() if key not in wrong})


def _read(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        values = json.loads(opened.read(LONGEST))
    if not isinstance(values, dict):
        raise ValueError("it holds no object in braces")
    if isinstance(values.get("version"), int) and values["version"] > VERSION:
        raise NewerSettings(file)
    return values


class NewerSettings(Exception):
    """The file was written by a later version."""


def save_settings(settings: Settings, file: Path) -> None:
    """Write them in place of the old, all or nothing. Errors are only logged."""
    write_state(file, settings.model_dump_json(indent=1) + "\n", "window and panels will be as before")


def _put_aside(file: Path, error: Any) -> None:
    aside = file.with_name(f"{file.name}.broken")
    reason = str(error).splitlines()[0]
    try:
        os.replace(file, aside)
        _log.warning("%s: not understood (%s); it is now %s", file, reason, aside.name)
    except OSError:
        _log.warning("%s: not understood (%s)", file, reason)
