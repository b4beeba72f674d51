"""Files that a scene names: those in its folder, and packaged ones under `assets/`; all others are refused."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath, PureWindowsPath

from .. import resources
from ..errors import ParameterError
from ..params import hint, shown, with_hint

PACKAGED = "assets/"


def find(text: str, folder: Path, opened: Collection[str] = ()) -> Path:
    """The file that `text` names in a scene of `folder`; `opened` are whole paths that it may name besides.

    Raises `ParameterError` if there is none.
    """
    if text in opened:
        return _regular(Path(text), text)
    if not text or "\0" in text:
        raise ParameterError("expected a file's path, got " + ("an empty one" if not text else "one with a NUL in it"))
    if "\\" in text:
        raise ParameterError(f"{shown(text)} has a backslash in it; write / between folders")
    if text.startswith(PACKAGED):
        return _packaged(text, folder)
    if text.startswith(("/", "~")) or PureWindowsPath(text).drive:
        raise _outside(text)
    return _own(text, folder)


def _packaged(text: str, folder: Path) -> Path:
    parts = PurePosixPath(text).parts
    if ".." in parts:
        raise _outside(text)
    try:
        return _regular(resources.root().joinpath(*parts), text)
    except ParameterError as error:
        own = f'a file next to the scene is written "./{text}"' if (folder / text).is_file() else ""
        raise ParameterError(with_hint(str(error), own)) from None


def _own(text: str, folder: Path) -> Path:
    try:
        found = (folder / text).resolve()
        inside = found.is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a name too long for the system, links that go in a circle
        raise ParameterError(f"{shown(text)} cannot be looked up") from None
    if not inside:
        raise _outside(text)
    return _regular(found, text)


def _regular(found: Path, text: str) -> Path:
    try:
        if found.is_file():
            return found
        is_folder = found.is_dir()
        others = [] if is_folder else found.parent.iterdir()
        near = [other.name for other in others if other.is_file() and not other.name.startswith(".")]
    except OSError:
        raise ParameterError(f"there is no file {shown(text)}") from None
    if is_folder:
        raise ParameterError(f"{shown(text)} is a folder, not a file")
    raise ParameterError(with_hint(f"there is no file {shown(text)}", hint(found.name, near) if near else ""))


def _outside(text: str) -> ParameterError:
    allowed = f"files of that folder and packaged ones under {PACKAGED}"
    return ParameterError(f"{shown(text)} leaves the scene's folder; a scene reads only {allowed}")
