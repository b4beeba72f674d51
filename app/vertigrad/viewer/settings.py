"""What the viewer remembers from one time to the next: its window, its panels, the files that were open."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ..panels.workspace import RECENT, ZOOMS, Workspace
from ..resources import state_folder

FILE = "viewer.json"
VERSION = 1
LONGEST = 4 << 20  # bytes of a file that may be ours

_log = logging.getLogger("vertigrad")


class Settings(BaseModel):
    """All of it. `size` and `position` are those of the window: logical pixels, and where it lay on the screen.

    `layout` is where the panels were docked, as ImGui writes it, for `layout_scale` pixels to a logical one.
    """

    version: Literal[1] = VERSION
    size: tuple[int, int] | None = None
    position: tuple[int, int] | None = None
    zoom: float = Field(default=1.0, ge=ZOOMS[0], le=ZOOMS[-1])
    opened: dict[str, bool] = {}
    layout: str = ""
    layout_scale: float = Field(default=1.0, gt=0.0, lt=100.0)
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
    """Where they are kept."""
    return state_folder() / FILE


def load_settings(file: Path) -> Settings:
    """What the file says. One that cannot be read is put aside with a line in the log, and nothing is remembered.

    Raises `NewerSettings` for a file of a later version of Vertigrad, which must be left as it is.
    """
    try:
        with file.open("rb") as opened:
            values = json.loads(opened.read(LONGEST))
        if isinstance(values, dict) and isinstance(values.get("version"), int) and values["version"] > VERSION:
            raise NewerSettings(file)
        return Settings.model_validate(values)
    except FileNotFoundError:
        return Settings()
    except (ValueError, ValidationError, RecursionError) as error:
        _put_aside(file, error)
    except OSError as error:
        _log.warning("%s: cannot be read (%s); window and panels are as at first", file, error.strerror)
    return Settings()


class NewerSettings(Exception):
    """The file was written by a later version."""


def save_settings(settings: Settings, file: Path) -> None:
    """Write them in place of the old, all or nothing. What goes wrong is only told in the log."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, settings.model_dump_json(indent=1) + "\n")
    except OSError as error:
        _log.warning("%s: cannot be written (%s); window and panels will be as before", file, error.strerror)


def _replace(file: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise


def _put_aside(file: Path, error: Any) -> None:
    aside = file.with_name(f"{file.name}.broken")
    reason = str(error).splitlines()[0]
    try:
        os.replace(file, aside)
        _log.warning("%s: not understood (%s); it is now %s", file, reason, aside.name)
    except OSError:
        _log.warning("%s: not understood (%s)", file, reason)
