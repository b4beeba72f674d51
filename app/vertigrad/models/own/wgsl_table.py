"""A scene's table of a model of WGSL: parameters, tensors, inputs, passes; checked without a GPU."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ... import params
from ...errors import ParameterError, ShaderError
from ...params import described, shown, unknown
from ...params.declare import spec_of
from ..base import Fault, OutputSpec, table_in
from ..custom_model import name_objection

KEYS = ("tensors", "passes", "start", "params")  # of a model's table, next to its parameters and what all models have
TAKEN = ("shader", "type", "seed", "substeps", "inputs", "ui", *KEYS)  # what no parameter can be called
PREDEFINED = ("dt", "time", "seed")  # fields of the uniform struct that are no parameters

DETAILS: Mapping[str, Any] = {  # of a parameter, and what they may be
    **dict.fromkeys(("min", "max", "slider_min", "slider_max"), (int, float)),
    **dict.fromkeys(("unit", "scale", "doc"), str),
}

Fields = dict[str, tuple[Any, Any]]  # of a pydantic model


@dataclass(frozen=True)
class First:
    """Initial values of a tensor: `low`, or random between `low` and `high`."""

    low: float
    high: float | None = None

    def values(self, shape: tuple[int, ...], random: np.random.Generator) -> Any:
        """An array, or one number for all elements."""
        return self.low if self.high is None else random.uniform(self.low, self.high, shape)


class Pass(NamedTuple):
    """An entry point, and in how many threads it runs along x, y, z: numbers, or names of parameters."""

    entry: str
    threads: tuple[int | str, ...]

    def size(self, values: Any) -> tuple[int, ...]:
        """The threads with these parameters."""
        return tuple(getattr(values, size) if isinstance(size, str) else size for size in self.threads)


def declared_params(table: Mapping[str, Any], faults: list[Fault]) -> Fields:
    """A field for each parameter; its kind is that of its default. A change of a size rebuilds the model."""
    sizes = {size for shape in _shapes(table) for size in shape if isinstance(size, str)}
    found: Fields = {}
    for name, value in table_in(table, "params", faults).items():
        entry = value if isinstance(value, Mapping) else {"default": value}
        path = ("params", name)
        if name in TAKEN or name in PREDEFINED or not name.isidentifier():
            faults.append(Fault(path, f"{name} cannot be the name of a parameter", False))
        elif "default" not in entry:
            faults.append(Fault(path, "needs a default", False))
        else:
            try:
                found[name] = _field(entry, name in sizes)
            except (ParameterError, TypeError) as error:
                faults.append(Fault(path, str(error)))
    return found


def declared_tensors(
    table: Mapping[str, Any], fields: Fields, faults: list[Fault]
) -> tuple[dict[str, tuple[int | str, ...]], dict[str, First]]:
    """Shape, with the dtype at its end, and first values of each tensor, by name."""
    shapes: dict[str, tuple[int | str, ...]] = {}
    first: dict[str, First] = {}
    if "tensors" not in table:
        faults.append(Fault((), 'needs tensors, such as tensors.position = { shape = ["count", 3] }', False))
    for name, entry in table_in(table, "tensors", faults).items():
        path = ("tensors", name)
        if objection := name_objection(name):
            faults.append(Fault(path, objection, False))
            continue
        if not isinstance(entry, Mapping) or not isinstance(entry.get("shape"), list) or not entry["shape"]:
            faults.append(Fault(path, 'expected a shape, such as { shape = ["count", 3] }'))
            continue
        for key in entry.keys() - {"shape", "dtype", "init"}:
            faults.append(Fault((*path, key), unknown("key", key, ("shape", "dtype", "init")), False))
        _check_sizes(entry["shape"], (*path, "shape"), table, fields, faults)
        dtype = entry.get("dtype", "f32")
        try:
            OutputSpec((None,), dtype)
            shapes[name] = (*entry["shape"], dtype)
        except (ValueError, TypeError):
            faults.append(Fault((*path, "dtype"), f"{shown(dtype)} is no dtype; f32, f16, i32, u32 and bool are"))
        if "init" in entry:
            for one in _first(entry["init"], (*path, "init"), faults):
                first[name] = one
    return shapes, first


def declared_inputs(table: Mapping[str, Any]) -> dict[str, str]:
    """The inputs are those that the scene links; the shader's bindings have their names."""
    return dict.fromkeys(table_in(table, "inputs"), "a tensor for the binding of this name")


