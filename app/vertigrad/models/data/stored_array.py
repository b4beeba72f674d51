"""`stored_array`: what takes seconds to compute is stored in the cache folder, under what it is computed from."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ... import resources
from ...atomic_file import write_file
from ...errors import InputError

MOST = 16  # files of a kind; the one that was not used for the longest time is removed
_SUM = struct.Struct("<I")  # after the values


def stored_array(
    kind: str, version: int, inputs: tuple[np.ndarray, ...], compute: Callable[[], np.ndarray]
) -> np.ndarray:
    """The f32 array (n,) that `compute` returns: from the cache folder, or put there.

    `kind` names it, and `version` counts the changes of what it is; `inputs` are all arrays that it depends on.
    """
    file = resources.cache_folder() / kind / f"{version}-{_digest(inputs)}"
    found = _read(file)
    if found is not None:
        with suppress(OSError):
            file.touch()
        return found
    values = np.ascontiguousarray(compute(), np.float32)
    content = values.tobytes()
    with suppress(InputError):  # it is computed again next time
        write_file(file, content + _SUM.pack(zlib.crc32(content)), make_folder=True)
    _remove_old(file.parent)
    return values


def _read(file: Path) -> np.ndarray | None:
    """The values; None if there is no such file, or if it is damaged."""
    try:
        content = file.read_bytes()
        (expected,) = _SUM.unpack(content[-_SUM.size :])
    except (OSError, struct.error):
        return None
    values = content[: -_SUM.size]
    return np.frombuffer(values, np.float32).copy() if zlib.crc32(values) == expected else None


def _digest(inputs: tuple[np.ndarray, ...]) -> str:
    found = hashlib.sha256()
    for array in inputs:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array))
    return found.hexdigest()[:32]


def _remove_old(folder: Path) -> None:
    with suppress(OSError):
        by_use = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
        for file in by_use[:-MOST]:
            file.unlink()
