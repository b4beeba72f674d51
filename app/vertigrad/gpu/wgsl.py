"""What Python must know of a WGSL source: its bindings, workgroup sizes and the layout of its uniform struct.

Bindings are found by name here, so nobody counts binding numbers, and no struct is mirrored in Python.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ShaderError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_BINDING = re.compile(
    r"@group\(\s*(\d+)\s*\)\s*@binding\(\s*(\d+)\s*\)\s*var\s*(?:<\s*(\w+)\s*(?:,\s*(\w+)\s*)?>)?\s*(\w+)\s*:\s*([^;]+);"
)
_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{([^}]*)\}")
_FIELD = re.compile(r"(?:@\w+(?:\([^)]*\))?\s*)*(\w+)\s*:\s*(.+)", re.S)
_FUNCTION = re.compile(r"((?:@\w+(?:\([^)]*\))?\s*)*)\bfn\s+(\w+)\s*\(")
_WORKGROUP = re.compile(r"@workgroup_size\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?(?:,\s*(\d+)\s*)?\)")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_ARRAY = re.compile(r"array<\s*(.+?)\s*(?:,\s*(\d+)\s*)?>$", re.S)
_SCALARS = {"f32": ("f", 4), "i32": ("i", 4), "u32": ("I", 4), "f16": ("e", 2)}
_SUFFIX = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}


@dataclass(frozen=True)
class Binding:
    """One buffer a kernel uses: `access` is "uniform", "read" or "read_write"; `scalar` its element's scalar type."""

    name: str
    number: int
    access: str
    type: str
    scalar: str | None


@dataclass(frozen=True)
class Field:
    """One member of a uniform struct: its byte offset and its `struct` format, for `count` scalars."""

    name: str
    offset: int
    format: str
    count: int


@dataclass(frozen=True)
class UniformLayout:
    """A uniform struct as WGSL lays it out (WGSL specification, section "Memory Layout")."""

    name: str
    size: int
    fields: dict[str, Field]

    def pack(self, image: bytearray, base: int, name: str, value: Any) -> None:
        """Write the field `name` into `image`, whose struct begins at `base`. Matrices are column by column."""
        field = self.fields[name]
        try:
            if field.count == 1:
                struct.pack_into(field.format, image, base + field.offset, value)
            else:
                struct.pack_into(field.format, image, base + field.offset, *np.ravel(value).tolist())
        except (struct.error, TypeError) as error:
            raise ShaderError(f"uniform {self.name}.{name}: {value!r} does not fit ({error})") from error


@dataclass(frozen=True)
class Interface:
    """What one entry point needs."""

    bindings: tuple[Binding, ...]
    uniform: UniformLayout | None
    workgroup: tuple[int, int, int]
    folds: bool  # uses num_workgroups, so that a long row of workgroups may be folded into two dimensions


def interface(source: str, entry: str, name: str) -> Interface:
    """Parse `source` for what the compute entry point `entry` uses. Raises `ShaderError`, naming `name`."""
    text = _COMMENT.sub(" ", source)
    functions = dict(_functions(text))
    if entry not in functions or "@compute" not in functions[entry][0]:
        found = ", ".join(n for n, (attributes, _) in functions.items() if "@compute" in attributes) or "none"
        raise ShaderError(f"{name}: no compute entry point {entry!r}; there is {found}")
    words = _reachable_words(functions, entry)
    structs = {m[1]: m[2] for m in _STRUCT.finditer(text)}
    bindings = tuple(sorted(_bindings(text, words, name), key=lambda b: b.number))
    uniforms = [b for b in bindings if b.access == "uniform"]
    if len(uniforms) > 1:
        raise ShaderError(f"{name}: {entry} uses {len(uniforms)} uniform structs; a kernel may have one")
    layout = _layout(uniforms[0].type, structs, name) if uniforms else None
    size = _WORKGROUP.search(functions[entry][0])
    if size is None:
        raise ShaderError(f"{name}: {entry} needs a literal @workgroup_size")
    x, y, z = (int(n) if n else 1 for n in size.groups())
    return Interface(bindings, layout, (x, y, z), "num_workgroups" in functions[entry][1])


