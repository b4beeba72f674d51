"""`save`: changed values back into a scene file, which is at every moment the old one or the new one, whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import resources
from ..atomic_file import write_file
from ..errors import FileChanged, FileProtected, InputError, SceneError
from ..params import shown
from . import source
from .edit import Uneditable, edited
from .files import PACKAGED
from .kinds import MADE, SCENES
from .locate import KeyPath
from .schema import Scene

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WRITERS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def save(
    scene: Scene,
    changes: Mapping[KeyPath, Any],
    *,
    renames: Mapping[KeyPath, str] | None = None,
    removed: Collection[KeyPath] = (),
    target: Path | None = None,
    overwrite: bool = False,
    check: Callable[[Path], object] = lambda path: None,
) -> None:
    """Write the file that `scene` was read from, with `changes` made in it, to `target` or to where it was.

    `changes`, `renames` and `removed` are as for `edit.edited`. Comments, order and all else stay byte for byte.
    `check` is given the path of the new file before it takes the old one's place; what it raises leaves the old one.
    Raises `FileChanged` if the file is not what it was when it was read, unless `overwrite`; for a `target` that is
    another file, if there is one already. Raises `FileProtected` if it may not be written, `InputError` if it cannot.
    """
    path = _followed(target or scene.path)
    own = path == _followed(scene.path)
    if not own and path.suffix.lower() not in SCENES | MADE:
        raise InputError(f"{path.name}: the name of a scene file ends in .toml; otherwise it cannot be opened again")
    if not overwrite:
        _refuse_changed(scene, path, own)
    try:
        text = edited(scene.places.text, changes, renames, removed)
    except Uneditable:
        raise InputError(f"{path}: its layout does not allow to change single values; edit it by hand") from None
    if own and text == scene.places.text and path.exists() and not overwrite:
        return
    refuse_protected(path)
    write_file(path, _mark(scene) + text.encode("utf-8"), check=lambda written: _checked(check, written, path))


def named(file: Path, folder: Path) -> str:
    """What a scene in `folder` calls a file: relative to it, or packaged under `assets/`."""
    packaged, folder = resources.root() / "assets", folder.resolve()
    if file.is_relative_to(folder):
        name = file.relative_to(folder).as_posix()
        return f"./{name}" if name.startswith(PACKAGED) else name
    return PACKAGED + file.relative_to(packaged).as_posix() if file.is_relative_to(packaged) else file.as_posix()


def changed_on_disk(scene: Scene) -> bool:
    """Whether the file is another one than was read; false if it is gone."""
    try:
        return scene.path.exists() and source.text_of(scene.path) != scene.places.text
    except (OSError, InputError):
        return True


def refuse_protected(path: Path) -> None:
    """Raises `FileProtected` if the file may not be written, by its permissions or because it is packaged."""
    if _followed(path).is_relative_to(resources.root() / "scenes"):
        raise FileProtected(f"{path.name} comes with Vertigrad and stays as it is; save it under another name")
    if path.suffix.lower() in MADE:
        raise FileProtected(f"{path.name} is no scene, but what one is made of; save the scene under another name")
    with suppress(OSError):
        if not path.stat().st_mode & _WRITERS or not os.access(path, os.W_OK):
            raise FileProtected(f"{path} is read-only; save it under another name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {shown(str(path.parent))}")


def _followed(path: Path) -> Path:
    """Where a link leads: the link stays, and what it leads to is written."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise InputError(f"{path}: cannot be looked up") from None


def _refuse_changed(scene: Scene, path: Path, own: bool) -> None:
    if own and changed_on_disk(scene):
        raise FileChanged(f"{path.name} was changed by another program since it was read")
    if not own and os.path.lexists(path):
        raise FileChanged(f"{path} exists already")


def _mark(scene: Scene) -> bytes:
    with suppress(OSError), scene.path.open("rb") as file:
        return _BYTE_ORDER_MARK if file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK else b""
    return b""


def _checked(check: Callable[[Path], object], written: Path, path: Path) -> None:
    """What is wrong with the new file is reported under the name that it would have had."""
    try:
        check(written)
    except SceneError as error:
        raise SceneError(str(path), error.problems) from error
