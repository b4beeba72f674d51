"""The kernel of whole small networks, launched."""

from __future__ import annotations

from ..gpu import Kernel
from ..tensor import Tensor
from . import launch, mlp_pairs
from .activation import Activation, expression, parameters
from .encoding import NO_ENCODING, NO_TABLES, Encoding
from .mlp_packing import Packed
from .mlp_variants import NETWORKS, Form, Network


def forward(
    x: Tensor,
    out: Tensor,
    packed: Packed,
    form: Form,
    activations: tuple[Activation, Activation],
    encoding: Encoding | None = None,
    variant: Network | None = None,
) -> None:
    """Set `out` (points, outputs) from `x` (points, coordinates), which fit and are in other blocks.

    `activations` are the activations of hidden layers and of the last one.
    """
    if variant is None and encoding is None and mlp_pairs.suits(form, x.shape[0]):
        mlp_pairs.forward_in_pairs(x, out, packed, form, activations)
        return
    variant = variant or NETWORKS.choose(form.key)
    types = {"X": x.dtype.name, "WEIGHTS": packed.weights.dtype.name, "OUT": out.dtype.name}
    own = {
        "ACTIVATION": expression(activations[0]),
        "LAST": expression(activations[1], "params.last"),
        "DIMENSIONS": x.shape[1],
    }
    front = NO_ENCODING if encoding is None else {**NO_ENCODING, **encoding.defines()}
    kernel = Kernel.load("ops/mlp.wgsl", defines={**front, **types, **own, **form.defines(), **variant.defines()})
    kernel(
        -(-x.shape[0] // variant.points) * variant.threads(form.width),
        overwrites=("out",),
        weights=packed.weights,
        biases=packed.rest,
        count=x.shape[0],
        outputs=form.real_outputs,
        activation=parameters(activations[0]),
        last=parameters(activations[1]),
        **launch.strided(x=x, out=out),
        **(NO_TABLES if encoding is None else encoding.arguments()),
    )
