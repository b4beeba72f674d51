"""Compressed PLY files of splats, as PlayCanvas and SuperSplat write them: 16 bytes a splat, and a byte a harmonic.

For each 256 splats an element `chunk` has the bounds of their positions, of the logarithms of their scales, and of
their colors, if they are not 0 and 1. A vertex has four words: packed_position and packed_scale, 11, 10 and 11 bits
between these bounds; packed_color, four bytes; packed_rotation, 2 bits for the largest component of a quaternion
w, x, y, z and 10 for each of the others. An element `sh` has f_rest as bytes from -4 to 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ....errors import InputError
from .. import ply
from .packing import ROOT, from_smallest_three, packed_units, smallest_three, to_bytes, unpacked_units
from .reference_ply import by_channel, by_harmonic
from .values import HARMONICS, Splats, log_scale, no_harmonics, require_count

SUFFIX = ".compressed.ply"
CHUNK = 256
BOUNDED = {  # the kinds of bounds: the names of lower and upper ones
    kind: tuple(tuple(f"{end}_{axis}" for axis in axes) for end in ("min", "max"))
    for kind, axes in {
        "position": ("x", "y", "z"),
        "scale": ("scale_x", "scale_y", "scale_z"),
        "color": ("r", "g", "b"),
    }.items()
}
WORDS = ("packed_position", "packed_rotation", "packed_scale", "packed_color")
VECTOR, COLOR, QUATERNION = (11, 10, 11), (8, 8, 8, 8), (10, 10, 10)  # bits
LARGEST_HARMONIC = 4.0
SCALES = (-20.0, 20.0)  # logarithms that a file can hold


def is_compressed(head: ply.Header) -> bool:
    """Whether this is the header of such a file."""
    found = head.find("vertex")
    return found is not None and "packed_position" in found.fields and head.find("chunk") is not None


def read(path: Path, head: ply.Header) -> Splats:
    """The splats of a file. Raises `InputError`."""
    _check(path, head)
    names = [one.name for one in head.elements]
    chunks, rows, *rest = ply.rows(path, head, names)
    packed = {name: rows[name] for name in WORDS}
    color = unpacked_units(packed["packed_color"], COLOR)
    has_colors = BOUNDED["color"][0][0] in head.elements[0].fields
    with np.errstate(invalid="ignore", over="ignore"):
        return Splats(
            _between(chunks, "position", unpacked_units(packed["packed_position"], VECTOR)),
            np.exp(_between(chunks, "scale", unpacked_units(packed["packed_scale"], VECTOR))),
            _rotations(packed["packed_rotation"]),
            np.ascontiguousarray(color[:, 3]),
            _between(chunks, "color", color[:, :3]) if has_colors else np.ascontiguousarray(color[:, :3]),
            _harmonics(rest[0]) if rest else no_harmonics(len(rows)),
        )


def _check(path: Path, head: ply.Header) -> None:
    """Raise `InputError` for elements and properties that are not those of the format."""
    names = [one.name for one in head.elements]
    if names not in (["chunk", "vertex"], ["chunk", "vertex", "sh"]):
        found = ", ".join(names)
        raise InputError(f"{path}: a compressed PLY has the elements chunk, vertex and perhaps sh, not {found}")
    chunk, vertex, *rest = head.elements
    needed = [name for kind in ("position", "scale") for names in BOUNDED[kind] for name in names]
    colors = [name for names in BOUNDED["color"] for name in names]
    if set(colors) & chunk.fields.keys():
        needed += colors
    _require(path, chunk, dict.fromkeys(needed, "f4"))
    _require(path, vertex, dict.fromkeys(WORDS, "u4"))
    require_count(path, vertex.count)
    if chunk.count != -(-vertex.count // CHUNK):
        raise InputError(
            f"{path}: {vertex.count:,} splats have {-(-vertex.count // CHUNK):,} chunks of {CHUNK}, not {chunk.count:,}"
        )
    for one in rest:
        if one.count != vertex.count or len(one.fields) not in HARMONICS[1:]:
            raise InputError(
                f"{path}: its element sh has {one.count:,} rows of {len(one.fields)} properties; expected "
                f"{vertex.count:,} of 9, 24 or 45"
            )
        _require(path, one, {f"f_rest_{number}": "u1" for number in range(len(one.fields))})


def _require(path: Path, element: ply.Element, types: dict[str, str]) -> None:
    for name, kind in types.items():
        if element.fields.get(name) != kind:
            what = f"not of type {ply.WRITTEN[kind]}" if name in element.fields else "missing"
            raise InputError(f"{path}: property {name} of element {element.name} is {what}")


def _between(chunks: np.ndarray, kind: str, units: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 (n, 3) as values between the bounds of their chunks, f32."""
    low, high = (ply.columns(chunks, names, np.float32) for names in BOUNDED[kind])
    chunk = np.arange(len(units)) // CHUNK
    return low[chunk] * (1.0 - units) + high[chunk] * units


