"""A scene's table of a network in PyTorch: what its arguments are fed from, and its outputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...params import described, number, unknown, vector
from ..base import Fault, OutputSpec, table_in
from ..custom_model import name_objection
from ..function_params import TIMES, field_of
from .feeds import Clock, Feed, Fixed, Noise, Recurrent, Slider, read_feed

RESERVED = ("type", "seed", "substeps", "inputs", "outputs", "ui", "file", "entry", "weights", "compile", "cuda_graph")


@dataclass(frozen=True)
class Fed:
    """What an argument is fed from, and the shape of its tensor."""

    feed: Feed
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """An output: its index or key in what the network returns, and its shape and dtype where the scene has them."""

    key: str | int
    shape: tuple[int, ...] | None = None
    dtype: str = "f32"

    @property
    def spec(self) -> OutputSpec | None:
        """What is known of it."""
        return None if self.shape is None else OutputSpec(self.shape, self.dtype)


@dataclass(frozen=True)
class Arguments:
    """Where the network's arguments come from, each by its name."""

    fed: Mapping[str, Fed]
    linked: Mapping[str, str]  # other models' outputs, with a description
    fields: Mapping[str, tuple[Any, Any]]  # parameters that are passed as values of Python
    times: tuple[str, ...]  # those of `TIMES`

    @property
    def sliders(self) -> dict[str, tuple[Any, Any]]:
        """The declarations of the sliders."""
        return {
            fed.feed.parameter: _slider(fed.feed, fed.shape)
            for fed in self.fed.values()
            if isinstance(fed.feed, Slider)
        }


def declared_arguments(
    table: Mapping[str, Any], arguments: Sequence[inspect.Parameter], faults: list[Fault]
) -> Arguments:
    """What each argument is: those that `inputs` does not name are parameters, by their defaults, or times."""
    inputs, known = table_in(table, "inputs", faults), [argument.name for argument in arguments]
    fed: dict[str, Fed] = {}
    linked: dict[str, str] = {}
    fields: dict[str, tuple[Any, Any]] = {}
    for name, entry in inputs.items():
        if name not in known:
            faults.append(Fault(("inputs", name), unknown("input", name, known), False))
        elif isinstance(entry, str):
            linked[name] = "a tensor for this argument"
        else:
            try:
                fed[name] = _fed(name, entry)
            except InputError as error:
                faults.append(Fault(("inputs", name), str(error)))
    for argument in arguments:
        name = argument.name
        if name in inputs or name in TIMES:
            continue
        field = None if argument.default is argument.empty else field_of(argument)
        if field is not None and name in RESERVED:
            faults.append(Fault((), f"the argument {name} means something else in a scene file; rename it", False))
        elif field is not None:
            fields[name] = field
        elif argument.default is argument.empty:
            faults.append(Fault((), f"needs the input {name}: a slider, a constant, or another model's output", False))
    return Arguments(fed, linked, fields, tuple(time for time in TIMES if time in known and time not in inputs))


def declared_results(table: Mapping[str, Any], faults: list[Fault]) -> dict[str, Result] | None:
    """The outputs by the scene's names for them, a list or a table; None if it has none: all of them then."""
    if "outputs" not in table:
        return None
    entries = table["outputs"]
    if isinstance(entries, list) and entries and all(isinstance(name, str) for name in entries):
        entries = {name: number for number, name in enumerate(entries)}
    found: dict[str, Result] = {}
    for name, entry in table_in({"outputs": entries}, "outputs", faults).items():
        whole = entry if isinstance(entry, Mapping) else {"output": entry}
        path = ("outputs", name)
        key, shape, dtype = whole.get("output", 0), whole.get("shape"), whole.get("dtype", "f32")
        for other in whole.keys() - {"output", "shape", "dtype"}:
            faults.append(Fault((*path, other), unknown("key", other, ("output", "shape", "dtype")), False))
        if objection := name_objection(name):
            faults.append(Fault(path, objection, False))
        elif isinstance(key, bool) or not isinstance(key, str | int):
            faults.append(Fault(path, f"expected the index or the key of a result, got {described(key)}"))
        else:
            try:
                found[name] = Result(key, None if shape is None else _shape(shape), dtype)
                OutputSpec((None,), dtype)
            except (InputError, ValueError, TypeError) as error:
                faults.append(Fault(path, str(error)))
    return found


def _fed(name: str, entry: Any) -> Fed:
    shape = None
    if isinstance(entry, Mapping) and "shape" in entry:
        shape = _shape(entry["shape"])
        entry = {key: value for key, value in entry.items() if key != "shape"}
    outputs = [entry["feedback"]] if isinstance(entry, Mapping) and "feedback" in entry else []  # checked later
    feed = read_feed(name, entry, outputs)
    match feed:
        case Slider(value=tuple(values)):
            shape = (len(values),) if shape is None else shape
        case Slider() | Clock():
            shape = () if shape is None else shape
        case Fixed():
            shape = feed.array.shape if shape is None else shape
        case Noise() if shape is None:
            raise InputError('needs a shape, such as { start = "normal", shape = [1000, 3] }')
    assert shape is not None
    if isinstance(feed, Slider) and _count(shape) > Slider.MOST:
        raise InputError(f"{_count(shape)} elements; sliders are for {Slider.MOST} at most")
    if isinstance(feed, Slider) and isinstance(feed.value, tuple) and len(feed.value) != _count(shape):
        raise InputError(f"value: expected {_count(shape)} numbers, got {len(feed.value)}")
    return Fed(feed, shape)


def _shape(entry: Any) -> tuple[int, ...]:
    if not isinstance(entry, list) or not all(type(size) is int and 1 <= size < 1 << 31 for size in entry):
        raise InputError(f"shape: expected a list of integers from 1, got {described(entry)}")
    return tuple(entry)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _slider(feed: Slider, shape: tuple[int, ...]) -> tuple[Any, Any]:
    low, high = feed.range
    options = {"slider_min": low, "slider_max": high, "doc": f"input {feed.name} of the network"}
    if _count(shape) == 1:
        return float, number(feed.middle(1)[0], **options)
    return tuple[float, ...], vector(feed.middle(_count(shape)), length=_count(shape), **options)


def feedback_faults(arguments: Arguments, results: Mapping[str, Result]) -> list[Fault]:
    """Inputs that are fed back from an output that there is not."""
    return [
        Fault(("inputs", name), "feedback: " + unknown("output", fed.feed.output, results))
        for name, fed in arguments.fed.items()
        if isinstance(fed.feed, Recurrent) and fed.feed.output not in results
    ]


def reserved_faults(arguments: Arguments) -> list[Fault]:
    """Sliders whose names are taken in a scene's table."""
    return [
        Fault(("inputs",), f"{name} means something else in a scene file; rename the argument")
        for name in arguments.sliders
        if name in RESERVED
    ]


def parameters(arguments: Arguments) -> dict[str, tuple[Any, Any]]:
    """Declarations of all parameters: sliders, and those that the network's own defaults declare."""
    return {**arguments.fields, **arguments.sliders}
