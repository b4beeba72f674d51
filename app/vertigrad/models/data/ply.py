"""PLY files (Turk 1994): the header, and the vertices as a structured array; written as binary files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError

TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "float32": "f4", "double": "f8", "float64": "f8"},
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}
LONGEST_HEADER = 1 << 16  # bytes
WRITTEN = {"f4": "float", "u1": "uchar", "i4": "int", "u4": "uint"}  # the names of types in a header


class Header(NamedTuple):
    """`fields` are the NumPy types of a vertex's properties by name, `start` the byte at which vertices begin."""

    order: str
    count: int
    fields: dict[str, str]
    faces: int
    start: int


def header(path: Path) -> Header:
    """The header of a file. Raises `InputError` if it is not a PLY."""
    try:
        with path.open("rb") as file:
            start = file.read(LONGEST_HEADER)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if not start.startswith((b"ply\n", b"ply\r")):
        raise InputError(f"{path}: not a PLY file: the first line is not ply")
    head, end, rest = start.partition(b"end_header")
    if not end:
        raise InputError(f"{path}: its header has no end_header")
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines()]
    order = next((line[1] for line in lines if line[:1] == ["format"] and len(line) > 1), "")
    if order not in ORDERS:
        raise InputError(f"{path}: its format is {order!r}; known are {', '.join(ORDERS)}")
    count, fields = _vertices(path, lines)
    return Header(order, count, fields, _faces(lines), len(head) + len(end) + (2 if rest.startswith(b"\r\n") else 1))


def _faces(lines: list[list[str]]) -> int:
    elements = [line[1:] for line in lines if line[:1] == ["element"] and len(line) == 3 and line[2].isdigit()]
    return sum(int(count) for name, count in elements if name in ("face", "tristrips", "polygon"))


def _vertices(path: Path, lines: list[list[str]]) -> tuple[int, dict[str, str]]:
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
            raise InputError(
                f"{path}: its vertices have the property {' '.join(line[1:])!r}; only scalar properties can be read"
            )
        fields[line[2]] = TYPES[line[1]]
    return int(elements[0][2]), fields


def vertices(path: Path, header: Header) -> np.ndarray:
    """The vertices, a structured array with a field for each property. Raises `InputError`."""
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
                f"{path}: does not have {header.count:,} vertices with {len(header.fields)} values each"
            ) from None
        return np.array([tuple(row) for row in numbers], dtype)
    if len(body) < header.count * dtype.itemsize:
        found = len(body) // dtype.itemsize
        raise InputError(f"{path}: ends after {found:,} of {header.count:,} vertices; the file is truncated")
    return np.frombuffer(body, dtype, header.count)


def columns(rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Some properties side by side, float64 (n, len(names))."""
    return np.stack([rows[name].astype(float) for name in names], axis=1)


def packed(vertices: np.ndarray, triangles: np.ndarray | None = None, edges: np.ndarray | None = None) -> bytes:
    """The bytes of a binary PLY. `vertices` is a structured array with a field for each property.

    `triangles` (m, 3) and `edges` (m, 2) are rows of it. Raises `KeyError` for a type of field that PLY lacks here.
    """
    elements, bodies = [("vertex", len(vertices), _properties(vertices.dtype))], [vertices.tobytes()]
    if triangles is not None:
        faces = np.empty(len(triangles), [("count", "u1"), ("index", "<i4", (3,))])
        faces["count"], faces["index"] = 3, triangles
        elements.append(("face", len(faces), "property list uchar int vertex_indices\n"))
        bodies.append(faces.tobytes())
    if edges is not None:
        elements.append(("edge", len(edges), "property int vertex1\nproperty int vertex2\n"))
        bodies.append(np.ascontiguousarray(edges, "<i4").tobytes())
    lines = "".join(f"element {name} {count}\n{properties}" for name, count, properties in elements)
    return f"ply\nformat binary_little_endian 1.0\n{lines}end_header\n".encode("ascii") + b"".join(bodies)


def _properties(dtype: np.dtype) -> str:
    fields = {name: dtype[name].str.lstrip("<|") for name in dtype.names or ()}
    return "".join(f"property {WRITTEN[kind]} {name}\n" for name, kind in fields.items())
