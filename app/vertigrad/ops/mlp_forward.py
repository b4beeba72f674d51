"""The kernel of whole small networks, launched."""

from __future__ import annotations

from ..gpu import Kernel
from ..tensor import Tensor
from . import mlp_packing, mlp_pairs
from .activation import Activation
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
    own = mlp_packing.defines(x, out, packed, activations) | {"DIMENSIONS": x.shape[1]}
    front = NO_ENCODING if encoding is None else {**NO_ENCODING, **encoding.defines()}
    kernel = Kernel.load("ops/mlp.wgsl", defines={**front, **own, **form.defines(), **variant.defines()})
    kernel(
        -(-x.shape[0] // variant.points) * variant.threads(form.width),
        overwrites=("out",),
        **mlp_packing.arguments(x, out, packed, form, activations),
        **(NO_TABLES if encoding is None else encoding.arguments()),
    )
