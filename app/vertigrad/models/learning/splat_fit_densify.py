"""The first splats of `SplatFit`, and its densification: invisible ones become parts of large, dense ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ... import ops
from ...gpu import Kernel
from ...ops.philox import key_of
from ...tensor import Tensor, i32, u32
from .solid_samples import on_surface

SHADER = "models/splat_fit_densify.wgsl"
VISIBLE = 0.02  # opacity of a splat that is visible
STARTS = ("box", "surface")
ROOM = 1.15  # of the box that splats begin in, over the mesh's
CLOSE = 0.28  # standard deviation that they begin with, over their distance in that box
FAINT = 0.15  # opacity that they begin with


def beginning(
    start: str, count: int, positions: np.ndarray, index: np.ndarray, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """Initial values, f32: positions anywhere around the mesh, or on it; and log scales, quaternions, and logits of
    opacities and of colors, at random except for the opacities.
    """
    half = 0.5 * ROOM * (positions.max(axis=0) - positions.min(axis=0)).astype(float)
    anywhere = random.uniform(-half, half, (count, 3))
    size = CLOSE * (8.0 * np.prod(np.maximum(half, 1e-3)) / count) ** (1.0 / 3.0)
    arrays = {
        "position": anywhere if start == "box" else on_surface(positions, index, count, random),
        "scale": np.log(size) + 0.2 * random.normal(size=(count, 3)),
        "rotation": random.normal(size=(count, 4)),
        "opacity": np.full(count, math.log(FAINT / (1.0 - FAINT))),
        "color": random.normal(size=(count, 3)),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def record_densification(learned: Mapping[str, Tensor], memory: Iterable[Tensor], seed: int) -> None:
    """Record that invisible splats become parts of others, chosen by chance in proportion to opacity and area.

    `learned` are position, scale (logarithms), rotation, opacity (logits) and color, `memory` is what optimizers
    remember of them, rows of which are forgotten. The `step` of learning stays open while a plan records.
    """
    count, logits = len(learned["position"]), learned["opacity"]
    area = ops.exp(ops.sum(learned["scale"], -1) - ops.min(learned["scale"], -1))  # of the two longer axes
    unseen = math.log(VISIBLE / (1.0 - VISIBLE))
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