def _functions(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """(name, (attributes, signature and body)) of each function."""
    for match in _FUNCTION.finditer(text):
        depth, start = 0, text.index("{", match.end())
        for end in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                yield match[2], (match[1], text[match.end() : end])
                break


def _reachable_words(functions: dict[str, tuple[str, str]], entry: str) -> set[str]:
    """Every word in the entry point and in the functions it may call."""
    words: set[str] = set()
    todo = [entry]
    while todo:
        found = set(_WORD.findall(functions[todo.pop()][1])) - words
        words |= found
        todo += [word for word in found if word in functions]
    return words


def _bindings(text: str, words: set[str], name: str) -> Iterator[Binding]:
    for group, number, space, access, variable, type_ in _BINDING.findall(text):
        if variable not in words:
            continue
        if group != "0":
            raise ShaderError(f"{name}: {variable} is in @group({group}); kernels bind everything in group 0")
        if space not in ("storage", "uniform"):
            raise ShaderError(f"{name}: {variable} is no buffer; kernels take storage and uniform buffers")
        kind = "uniform" if space == "uniform" else access or "read"
        yield Binding(variable, int(number), kind, type_.strip(), _scalar(type_.strip()))


def _scalar(type_: str) -> str | None:
    """The scalar type an array is made of; None for structs."""
    array = _ARRAY.match(type_)
    inner = array[1] if array else type_
    inner = re.sub(r"^atomic<\s*(\w+)\s*>$", r"\1", inner)
    parsed = _vector(inner)
    return parsed[0] if parsed else None


def _vector(type_: str) -> tuple[str, int, int] | None:
    """(scalar, rows, columns) of a scalar, vector or matrix type; None if it is none of them."""
    type_ = type_.replace(" ", "")
    if type_ in _SCALARS:
        return type_, 1, 1
    short = re.fullmatch(r"(?:vec([234])|mat([234])x([234]))([fiuh])", type_)
    long = re.fullmatch(r"(?:vec([234])|mat([234])x([234]))<(\w+)>", type_)
    match = short or long
    if not match:
        return None
    scalar = _SUFFIX[match[4]] if short else match[4]
    if match[1]:
        return scalar, int(match[1]), 1
    return scalar, int(match[3]), int(match[2])


def _size_and_format(type_: str, where: str) -> tuple[int, int, str, int]:
    """(size, alignment, struct format, scalar count) of a type in the uniform address space."""
    array = _ARRAY.match(type_)
    repeat = int(array[2] or 0) if array else 1
    parsed = _vector(array[1] if array else type_)
    if parsed is None or not repeat:
        raise ShaderError(f"{where}: type {type_} is not supported in a uniform struct")
    scalar, rows, columns = parsed
    code, nbytes = _SCALARS[scalar]
    size = rows * nbytes
    align = {1: 1, 2: 2, 3: 4, 4: 4}[rows] * nbytes
    if array and size % 16:
        raise ShaderError(f"{where}: elements of {type_} must be 16 bytes in a uniform struct; use vec4")
    total = columns * repeat
    if total == 1:
        return size, align, f"<{rows}{code}", rows
    padding = "x" * (align - size)
    return total * align, align, "<" + f"{rows}{code}{padding}" * total, rows * total


def _layout(struct_name: str, structs: dict[str, str], name: str) -> UniformLayout:
    if struct_name not in structs:
        raise ShaderError(f"{name}: uniform of type {struct_name}; a kernel's uniform must be a struct")
    offset, largest = 0, 4
    fields: dict[str, Field] = {}
    for text in re.split(r",(?![^<(]*[>)])", structs[struct_name]):
        match = _FIELD.fullmatch(text.strip())
        if not match:
            continue
        size, align, code, count = _size_and_format(match[2].strip(), f"{name}: {struct_name}.{match[1]}")
        offset = -(-offset // align) * align
        fields[match[1]] = Field(match[1], offset, code, count)
        offset += size
        largest = max(largest, align)
    return UniformLayout(struct_name, -(-offset // max(largest, 16)) * max(largest, 16), fields)
