"""What follows a product or a convolution and can be done by its kernel: a normalization, an addition, an activation.

A batch normalization with constant statistics is folded into the constant weights of the convolution before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from ..ops.activation import PARAMETERS, Activation
from .graph import domain_of
from .values import Value

HEADS = ("Conv", "ConvTranspose", "MatMul", "Gemm")
ACTIVATIONS = {  # names in `ops`; their parameters are the attributes alpha and beta
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Mish": "mish",
    "HardSwish": "hard_swish",
    "Sin": "sine",
    "Cos": "cosine",
    "LeakyRelu": "leaky_relu",
    "Elu": "elu",
    "Celu": "celu",
    "ThresholdedRelu": "thresholded_relu",
    "HardSigmoid": "hard_sigmoid",
}


class Norm(NamedTuple):
    """A batch normalization of constants: each channel times `scale`, plus `shift`; float64 of shape (channels,)."""

    scale: np.ndarray
    shift: np.ndarray


class Tail(NamedTuple):
    """Nodes that only need each other's results: `norm` is what the first of them scales by, `added` what the next one
    adds, `activation` what the last does.
    """

    nodes: tuple[onnx.NodeProto, ...] = ()
    norm: Norm | None = None
    added: Value | None = None
    activation: Activation = None


def tail_of(
    proto: onnx.NodeProto, consumers: Mapping[str, Sequence[onnx.NodeProto]], known: Mapping[str, Value | None]
) -> Tail:
    """The tail of a product or a convolution, as far as its operands are `known` by now."""
    after = _only(proto, consumers)
    nodes: list[onnx.NodeProto] = []
    norm = None if after is None or not _has_constant_weights(proto, known) else _norm(after, known)
    if norm is not None:
        nodes.append(after)  # type: ignore[arg-type]
        after = _only(after, consumers)  # type: ignore[arg-type]
    added = None
    if after is not None and after.op_type == "Add":
        other = [name for name in after.input if name != (nodes[-1] if nodes else proto).output[0]]
        added = known.get(other[0]) if len(other) == 1 else None
        if added is not None:
            nodes.append(after)
            after = _only(after, consumers)
    activation = None if after is None else _activation(after, known)
    if activation is not None:
        nodes.append(after)  # type: ignore[arg-type]
    return Tail(tuple(nodes), norm, added, activation)


def _only(proto: onnx.NodeProto, consumers: Mapping[str, Sequence[onnx.NodeProto]]) -> onnx.NodeProto | None:
    """The node that alone needs the output of `proto`; None if there is none, or several."""
    found = consumers.get(proto.output[0], ())
    return found[0] if len(found) == 1 and len(proto.output) == 1 else None


def _has_constant_weights(proto: onnx.NodeProto, known: Mapping[str, Value | None]) -> bool:
    """Whether a node is a convolution whose weights, and bias if it has one, can be scaled while it is recorded."""
    constants = [known.get(name) for name in proto.input[1:] if name]
    return proto.op_type == "Conv" and all(
        value is not None and value.host is not None and value.elem == TensorProto.FLOAT for value in constants
    )


def _norm(proto: onnx.NodeProto, known: Mapping[str, Value | None]) -> Norm | None:
    """The batch normalization that a node is (ONNX, BatchNormalization); None if it is none, or not of constants."""
    attributes = {entry.name: helper.get_attribute_value(entry) for entry in proto.attribute}
    epsilon, _ = attributes.pop("epsilon", 1e-5), attributes.pop("momentum", None)
    is_plain = attributes.pop("training_mode", 0) == 0 and attributes.pop("spatial", 1) == 1 and not attributes
    if proto.op_type != "BatchNormalization" or domain_of(proto) or not is_plain or len(proto.input) != 5:
        return None
    values = [known.get(name) for name in proto.input[1:]]
    arrays = [value.host for value in values if value is not None and value.host is not None]
    if len(arrays) < 4 or any(value.elem != TensorProto.FLOAT for value in values if value is not None):
        return None
    gamma, beta, mean, variance = (array.astype(np.float64) for array in arrays)
    if not gamma.shape == beta.shape == mean.shape == variance.shape:
        return None
    scale = gamma / np.sqrt(variance + epsilon)
    return Norm(scale, beta - mean * scale)


def _activation(proto: onnx.NodeProto, known: Mapping[str, Value | None]) -> Activation:
    """The activation that a node is, as `ops` has it; None if it is none."""
    attributes = {entry.name: helper.get_attribute_value(entry) for entry in proto.attribute}
    op = proto.op_type
    if domain_of(proto):
        return None
    if op in ACTIVATIONS:
        defaults = PARAMETERS[ACTIVATIONS[op]]
        values = dict(zip(("alpha", "beta"), defaults, strict=False)) | attributes
        return (ACTIVATIONS[op], *values.values()) if len(values) == len(defaults) else None
    if op == "Gelu":
        return "gelu_tanh" if attributes.get("approximate") == b"tanh" else "gelu"
    if op == "Clip" and len(proto.input) == 3 and not attributes:
        ends = [known.get(name) for name in proto.input[1:]]
        if all(end is not None and end.host is not None and end.host.size == 1 for end in ends):
            numbers = [float(end.host.reshape(-1)[0]) for end in ends]  # type: ignore[union-attr]
            return ("clip", *numbers) if all(map(math.isfinite, numbers)) else None  # type: ignore[return-value]
    return None
