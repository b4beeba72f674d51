"""Networks that have learned, as files for others: safetensors (PyTorch reads them) and ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from .layers import Activation, Conv, Flatten, Layer, Linear, Pool
from .network import Network

OPSET, IR = 17, 8  # of ONNX: from 2022, which every runtime reads
_CURVES = {"relu": "Relu", "sigmoid": "Sigmoid", "sine": "Sin", "softplus": "Softplus", "tanh": "Tanh"}


def to_safetensors(weights: Mapping[str, np.ndarray], told: Mapping[str, str] | None = None) -> bytes:
    """A .safetensors file of weights, with `told` as its metadata."""
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in weights.items()}, dict(told or {}) or None)


def to_onnx(
    network: Network,
    weights: Mapping[str, np.ndarray],
    name: str = "network",
    mean: float = 0.0,
    deviation: float = 1.0,
) -> bytes:
    """An .onnx file: input "x" (batch, ...), output "y" (batch, ...), f32.

    The network learned from inputs less `mean`, divided by `deviation`; the file takes them as they were before.
    Raises `InputError` for a network with a layer that ONNX has no operators for.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    scale = {"input.mean": np.float32(mean), "input.deviation": np.float32(deviation)}
    scale = scale if (mean, deviation) != (0.0, 1.0) else {}
    nodes: list[Any] = _scaling() if scale else []
    last = "scaled" if scale else "x"
    for number, layer in enumerate(network.layers):
        end = number == len(network.layers) - 1
        result = "y" if end else f"h{number}"
        nodes += _nodes(layer, number, last, result)
        last = result
    if not network.layers:
        raise InputError("a network without layers cannot be written")
    shapes = (network.given, network.shape_after(len(network.layers)))
    x, y = (
        helper.make_tensor_value_info(which, TensorProto.FLOAT, ["batch", *shape])
        for which, shape in zip("xy", shapes, strict=True)
    )
    arrays = {**weights, **scale}
    kept = [numpy_helper.from_array(np.asarray(array, order="C"), of) for of, array in arrays.items()]
    model = helper.make_model(
        helper.make_graph(nodes, name, [x], [y], kept),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="vertigrad",
    )
    checker.check_model(model)
    return model.SerializeToString()


def _scaling() -> list[Any]:
    from onnx import helper

    return [
        helper.make_node("Sub", ["x", "input.mean"], ["centered"]),
        helper.make_node("Div", ["centered", "input.deviation"], ["scaled"]),
    ]


def _nodes(layer: Layer, number: int, given: str, result: str) -> list[Any]:
    from onnx import helper

    own = [given, f"{number}.weight", f"{number}.bias"]
    match layer:
        case Flatten():
            return [helper.make_node("Flatten", [given], [result], axis=1)]
        case Linear():
            return [helper.make_node("Gemm", own, [result], transB=1)]
        case Conv():
            return [helper.make_node("Conv", own, [result], kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
        case Pool():
            return [helper.make_node("MaxPool", [given], [result], kernel_shape=[2, 2], strides=[2, 2])]
        case Activation(name="silu"):
            share = f"{result}.share"
            return [
                helper.make_node("Sigmoid", [given], [share]),
                helper.make_node("Mul", [given, share], [result]),
            ]
        case Activation():
            return [helper.make_node(_CURVES[layer.name], [given], [result])]
    raise InputError(f"ONNX has no operators for {type(layer).__name__.lower()}; write a .safetensors file instead")
