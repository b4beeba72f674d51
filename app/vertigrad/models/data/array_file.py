"""Arrays in NumPy's files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ...errors import InputError

SUFFIXES = (".npy", ".npz")


def read(path: Path, name: str = "") -> np.ndarray:
    """An array of the file as f32, contiguous. `name` is its own in an .npz; empty: the one with the most elements.

    Raises `InputError` for a file that cannot be read, and for what is no array of real numbers, or is empty.
    """
    try:
        modified = path.stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return _read(path, modified, name)


@lru_cache(maxsize=2)  # a scene asks for the shape before it builds the model
def _read(path: Path, modified: int, name: str) -> np.ndarray:
    try:
        array = _loaded(path, name)
    except (OSError, ValueError, EOFError, BadZipFile) as error:  # what NumPy raises
        raise InputError(f"{path}: is no NumPy file that can be read ({error})") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: holds {array.dtype}; an array of real numbers is needed")
    if not array.size or not array.ndim:
        raise InputError(f"{path}: holds an array of the shape {array.shape}, which has nothing in it to be drawn")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, np.float32)


def _loaded(path: Path, name: str) -> np.ndarray:
    found = np.load(path, allow_pickle=False)
    if isinstance(found, np.ndarray):
        if name:
            raise InputError(f"{path}: holds one array without a name; leave out name")
        return found
    with found:
        if name and name not in found.files:
            raise InputError(f"{path}: has no array {name!r}; there are {', '.join(found.files) or 'none'}")
        arrays = [found[one] for one in ([name] if name else found.files)]
    if not arrays:
        raise InputError(f"{path}: holds no array")
    return max(arrays, key=lambda array: array.size)
