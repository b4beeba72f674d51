"""PLY files (Turk 1994): the header, and the rows of elements as structured arrays; written as binary files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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


class Element(NamedTuple):
    """`fields` are the NumPy types of its scalar properties by name, `others` the texts of all other properties."""

    name: str
    count: int
    fields: dict[str, str]
    others: list[str]


class Header(NamedTuple):
    """`elements` in the order of the file, `comments` without the word itself, `start` the byte where rows begin."""

    order: str
    elements: list[Element]
    comments: list[str]
    start: int

    @property
    def vertex(self) -> Element:
        """The vertices: the first element, or one without fields."""
        first = self.elements[0] if self.elements else None
        return first if first is not None and first.name == "vertex" else Element("vertex", 0, {}, [])

    @property
    def faces(self) -> int:
        """The number of faces."""
        return sum(one.count for one in self.elements if one.name in ("face", "tristrips", "polygon"))

    def find(self, name: str) -> Element | None:
        """The element of this name."""
        return next((one for one in self.elements if one.name == name), None)


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
    comments = [" ".join(line[1:]) for line in lines if line[:1] == ["comment"]]
    begin = len(head) + len(end) + (2 if rest.startswith(b"\r\n") else 1)
    return Header(order, _elements(path, lines), comments, begin)


def _elements(path: Path, lines: list[list[str]]) -> list[Element]:
    found: list[Element] = []
    for line in lines:
        if line[:1] == ["element"]:
            if len(line) != 3 or not (line[2].isascii() and line[2].isdigit()):
                raise InputError(f"{path}: its header has the line {' '.join(line)!r}, not element NAME COUNT")
            found.append(Element(line[1], int(line[2]), {}, []))
        elif line[:1] == ["property"] and found:
            if len(line) == 3 and line[1] in TYPES and line[2] not in found[-1].fields:
                found[-1].fields[line[2]] = TYPES[line[1]]
            else:
                found[-1].others.append(" ".join(line[1:]))
    return found


def vertices(path: Path, header: Header, mapped: bool = False) -> np.ndarray:
    """The vertices, a structured array with a field for each property. Raises `InputError`."""
    if not header.elements or header.elements[0].name != "vertex":
        raise InputError(f"{path}: its first element is not its vertices")
    return rows(path, header, ["vertex"], mapped)[0]


def rows(path: Path, header: Header, names: Sequence[str], mapped: bool = False) -> list[np.ndarray]:
    """The rows of the first elements of a file, which have these names: structured arrays, a field for each property.

    Those of a binary file are read when they are used if they are to be `mapped` into memory. Nothing is allocated for
    rows that the file does not have. Raises `InputError`.
    """
    dtypes = [_dtype(path, header, one) for one in header.elements[: len(names)]]
    counts = [one.count for one in header.elements[: len(names)]]
    if header.order == "ascii":
        return _text_rows(path, header, dtypes, counts)
    found, offset, size = [], header.start, path.stat().st_size
    for name, count, dtype in zip(names, counts, dtypes, strict=True):
        if size - offset < count * dtype.itemsize:
            what = "vertices" if name == "vertex" else f"rows of the element {name}"
            there = max(size - offset, 0) // dtype.itemsize
            raise InputError(f"{path}: ends after {there:,} of {count:,} {what}; the file is truncated")
        if not count:
            found.append(np.empty(0, dtype))
        elif mapped:
            found.append(np.memmap(path, dtype, "r", offset, (count,)))
        else:
            found.append(np.fromfile(path, dtype, count, offset=offset))
        offset += count * dtype.itemsize
    return found


def _dtype(path: Path, header: Header, element: Element) -> np.dtype:
    whose = "vertices have" if element.name == "vertex" else f"element {element.name} has"
    if element.others:
        raise InputError(
            f"{path}: its {whose} the property {element.others[0]!r}; only scalar properties with different names "
            "can be read"
        )
    if not element.fields:
        raise InputError(f"{path}: its {whose} no properties")
    return np.dtype([(name, ORDERS[header.order] + kind) for name, kind in element.fields.items()])


def _text_rows(path: Path, header: Header, dtypes: Sequence[np.dtype], counts: Sequence[int]) -> list[np.ndarray]:
    words, found = path.read_bytes()[header.start :].split(), []
    for dtype, count in zip(dtypes, counts, strict=True):
        width = len(dtype.names or ())
        try:
            numbers = np.array(words[: count * width], float).reshape(count, width)
        except ValueError:
            raise InputError(f"{path}: does not have {count:,} vertices with {width} values each") from None
        words = words[count * width :]
        with np.errstate(invalid="ignore", over="ignore"):
            found.append(np.array([tuple(row) for row in numbers], dtype))
    return found


def columns(rows: np.ndarray, names: Sequence[str], dtype: Any = np.float64) -> np.ndarray:
    """Some properties side by side, of one type (n, len(names))."""
    found = np.empty((len(rows), len(names)), dtype)
    first = list(rows.dtype.names or ()).index(names[0]) if names else 0
    adjacent = slice(first, first + len(names))
    kinds = {field[0] for field in (rows.dtype.fields or {}).values()}
    with np.errstate(over="ignore", invalid="ignore"):
        if len(kinds) == 1 and (rows.dtype.names or ())[adjacent] == tuple(names):  # many times faster
            found[:] = rows.view(kinds.pop()).reshape(len(rows), -1)[:, adjacent]
            return found
        for column, name in enumerate(names):
            found[:, column] = rows[name]
    return found


def packed(elements: Mapping[str, np.ndarray], comments: Sequence[str] = ()) -> bytes:
    """The bytes of a binary PLY of elements by name, each a structured array with a field for each property.

    A field that has a shape, (n,), is written as a list; the field before it, of type u1, is its length. Raises
    `KeyError` for a type of field that PLY lacks here.
    """
    lines = "".join(f"comment {text}\n" for text in comments)
    lines += "".join(f"element {name} {len(rows)}\n{_properties(rows.dtype)}" for name, rows in elements.items())
    head = f"ply\nformat binary_little_endian 1.0\n{lines}end_header\n".encode("ascii")
    return head + b"".join(rows.tobytes() for rows in elements.values())


def _properties(dtype: np.dtype) -> str:
    found: list[str] = []
    for name in dtype.names or ():
        kind = WRITTEN[dtype[name].base.str.lstrip("<|")]
        if dtype[name].shape:
            found[-1] = f"property list uchar {kind} {name}\n"
        else:
            found.append(f"property {kind} {name}\n")
    return "".join(found)
