"""Branches and loops: which branch, and how many turns, is known when the network is recorded, so all are inlined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype

from ... import ops
from ...errors import InputError
from ..inputs import elem_of, sizes_of
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value, constant

MOST_TURNS = 10_000


@lowers("If")
def branch(node: Node) -> list[Value | None]:
    condition = bool(node.host(0).reshape(-1)[0])
    graphs = node.attribute("then_branch"), node.attribute("else_branch")
    return node.trace.graph(graphs[not condition], [], node.scope)


@lowers("Loop")
def loop(node: Node) -> list[Value | None]:
    """Values carried from turn to turn, and those gathered from every turn. The condition must be known each time."""
    body = node.attribute("body")
    trips = node.ints(0)[0] if node.has(0) else None
    condition = bool(node.host(1).reshape(-1)[0]) if node.has(1) else True
    carried: Sequence[Value | None] = node.values()[2:]
    count = len(body.output) - 1 - len(carried)
    turns: list[list[Value]] = []  # what each one adds to the values gathered
    while condition and (trips is None or len(turns) < trips):
        if len(turns) >= MOST_TURNS:
            raise Refused(f"a loop of more than {MOST_TURNS:,} turns")
        inputs = [constant(np.array(len(turns), np.int64)), constant(np.array(condition)), *carried]
        first, *results = run_body(node, body, inputs)
        condition = bool(node.trace.known(node, first, "whether the loop goes on").reshape(-1)[0])
        carried = results[: len(carried)]
        turns.append(results[len(carried) :])
    entries = body.output[len(body.output) - count :]
    return [*carried, *(_stacked(node, entry, [turn[i] for turn in turns]) for i, entry in enumerate(entries))]


def run_body(node: Node, body: onnx.GraphProto, inputs: Sequence[Value | None]) -> list[Value]:
    """The results of one turn. Raises `Refused` if one of them cannot be computed."""
    results = node.trace.graph(body, inputs, node.scope)
    found = [result for result in results if result is not None]
    if len(found) < len(results):
        raise Refused("its body cannot be run")
    return found


@lowers("Scan")
def scan(node: Node) -> list[Value | None]:
    """A body run for every step along an axis of its inputs."""
    if node.version < 9:
        raise Refused("Scan before opset 9")
    body, count = node.attribute("body"), node.attribute("num_scan_inputs")
    states: Sequence[Value | None] = node.values()[:-count]
    scanned = node.values()[-count:]
    outputs = len(body.output) - len(states)
    axes = node.attribute("scan_input_axes", [0] * count)
    back = node.attribute("scan_input_directions", [0] * count)
    steps = _steps(node, scanned, axes)
    turns: list[list[Value]] = []
    for step in range(steps):
        rows = [
            _row(node, value, axis, steps - 1 - step if reverse else step)
            for value, axis, reverse in zip(scanned, axes, back, strict=True)
        ]
        results = run_body(node, body, [*states, *rows])
        states = results[: len(states)]
        turns.append(results[len(states) :])
    out_axes = node.attribute("scan_output_axes", [0] * outputs)
    out_back = node.attribute("scan_output_directions", [0] * outputs)
    found = [
        _stacked(node, body.output[len(states) + i], [turn[i] for turn in (turns[::-1] if reverse else turns)], axis)
        for i, axis, reverse in zip(range(outputs), out_axes, out_back, strict=True)
    ]
    return [*states, *found]


def _steps(node: Node, scanned: list[Value | None], axes: list[int]) -> int:
    sizes = {value.shape[axis] for value, axis in zip(scanned, axes, strict=True) if value is not None}
    if len(sizes) != 1:
        raise InputError(f"{node}: its inputs are of different lengths: {sorted(sizes)}")
    return sizes.pop()


def _row(node: Node, value: Value | None, axis: int, index: int) -> Value:
    if value is None:
        raise InputError(f"{node}: an input to be scanned is missing")
    if value.host is not None:
        return Value(value.elem, host=value.host.take(index, axis), sources=value.sources, bound=value.bound)
    tensor = node.trace.on_gpu(value)
    row = tensor[(*[slice(None)] * (axis % tensor.ndim), index)]
    return Value(value.elem, tensor=row, sources=value.sources, bound=value.bound)


def _stacked(node: Node, entry: onnx.ValueInfoProto, gathered_values: list[Value], axis: int = 0) -> Value:
    """The values of an output of the body, `entry`, from every turn."""
    if not gathered_values:
        return _of_no_turn(entry, axis)
    elem = gathered_values[0].elem
    sources = frozenset().union(*(value.sources for value in gathered_values))
    if all(value.items is not None for value in gathered_values):
        raise Refused("sequences that are gathered")
    if all(value.host is not None for value in gathered_values):
        return Value(elem, host=np.stack([v.host for v in gathered_values], axis), sources=sources)  # type: ignore[arg-type]
    stacked = ops.stack([node.trace.on_gpu(value) for value in gathered_values], axis)
    return Value(elem, tensor=stacked, sources=sources, bound=max(value.bound for value in gathered_values))


def _of_no_turn(entry: onnx.ValueInfoProto, axis: int) -> Value:
    """What is gathered where there are no turns: as onnxruntime, sizes that the file does not state are 0."""
    if not entry.type.HasField("tensor_type"):
        raise Refused("sequences that are gathered")
    sizes = [size if isinstance(size, int) else 0 for size in sizes_of(entry) or ()]
    sizes.insert(axis % (len(sizes) + 1), 0)
    elem = elem_of(entry)
    return constant(np.zeros(sizes, tensor_dtype_to_np_dtype(elem)), elem)
