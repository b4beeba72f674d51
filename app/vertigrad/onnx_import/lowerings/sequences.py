"""Sequences and optionals: lists that exist while the network is recorded, and not on the GPU."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ... import ops
from ...errors import InputError
from ..node import Node
from ..registry import lowers
from ..values import Value, constant
from .control import run_body
from .shaping import pieces, reshaped


def _items(node: Node, index: int = 0) -> list[Value]:
    items = node.value(index).items
    if items is None:
        raise InputError(f"{node}: input {index} is no sequence")
    return items


def _sequence(node: Node, items: list[Value], elem: int | None = None) -> Value:
    elem = elem if elem is not None else (items[0].elem if items else TensorProto.FLOAT)
    return Value(elem, items=items, sources=node.sources)


@lowers("SequenceEmpty")
def sequence_empty(node: Node) -> Value:
    return _sequence(node, [], node.attribute("dtype", TensorProto.FLOAT))


@lowers("SequenceConstruct")
def sequence_construct(node: Node) -> Value:
    return _sequence(node, [value for value in node.values() if value is not None])


@lowers("SequenceLength")
def sequence_length(node: Node) -> Value:
    return constant(np.array(len(_items(node)), np.int64))


@lowers("SequenceAt")
def sequence_at(node: Node) -> Value:
    items = _items(node)
    return items[_normal_index(node, node.ints(1)[0], len(items))]


@lowers("SequenceInsert")
def sequence_insert(node: Node) -> Value:
    items = list(_items(node))
    index = _normal_index(node, node.ints(2)[0], len(items) + 1) if node.has(2) else len(items)
    items.insert(index, node.value(1))
    return _sequence(node, items)


@lowers("SequenceErase")
def sequence_erase(node: Node) -> Value:
    items = list(_items(node))
    del items[_normal_index(node, node.ints(1)[0], len(items)) if node.has(1) else -1]
    return _sequence(node, items, node.elem())


def _normal_index(node: Node, index: int, count: int) -> int:
    if not -count <= index < count:
        raise InputError(f"{node}: index {index} in a sequence of {count}")
    return index % count


@lowers("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Value:
    tensors = [node.trace.on_gpu(item) for item in _items(node)]
    join = ops.stack if node.attribute("new_axis", 0) else ops.concatenate
    return node.result(join(tensors, node.attribute("axis")))


@lowers("SplitToSequence")
def split_to_sequence(node: Node) -> Value:
    axis, sizes = node.axis(0), node.shape()
    keep = bool(node.attribute("keepdims", 1)) or node.has(1)
    if not node.has(1):
        parts = [1] * sizes[axis]
    elif node.shape(1):
        parts = node.ints(1)
    else:
        each = node.ints(1)[0]
        parts = [min(each, sizes[axis] - first) for first in range(0, sizes[axis], each)]
    items = pieces(node, node.tensor(0), axis, parts)
    if not keep:
        shape = [n for a, n in enumerate(sizes) if a != axis]
        items = [node.result(reshaped(node.trace.on_gpu(item), shape), bound=item.bound) for item in items]
    return _sequence(node, items, node.elem())


@lowers("SequenceMap")
def sequence_map(node: Node) -> list[Value]:
    items = _items(node)
    body = node.attribute("body")
    gathered: list[list[Value]] = [[] for _ in body.output]
    for index in range(len(items)):
        inputs = [v.items[index] if v is not None and v.items is not None else v for v in node.values()]
        for part, result in zip(gathered, run_body(node, body, inputs), strict=True):
            part.append(result)
    return [_sequence(node, part) for part in gathered]


@lowers("Optional")
def optional(node: Node) -> Value:
    node.ignore("type")  # that of the input, or of nothing
    return node.value(0) if node.has(0) else Value(TensorProto.FLOAT, absent=True)


@lowers("OptionalHasElement")
def optional_has_element(node: Node) -> Value:
    return constant(np.array(node.has(0) and not node.value(0).absent))


@lowers("OptionalGetElement")
def optional_get_element(node: Node) -> Value:
    value = node.value(0)
    if value.absent:
        raise InputError(f"{node}: the optional holds nothing")
    return value
