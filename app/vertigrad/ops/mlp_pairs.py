"""The kernel of whole small networks for many points: activations stay in registers, weights in workgroup memory."""

from __future__ import annotations

from ..gpu import Kernel, gpu
from ..tensor import Tensor
from . import mlp_packing, paths
from .activation import Activation
from .mlp_packing import Packed
from .mlp_variants import Form

THREADS = 256  # of a workgroup, two for each four points: as many as get the registers that they need
WIDEST = 64  # neurons and features, half of which are in registers, for four points
NARROWEST = 64  # neurons of layers; for 32 the kernel of `mlp_forward` is faster
WORKGROUPS = 132  # multiprocessors of a large GPU, each of which takes one at a time
FEWEST = 1 << 19  # points from which on it is faster whatever the layers: each workgroup gets eight tiles of them


def suits(form: Form, points: int) -> bool:
    """Whether this kernel is to be taken for a network without an encoding."""
    limits = gpu().limits
    fits = 16 * _quads(form) <= limits["max-compute-workgroup-storage-size"]
    fits &= limits["max-compute-invocations-per-workgroup"] >= THREADS
    fits &= paths.path().subgroup >= 2 and not paths.is_software()
    held = form.width >= NARROWEST and max(form.width, form.inputs) <= WIDEST
    return fits and held and form.hidden > 0 and not form.last_wide and points >= FEWEST


def forward_in_pairs(
    x: Tensor, out: Tensor, packed: Packed, form: Form, activations: tuple[Activation, Activation]
) -> None:
    """Set `out` (points, outputs) from `x` (points, features), as `mlp_forward.forward` does."""
    shape = {"THREADS": THREADS, "SUBGROUP": paths.path().subgroup, **form.defines()}
    kernel = Kernel.load("ops/mlp_pairs.wgsl", defines=mlp_packing.defines(x, out, packed, activations) | shape)
    kernel(
        min(-(-x.shape[0] // (2 * THREADS)), WORKGROUPS) * THREADS,
        overwrites=("out",),
        **mlp_packing.arguments(x, out, packed, form, activations),
    )


def _quads(form: Form) -> int:
    """Quads of weights in workgroup memory."""
    return sum(inputs * outputs for inputs, outputs in form.layers) // 4
