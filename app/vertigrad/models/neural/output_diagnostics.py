"""Diagnostics of networks: mean and largest magnitude of each output of floats."""

from __future__ import annotations

from collections.abc import Mapping

from ... import ops
from ...tensor import Tensor
from ..base import DiagnosticSpec

SPECS = {
    "OUTPUT_mean": DiagnosticSpec("mean of the float output OUTPUT"),
    "OUTPUT_largest": DiagnosticSpec("largest magnitude in the float output OUTPUT"),
}


def output_diagnostics(outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The diagnostics of `SPECS` for these outputs; the caller closes them."""
    real = {name: tensor for name, tensor in outputs.items() if tensor.dtype.kind == "float" and tensor.size}
    means = {f"{name}_mean": ops.mean(tensor) for name, tensor in real.items()}
    return means | {f"{name}_largest": ops.max(ops.absolute(tensor)) for name, tensor in real.items()}
