"""The weights of a small network: in one flat tensor for training, and packed for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..gpu import Kernel
from ..tensor import DType, Tensor, f32
from . import launch
from .activation import Activation, expression, parameters
from .mlp_variants import Form

ALIGNED = 64  # floats between parts of a tensor that are bound by themselves


class Packed(NamedTuple):
    """What shaders/ops/mlp_pack.wgsl makes: the weights, and the biases with the turned weights after them."""

    weights: Tensor
    rest: Tensor

    def close(self) -> None:
        """Give both up."""
        self.weights.close()
        self.rest.close()


def defines(x: Tensor, out: Tensor, packed: Packed, activations: tuple[Activation, Activation]) -> dict[str, Any]:
    """The template's values of a kernel that computes a whole network: the dtypes and the activations."""
    types = {"X": x.dtype.name, "WEIGHTS": packed.weights.dtype.name, "OUT": out.dtype.name}
    return {**types, "ACTIVATION": expression(activations[0]), "LAST": expression(activations[1], "params.last")}


def arguments(
    x: Tensor, out: Tensor, packed: Packed, form: Form, activations: tuple[Activation, Activation]
) -> dict[str, Any]:
    """What such a kernel is given."""
    return {
        "weights": packed.weights,
        "biases": packed.rest,
        "count": x.shape[0],
        "outputs": form.real_outputs,
        "activation": parameters(activations[0]),
        "last": parameters(activations[1]),
        **launch.strided(x=x, out=out),
    }


def count(sizes: Sequence[int]) -> int:
    """How many weights and biases there are between layers of these sizes."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def layers(flat: Tensor, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """The weights (outputs, inputs) and biases (outputs,) of each layer: views of all in a row."""
    found, at = [], 0
    for inputs, outputs in pairwise(sizes):
        middle, end = at + inputs * outputs, at + (inputs + 1) * outputs
        found.append((flat[at:middle].reshape(outputs, inputs), flat[middle:end]))
        at = end
    return found


def right(form: Form) -> int:
    """Where the turned weights begin, in floats after the first bias."""
    biases = sum(outputs for _, outputs in form.layers)
    return -(-biases // ALIGNED) * ALIGNED


def final(form: Form) -> int:
    """Outputs padded to a multiple of 4."""
    return -(-form.real_outputs // 4) * 4


def pack(flat: Tensor, sizes: Sequence[int], form: Form, dtype: DType, into: Packed | None = None) -> Packed:
    """The weights and biases of `flat`, packed, weights as `dtype`; in new tensors, or in those of `into`."""
    weights = sum(inputs * outputs for inputs, outputs in form.layers)
    rest = right(form) + form.width * (max(form.hidden - 1, 0) * form.width + final(form) + form.inputs)
    packed = into or Packed(
        Tensor.empty(weights, dtype, "packed.weights", temporary=True),
        Tensor.empty(rest, f32, "packed.rest", temporary=True),
    )
    own = {"RIGHT": right(form), "FINAL": final(form), "WEIGHTS": dtype.name, "LAST_WIDE": form.last_wide}
    kernel = Kernel.load("ops/mlp_pack.wgsl", defines={"SIZES": list(sizes), "LAYERS": form.layers, **own})
    kernel(
        weights + rest,
        overwrites=("weights", "rest"),
        flat=flat,
        weights=packed.weights,
        rest=packed.rest,
        total=weights + rest,
    )
    return packed
