"""What loops gather, of no turns as well, and what nodes after them do with it, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import node, reals

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
INT64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
entry = helper.make_tensor_value_info
CONSTANTS = {
    "true": np.array(True),
    "none": np.array(0),
    "two": np.array(2),
    "half": np.float32(0.5),
    "first": np.array([0]),
    "ends": np.array([0, -1]),
    "last": np.array(-1),
}
ROWS = {  # what each turn gathers: the node, its type and its declared shape
    "row": (node("Neg", ["w"], ["row"]), FLOAT, [3, 4]),
    "open": (node("Neg", ["w"], ["row"]), FLOAT, ["n", 4]),
    "shapeless": (node("Neg", ["w"], ["row"]), FLOAT, None),
    "sum": (node("ReduceSum", ["w"], ["row"], keepdims=0), FLOAT, []),
    "constant": (node("Identity", ["half"], ["row"]), FLOAT, []),
    "turn": (node("Identity", ["turn"], ["row"]), INT64, []),
}


def network(trips: str, row: str, after: Sequence[onnx.NodeProto], result: int) -> onnx.ModelProto:
    """x halved in each turn; `after` makes y of the `rows` that are gathered."""
    gathered, elem, shape = ROWS[row]
    declared = None if row == "shapeless" else [3, 4]
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Mul", ["v", "half"], ["w"]), gathered],
        "body",
        [entry("turn", INT64, []), entry("go", BOOL, []), entry("v", FLOAT, declared)],
        [entry("on", BOOL, []), entry("w", FLOAT, declared), entry("row", elem, shape)],
    )
    graph = helper.make_graph(
        [node("Loop", [trips, "true", "x"], ["v_end", "rows"], body=body), *after],
        "loop",
        [entry("x", FLOAT, [3, 4])],
        [entry("v_end", FLOAT, None), entry("y", result, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in CONSTANTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def require_equal(proto: onnx.ModelProto) -> None:
    inputs: dict[str, Any] = {"x": reals(3, 4)}
    with Network(proto) as ours:
        found = ours.run(inputs)
    for name, theirs in zip(
        found, onnxruntime.InferenceSession(proto.SerializeToString()).run(None, inputs), strict=True
    ):
        assert (found[name].shape, found[name].dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(found[name], theirs, rtol=1e-6)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("trips", ["none", "two"])
def test_what_a_loop_gathers(gpu: Gpu, trips: str, row: str) -> None:
    require_equal(network(trips, row, [node("Identity", ["rows"], ["y"])], ROWS[row][1]))


AFTER = {
    "concatenated": ([node("Unsqueeze", ["x", "first"], ["u"]), node("Concat", ["rows", "u"], ["y"], axis=0)], FLOAT),
    "shape": ([node("Shape", ["rows"], ["y"])], INT64),
    "sum": ([node("ReduceSum", ["rows", "first"], ["y"], keepdims=0)], FLOAT),
    "columns": ([node("Gather", ["rows", "ends"], ["y"], axis=2)], FLOAT),
}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("trips", ["none", "two"])
def test_what_follows_a_loop(gpu: Gpu, trips: str, after: str) -> None:
    require_equal(network(trips, "row", *AFTER[after]))


@pytest.mark.parametrize("row", ["row", "sum", "turn"])
@pytest.mark.parametrize("at", ["ends", "last"])
def test_turns_are_picked(gpu: Gpu, row: str, at: str) -> None:
    require_equal(network("two", row, [node("Gather", ["rows", at], ["y"])], ROWS[row][1]))


def test_a_scan_of_no_steps(gpu: Gpu) -> None:
    body = helper.make_graph(
        [node("Add", ["s", "a"], ["t"]), node("Neg", ["t"], ["u"])],
        "body",
        [entry("s", FLOAT, [4]), entry("a", FLOAT, [4])],
        [entry("t", FLOAT, [4]), entry("u", FLOAT, [4])],
    )
    for axis in (0, 1):
        graph = helper.make_graph(
            [node("Scan", ["s0", "x"], ["y", "z"], body=body, num_scan_inputs=1, scan_output_axes=[axis])],
            "scan",
            [entry("s0", FLOAT, [4]), entry("x", FLOAT, ["n", 4])],
            [entry("y", FLOAT, [4]), entry("z", FLOAT, None)],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        with Network(proto) as ours:
            found = ours.run({"s0": reals(4), "x": reals(0, 4)})
        np.testing.assert_array_equal(found["y"], reals(4))
        assert found["z"].shape == ((0, 4) if axis == 0 else (4, 0)), "onnxruntime refuses it"
