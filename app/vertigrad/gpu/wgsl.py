"""What Python must know of a WGSL source: its bindings, workgroup sizes and the layout of its uniform struct.

Bindings are found by name here, so nobody counts binding numbers, and no struct is mirrored in Python.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ShaderError

FIRST = "first_workgroup"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_BINDING = re.compile(
    r"((?:@(?:group|binding)\([^)]*\)\s*){2})var\s*(?:<\s*(\w+)\s*(?:,\s*(\w+)\s*)?>)?\s*(\w+)\s*:\s*([^;]+);"
)
_NUMBER = re.compile(r"@(\w+)\(\s*(\d+)[iu]?\s*,?\s*\)")  # an attribute with one literal number
_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{([^}]*)\}")
_FIELD = re.compile(r"((?:@\w+(?:\([^)]*\))?\s*)*)(\w+)\s*:\s*(.+)", re.S)
_FUNCTION = re.compile(r"fn(?<!\wfn)\s+(\w+)\s*\(")  # begins with literal text, which is found fast
_WORKGROUP = re.compile(r"@workgroup_size\(\s*(\d+)[iu]?\s*(?:,\s*(\d+)[iu]?\s*)?(?:,\s*(\d+)[iu]?\s*)?,?\s*\)")
_WORD = re.compile(r"\.?\w+")  # names, numbers, and members with their point
_ARRAY = re.compile(r"array<\s*(.+?)\s*(?:,\s*(\d+)\s*)?>$", re.S)
_SCALARS = {"f32": ("f", 4), "i32": ("i", 4), "u32": ("I", 4), "f16": ("e", 2), "f64": ("d", 8)}
_SUFFIX = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_ALIGN = {1: 1, 2: 2, 3: 4, 4: 4}  # of a vector, in scalars


@dataclass(frozen=True)
class Binding:
    """One buffer a kernel uses: `access` is "uniform", "read" or "read_write".

    `scalar` is the scalar type of its elements, `element` their size in bytes, `least` how many bytes must be bound;
    None, 4 and 4 where the type is a struct.
    """

    name: str
    number: int
    access: str
    type: str
    scalar: str | None
    element: int
    least: int


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
                values = (
                    value if type(value) is tuple and value and type(value[0]) is float else np.ravel(value).tolist()
                )
                struct.pack_into(field.format, image, base + field.offset, *values)
        except (struct.error, ArithmeticError, TypeError, ValueError) as error:
            raise ShaderError(f"uniform {self.name}.{name}: {value!r} does not fit ({error})") from error


@dataclass(frozen=True)
class Interface:
    """What one entry point needs."""

    bindings: tuple[Binding, ...]
    uniform: UniformLayout | None
    fields: tuple[str, ...]  # of the uniform, but for offsets and strides of buffers that only other entry points use
    workgroup: tuple[int, int, int]
    folds: bool  # uses num_workgroups, so that a long row of workgroups may be folded into two dimensions
    splits: bool  # adds the uniform field first_workgroup to its workgroup's x, so that it may be split along that


def interface(source: str, entry: str, name: str) -> Interface:
    """Parse `source` for what the compute entry point `entry` uses. Raises `ShaderError`, naming `name`."""
    text = _COMMENT.sub(" ", source)
    functions, declarations = _parts(text)
    if entry not in functions or "@compute" not in functions[entry][0]:
        found = ", ".join(n for n, (attributes, _) in functions.items() if "@compute" in attributes) or "none"
        raise ShaderError(f"{name}: no compute entry point {entry!r}; there is {found}")
    words = _reachable_words(functions, entry)
    structs = {m[1]: m[2] for m in _STRUCT.finditer(declarations)}
    declared = _BINDING.findall(declarations)
    bindings = tuple(sorted(_bindings(declared, words, name), key=lambda b: b.number))
    uniforms = [b for b in bindings if b.access == "uniform"]
    if len(uniforms) > 1:
        raise ShaderError(f"{name}: {entry} uses {len(uniforms)} uniform structs; a kernel may have one")
    layout = _layout(uniforms[0].type, structs, name) if uniforms else None
    size = _WORKGROUP.search(functions[entry][0])
    if size is None:
        raise ShaderError(f"{name}: {entry} needs a literal @workgroup_size")
    x, y, z = (int(n) if n else 1 for n in size.groups())
    body = functions[entry][1]
    splits = layout is not None and FIRST in layout.fields and re.search(rf"\.\s*{FIRST}\b", body) is not None
    folds = "num_workgroups" in body
    unused = {variable for *_, variable, _ in declared} - {binding.name for binding in bindings}
    zero = {f"{name}_{what}" for name in unused for what in ("offset", "strides")}
    fields = tuple(name for name in layout.fields if name not in zero) if layout else ()
    return Interface(bindings, layout, fields, (x, y, z), folds, splits and not folds)


def struct_layout(source: str, struct_name: str, name: str) -> UniformLayout:
    """How a uniform struct of `source` is laid out. Raises `ShaderError`, naming `name`."""
    structs = {m[1]: m[2] for m in _STRUCT.finditer(_COMMENT.sub(" ", source))}
    return _layout(struct_name, structs, name)


def _parts(text: str) -> tuple[dict[str, tuple[str, str]], str]:
    """(attributes, signature and body) of each function by name, and the declarations outside of functions."""
    functions: dict[str, tuple[str, str]] = {}
    outside, last = [], 0
    for match in _FUNCTION.finditer(text):
        depth, end = 1, text.find("{", match.end())
        while depth and end >= 0:
            start, end = end + 1, text.find("}", end + 1)
            depth += text.count("{", start, end) - 1
        if not depth and end >= 0:
            before = text[last : match.start()]
            declared = max(before.rfind(";"), before.rfind("}")) + 1  # up to there
            functions[match[1]] = before[declared:], text[match.end() : end]
            outside.append(before[:declared])
            last = end
    return functions, "".join([*outside, text[last:]])


def _reachable_words(functions: dict[str, tuple[str, str]], entry: str) -> set[str]:
    """Every word in the entry point and in the functions it may call."""
    words: set[str] = set()
    todo = [entry]
    while todo:
        found = set(_WORD.findall(functions[todo.pop()][1])) - words
        words |= found
        todo += [word for word in found if word in functions]
    return words


def _bindings(declared: Sequence[tuple[str, ...]], words: set[str], name: str) -> Iterator[Binding]:
    """Those of the declared variables that are among `words`."""
    for attributes, space, access, variable, type_ in declared:
        if variable not in words:
            continue
        literals = dict(_NUMBER.findall(attributes))
        if literals.keys() != {"group", "binding"}:
            raise ShaderError(f"{name}: {variable} needs literal numbers in @group and @binding")
        if literals["group"] != "0":
            raise ShaderError(
                f"{name}: {variable} is in @group({literals['group']}); kernels bind everything in group 0"
            )
        if space not in ("storage", "uniform"):
            raise ShaderError(f"{name}: {variable} is no buffer; kernels take storage and uniform buffers")
        kind = "uniform" if space == "uniform" else access or "read"
        yield Binding(variable, int(literals["binding"]), kind, type_.strip(), *_elements(type_.strip()))


def _elements(type_: str) -> tuple[str | None, int, int]:
    """(scalar type, bytes of an element, bytes of all that are there in any case) of an array or a single value."""
    array = _ARRAY.match(type_)
    inner = array[1] if array else type_
    inner = re.sub(r"^atomic<\s*(\w+)\s*>$", r"\1", inner)
    parsed = _vector(inner)
    if parsed is None:
        return None, 4, 4
    scalar, rows, columns = parsed
    size = columns * _ALIGN[rows] * _SCALARS[scalar][1]
    return scalar, size, size * int((array and array[2]) or 1)


def _vector(type_: str) -> tuple[str, int, int] | None:
    """(scalar, rows, columns) of a scalar, vector or matrix type; None if it is none of them."""
    type_ = type_.replace(" ", "")
    if type_ in _SCALARS:
        return type_, 1, 1
    match = re.fullmatch(r"(?:vec([234])|mat([234])x([234]))(?:([fiuh])|<(\w+)>)", type_)
    scalar = match and (_SUFFIX.get(match[4]) or match[5])
    if not match or scalar not in _SCALARS:
        return None
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
    align = _ALIGN[rows] * nbytes
    if not array and columns == 1:
        return size, align, f"<{rows}{code}", rows
    if array and columns * align % 16:
        raise ShaderError(f"{where}: elements of {type_} must be 16 bytes in a uniform struct; use vec4")
    total = columns * repeat
    padding = "x" * (align - size)  # after each column, and after each element of an array
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
        attributes, field, where = match[1], match[2], f"{name}: {struct_name}.{match[2]}"
        type_ = match[3].strip()
        if type_ in structs:  # packed elsewhere: its bytes are the value
            inner = _layout(type_, structs, name)
            size, align, code, count = inner.size, 16, f"<{inner.size}s", 1
        else:
            size, align, code, count = _size_and_format(type_, where)
        declared = dict(_NUMBER.findall(attributes))
        if len(declared) != attributes.count("@"):
            raise ShaderError(f"{where}: {attributes.strip()} needs a literal number")
        align = int(declared.get("align", align))
        offset = -(-offset // align) * align
        fields[field] = Field(field, offset, code, count)
        offset += int(declared.get("size", size))
        largest = max(largest, align)
    return UniformLayout(struct_name, -(-offset // max(largest, 16)) * max(largest, 16), fields)
