"""Scales of quantized tensors that are constants: one that is no number makes all of its elements NaN."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .node import Node

SCALES = {  # the inputs that are scales, by operator
    **{"QuantizeLinear": (1,), "DequantizeLinear": (1,), "QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6)},
    **{"MatMulNBits": (2,), "GatherBlockQuantized": (2,)},
}


def require_finite_scales(node: Node) -> None:
    """Raise `InputError` if a scale of this node is a constant and not finite."""
    scales = [node.inputs[index] for index in SCALES.get(node.op, ()) if index < len(node.inputs)]
    for found in (value.host for value in scales if value is not None):
        if found is None or found.dtype.kind != "f":
            continue
        wrong = np.flatnonzero(~np.isfinite(found.reshape(-1)))
        if wrong.size:
            value, at = found.reshape(-1)[wrong[0]], f" {wrong[0]}" if found.size > 1 else ""
            raise InputError(f"{node}: the scale{at} is {value}; {wrong.size:,} of {found.size:,} are not finite")
