"""Random graphs of 64-bit integers against NumPy: edge values, shapes that are broadcast, axes without elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node
from .test_wide import INT64, KINDS, UINT64, integers

NODES = 10
TWO: dict[str, Callable[..., np.ndarray]] = {
    **{"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum},
    **{"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor},
}
ONE = {"Abs": np.abs, "BitwiseNot": np.invert, "Sign": np.sign}
ALONG: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {  # axes are inputs
    "CumSum": lambda x, axis: np.cumsum(x, axis, dtype=x.dtype),
    "ReduceSum": lambda x, axis: np.sum(x, axis, dtype=x.dtype, keepdims=True),
    "ReduceProd": lambda x, axis: np.prod(x, axis, dtype=x.dtype, keepdims=True),
    "ReduceMax": lambda x, axis: np.max(x, axis, keepdims=True),
    "ReduceMin": lambda x, axis: np.min(x, axis, keepdims=True),
}
MOVES: dict[str, tuple[dict[str, Any], Callable[[np.ndarray], np.ndarray]]] = {
    "Transpose": ({}, np.transpose),
    "Flatten": ({"axis": 0}, lambda x: x.reshape(1, -1)),
    "Concat": ({"axis": 0}, lambda x: np.concatenate([x, x])),
}


class Graph:
    """Nodes on random results of those before, with what each computes."""

    def __init__(self, elem: int, seed: int):
        self.random, self.elem = np.random.default_rng(seed), elem
        shape = self.random.choice([0, 1, 2, 3, 5], self.random.integers(1, 4), p=[0.1, 0.2, 0.2, 0.3, 0.2])
        self.nodes: list[onnx.NodeProto] = []
        self.inputs = {name: self.array(shape) for name in "abc"}
        self.constants: dict[str, np.ndarray] = {"d": self.array(shape)}
        self.values = self.inputs | self.constants
        for _ in range(NODES):
            self.grow(str(self.random.choice([*TWO, *TWO, *ONE, *ALONG, *MOVES])))

    def array(self, shape: np.ndarray) -> np.ndarray:
        """Of a shape that is broadcast to `shape`."""
        sizes = np.where(self.random.random(len(shape)) < 0.7, shape, 1)[self.random.integers(0, 2) :]
        return integers(self.elem, *sizes.tolist(), seed=int(self.random.integers(1 << 30)))

    def grow(self, op: str) -> None:
        name = str(self.random.choice([*self.values]))
        x = self.values[name]
        if op in TWO:
            other = str(self.random.choice([n for n, y in self.values.items() if can_broadcast(x, y)]))
            self.add(op, [name, other], TWO[op](x, self.values[other]))
        elif op in ONE:
            self.add(op, [name], ONE[op](x))
        elif op in MOVES and x.ndim:
            attributes, function = MOVES[op]
            self.add(op, [name] * (1 + (op == "Concat")), function(x), **attributes)
        elif op in ALONG and x.ndim and x.size:
            axis = int(self.random.integers(x.ndim))
            axes = f"axes of {op}, {axis}"
            self.constants[axes] = np.array(axis) if op == "CumSum" else np.array([axis])
            self.add(op, [name, axes], ALONG[op](x, axis))

    def add(self, op: str, inputs: list[str], value: np.ndarray, **attributes: Any) -> None:
        output = f"y{len(self.nodes)}"
        self.nodes.append(node(op, inputs, [output], **attributes))
        self.values[output] = value


def can_broadcast(x: np.ndarray, y: np.ndarray) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(x.shape[::-1], y.shape[::-1], strict=False))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("elem", [INT64, UINT64])
def test_a_random_graph(steady: Gpu, elem: int, seed: int) -> None:
    with np.errstate(all="ignore"):
        graph = Graph(elem, seed)
    outputs = {name: (elem, value.shape) for name, value in graph.values.items() if name.startswith("y")}
    proto = model(
        graph.nodes, {n: (elem, x.shape) for n, x in graph.inputs.items()}, outputs, graph.constants, opset=18
    )
    with Network(proto) as network:
        found = network.run(graph.inputs)
    for name in outputs:
        assert found[name].dtype == KINDS[elem]
        np.testing.assert_array_equal(found[name], graph.values[name], err_msg=f"{name} of {graph.nodes}")
