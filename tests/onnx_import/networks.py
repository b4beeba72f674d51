"""Small networks, created in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any],
    constants: Mapping[str, np.ndarray] | None = None,
    opset: int = 21,
    others: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model; inputs are float32 of the shapes given, or (element type, shape). Outputs without one are inferred."""

    def entry(name: str, value: Any) -> onnx.ValueInfoProto:
        elem, shape = value if isinstance(value, tuple) and isinstance(value[0], int) else (1, value)
        return helper.make_tensor_value_info(name, elem, shape)

    graph = helper.make_graph(
        list(nodes),
        "test",
        [entry(name, value) for name, value in inputs.items()],
        [entry(name, value) for name, value in outputs.items()]
        if isinstance(outputs, Mapping)
        else [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(others or {})}.items()]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return onnx.shape_inference.infer_shapes(proto, data_prop=True)


def reals(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layered(layers: int, side: int = 16) -> onnx.ModelProto:
    """Two nodes a layer, each with a kernel of its own: a product with weights, and a softmax; x is (4, side)."""
    names = ["x", *(f"s{layer}" for layer in range(layers))]
    nodes = []
    for layer, (into, out) in enumerate(pairwise(names)):
        nodes += [node("MatMul", [into, f"w{layer}"], [f"m{layer}"]), node("Softmax", [f"m{layer}"], [out])]
    weights = {f"w{layer}": reals(side, side, seed=layer) for layer in range(layers)}
    return model(nodes, {"x": [4, side]}, [names[-1]], weights)