def _rotations(packed: np.ndarray) -> np.ndarray:
    others = (unpacked_units(packed, QUATERNION) - np.float32(0.5)) / np.float32(ROOT)
    return from_smallest_three((packed >> np.uint32(30)).astype(np.intp), others)[:, [1, 2, 3, 0]]


def _harmonics(rows: np.ndarray) -> np.ndarray:
    """Bytes stand for the middle of a 256th of the range, except that 0 and 255 are its ends."""
    found = ply.columns(rows, [f"f_rest_{number}" for number in range(len(rows.dtype.names or ()))], np.float32)
    units = np.where(found == 0.0, 0.0, np.where(found == 255.0, 1.0, (found + np.float32(0.5)) / 256.0))
    return by_harmonic((2.0 * LARGEST_HARMONIC * (units - 0.5)).astype(np.float32))


def packed(splats: Splats, comments: Sequence[str] = ()) -> bytes:
    """The bytes of a file. Splats are sorted so that those of a chunk are neighbors."""
    splats = splats.rows(_neighbors(splats.position))
    log = np.clip(log_scale(splats.scale), *SCALES)
    bounded = {"position": splats.position, "scale": log, "color": splats.color}
    starts = np.arange(0, len(log), CHUNK)
    fields = [name for kind in bounded for names in BOUNDED[kind] for name in names]
    chunks, units = np.empty(len(starts), [(name, "<f4") for name in fields]), {}
    for kind, values in bounded.items():
        ends = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        for names, columns in zip(BOUNDED[kind], ends, strict=True):
            for name, column in zip(names, columns.T, strict=True):
                chunks[name] = column
        units[kind] = _fractions(values, *(np.repeat(end, CHUNK, axis=0)[: len(values)] for end in ends))
    elements = {"chunk": chunks, "vertex": _words(splats, units)}
    if splats.harmonics.shape[1]:
        elements["sh"] = _bytes_of_harmonics(splats.harmonics)
    return ply.packed(elements, comments)


def _fractions(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    span = high.astype(np.float64) - low
    return np.where(span > 0.0, (values - low) / np.where(span > 0.0, span, 1.0), 0.0)


def _words(splats: Splats, units: dict[str, np.ndarray]) -> np.ndarray:
    largest, others = smallest_three(splats.rotation[:, [3, 0, 1, 2]].astype(np.float64))
    color = np.concatenate([units["color"], splats.opacity[:, None]], axis=1)
    rows = np.empty(len(color), [(name, "<u4") for name in WORDS])
    rows["packed_position"] = packed_units(units["position"], VECTOR)
    rows["packed_rotation"] = (largest << np.uint32(30)) | packed_units(others * ROOT + 0.5, QUATERNION)
    rows["packed_scale"] = packed_units(units["scale"], VECTOR)
    rows["packed_color"] = packed_units(color, COLOR)
    return rows


def _bytes_of_harmonics(harmonics: np.ndarray) -> np.ndarray:
    values = by_channel(harmonics) / (2.0 * LARGEST_HARMONIC) + 0.5
    found = np.ascontiguousarray(to_bytes(np.floor(values * 256.0)))
    return found.view([(f"f_rest_{number}", "u1") for number in range(found.shape[1])])[:, 0]


def _neighbors(positions: np.ndarray) -> np.ndarray:
    """Row numbers along a Z-order curve (Morton 1966), with 10 bits for each axis."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    cells = (_fractions(positions, low, high) * 1023.0).astype(np.uint32)
    code = np.zeros(len(cells), np.uint32)
    for bit in range(10):
        for axis in range(3):
            code |= ((cells[:, axis] >> np.uint32(bit)) & np.uint32(1)) << np.uint32(3 * bit + axis)
    return np.argsort(code, kind="stable")
