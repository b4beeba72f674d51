"""Linear layers of a network that run as one kernel, forward and back: which can, and where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import LimitError
from ..gpu import gpu
from ..ops.differentiable import requires_gradient
from ..ops.mlp import MOST_INPUTS, WIDEST
from ..ops.mlp_forward import forward
from ..ops.mlp_packing import pack
from ..ops.mlp_training import BACKWARDS, key, mlp_with_gradient
from ..ops.mlp_variants import NETWORKS, Form
from ..tensor import Tensor, f32
from .layers import Activation, Layer, Linear

FEW_INPUTS, NARROW = 16, 64  # up to which the backward pass is faster fused on llvmpipe
LEAST_ROWS = 64  # of a batch: at 64 the H100 takes 0.9 of the time layer by layer, from 1,000 on 0.5 to 0.6


class Run(NamedTuple):
    """Layers `first` to `last` − 1: linear ones between `sizes`, the same activation after all but the last of them.

    `backward_fused`: whether they are one kernel, and one for the backward pass, when gradients are needed too.
    """

    first: int
    last: int
    sizes: tuple[int, ...]
    activation: str
    backward_fused: bool = True

    def apply(self, x: Tensor, row: Tensor) -> Tensor:
        """What they make of features `x` (n, features), with all their weights and biases in a `row`."""
        sizes = list(self.sizes)
        form = Form.of(sizes)
        if requires_gradient((x, row)):
            return mlp_with_gradient(x, row, None, form, sizes, self.activation)
        out = Tensor.empty((x.shape[0], sizes[-1]), f32, temporary=True)
        packed = pack(row, sizes, form, f32)
        forward(x, out, packed, form, (self.activation, None))
        packed.close()
        return out


def runs_of(layers: Sequence[Layer], how: str, rows: int) -> dict[int, Run]:
    """The runs of layers that are to be one kernel, by their first layer, to be trained on batches of `rows`.

    `how` is "always", wherever one can be; "never"; or "auto", where that is faster on this adapter.
    """
    if how == "never":
        return {}
    runs = [run for run in _linear_runs(layers) if _fits(run)]
    return {run.first: run._replace(backward_fused=how == "always" or _pays(run, rows)) for run in runs}


def _linear_runs(layers: Sequence[Layer]) -> list[Run]:
    """All runs of two linear layers or more that are as long as they can be."""
    runs: list[Run] = []
    at = 0
    while at < len(layers):
        run = _run_from(layers, at)
        runs += [run] if run else []
        at = run.last if run else at + 1
    return runs


def _run_from(layers: Sequence[Layer], first: int) -> Run | None:
    sizes: list[int] = []
    at, activation = first, ""
    while (layer := _linear(layers, at)) is not None:
        sizes = [*(sizes or [layer.inputs]), layer.outputs]
        between = layers[at + 1] if _linear(layers, at + 2) else None
        if not isinstance(between, Activation) or activation not in ("", between.name):
            return Run(first, at + 1, tuple(sizes), activation) if activation else None
        activation, at = between.name, at + 2
    return None


def _linear(layers: Sequence[Layer], at: int) -> Linear | None:
    layer = layers[at] if at < len(layers) else None
    return layer if isinstance(layer, Linear) and not layer.frozen else None


def _fits(run: Run) -> bool:
    """Whether the kernels take layers of these sizes, and this adapter has the room."""
    if run.sizes[0] > MOST_INPUTS or max(run.sizes[1:]) > WIDEST:
        return False
    form = Form.of(list(run.sizes))
    try:
        NETWORKS.choose(form.key)
        BACKWARDS.choose(key(form))
    except LimitError:
        return False
    return True


def _pays(run: Run, rows: int) -> bool:
    """Whether the backward pass is faster fused. A CPU reads saved values sooner than it recomputes them,
    unless there is little to recompute; the forward pass gains everywhere.
    """
    if gpu().adapter.kind != "software":
        return rows >= LEAST_ROWS
    return run.sizes[0] <= FEW_INPUTS and max(run.sizes) <= NARROW
