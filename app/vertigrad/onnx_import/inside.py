"""Tensors inside a network: what its nodes compute on the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import onnx

from ..errors import InputError
from ..indexed import SEQUENCE, parsed
from .graph import all_graphs
from .inputs import elem_of, is_sequence, sizes_of
from .values import type_name


class InnerTensor(NamedTuple):
    """A tensor inside a network: the operator that computes it, and its type and shape if they can be inferred."""

    operator: str
    dtype: str | None
    shape: tuple[int | str | None, ...] | None


def inner_tensors(graph: onnx.GraphProto) -> dict[str, InnerTensor]:
    """What the nodes of `graph` compute, outputs included, in their order; constants are not among them."""
    known = _entries(graph)
    nodes = (node for node in graph.node if node.op_type != "Constant")
    return {name: _described(known.get(name), node.op_type) for node in nodes for name in node.output if name}


def nested_tensors(graph: onnx.GraphProto) -> dict[str, InnerTensor]:
    """What nodes of branches and bodies of loops compute, without names that nodes of `graph` itself compute."""
    nested = (one for one in all_graphs(graph) if one is not graph)
    found = {name: tensor for one in nested for name, tensor in inner_tensors(one).items()}
    own = computed_by(graph) if found else set()
    return {name: tensor for name, tensor in found.items() if name not in own}


def computed_by(graph: onnx.GraphProto) -> set[str]:
    """The names of what the nodes of `graph` itself compute."""
    return {name for node in graph.node for name in node.output}


def constants_of(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """The constants of `graph` by name: initializers, and what nodes hold, as some exporters write weights."""
    yield from ((tensor.name, tensor) for tensor in graph.initializer)
    for node in graph.node:
        if node.op_type == "Constant":
            yield from ((node.output[0], one.t) for one in node.attribute if one.name == "value")


def elements_among(names: Iterable[str], computed: Collection[str]) -> set[str]:
    """Those of the names that are elements of what is `computed`, which may be sequences: "/split[2]"."""
    return {name for name in names if name not in computed and (parsed(name) or ("",))[0] in computed}


def why_absent(name: str, sequences: Mapping[str, Sequence[object]], computed: Collection[str]) -> str:
    """Why a tensor of a branch, or an element of a sequence, was not among what was computed."""
    sequence, _ = parsed(name) or ("", 0)
    if sequence in sequences:
        return f"{sequence!r} is a sequence of {len(sequences[sequence]):,} tensors, which are numbered from 0"
    if sequence in computed:
        return f"{sequence!r} is no sequence"
    return "its branch is not taken"


def require_computed(graph: onnx.GraphProto, names: Sequence[str], source: str) -> None:
    """Raise `InputError` for names that no node of `graph` computes."""
    computed = computed_by(graph)
    for name in names:
        if name not in computed:
            raise InputError(
                f"{source}: no node computes {name!r}; `vertigrad infer --tensors` lists what nodes compute"
            )


def expose(graph: onnx.GraphProto, names: Sequence[str]) -> None:
    """Make outputs of tensors inside of `graph`, which nodes compute."""
    known = _entries(graph)
    for name in names:
        entry = graph.output.add(name=name)  # of no type unless it can be inferred
        if name in known:
            entry.CopyFrom(known[name])


def _entries(graph: onnx.GraphProto) -> dict[str, onnx.ValueInfoProto]:
    return {entry.name: entry for entry in (*graph.value_info, *graph.output)}


def _described(entry: onnx.ValueInfoProto | None, operator: str) -> InnerTensor:
    if entry is not None and is_sequence(entry):
        return InnerTensor(operator, SEQUENCE, None)
    if entry is None or not entry.type.HasField("tensor_type"):
        return InnerTensor(operator, None, None)
    return InnerTensor(operator, type_name(elem_of(entry)), sizes_of(entry))