def declared_passes(
    key: str, table: Mapping[str, Any], fields: Fields, text: str, faults: list[Fault]
) -> tuple[Pass, ...]:
    """The passes of `passes` or of `start`; with the shader's text, what they use is checked as well."""
    entries = table.get(key, [])
    if not isinstance(entries, list):
        faults.append(Fault((key,), f"expected an array of tables, got {described(entries)}"))
        return ()
    found = []
    for number, one in enumerate(entries):
        value = one.get("threads") if isinstance(one, Mapping) else None
        threads: list[Any] = value if isinstance(value, list) else [value]
        if not isinstance(one, Mapping) or not isinstance(one.get("entry"), str) or not 1 <= len(threads) <= 3:
            faults.append(Fault((key,), f'pass {number + 1}: expected {{ entry = "main", threads = "count" }}'))
            continue
        before = len(faults)
        _check_sizes(threads, (key,), table, fields, faults)
        if text and len(faults) == before:
            _check_entry(one["entry"], (key,), table, text, faults)
        if len(faults) == before:
            found.append(Pass(one["entry"], tuple(threads)))
    return tuple(found)


def _check_entry(entry: str, path: tuple[str, ...], table: Mapping[str, Any], text: str, faults: list[Fault]) -> None:
    """Whether there is such an entry point, and all that it binds has a tensor or a value."""
    from ...gpu.wgsl import interface

    # entries that are invalid are named as well, so that errors which only follow are not reported
    tensors, fields = (
        [*table_in(table, "tensors"), *table_in(table, "inputs")],
        [*table_in(table, "params"), *PREDEFINED],
    )
    try:
        used = interface(text, entry, "the shader")
    except ShaderError as error:
        faults.append(Fault(path, str(error)))
        return
    for binding in used.bindings:
        if binding.access != "uniform" and binding.name not in tensors:
            faults.append(Fault(path, f"{entry}: {unknown('tensor', binding.name, tensors)}"))
    for field in used.uniform.fields if used.uniform else ():
        if field not in fields:
            faults.append(Fault(path, f"{entry}: {unknown('parameter', field, fields)}"))


def _check_sizes(
    sizes: list[Any], path: tuple[str, ...], table: Mapping[str, Any], fields: Fields, faults: list[Fault]
) -> None:
    others = [name for name, (kind, _) in fields.items() if kind is not int]
    whole = [name for name in table_in(table, "params") if name not in others]
    for size in sizes:
        if isinstance(size, str) and size not in whole:
            faults.append(Fault(path, unknown("whole-number parameter", size, whole)))
        elif not isinstance(size, str) and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            faults.append(Fault(path, f"a size is an integer from 1 or a parameter's name, not {described(size)}"))


def _first(value: Any, path: tuple[str, ...], faults: list[Fault]) -> list[First]:
    ends = value if isinstance(value, list) else [value]
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) == len(ends) and len(ends) in (1, 2):
        return [First(*map(float, numbers))]
    faults.append(Fault(path, f"expected a number, or [low, high] for random ones, got {described(value)}"))
    return []


def _field(entry: Mapping[str, Any], is_size: bool) -> tuple[Any, Any]:
    """Type and declaration. Raises `TypeError` for keys that its kind does not have, `ParameterError` for a default."""
    more = {key: value for key, value in entry.items() if key != "default"}
    default = entry["default"]
    if is_size:
        more["rebuild"] = True
        more.setdefault("min", 1)
    match default:
        case bool():
            kind, declared = bool, params.switch
        case int():
            kind, declared = int, params.integer
        case float():
            kind, declared = float, params.number
        case str():
            kind, declared = tuple[float, float, float], params.color
        case list():
            kind, declared = tuple[float, ...], params.vector
            more["length"] = len(default)
        case _:
            raise ParameterError(
                f"a default must be a number, a boolean, a color or a vector, not {described(default)}"
            )
    known = DETAILS.keys() & inspect.signature(declared).parameters.keys()
    for key in entry.keys() - {"default"}:
        if key not in known:
            raise ParameterError(unknown("key", key, known | {"default"}))
        if isinstance(entry[key], bool) or not isinstance(entry[key], DETAILS[key]):
            raise ParameterError(f"{key}: {described(entry[key])} cannot be used")
    if entry.get("scale", "linear") not in ("linear", "log"):
        raise ParameterError('scale: expected "linear" or "log"')
    declaration = declared(default, **more)
    spec_of("default", declaration)
    return kind, declaration


def _shapes(table: Mapping[str, Any]) -> list[list[Any]]:
    found = [one.get("shape") for one in table_in(table, "tensors").values() if isinstance(one, Mapping)]
    return [shape for shape in found if isinstance(shape, list)]
