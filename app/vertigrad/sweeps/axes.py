"""`Axis`: a swept parameter with its values or its range, as `--set` has them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..params import ParamSpec, parse_number
from ..scene.edit import literal
from ..scene.settings import entry, shortest

MOST = 100_000  # values of one axis
EXPECTED = "expected values such as 0.1,0.2,0.5, or a range LOW:HIGH[:COUNT][:log]"


@dataclass(frozen=True)
class Axis:
    """A parameter and what it takes: `values`, or all numbers from `low` to `high`.

    `whole` ranges have integers only; `log` ranges are uniform in the logarithm.
    """

    name: str
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False

    @property
    def is_range(self) -> bool:
        """Whether it is a range without levels, from which values can only be sampled."""
        return not self.values

    def at(self, fraction: float) -> Any:
        """The value at a fraction from 0 up to, but not including, 1."""
        if self.values:
            return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]
        if self.whole and not self.log:
            return int(self.low + math.floor(fraction * (self.high - self.low + 1)))
        if self.log:
            value = self.low * (self.high / self.low) ** fraction
        else:
            value = self.low + (self.high - self.low) * fraction
        return round(value) if self.whole else value

    def for_spec(self, spec: ParamSpec | None) -> Axis:
        """The same for the kind of a parameter: an integer has whole levels only, each once."""
        if spec is None or spec.kind != "integer":
            return self
        levels = tuple(round(value) if isinstance(value, float) else value for value in self.values)
        return replace(self, values=tuple(dict.fromkeys(levels)), whole=True)


def setting(name: str, value: Any) -> str:
    """The text for `--set` that gives the parameter exactly this value."""
    return f"{name}={literal(value)}"


def parse_sets(texts: Sequence[str]) -> tuple[list[Axis], list[str]]:
    """The swept parameters of `--set NAME=VALUES`, and the settings of one value, as they are. Raises `InputError`."""
    axes, fixed = [], []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise InputError(f"--set {text}: expected NAME=VALUES, such as galaxy.softening=0.1,0.2")
        axis = _parsed(_name(name), values.strip(), f"--set {text}")
        if axis is None:
            fixed.append(text)
        else:
            axes.append(axis)
    return _each_once(axes), fixed


def axes_of(values: Mapping[str, Any]) -> tuple[list[Axis], list[str]]:
    """The same from a script: a list or an array is swept, a text is read as by `--set`, anything else is one value.

    A tuple is the value of a vector. Raises `InputError`.
    """
    axes, fixed = [], []
    for name, value in values.items():
        if isinstance(value, str):
            more, others = parse_sets([f"{name}={value}"])
            axes += more
            fixed += others
        elif isinstance(value, list | np.ndarray | range):
            axes.append(_listed(_name(name), [plain(one) for one in value], f"{name}={value}"))
        else:
            fixed.append(setting(name, plain(value)))
    return _each_once(axes), fixed


def _name(text: str) -> str:
    """A parameter by its shortest name, so that each has one."""
    path = entry(text.strip())
    return shortest(path) if path else text.strip()


def _parsed(name: str, text: str, where: str) -> Axis | None:
    """The axis of the values after the equals sign; None if they are a single one."""
    parts = _split(text)
    if len(parts) > 1:
        return _listed(name, [value_of(part) for part in parts], where)
    low, *rest = text.split(":")
    if rest and parse_number(low) is not None:
        return _range(name, [low, *rest], where)
    return None


def _range(name: str, parts: list[str], where: str) -> Axis:
    log = parts[-1].strip() == "log"
    numbers = [parse_number(part) for part in (parts[:-1] if log else parts)]
    if len(numbers) not in (2, 3) or any(number is None for number in numbers):
        raise InputError(f"{where}: {EXPECTED}")
    low, high, *count = [number for number in numbers if number is not None]
    if not low < high:
        raise InputError(f"{where}: the low end of the range is not below its high end")
    if log and low <= 0:
        raise InputError(f"{where}: a logarithmic range begins above 0")
    if not count:
        return Axis(name, low=low, high=high, log=log)
    if count[0] != int(count[0]) or not 2 <= count[0] <= MOST:
        raise InputError(f"{where}: the count of a range is an integer from 2 to {MOST:,}")
    levels = (np.geomspace if log else np.linspace)(low, high, int(count[0]))
    return Axis(name, tuple(float(f"{level:.12g}") for level in levels))


def _listed(name: str, values: list[Any], where: str) -> Axis:
    if not 1 <= len(values) <= MOST:
        raise InputError(f"{where}: expected from 1 to {MOST:,} values")
    distinct = [value for index, value in enumerate(values) if value not in values[:index]]
    if len(distinct) < len(values):
        raise InputError(f"{where}: a value is named twice")
    return Axis(name, tuple(values))


def _each_once(axes: list[Axis]) -> list[Axis]:
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise InputError(f"--set {twice}: has values twice; separate them with commas in one --set")
    return axes


def _split(text: str) -> list[str]:
    """Split at commas that are neither in brackets nor in quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += letter
    return [part.strip() for part in parts]


def value_of(text: str) -> Any:
    """A value of TOML, or the text itself if it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def plain(value: Any) -> Any:
    """A scalar or array of NumPy as Python's own."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
