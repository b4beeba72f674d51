"""Weights by name, from safetensors files and NumPy archives: mapped and checked."""

from __future__ import annotations

import itertools
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError

_HEADER_LIMIT = 100 << 20  # bytes; the format's own limit for its header
# what readers of archives raise for damaged ones: encrypted, or compressed in ways that they do not know, among them
_DAMAGED = (
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


def read_arrays(path: Path, bf16: bool = False) -> dict[str, np.ndarray]:
    """The arrays in a .safetensors or .npz file by name; those of safetensors are mapped from the file, not read.

    NumPy has no bf16: with `bf16` those arrays are u16 of their bits. Raises `InputError` if it is no such file, or not
    all of one.
    """
    try:
        return _archive(path) if path.suffix == ".npz" else _safetensors(path, bf16)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except _DAMAGED as error:
        raise InputError(f"{path}: not a whole file of weights ({error})") from error


def require_fitting(path: Path, found: Mapping[str, np.ndarray], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raise `InputError` unless names and shapes are the same, naming all that are not."""
    missing = [name for name in expected if name not in found]
    unexpected = [name for name in found if name not in expected]
    shaped = [name for name in expected if name in found and found[name].shape != expected[name]]
    problems = [f"missing: {', '.join(missing)}"] if missing else []
    problems += [f"unexpected: {', '.join(unexpected)}"] if unexpected else []
    problems += [f"{name}: expected shape {expected[name]}, got {found[name].shape}" for name in shaped]
    if problems:
        raise InputError("\n  ".join([f"{path}: weights do not fit", *problems]))


def _archive(path: Path) -> dict[str, np.ndarray]:
    found = np.load(path, allow_pickle=False)
    if not hasattr(found, "files"):
        raise ValueError("one array, without a name")
    with found as archive:
        return {name: archive[name] for name in archive.files}


def _safetensors(path: Path, bf16: bool) -> dict[str, np.ndarray]:
    """Eight bytes for the length of a header in JSON, the header, then the bytes that it describes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > min(_HEADER_LIMIT, size):
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is no table")
    header.pop("__metadata__", None)
    known = _DTYPES | ({"BF16": np.uint16} if bf16 else {})
    found = {name: _mapped(path, name, entry, 8 + length, size, known) for name, entry in header.items()}
    _require_separate({name: header[name]["data_offsets"] for name, array in found.items() if array.nbytes})
    return found


def _require_separate(offsets: Mapping[str, Sequence[int]]) -> None:
    """Raise `ValueError` if two tensors have bytes in common: one of them is then not what its name says."""
    ordered = sorted(offsets, key=lambda name: int(offsets[name][0]))
    for before, name in itertools.pairwise(ordered):
        if int(offsets[name][0]) < int(offsets[before][1]):
            raise ValueError(f"{before} and {name} have bytes in common")


def _mapped(path: Path, name: str, entry: Mapping, start: int, size: int, known: Mapping[str, type]) -> np.ndarray:
    if entry["dtype"] not in known:
        raise ValueError(f"{name} has the element type {entry['dtype']}, which is not known here")
    dtype, shape = np.dtype(known[entry["dtype"]]), tuple(int(n) for n in entry["shape"])
    begin, end = (int(offset) for offset in entry["data_offsets"])
    nbytes = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or begin < 0 or end - begin != nbytes or start + end > size:
        raise ValueError(f"{name} {shape} does not fit the bytes that it is given")
    if not nbytes:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", start + begin, shape)
