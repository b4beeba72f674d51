"""Which Python a scene may run: what comes with Vertigrad, and files that the user allowed once, by their paths.

A scene that names any other is not run until the user says so: the viewer and a terminal ask, `--trust` says it for one
run. What was allowed stays allowed when the file is edited: to write a model is to edit it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from .. import resources
from ..errors import InputError, UntrustedCode
from .save import write_whole

FILE = "trusted.json"
MOST = 1000  # files that are remembered

_allowed: set[Path] = set()  # in this process
_log = logging.getLogger("vertigrad")


def require(scene: Path, files: Iterable[Path]) -> None:
    """Raises `UntrustedCode` unless all of these files of the scene may be run."""
    missing = [file for file in dict.fromkeys(files) if not is_trusted(file)]
    if missing:
        names = ", ".join(file.name for file in missing)
        told = f"{scene.name} runs the Python of {names} in {missing[0].parent}: it can do whatever you can"
        raise UntrustedCode(told, missing)


def is_trusted(file: Path) -> bool:
    """Whether the file comes with Vertigrad, or was allowed."""
    packaged = any(file.is_relative_to(resources.root() / folder) for folder in ("scenes", "assets"))
    return packaged or file in _allowed or str(file) in _remembered()


def allow(files: Iterable[Path], remember: bool = False) -> None:
    """Let these files be run from now on; with `remember`, in later runs of the program too."""
    files = [file.resolve() for file in files]
    _allowed.update(files)
    if remember:
        _write([*_remembered(), *(str(file) for file in files)])


def forget() -> None:
    """Trust nothing that was allowed in this process only."""
    _allowed.clear()


def _remembered() -> list[str]:
    try:
        found = json.loads((resources.state_folder() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _write(names: list[str]) -> None:
    """All or nothing. What goes wrong is only told in the log: the user is asked again then."""
    file = resources.state_folder() / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, (json.dumps(list(dict.fromkeys(names))[-MOST:], indent=1) + "\n").encode())
    except (OSError, InputError) as error:
        _log.warning("%s: cannot be written (%s); it will be asked again", file, error)
