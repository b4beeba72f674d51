"""PLY files of Gaussian splats, in the layout of Kerbl et al. 2023: read, and written.

A vertex has x, y, z; f_dc_0 to 2, the first spherical harmonic of its colour; opacity before the logistic function;
scale_0 to 2, logarithms of standard deviations; rot_0 to 3, a quaternion w, x, y, z.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError

SUFFIX = ".ply"
FIRST_HARMONIC = 0.28209479177387814  # 1 / (2 sqrt(pi))
TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "float32": "f4", "double": "f8", "float64": "f8"},
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}
PLACE, COLOR = ("x", "y", "z"), ("f_dc_0", "f_dc_1", "f_dc_2")
SCALE, TURN = ("scale_0", "scale_1", "scale_2"), ("rot_0", "rot_1", "rot_2", "rot_3")
NEEDED = (*PLACE, *COLOR, "opacity", *SCALE, *TURN)
LONGEST_HEADER = 1 << 16  # bytes
UPWARDS = {  # what turns the file's axes so that y points upwards
    "y": np.eye(3),
    "-y": np.diag([1.0, -1.0, -1.0]),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}


class Splats(NamedTuple):
    """`position` (n, 3); `scale` (n, 3), standard deviations; `rotation` (n, 4), quaternions x, y, z, w of length 1;
    `opacity` (n,), 0 to 1; `color` (n, 3), sRGB. All f32. `dropped` rows of the file were not finite.
    """

    position: np.ndarray
    scale: np.ndarray
    rotation: np.ndarray
    opacity: np.ndarray
    color: np.ndarray
    dropped: int = 0


class _Header(NamedTuple):
    order: str
    count: int
    fields: dict[str, str]
    start: int  # byte at which the vertices begin


def is_splats(path: Path) -> bool:
    """Whether a file is a PLY of splats, by its header; false for what cannot be read."""
    try:
        return "f_dc_0" in _header(path).fields
    except InputError:
        return False


def read(path: Path, size: float = 0.0, up: str = "y") -> Splats:
    """The splats of a file, their middle at the origin.

    `size` is the longest edge of the box around their places then; 0 keeps that of the file. `up` is the file's upward
    axis, one of `UPWARDS`. Raises `InputError` for a file that is none, or without a splat that could be drawn.
    """
    try:
        modified = path.stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return _read(path, modified, size, up)


@lru_cache(maxsize=2)  # a scene asks for the shapes before it builds the model
def _read(path: Path, modified: int, size: float, up: str) -> Splats:
    rows = _rows(path, _header(path))
    place, turn = _columns(rows, PLACE), _columns(rows, TURN)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = np.exp(_columns(rows, SCALE))
        opacity = 1.0 / (1.0 + np.exp(-_columns(rows, ("opacity",))[:, 0]))
        turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    color = 0.5 + FIRST_HARMONIC * _columns(rows, COLOR)
    all_columns = np.concatenate([place, scale, turn, opacity[:, None], color], axis=1)
    sound = np.isfinite(all_columns.astype(np.float32)).all(axis=1)
    if not sound.any():
        raise InputError(f"{path}: holds no splat that could be drawn, of {len(rows):,}")
    place, scale, turn = place[sound], scale[sound], turn[sound]
    low, high = place.min(axis=0), place.max(axis=0)
    factor = size / max((high - low).max(), 1e-30) if size else 1.0
    axes = UPWARDS[up]
    arrays = (
        (place - 0.5 * (low + high)) * factor @ axes.T,
        scale * factor,
        _after(axes, turn[:, [1, 2, 3, 0]]),
        opacity[sound],
        np.clip(color[sound], 0.0, None),
    )
    position, scale, rotation, opacity, color = (np.ascontiguousarray(array, np.float32) for array in arrays)
    return Splats(position, scale, rotation, opacity, color, int((~sound).sum()))


def write(path: Path, splats: Splats) -> None:
    """A binary PLY, as `read` takes it. Raises `InputError` if it cannot be written."""
    try:
        path.write_bytes(packed(splats))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def packed(splats: Splats) -> bytes:
    """The bytes of a binary PLY, as `read` takes it."""
    count = len(splats.position)
    rows = np.zeros(count, [(name, "<f4") for name in NEEDED])
    chance = np.clip(splats.opacity.astype(float), 1e-6, 1.0 - 1e-6)
    columns = {
        PLACE: splats.position,
        COLOR: (splats.color - 0.5) / FIRST_HARMONIC,
        ("opacity",): np.log(chance / (1.0 - chance))[:, None],
        SCALE: np.log(np.maximum(splats.scale, 1e-30)),
        TURN: splats.rotation[:, [3, 0, 1, 2]],
    }
    for names, values in columns.items():
        for name, column in zip(names, np.asarray(values).T, strict=True):
            rows[name] = column
    properties = "".join(f"property float {name}\n" for name in NEEDED)
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{properties}end_header\n"
    return header.encode("ascii") + rows.tobytes()


def _header(path: Path) -> _Header:
    """Raises `InputError`."""
    try:
        with path.open("rb") as file:
            start = file.read(LONGEST_HEADER)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if not start.startswith((b"ply\n", b"ply\r")):
        raise InputError(f"{path}: is no PLY file: it does not begin with a line that says ply")
    head, end, rest = start.partition(b"end_header")
    if not end:
        raise InputError(f"{path}: its header has no end_header")
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines()]
    order = next((line[1] for line in lines if line[:1] == ["format"] and len(line) > 1), "")
    if order not in ORDERS:
        raise InputError(f"{path}: its format is {order!r}; known are {', '.join(ORDERS)}")
    count, fields = _vertices(path, lines)
    return _Header(order, count, fields, len(head) + len(end) + (2 if rest.startswith(b"\r\n") else 1))


def _vertices(path: Path, lines: list[list[str]]) -> tuple[int, dict[str, str]]:
    """How many there are, and the type of each of their properties by name."""
    elements = [line for line in lines if line[:1] == ["element"]]
    if not elements or elements[0][1:2] != ["vertex"] or len(elements[0]) != 3 or not elements[0][2].isdigit():
        raise InputError(f"{path}: its first element is not its vertices")
    fields: dict[str, str] = {}
    for line in lines[lines.index(elements[0]) + 1 :]:
        if line[:1] == ["element"]:
            break
        if line[:1] != ["property"]:
            continue
        if len(line) != 3 or line[1] not in TYPES:
            raise InputError(f"{path}: its vertices have the property {' '.join(line[1:])!r}; splats have numbers only")
        fields[line[2]] = TYPES[line[1]]
    return int(elements[0][2]), fields


def _rows(path: Path, header: _Header) -> np.ndarray:
    """The vertices, a structured array. Raises `InputError`."""
    missing = [name for name in NEEDED if name not in header.fields]
    if missing:
        raise InputError(f"{path}: is no PLY of Gaussian splats: its vertices lack {', '.join(missing)}")
    order = ORDERS[header.order]
    dtype = np.dtype([(name, order + kind) for name, kind in header.fields.items()])
    body = path.read_bytes()[header.start :]
    if header.order == "ascii":
        try:
            numbers = np.array(body.split()[: header.count * len(header.fields)], float).reshape(
                header.count, len(header.fields)
            )
        except ValueError:
            raise InputError(
                f"{path}: does not hold {header.count:,} vertices of {len(header.fields)} numbers"
            ) from None
        return np.array([tuple(row) for row in numbers], dtype)
    if len(body) < header.count * dtype.itemsize:
        found = len(body) // dtype.itemsize
        raise InputError(f"{path}: ends after {found:,} of {header.count:,} vertices; it was cut short")
    return np.frombuffer(body, dtype, header.count)


def _columns(rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    return np.stack([rows[name].astype(float) for name in names], axis=1)


def _after(axes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Quaternions x, y, z, w that turn as `turns` do, and then as the matrix `axes` (about x, by halves of pi)."""
    half = {1.0: (0.0, 1.0), -1.0: (1.0, 0.0), 0.0: (-(0.5**0.5), 0.5**0.5)}[float(axes[1, 1])]
    x, w = half
    a, b, c, d = turns.T
    return np.stack([w * a + x * d, w * b - x * c, w * c + x * b, w * d - x * a], axis=1)
