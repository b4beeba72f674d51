"""Splats that are not seen are put to where others are large and dense, which are divided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ... import ops
from ...gpu import Kernel
from ...ops.philox import key_of
from ...tensor import Tensor, i32, u32

SHADER = "models/splat_fit_densify.wgsl"
SEEN = 0.02  # opacity of a splat that is seen


def record_densification(learned: Mapping[str, Tensor], memory: Iterable[Tensor], seed: int) -> None:
    """Record that splats which are not seen become parts of others, chosen by chance in proportion to opacity and area.

    `learned` are position, scale (logarithms), rotation, opacity (logits) and color, `memory` is what optimizers
    remember of them, rows of which are forgotten. The `step` of learning stays open while a plan records.
    """
    count, logits = len(learned["position"]), learned["opacity"]
    area = ops.exp(ops.sum(learned["scale"], -1) - ops.min(learned["scale"], -1))  # of the two longer axes
    unseen = math.log(SEEN / (1.0 - SEEN))
    asks = ops.where(ops.greater_equal(logits, unseen), ops.sigmoid(logits) * area, 0.0)
    chosen = Tensor.empty(count, i32, temporary=True)
    divided = ops.assign(Tensor.empty(count, u32, temporary=True), 0)
    fields: dict[str, Any] = {"count": count, "key": key_of(seed), "unseen": unseen}
    marks = {"chosen": chosen, "divided": divided}
    Kernel.load(SHADER, "choose")(
        count, overwrites=("chosen",), sums=ops.cumsum(asks), opacity=logits, **marks, **fields
    )
    Kernel.load(SHADER, "put")(count, chosen=chosen, **learned, **fields)
    Kernel.load(SHADER, "shrink")(count, divided=divided, scale=learned["scale"], **fields)
    for tensor in memory:
        is_moved = ops.greater_equal(chosen, 0).reshape(count, *[1] * (tensor.ndim - 1))
        ops.where(is_moved, 0.0, tensor, out=tensor)
