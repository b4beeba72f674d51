"""Trained networks as files for others: safetensors (PyTorch reads them) and ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..deprecation import renamed_arguments
from ..errors import InputError
from .layers import Activation, Conv, Flatten, Layer, Linear, Pool
from .network import Network

OPSET, IR = 17, 8  # of ONNX: from 2022, which every runtime reads
_OPERATORS = {"relu": "Relu", "sigmoid": "Sigmoid", "sine": "Sin", "softplus": "Softplus", "tanh": "Tanh"}


def to_safetensors(weights: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> bytes:
    """A .safetensors file of weights, with `metadata` in its header."""
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in weights.items()}, dict(metadata or {}) or None)


@renamed_arguments(deviation="std")  # up to version 0.1
def to_onnx(
    network: Network,
    weights: Mapping[str, np.ndarray],
    name: str = "network",
    mean: float = 0.0,
    std: float = 1.0,
) -> bytes:
    """An .onnx file: input "x" (batch, ...), output "y" (batch, ...), f32.

    The network was trained on inputs less `mean`, divided by `std`; the file takes them as they were before.
    Raises `InputError` for a network with a layer that ONNX has no operators for.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    scale = {"input.mean": np.float32(mean), "input.std": np.float32(std)}
    scale = scale if (mean, std) != (0.0, 1.0) else {}
    nodes, last = [], "x"
    if scale:
        nodes += [helper.make_node("Sub", ["x", "input.mean"], ["centered"])]
        nodes += [helper.make_node("Div", ["centered", "input.std"], ["scaled"])]
        last = "scaled"
    for number, layer in enumerate(network.layers):
        is_last = number == len(network.layers) - 1
        output = "y" if is_last else f"h{number}"
        nodes += _nodes(layer, number, last, output)
        last = output
    if not network.layers:
        raise InputError("a network without layers cannot be written")
    shapes = (network.input_shape, network.shape_after(len(network.layers)))
    x, y = (
        helper.make_tensor_value_info(which, TensorProto.FLOAT, ["batch", *shape])
        for which, shape in zip("xy", shapes, strict=True)
    )
    arrays = {**weights, **scale}
    initializers = [numpy_helper.from_array(np.asarray(array, order="C"), of) for of, array in arrays.items()]
    model = helper.make_model(
        helper.make_graph(nodes, name, [x], [y], initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="vertigrad",
    )
    checker.check_model(model)
    return model.SerializeToString()


def _nodes(layer: Layer, number: int, source: str, output: str) -> list[Any]:
    from onnx import helper

    own = [source, f"{number}.weight", f"{number}.bias"]
    match layer:
        case Flatten():
            return [helper.make_node("Flatten", [source], [output], axis=1)]
        case Linear():
            return [helper.make_node("Gemm", own, [output], transB=1)]
        case Conv():
            return [helper.make_node("Conv", own, [output], kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
        case Pool():
            return [helper.make_node("MaxPool", [source], [output], kernel_shape=[2, 2], strides=[2, 2])]
        case Activation(name="silu"):
            sigmoid = f"{output}.sigmoid"
            return [
                helper.make_node("Sigmoid", [source], [sigmoid]),
                helper.make_node("Mul", [source, sigmoid], [output]),
            ]
        case Activation():
            return [helper.make_node(_OPERATORS[layer.name], [source], [output])]
    raise InputError(f"ONNX has no operators for {type(layer).__name__.lower()}; write a .safetensors file instead")
