"""Shapes that depend on numbers of the GPU: those alone are read back, and decide again for other inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from vertigrad.errors import InputError, Redecided, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.gpu.meter import difference
from vertigrad.onnx_import import Network
from vertigrad.tensor import Tensor

from .networks import model, node, reals

INT64, BOOL, FLOAT, STRING = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.STRING
FIRST = np.array([1.0, -2.0, 3.0] * 40, np.float32)  # more numbers than become constants


def positive() -> onnx.ModelProto:
    """The positive numbers of x, doubled."""
    nodes = [
        node("Greater", ["x", "zero"], ["chosen"]),
        node("NonZero", ["chosen"], ["at"]),
        node("Squeeze", ["at", "first"], ["places"]),
        node("Gather", ["x", "places"], ["kept"]),
        node("Add", ["kept", "kept"], ["y"]),
    ]
    constants = {"zero": np.float32(0), "first": np.array([0])}
    return model(nodes, {"x": ["n"]}, {"y": ["m"]}, {k: np.asarray(v) for k, v in constants.items()})


def require_equal(proto: onnx.ModelProto, network: Network, inputs: Mapping[str, Any]) -> None:
    """As ONNX's reference."""
    found = network.run(inputs)
    for name, expected in zip(network.outputs, ReferenceEvaluator(proto).run(None, dict(inputs)), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)
        assert found[name].dtype == expected.dtype


def test_a_shape_is_decided_again_for_other_inputs(steady: Gpu) -> None:
    proto = positive()
    with Network(proto) as network:
        for x in (FIRST, -FIRST, FIRST, np.zeros_like(FIRST), np.abs(FIRST)):
            require_equal(proto, network, {"x": x})


def test_only_what_decides_a_shape_is_read_back(gpu: Gpu) -> None:
    with Network(positive()) as network:
        program = network.program({"x": FIRST})
        (decision,) = program.decisions
        assert decision.node.startswith("NonZero") and decision.numbers.tolist() == [80]
        program.set({"x": FIRST + 0.5})  # as many: nothing is recorded again
        before = gpu.meter.read()
        program.replay()
        moved = difference(gpu.meter.read(), before)
        assert sum(kind["device_to_host"] for kind in moved.values()) == 4, "one number"
        np.testing.assert_allclose(program.read()["y"], 2 * (FIRST + 0.5)[FIRST > 0])
        program.set({"x": -FIRST})
        with pytest.raises(InputError, match=r"NonZero.*record the network again"):
            program.replay()


def test_a_network_over_tensors_has_such_shapes_only_if_it_may_read_them(gpu: Gpu) -> None:
    refused = pytest.raises(UnsupportedOp, match="how many elements it selects is needed now")
    with Network(positive()) as network, Tensor.from_numpy(FIRST) as x, refused:
        network.bind({"x": x}, {})


def test_a_network_over_tensors_reads_what_decides_its_shapes(gpu: Gpu) -> None:
    with Network(positive()) as network, Tensor.from_numpy(FIRST) as x:
        program = network.bind({"x": x}, {}, can_read=True)
        program.replay()
        np.testing.assert_array_equal(program.read()["y"], 2 * FIRST[FIRST > 0])
        x[...] = -FIRST
        with pytest.raises(Redecided):
            program.replay()
        program.close()


def halving() -> onnx.ModelProto:
    """x halved until its sum is below 1, and the sums on the way."""
    body = helper.make_graph(
        [
            node("Mul", ["v", "half"], ["v_out"]),
            node("ReduceSum", ["v_out"], ["total"], keepdims=0),
            node("Greater", ["total", "one"], ["goes_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("c", BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("goes_on", BOOL, []),
            helper.make_tensor_value_info("v_out", FLOAT, None),
            helper.make_tensor_value_info("total", FLOAT, []),
        ],
    )
    nodes = [node("Loop", ["", "true", "x"], ["y", "sums"], body=body)]
    constants = {"half": np.array(0.5, np.float32), "one": np.array(1.0, np.float32), "true": np.array(True)}
    return model(nodes, {"x": ["n"]}, {"y": ["n"], "sums": ["turns"]}, constants)


def test_a_loop_goes_on_as_long_as_the_gpu_says(gpu: Gpu) -> None:
    with Network(halving()) as network:
        for scale in (1.0, 30.0, 0.1):
            x = np.abs(reals(100)) * np.float32(scale)
            found = network.run({"x": x})
            turns = next(n for n in range(1, 99) if x.sum() * 0.5**n <= 1.0)
            np.testing.assert_allclose(found["y"], x * 0.5**turns, rtol=1e-6)
            np.testing.assert_allclose(found["sums"], x.sum() * 0.5 ** np.arange(1, turns + 1), rtol=1e-5)


def branching() -> onnx.ModelProto:
    branches = [
        helper.make_graph([node(op, ["x"], [name])], name, [], [helper.make_tensor_value_info(name, FLOAT, ["n"])])
        for op, name in (("Neg", "low"), ("Abs", "high"))
    ]
    nodes = [
        node("ReduceMean", ["x"], ["mean"], keepdims=0),
        node("Greater", ["mean", "zero"], ["up"]),
        node("If", ["up"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    return model(nodes, {"x": ["n"]}, {"y": ["n"]}, {"zero": np.array(0.0, np.float32)})


def test_a_branch_is_taken_as_the_gpu_says(gpu: Gpu) -> None:
    proto = branching()
    with Network(proto) as network:
        for x in (FIRST, -FIRST, FIRST):
            require_equal(proto, network, {"x": x})


def test_sequences_and_optionals_are_inputs(gpu: Gpu) -> None:
    tensor = helper.make_tensor_type_proto(FLOAT, None)
    entry = helper.make_value_info("xs", helper.make_sequence_type_proto(tensor))
    graph = helper.make_graph(
        [node("ConcatFromSequence", ["xs"], ["a"], axis=0), node("Neg", ["a"], ["y"])],
        "sequence",
        [entry],
        [helper.make_tensor_value_info("y", FLOAT, ["n", 2])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with Network(proto) as network:
        for rows in ((1, 3), (2,), (2, 2, 1)):
            xs = [reals(n, 2, seed=n) for n in rows]
            np.testing.assert_array_equal(network.run({"xs": xs})["y"], -np.concatenate(xs))
        with pytest.raises(InputError, match="takes a list of arrays"):
            network.run({"xs": reals(2, 2)})
        with pytest.raises(InputError, match=r"xs'\[1\] is float32"):
            network.run({"xs": [reals(1, 2), np.zeros((1, 2))]})


def test_text_is_worked_on_by_the_host(gpu: Gpu) -> None:
    nodes = [
        node("StringConcat", ["a", "b"], ["c"]),
        node("Equal", ["c", "a"], ["same"]),
        node("Cast", ["same"], ["y"], to=FLOAT),
    ]
    proto = model(nodes, {"a": (STRING, ["n"]), "b": (STRING, ["n"])}, {"c": (STRING, ["n"]), "y": (FLOAT, ["n"])})
    with Network(proto) as network:
        for b in (["", "x"], ["y", ""]):
            found = network.run({"a": np.array(["so", "ß"]), "b": np.array(b)})
            assert found["c"].tolist() == ["so" + b[0], "ß" + b[1]]
            np.testing.assert_array_equal(found["y"], [not text for text in b])
