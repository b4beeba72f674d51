"""Inputs of a graph: what they are declared to be, and arrays checked against that.

A sequence is a list, an optional without a value is None. The arrays in a list are parts, named `name[0]`, `name[1]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype

from ..errors import InputError
from ..indexed import indexed

Feed: TypeAlias = "np.ndarray | list[np.ndarray] | None"
TEXT = onnx.TensorProto.STRING


def elem_of(entry: onnx.ValueInfoProto) -> int:
    """The element type of an input; that of its parts if it is a sequence or an optional."""
    kind = entry.type
    while not kind.HasField("tensor_type"):
        kind = kind.optional_type.elem_type if kind.HasField("optional_type") else kind.sequence_type.elem_type
    return kind.tensor_type.elem_type


def sizes_of(entry: onnx.ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """The sizes of an input: a number, the name of a dimension, or None; None for any number of axes."""
    if not entry.type.tensor_type.HasField("shape"):
        return None
    axes = entry.type.tensor_type.shape.dim
    return tuple(a.dim_value if a.HasField("dim_value") else (a.dim_param or None) for a in axes)


def is_sequence(entry: onnx.ValueInfoProto) -> bool:
    """Whether an input, or what an optional holds, is a list of arrays."""
    kind = entry.type
    kind = kind.optional_type.elem_type if kind.HasField("optional_type") else kind
    return kind.HasField("sequence_type")


def parts_of(name: str, value: Feed) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an input, by name."""
    if isinstance(value, list):
        yield from ((indexed(name, index), item) for index, item in enumerate(value))
    elif value is not None:
        yield name, value


def all_parts(feeds: Mapping[str, Feed]) -> dict[str, np.ndarray]:
    """The arrays of all inputs, by name."""
    return {part: array for name, value in feeds.items() for part, array in parts_of(name, value)}


def checked(
    source: str, entries: Sequence[onnx.ValueInfoProto], inputs: Mapping[str, Any], dims: Mapping[str, int]
) -> dict[str, Feed]:
    """The inputs in the graph's order. Raises `InputError` for those that do not fit."""
    names = [entry.name for entry in entries]
    missing, unknown = set(names) - set(inputs), set(inputs) - set(names)
    if missing or unknown:
        problems = [f"missing {', '.join(sorted(missing))}"] * bool(missing)
        problems += [f"unknown {', '.join(sorted(unknown))}"] * bool(unknown)
        raise InputError(f"{source}: inputs {'; '.join(problems)}; it takes {', '.join(names) or 'none'}")
    bound: dict[str, int] = dict(dims)
    return {entry.name: _fitting(source, entry, inputs[entry.name], bound) for entry in entries}


def _fitting(source: str, entry: onnx.ValueInfoProto, value: Any, bound: MutableMapping[str, int]) -> Feed:
    where = f"{source}: input {entry.name!r}"
    if value is None and entry.type.HasField("optional_type"):
        return None
    if is_sequence(entry):
        if not isinstance(value, list | tuple):
            raise InputError(f"{where} is a sequence: it takes a list of arrays, not {type(value).__name__}")
        return [_of_type(f"{where}[{index}]", entry, item) for index, item in enumerate(value)]
    array, sizes = _of_type(where, entry, value), sizes_of(entry)
    if sizes is None:
        return array
    fits = len(sizes) == array.ndim
    for size, actual in zip(sizes, array.shape, strict=False):
        expected = bound.setdefault(size, actual) if isinstance(size, str) else size
        fits = fits and expected in (actual, None)
    if not fits:
        raise InputError(f"{where} has shape {array.shape}; it must be {_written(sizes, bound)}")
    return array


def _of_type(where: str, entry: onnx.ValueInfoProto, value: Any) -> np.ndarray:
    elem, array = elem_of(entry), np.asarray(value)
    if elem == TEXT and array.dtype.kind in "US":
        return array.astype(object)
    dtype = np.dtype(tensor_dtype_to_np_dtype(elem))
    if array.dtype != dtype:
        raise InputError(f"{where} is {dtype}, not {array.dtype}; convert it with .astype(numpy.{dtype})")
    return array


def _written(sizes: Sequence[int | str | None], bound: Mapping[str, int]) -> str:
    names = [str("any" if size is None else size) for size in sizes]
    return f"({', '.join(f'{name} = {bound[name]}' if name in bound else name for name in names)})"
