"""NRRD files (Teem): the header is read by pynrrd; only data in the same file is."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from ..point_formats.table import needed
from .grid import Grid, as_f32, require_affine, require_shape, upright

EXTRA = "volumes"
RATIO = 1100  # of deflate at most
SIGNS = {"right": 0, "left": 0, "anterior": 1, "posterior": 1, "superior": 2, "inferior": 2}
FLIPPED = ("left", "posterior", "inferior")
ABBREVIATED = {"ras": "right-anterior-superior", "las": "left-anterior-superior", "lps": "left-posterior-superior"}


def read(path: Path, frame: int = 0) -> Grid:
    """The volume of a file. Raises `InputError`, also for data in another file, which is not read."""
    nrrd = needed(path, "nrrd", EXTRA, "an NRRD file")
    try:
        with path.open("rb") as file:
            header = nrrd.read_header(file)
            start = file.tell()
            content = file.read()
        if "data file" in header or "datafile" in header:
            raise InputError(f"{path}: its data is in another file, which is not read; save it as one .nrrd file")
        return _grid(path, header, content, start, frame)
    except InputError:
        raise
    except Exception as error:  # pynrrd raises many kinds
        raise InputError(f"{path}: not a readable NRRD file ({str(error) or type(error).__name__})") from error


def _grid(path: Path, header: Mapping[str, Any], content: bytes, start: int, frame: int) -> Grid:
    import nrrd

    sizes = [int(size) for size in header["sizes"]]
    if int(header["dimension"]) != len(sizes):
        raise InputError(f"{path}: has the dimension {header['dimension']}, but the sizes {sizes}")
    dtype = np.dtype(_type(nrrd, header))
    directions = header.get("space directions")
    spatial = _spatial(header, len(sizes), directions)
    if len(spatial) != 3:
        raise InputError(f"{path}: has the sizes {sizes}; a volume has three axes in space, not {len(spatial)}")
    encoding = str(header.get("encoding", "raw")).lower()
    room = len(content) * {"raw": 1, "gz": RATIO, "gzip": RATIO}.get(encoding, 1 << 20)
    require_shape(path, tuple(sizes[axis] for axis in spatial), 1, room)
    count = int(np.prod(sizes, dtype=object))
    values = _decoded(path, content, encoding, dtype, count, header).reshape(sizes, order="F")
    for axis in reversed(range(len(sizes))):
        if axis not in spatial:
            if axis == 0:
                raise InputError(f"{path}: has {sizes[0]} numbers for each cell; a volume has one")
            values = values.take(min(frame, sizes[axis] - 1), axis)
    affine = require_affine(path, _affine(header, spatial, directions))
    found, affine = upright(values, affine)
    return Grid(as_f32(path, found), affine, _unit(header))


def _type(nrrd: Any, header: Mapping[str, Any]) -> str:
    kind = nrrd.reader._determine_datatype(header)
    return kind.str


def _spatial(header: Mapping[str, Any], axes: int, directions: Any) -> list[int]:
    """The axes in space: those with a direction, or, without directions, the first three."""
    if directions is not None:
        return [axis for axis in range(axes) if directions[axis] is not None and np.isfinite(directions[axis]).all()]
    kinds = header.get("kinds") or ["domain"] * axes
    spatial = [axis for axis in range(axes) if str(kinds[axis]).lower() in ("domain", "space", "???")]
    return spatial[:3]


def _decoded(
    path: Path, content: bytes, encoding: str, dtype: np.dtype, count: int, header: Mapping[str, Any]
) -> np.ndarray:
    expected = count * dtype.itemsize
    skip = int(header.get("byte skip", header.get("byteskip", 0)) or 0)
    if int(header.get("line skip", header.get("lineskip", 0)) or 0):
        raise InputError(f"{path}: has a line skip, which is not supported")
    if encoding in ("ascii", "text", "txt"):
        return np.array(content.split(), float)[:count].astype(dtype)
    if encoding in ("gz", "gzip"):
        stream = zlib.decompressobj(31)
        content = stream.decompress(content, max(expected + max(skip, 0), 0) + 1)
        if not stream.eof and not stream.unconsumed_tail:
            raise InputError(f"{path}: its compressed data has no end; the file is truncated")
    elif encoding in ("bz2", "bzip2"):
        content = bz2.BZ2Decompressor().decompress(content, expected + max(skip, 0))
    elif encoding != "raw":
        raise InputError(f"{path}: its encoding {encoding!r} is not supported; raw, gzip, bzip2 and ascii are")
    content = content[len(content) - expected :] if skip < 0 else content[skip:]
    if len(content) < expected:
        raise InputError(f"{path}: ends after {len(content):,} of {expected:,} bytes; the file is truncated")
    return np.frombuffer(content, dtype, count)


def _affine(header: Mapping[str, Any], spatial: list[int], directions: Any) -> np.ndarray:
    affine = np.eye(4)
    if directions is None:
        spacings = header.get("spacings")
        if spacings is not None:
            affine[:3, :3] = np.diag([float(spacings[axis]) for axis in spatial])
        return affine
    affine[:3, :3] = np.array([directions[axis] for axis in spatial], float).T
    affine[:3, 3] = np.asarray(header.get("space origin", np.zeros(3)), float)
    named = str(header.get("space", "")).lower()
    for axis, word in enumerate(ABBREVIATED.get(named, named).split("-")[:3]):
        if SIGNS.get(word) == axis and word in FLIPPED:  # to right, anterior, superior
            affine[axis] *= -1
    return affine


def _unit(header: Mapping[str, Any]) -> str:
    units = header.get("space units") or header.get("units") or []
    words = [str(unit).strip('"') for unit in units if str(unit).strip('"')]
    return words[0] if words else ("mm" if "space" in header else "")
