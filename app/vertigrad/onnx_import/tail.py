"""What follows a product or a convolution and can be done by its kernel: an addition, then an activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import onnx
from onnx import helper

from ..ops.activation import Activation
from .values import Value

HEADS = ("Conv", "ConvTranspose", "MatMul", "Gemm")
_WITHOUT_PARAMETERS: dict[str, str] = {
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Mish": "mish",
    "HardSwish": "hard_swish",
    "Sin": "sine",
    "Cos": "cosine",
}
_WITH_ALPHA = {"LeakyRelu": 0.01, "Elu": 1.0, "Celu": 1.0, "ThresholdedRelu": 1.0}
_UNDERSTOOD = {op: {"alpha"} for op in _WITH_ALPHA} | {"Gelu": {"approximate"}, "HardSigmoid": {"alpha", "beta"}}


class Tail(NamedTuple):
    """Nodes that only need each other's results: `added` is what one of them adds, `activation` what the last does."""

    nodes: tuple[onnx.NodeProto, ...] = ()
    added: Value | None = None
    activation: Activation = None


def tail_of(
    proto: onnx.NodeProto, consumers: Mapping[str, Sequence[onnx.NodeProto]], known: Mapping[str, Value | None]
) -> Tail:
    """The tail of a product or a convolution, as far as its operands are `known` by now."""
    after = _only(proto, consumers)
    nodes: list[onnx.NodeProto] = []
    added = None
    if after is not None and after.op_type == "Add":
        other = [name for name in after.input if name != proto.output[0]]
        added = known.get(other[0]) if len(other) == 1 else None
        if added is not None:
            nodes.append(after)
            after = _only(after, consumers)
    activation = None if after is None or (after.op_type == "Add" and not nodes) else _activation(after, known)
    if activation is not None:
        nodes.append(after)  # type: ignore[arg-type]
    return Tail(tuple(nodes), added, activation)


def _only(proto: onnx.NodeProto, consumers: Mapping[str, Sequence[onnx.NodeProto]]) -> onnx.NodeProto | None:
    """The node that alone needs the output of `proto`; None if there is none, or several."""
    found = consumers.get(proto.output[0], ())
    return found[0] if len(found) == 1 and len(proto.output) == 1 else None


def _activation(proto: onnx.NodeProto, known: Mapping[str, Value | None]) -> Activation:
    """The activation that a node is, as `ops` has it; None if it is none."""
    attributes = {entry.name: helper.get_attribute_value(entry) for entry in proto.attribute}
    op = proto.op_type
    if proto.domain not in ("", "ai.onnx") or not set(attributes) <= _UNDERSTOOD.get(op, set()):
        return None
    if op in _WITHOUT_PARAMETERS:
        return _WITHOUT_PARAMETERS[op]
    if op in _WITH_ALPHA:
        name = "".join("_" + c.lower() if c.isupper() else c for c in op).strip("_")
        return name, attributes.get("alpha", _WITH_ALPHA[op])
    if op == "Gelu":
        return "gelu_tanh" if attributes.get("approximate") == b"tanh" else "gelu"
    if op == "HardSigmoid":
        return "hard_sigmoid", attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    if op == "Clip" and len(proto.input) == 3:
        ends = [known.get(name) for name in proto.input[1:]]
        if all(end is not None and end.host is not None and end.host.size == 1 for end in ends):
            return "clip", *(float(end.host.reshape(-1)[0]) for end in ends)  # type: ignore[union-attr]
    return None
