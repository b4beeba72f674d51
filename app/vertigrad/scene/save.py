"""`save`: write changed values to a scene file, which is replaced atomically."""

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
from .kinds import DATA, SCENES, is_photos
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
    """Write the file that `scene` was read from, with `changes`, to `target` or to its own path.

    `changes`, `renames` and `removed` are as for `edit.edited`. Comments, order and everything else do not change.
    `check` is called with the path of the new file before it replaces the old one; if it raises, the old one remains.
    Raises `FileChanged` if the file was changed since it was read, or if another `target` exists, unless `overwrite`.
    Raises `FileProtected` if it may not be written, `InputError` if it cannot.
    """
    path = _followed(target or scene.path)
    own = path == _followed(scene.path)
    if not own and path.suffix.lower() not in SCENES | DATA:
        raise InputError(f"{path.name}: the name of a scene file ends in .toml; otherwise it cannot be opened again")
    if not overwrite:
        _refuse_changed(scene, path, own)
    try:
        text = edited(scene.source_map.text, changes, renames, removed)
    except Uneditable:
        raise InputError(f"{path}: its layout does not allow to change single values; edit it by hand") from None
    if own and text == scene.source_map.text and path.exists() and not overwrite:
        return
    refuse_protected(path)
    write_file(path, _mark(scene) + text.encode("utf-8"), check=lambda written: _checked(check, written, path))


def named(file: Path, folder: Path) -> str:
    """The name of a file in a scene in `folder`: relative to it, or packaged under `assets/`."""
    packaged, folder = resources.root() / "assets", folder.resolve()
    if file.is_relative_to(folder):
        name = file.relative_to(folder).as_posix()
        return f"./{name}" if name.startswith(PACKAGED) else name
    return PACKAGED + file.relative_to(packaged).as_posix() if file.is_relative_to(packaged) else file.as_posix()


def changed_on_disk(scene: Scene) -> bool:
    """Whether the file has changed since it was read; false if it does not exist any more."""
    try:
        return scene.path.exists() and source.text_of(scene.path) != scene.source_map.text
    except (OSError, InputError):
        return True


def refuse_protected(path: Path) -> None:
    """Raises `FileProtected` if the file may not be written, by its permissions or because it is packaged."""
    if _followed(path).is_relative_to(resources.root() / "scenes"):
        raise FileProtected(f"{path.name} comes with Vertigrad and cannot be changed; save it under another name")
    if path.suffix.lower() in DATA or is_photos(path):
        kind = "a data file" if path.suffix.lower() in DATA else "data of COLMAP"
        raise FileProtected(f"{path.name} is {kind}, not a scene file; save the scene under another name")
    with suppress(OSError):
        if not path.stat().st_mode & _WRITERS or not os.access(path, os.W_OK):
            raise FileProtected(f"{path} is read-only; save it under another name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {shown(str(path.parent))}")


def _followed(path: Path) -> Path:
    """The target of a link, which is written instead of the link."""
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
    """Report problems of the new file under its final name."""
    try:
        check(written)
    except SceneError as error:
        raise SceneError(str(path), error.problems) from error
