"""The kernel of whole small networks for many points: activations stay in registers, weights in workgroup memory.

Measured on an H100 with three hidden layers of 64, against `mlp_forward`: 2^17 points take 0.95 of the time, 2^18 0.90,
2^20 0.86. A last round of tiles that only some workgroups have takes as long as a whole one.
"""

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
FEWEST, FEWEST_SHALLOW = 1 << 17, 1 << 19  # points from which on it is faster; with less than two wide layers
LEAST_BUSY = 0.88  # of what all workgroups could do in the rounds of tiles that the points take


def suits(form: Form, points: int) -> bool:
    """Whether this kernel is to be taken for a network without an encoding."""
    limits = gpu().limits
    fits = _nbytes(form) <= limits["max-compute-workgroup-storage-size"]
    fits &= limits["max-compute-invocations-per-workgroup"] >= THREADS
    fits &= paths.path().subgroup >= 2 and not paths.is_software()
    held = form.width >= NARROWEST and max(form.width, form.inputs) <= WIDEST
    return fits and held and form.hidden > 0 and not form.last_wide and _are_enough(form, points)


def _are_enough(form: Form, points: int) -> bool:
    rounds = -(-points // (WORKGROUPS * 2 * THREADS))
    busy = points >= LEAST_BUSY * rounds * WORKGROUPS * 2 * THREADS
    return points >= (FEWEST if form.hidden > 2 else FEWEST_SHALLOW) and busy


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


def _nbytes(form: Form) -> int:
    """Of workgroup memory, for weights and biases."""
    return 4 * sum((inputs + 1) * outputs for inputs, outputs in form.layers)
