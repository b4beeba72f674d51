"""Arrays in NumPy files."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np

from ...errors import InputError
from .file_cache import cached

SUFFIXES = (".npy", ".npz")


@cached(2)  # a scene asks for the shape before it builds the model
def read(path: Path, name: str = "") -> np.ndarray:
    """An array of the file as f32, contiguous; colors, (..., 3 or 4) of u8 or u16, are scaled to 0 to 1.

    `name` is its own in an .npz; empty: the one with the most elements.

    Raises `InputError` for a file that cannot be read, and for what is no array of real numbers, or is empty.
    """
    array = _one(path, name)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, np.float32)
    return values / np.iinfo(array.dtype).max if _are_colors(array) else values


@cached(2)
def read_indices(path: Path, name: str = "") -> np.ndarray:
    """As `read`, an array of integers as u32. Raises `InputError` also for what is no index: negative, or too large."""
    array = _one(path, name)
    if array.dtype.kind not in "iu":
        raise InputError(f"{path}: contains {array.dtype}; indices (dtype u32) are integers")
    if array.min() < 0 or array.max() > np.iinfo(np.uint32).max:
        raise InputError(f"{path}: contains {array.min()} to {array.max()}; indices are 0 to {np.iinfo(np.uint32).max}")
    return np.ascontiguousarray(array, np.uint32)


def arrays(path: Path, only: str = "", mapped: bool = False) -> dict[str, np.ndarray]:
    """All arrays of a file by name, unchanged, or the one called `only`; the array of an .npy file has the name "".

    That of an .npy file is read when it is used if it is to be `mapped` into memory. Raises `InputError`.
    """
    try:
        _require_bytes(path)
        found = np.load(path, "r" if mapped else None, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {"": found}
        with found:
            return {name: found[name] for name in found.files if only in ("", name)}
    except _UNREADABLE as error:
        raise InputError(f"{path}: not a readable NumPy file ({error})") from error


_UNREADABLE = (  # what NumPy and zipfile raise
    *(OSError, ValueError, EOFError, KeyError, OverflowError, RuntimeError, SyntaxError, TypeError),
    *(NotImplementedError, UnicodeError, MemoryError, BadZipFile, zlib.error, TokenError),
)


def _require_bytes(path: Path) -> None:
    """Raise `ValueError` for arrays that claim more elements than the file has: NumPy would allocate them."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            file.seek(0)
            return _require_array(file, path.stat().st_size)
    with ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as file:
                    _require_array(file, entry.file_size)


def _require_array(file: IO[bytes], size: int) -> None:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"its header claims the shape {shape} of {dtype}, but it has {size:,} bytes")


def _are_colors(array: np.ndarray) -> bool:
    return array.dtype in (np.uint8, np.uint16) and array.ndim >= 2 and array.shape[-1] in (3, 4)


def _one(path: Path, name: str) -> np.ndarray:
    """An array of real numbers, unchanged, that is not empty. Raises `InputError`."""
    found = arrays(path, name)
    if name and "" in found:
        raise InputError(f"{path}: contains one array without a name; omit name")
    if not found and name:
        raise InputError(f"{path}: has no array {name!r}; it has {', '.join(arrays(path)) or 'none'}")
    if not found:
        raise InputError(f"{path}: contains no array")
    array = max(found.values(), key=lambda array: array.size)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: contains {array.dtype}; expected an array of real numbers")
    if not array.size or not array.ndim:
        raise InputError(f"{path}: contains an array of the shape {array.shape}, which is empty")
    return array
