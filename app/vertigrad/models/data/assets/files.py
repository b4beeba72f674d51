"""Files that another file names: in its folder or below, nowhere else."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from ....errors import InputError


def neighbor(path: Path, uri: str, where: str) -> bytes:
    """The bytes of the file that `path` names as `uri`, percent-encoded.

    Raises `InputError` for one that is elsewhere than in the folder of `path` or below, or that cannot be read. `where`
    names its use.
    """
    name = unquote(uri).replace("\\", "/")
    folder = path.resolve().parent
    try:
        found = (folder / name).resolve()
        inside = found.is_relative_to(folder)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{path}: {where}: {uri[:80]!r} is not the name of a file") from error
    if "://" in name or not inside:
        raise InputError(f"{path}: {where}: {uri[:80]!r} is not in its folder, so it is not read; move it there")
    try:
        return found.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: {where}: {uri[:80]!r} cannot be read ({reason})") from error
