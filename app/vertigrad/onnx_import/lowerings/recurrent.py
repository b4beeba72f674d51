"""Recurrent layers."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...ops.activation import PARAMETERS
from ...tensor import Tensor
from ..node import Node, Refused
from ..registry import lowers
from ..tail import ACTIVATIONS

_OPERATORS = ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "LeakyRelu", "ThresholdedRelu", "Elu", "HardSigmoid")
_ACTIVATIONS = {  # names in `ops`, and defaults of alpha and beta
    **{op: (ACTIVATIONS[op], PARAMETERS[ACTIVATIONS[op]]) for op in _OPERATORS},
    "Affine": ("affine", (1.0, 0.0)),
    "ScaledTanh": ("scaled_tanh", (1.0, 1.0)),
}


@lowers("RNN", "GRU", "LSTM")
def recurrent(node: Node) -> list[Tensor]:
    """Batches first if `layout` is 1."""
    batch_first = bool(node.attribute("layout", 0))
    x = node.tensor(0)
    node.require_size("hidden_size", node.shape(2)[2])
    options: dict[str, Any] = {
        "direction": node.attribute("direction", "forward"),
        "activations": activations_of(node),
        "clip": node.attribute("clip"),
        "lengths": node.optional(4),
        "initial": _states(node.optional(5), batch_first),
    }
    if node.op == "LSTM":
        options |= {
            "initial_cell": _states(node.optional(6), batch_first),
            "peepholes": node.optional(7),
            "coupled": bool(node.attribute("input_forget", 0)),
        }
    elif node.op == "GRU":
        options["linear_before_reset"] = bool(node.attribute("linear_before_reset", 0))
    function = {"RNN": ops.rnn, "GRU": ops.gru, "LSTM": ops.lstm}[node.op]
    x = x.permute(1, 0, 2) if batch_first else x
    y, *last = function(x, node.tensor(1), node.tensor(2), node.optional(3), **options)
    if batch_first:
        return [y.permute(2, 0, 1, 3), *(state.permute(1, 0, 2) for state in last)]
    return [y, *last]


def _states(tensor: Tensor | None, batch_first: bool) -> Tensor | None:
    return tensor.permute(1, 0, 2) if tensor is not None and batch_first else tensor


def activations_of(node: Node) -> list[Any] | None:
    """Names with parameters, as `ops` has them; those of alpha and beta are handed out in the order of the names."""
    names = node.attribute("activations")
    if names is None:
        return None
    parameters = [iter(node.attribute(f"activation_{which}", [])) for which in ("alpha", "beta")]
    found: list[Any] = []
    for name in (name.decode() if isinstance(name, bytes) else name for name in names):
        if name not in _ACTIVATIONS:
            raise Refused(f"the activation {name}")
        kind, defaults = _ACTIVATIONS[name]
        found.append((kind, *(next(values, default) for values, default in zip(parameters, defaults, strict=False))))
    return found
