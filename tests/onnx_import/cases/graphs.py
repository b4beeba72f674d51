"""Operators with graphs within them, and optionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..networks import reals
from .case import BOOL, FLOAT, INT64, Case, Maybe, case

X = reals(3, 4)


def _graph(nodes: Sequence[onnx.NodeProto], inputs: dict[str, Any], outputs: dict[str, Any]) -> onnx.GraphProto:
    entries = [[helper.make_tensor_value_info(n, *entry) for n, entry in named.items()] for named in (inputs, outputs)]
    return helper.make_graph(list(nodes), "body", *entries)


def _branch(value: float) -> onnx.GraphProto:
    constant = numpy_helper.from_array(np.full((3, 4), value, np.float32))
    return _graph([helper.make_node("Constant", [], ["r"], value=constant)], {}, {"r": (FLOAT, [3, 4])})


def _loop(gathers: bool = True) -> onnx.GraphProto:
    """It terminates after five iterations."""
    nodes = [
        helper.make_node("Constant", [], ["last"], value=numpy_helper.from_array(np.array(4))),
        helper.make_node("Less", ["turn", "last"], ["on"]),
        helper.make_node("Mul", ["v", "v"], ["w"]),
        helper.make_node("Neg", ["w"], ["row"]),
    ]
    inputs = {"turn": (INT64, []), "go": (BOOL, []), "v": (FLOAT, [3, 4])}
    outputs = {"on": (BOOL, []), "w": (FLOAT, [3, 4]), "row": (FLOAT, [3, 4])}
    return _graph(nodes, inputs, {name: outputs[name] for name in ["on", "w", "row"][: 2 + gathers]})


def _scan(columns: int) -> onnx.GraphProto:
    """The state is the sum of rows; its negative is gathered."""
    nodes = [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Neg", ["t"], ["u"])]
    sizes = (FLOAT, [columns])
    return _graph(nodes, {"s": sizes, "a": sizes}, {"t": sizes, "u": sizes})


def _two() -> onnx.GraphProto:
    nodes = [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["u"])]
    ends = {"t": (FLOAT, [4]), "u": (FLOAT, [4])}
    return _graph(nodes, {"s": (FLOAT, [4]), "a": (FLOAT, [4]), "b": (FLOAT, [4])}, ends)


def _map() -> onnx.GraphProto:
    return _graph([helper.make_node("Neg", ["a"], ["r"])], {"a": (FLOAT, [3, 4])}, {"r": (FLOAT, [3, 4])})


_BEFORE_9 = {"directions": [1], "num_scan_inputs": 1, "versions": (8, 8), "refused": "before opset 9"}
_ROWS = {0: (FLOAT, [3, 4]), 1: (FLOAT, ["turns", 3, 4])}
_STATE = reals(4, seed=3)

CASES: list[Case] = [
    case("If", np.array(True), then_branch=_branch(2.0), else_branch=_branch(3.0), declared=_ROWS),
    case("If", np.array(False), then_branch=_branch(2.0), else_branch=_branch(3.0), declared=_ROWS),
    case("Loop", np.array(3), np.array(True), X, outputs=(0, 1), body=_loop(), declared=_ROWS),
    case("Loop", np.array(3), None, X, outputs=(0, 1), body=_loop(), declared=_ROWS),
    case("Loop", None, np.array(True), X, outputs=(0, 1), body=_loop(), declared=_ROWS),
    case(
        "Loop",
        np.array(2),
        None,
        X,
        outputs=(1,),
        body=_loop(),
        declared=_ROWS,
        expected=[np.stack([-(X**2), -(X**4)])],
    ),
    case("Loop", np.array(3), np.array(False), X, body=_loop(gathers=False), declared=_ROWS),
    case("Loop", np.array(3), np.array(False), X, outputs=(0, 1), body=_loop(), declared=_ROWS),
    case("Scan", _STATE, X, outputs=(0, 1), body=_scan(4), num_scan_inputs=1, versions=(9, 28)),
    case("Scan", _STATE, X, X[::-1].copy(), outputs=(0, 1), body=_two(), num_scan_inputs=2, versions=(9, 28)),
    case("Scan", _STATE, X.T.copy(), outputs=(0, 1), body=_scan(4), num_scan_inputs=1, scan_input_axes=[1]),
    case("Scan", _STATE, X, outputs=(0, 1), body=_scan(4), num_scan_inputs=1, scan_input_directions=[1]),
    case("Scan", _STATE, X, outputs=(0, 1), body=_scan(4), num_scan_inputs=1, scan_output_axes=[1]),
    case("Scan", _STATE, X, outputs=(0, 1), body=_scan(4), num_scan_inputs=1, scan_output_directions=[1]),
    case("Scan", None, _STATE[None], X[None], outputs=(0, 1), body=_scan(4), **_BEFORE_9),
    case("Scan", np.array([2]), _STATE[None], X[None], outputs=(0, 1), body=_scan(4), **_BEFORE_9),
    case("SequenceMap", [X, X * 2], body=_map()),
    case("OptionalHasElement", [X], versions=(18, 28)),
    case("OptionalHasElement"),
    case("OptionalHasElement", Maybe(X)),
    case("OptionalHasElement", Maybe(None)),
    case("OptionalGetElement", Maybe(X)),
    case("OptionalGetElement", [X], versions=(18, 28)),
]

WITHOUT_EFFECT: dict[tuple[str, str | int], str] = {}
