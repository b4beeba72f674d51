"""Emulate functions of a WGSL file in Python, per scalar, as on a GPU that flushes subnormal numbers to zero.

It supports what shaders/common/math.wgsl uses for division: f32, u32 and bool, `let`, `var`, `if`, `while`, `return`
and structs. Arithmetic and comparisons treat subnormal operands and results as 0; bits that are only copied are
unchanged.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vertigrad import resources

LEAST_NORMAL = np.float32(2.0**-126)


def _flushed(x: np.float32) -> np.float32:
    return np.copysign(np.float32(0), x) if abs(x) < LEAST_NORMAL else x


class F32:
    """A float of 32 bits."""

    def __init__(self, value: Any):
        self.value = np.float32(value)

    def _with(self, other: F32, calculate: Callable[[Any, Any], Any]) -> F32:
        with np.errstate(all="ignore"):
            return F32(_flushed(np.float32(calculate(_flushed(self.value), _flushed(other.value)))))

    def __add__(self, other: F32) -> F32:
        return self._with(other, np.add)

    def __sub__(self, other: F32) -> F32:
        return self._with(other, np.subtract)

    def __mul__(self, other: F32) -> F32:
        return self._with(other, np.multiply)

    def __truediv__(self, other: F32) -> F32:
        return self._with(other, np.divide)

    def __lt__(self, other: F32) -> bool:
        return bool(_flushed(self.value) < _flushed(other.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, F32) and bool(_flushed(self.value) == _flushed(other.value))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __abs__(self) -> F32:
        return F32(abs(self.value))


class U32(int):
    """An integer of 32 bits."""

    def __new__(cls, value: int) -> U32:
        return super().__new__(cls, value & 0xFFFFFFFF)

    def __truediv__(self, other: int) -> U32:
        return U32(self // other)


def _wrapped(name: str) -> Callable[[int, int], U32]:
    return lambda self, other: U32(getattr(int, name)(self, other))


for _name in ("__add__", "__sub__", "__mul__", "__mod__", "__lshift__", "__rshift__", "__and__", "__or__", "__xor__"):
    setattr(U32, _name, _wrapped(_name))

BUILTINS: dict[str, Any] = {
    "F32": F32,
    "U32": U32,
    "select": lambda no, yes, condition: yes if condition else no,
    "bitcast_f32": lambda x: F32(np.uint32(x).view(np.float32)),
    "bitcast_u32": lambda x: U32(int(x.value.view(np.uint32))),
    "f32": lambda x: F32(np.float32(int(x))),
    "u32": lambda x: U32(int(_flushed(x.value))),
    "countLeadingZeros": lambda x: U32(32 - int(x).bit_length()),
    "min": min,
    "max": max,
    "abs": abs,
}
EXPRESSIONS = [
    (r"bitcast<(\w+)>", r"bitcast_\1"),
    (r"\b(0x[0-9a-f]+|\d+)u\b", r"U32(\1)"),
    (r"(?<![\w.])(\d+\.\d*)", r'F32("\1")'),
    (r"&&", " and "),
    (r"\|\|", " or "),
    (r"!(?!=)", " not "),
]


def load(file: str, names: Sequence[str]) -> dict[str, Any]:
    """Functions and structs of shaders/`file`, by name."""
    text = re.sub(r"//.*", "", resources.shader(file))
    scope = dict(BUILTINS)
    for name in names:
        found = re.search(rf"^(?:fn|struct) {name}\b.*?^}}$", text, re.M | re.S)
        assert found, f"{file} has no {name}"
        if found[0].startswith("struct"):
            scope[name] = namedtuple(name, re.findall(r"(\w+):", found[0]))
        else:
            exec(_python(found[0]), scope)
    return scope


def _python(function: str) -> str:
    lines: list[str] = []
    depth = 0
    for line in filter(None, map(str.strip, function.splitlines())):
        if line == "}":
            depth -= 1
            continue
        if line.startswith("fn "):
            name, declared = re.match(r"fn (\w+)\((.*)\) ->", line).groups()  # pyright: ignore
            parameters = ", ".join(re.findall(r"(\w+):", declared))
            lines.append(f"def {name}({parameters}):")
        else:
            code = re.sub(r"^(let|var) ", "", line.rstrip(";{ "))
            for pattern, python in EXPRESSIONS:
                code = re.sub(pattern, python, code)
            lines.append("    " * depth + code.strip() + (":" if line.endswith("{") else ""))
        depth += line.endswith("{")
    return "\n".join(lines)
