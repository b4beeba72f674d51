"""Validation of values from scene files, sliders and Python.

Types are not converted: text is no number, 8192.0 is no integer, true is not 1. NaN and infinity are rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from ..errors import InputError, ParameterError
from ..resources import path as resource
from .curve import parse_curve
from .shown import counted, described, shown
from .spec import Auto, Kind, ParamSpec
from .suggest import hint, with_hint

_F32_MAX = 3.4028234663852886e38
_I32_MIN, _U32_MAX = -(2**31), 2**32 - 1
_HEX_COLOR = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def accept(spec: ParamSpec, value: Any) -> Any:
    """The value as the parameter stores it. Raises `ParameterError` with a self-contained message."""
    if (value is None and spec.optional) or (isinstance(value, str) and value in spec.words):
        return value
    return _ACCEPT[spec.kind](spec, value)


def _number(spec: ParamSpec, value: Any) -> float:
    return _within(spec, _finite(value, "a number", spec))


def _integer(spec: ParamSpec, value: Any) -> int:
    if spec.auto and value == "auto":
        return Auto(spec.default or spec.min or 1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong("an integer", value, spec)
    if not _I32_MIN <= value <= _U32_MAX:
        raise ParameterError(f"{shown(value)} does not fit 32 bits")
    whole = Auto(value) if spec.auto and isinstance(value, Auto) else int(value)
    return _within(spec, whole)


def _switch(spec: ParamSpec, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong("true or false", value, spec)
    return value


def _choice(spec: ParamSpec, value: Any) -> str:
    if type(value) is int and str(value) in spec.choices:
        return str(value)  # 1024 is "1024"
    if not isinstance(value, str):
        raise _wrong("one of " + ", ".join(spec.choices), value, spec)
    if value not in spec.choices:
        raise ParameterError(with_hint(f"{shown(value)} is not one of the choices", hint(value, spec.choices)))
    return value


def _text(spec: ParamSpec, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong("text in quotes", value, spec)
    if spec.curve:
        parse_curve(value)
    return value


def _color(spec: ParamSpec, value: Any) -> tuple[float, ...]:
    if isinstance(value, str):
        return parse_color(value)
    return _elements(spec, value, 'a color like "#3366cc" or [r, g, b] from 0 to 1')


def _vector(spec: ParamSpec, value: Any) -> tuple[float, ...]:
    return _elements(spec, value, f"{spec.length} numbers")


def _interval(spec: ParamSpec, value: Any) -> tuple[float, ...]:
    low, high = _elements(spec, value, "[low, high]")
    if not low < high:
        raise ParameterError(f"the low end {shown(low)} is not below the high end {shown(high)}")
    return low, high


def _ends(spec: ParamSpec, value: Any) -> tuple[Any, ...]:
    """Two numbers, the first below the second, or two vectors or colors that differ."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence) or len(value) != 2:
        raise _wrong("two values, such as [0, 1]", value, spec)
    if not any(isinstance(end, str | Sequence) for end in value):
        return _interval(replace(spec, length=2), value)
    ends = tuple(_end(end) for end in value)
    if len(ends[0]) != len(ends[1]):
        raise ParameterError(
            f"both ends need the same number of components, got {counted(ends[0])} and {counted(ends[1])}"
        )
    if ends[0] == ends[1]:
        raise ParameterError("both ends are the same")
    return ends


def _end(value: Any) -> tuple[float, ...]:
    if isinstance(value, str):
        return parse_color(value)
    length = len(value) if isinstance(value, Sequence) else 0
    return _elements(ParamSpec(kind="vector", length=max(length, 1)), value, "a vector")


def _file(spec: ParamSpec, value: Any) -> Path:
    if not isinstance(value, str | PurePath):
        raise _wrong("a file's path", value, spec)
    text = str(value)
    if not text or "\0" in text:
        raise ParameterError("the path is empty" if not text else "the path has a NUL character in it")
    if spec.suffixes and not text.lower().endswith(spec.suffixes):
        raise ParameterError(f"{shown(PurePath(text).name)} does not end in {' or '.join(spec.suffixes)}")
    return packaged(text) if text.startswith("assets/") else Path(text)


_ACCEPT: Mapping[Kind, Callable[[ParamSpec, Any], Any]] = {
    "number": _number,
    "angle": _number,
    "integer": _integer,
    "switch": _switch,
    "choice": _choice,
    "text": _text,
    "color": _color,
    "vector": _vector,
    "interval": _interval,
    "ends": _ends,
    "file": _file,
}


def parse_color(text: str) -> tuple[float, float, float]:
    """`#rgb` or `#rrggbb` as three numbers from 0 to 1. Raises `ParameterError`."""
    if not _HEX_COLOR.fullmatch(text):
        raise ParameterError(f'expected a color like "#3366cc", got {described(text)}')
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def parse_number(text: str) -> float | None:
    """The finite number that a text is; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def packaged(text: str) -> Path:
    """The packaged file that `assets/...` names. Raises `ParameterError` if there is none."""
    parts = PurePath(text).parts
    if ".." in parts:
        raise ParameterError(f"{shown(text)} leaves the packaged assets")
    try:
        return resource(*parts)
    except (InputError, OSError):
        raise ParameterError(f"there is no packaged file {shown(text)}") from None


def _elements(spec: ParamSpec, value: Any, expected: str) -> tuple[float, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise _wrong(expected, value, spec)
    if len(value) != spec.length:
        raise ParameterError(f"expected {_or_words(expected, spec)}, got {counted(value)}")
    plain = ParamSpec(kind=spec.kind, min=spec.min, max=spec.max, unit=spec.unit)
    elements = []
    for index, element in enumerate(value, start=1):
        try:
            elements.append(_within(plain, _finite(element, "a number", plain)))
        except ParameterError as error:
            raise ParameterError(f"element {index}: {error}") from None
    return tuple(elements)


def _finite(value: Any, expected: str, spec: ParamSpec) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(expected, value, spec)
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(f"expected a finite number, got {shown(value)}")
    if abs(value) > _F32_MAX:
        raise ParameterError(f"{shown(value)} is too large for a 32-bit number")
    return float(value)


def _within(spec: ParamSpec, value: Any) -> Any:
    unit = f" {spec.unit}" if spec.unit else ""
    if spec.min is not None and value < spec.min:
        raise ParameterError(f"{shown(value)} is below the minimum {shown(type(value)(spec.min))}{unit}")
    if spec.max is not None and value > spec.max:
        raise ParameterError(f"{shown(value)} is above the maximum {shown(type(value)(spec.max))}{unit}")
    return value


def _wrong(expected: str, value: Any, spec: ParamSpec) -> ParameterError:
    return ParameterError(f"expected {_or_words(expected, spec)}, got {described(value)}")


def _or_words(expected: str, spec: ParamSpec) -> str:
    words = (*spec.words, *(("auto",) if spec.auto else ()))
    return " or ".join([expected, *(f'"{word}"' for word in words)])
