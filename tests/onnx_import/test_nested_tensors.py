"""Tensors inside branches and bodies of loops: those of the branch that is taken, and of the last turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.inside import GradientName
from vertigrad.models.neural.onnx_gradient import InputGradient
from vertigrad.onnx_import import Network

X = np.random.default_rng(7).normal(size=(2, 3)).astype(np.float32)
node, entry = helper.make_node, helper.make_tensor_value_info


def model() -> ModelProto:
    """y = scan(loop(if(x))): a negated branch, three turns of tanh(a + x), and sums of rows."""
    taken = helper.make_graph(
        [node("Exp", ["x"], ["grown"]), node("Neg", ["grown"], ["taken"])], "t", [], [entry("taken", 1, [2, 3])]
    )
    other = helper.make_graph([node("Abs", ["x"], ["other"])], "e", [], [entry("other", 1, [2, 3])])
    turn = helper.make_graph(
        [node("Add", ["a", "x"], ["sum"]), node("Tanh", ["sum"], ["next"]), node("Identity", ["on"], ["still on"])],
        "turn",
        [entry("number", 7, []), entry("on", 9, []), entry("a", 1, [2, 3])],
        [entry("still on", 9, []), entry("next", 1, [2, 3])],
    )
    step = helper.make_graph(
        [node("Add", ["s", "row"], ["total"]), node("Mul", ["total", "total"], ["square"])],
        "step",
        [entry("s", 1, [3]), entry("row", 1, [3])],
        [entry("total", 1, [3]), entry("square", 1, [3])],
    )
    nodes = [
        node("If", ["yes"], ["chosen"], then_branch=taken, else_branch=other),
        node("Loop", ["trips", "yes", "chosen"], ["looped"], body=turn),
        node("Scan", ["zeros", "looped"], ["last", "y"], body=step, num_scan_inputs=1),
    ]
    constants = {"yes": np.array(True), "trips": np.array(3), "zeros": np.zeros(3, np.float32)}
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [entry("x", 1, [2, 3])], [entry("y", 1, [2, 3])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def network(steady: Gpu) -> Iterator[Network]:
    with closing(Network(model())) as created:
        yield created


def expected() -> dict[str, np.ndarray]:
    found = {"grown": np.exp(X), "taken": -np.exp(X)}
    a = found["taken"]
    for _ in range(3):
        found["sum"] = a + X
        a = found["next"] = np.tanh(found["sum"])
    found["total"] = a.sum(0)
    found["square"] = found["total"] ** 2
    return found


def test_they_are_listed_and_shown(network: Network) -> None:
    names = ["grown", "taken", "other", "sum", "next", "still on", "total", "square"]
    assert sorted(network.nested_tensors) == sorted(names) and network.nested_tensors["sum"].operator == "Add"
    assert list(network.tensors) == ["chosen", "looped", "last", "y"]
    with Tensor.from_numpy(X) as x:
        network.show_inside([name for name in names if name != "other"])
        with closing(network.bind({"x": x}, {})) as program:
            for _ in range(2):
                program.replay()
                for name, array in expected().items():
                    np.testing.assert_allclose(program.tensor(name).numpy(), array, rtol=1e-5, atol=1e-6)
            assert program.tensor("still on").numpy()
        network.show_inside([])
        with closing(network.bind({"x": x}, {})) as program:
            assert list(program.outputs) == ["y"]


def test_a_branch_that_is_not_taken_and_names_that_there_are_not(network: Network) -> None:
    with Tensor.from_numpy(X) as x:
        network.show_inside(["other"])
        with pytest.raises(InputError, match="'other' is not computed: its branch is not taken"):
            network.bind({"x": x}, {})
    with pytest.raises(InputError, match="no node computes 'nothing'"):
        network.show_inside(["sum", "nothing"])


def test_there_are_gradients_of_them(network: Network) -> None:
    with Tensor.from_numpy(X) as x:
        name = GradientName("grown", 4, "x")
        with closing(InputGradient(network, {"x": x}, {}, {}, name)) as gradient:
            gradient.update()
            by_x = np.zeros_like(X)
            by_x[1, 1] = np.exp(X[1, 1])
            np.testing.assert_allclose(gradient.result.numpy(), by_x, rtol=1e-5)
