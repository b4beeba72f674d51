"""`Knife`: what parts the threads of a cloth along a stroke that is drawn across its image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...tensor import Tensor, u32
from ..interaction import Interaction
from ..kernels import Kernels
from ..parts import Parts
from .cloth_sheet import Sheet

CUT = "models/cloth_cut.wgsl"
BINS = 256  # parts of a stroke in which it is looked for what is in front


class Knife:
    """Parts each thread that visibly crosses a stroke, at any depth, and those up to `radius` behind it.

    The tensors of the cloth are found in `tensors`; `triangles` are those that are left. Closed with `parts`.
    """

    def __init__(self, parts: Parts, sheet: Sheet, tensors: Mapping[str, Tensor]):
        self._spacing = sheet.spacing
        front = parts.zeros("front", BINS, dtype=u32)
        self._plan = parts.plan("cut")
        kernels = Kernels(CUT, {**tensors, "front": front, "nearest": front}, defines={"BINS": BINS})
        for entry, count in (("see_ball", BINS), ("see_sheet", len(sheet.triangles)), ("part", len(sheet.edges))):
            kernels.add(self._plan, entry, count, count=count)

    def cut(self, interaction: Interaction, dt: float, ball: Mapping[str, Any]) -> None:
        """Record what the blade does in `dt` seconds; `ball` has `center` and `radius` of what may hide."""
        line = stroke(interaction, dt)
        if line is not None:
            self._plan.replay(**line, **ball, reach=max(interaction.radius, self._spacing))


def stroke(interaction: Interaction, dt: float) -> dict[str, Any] | None:
    """The plane of sight between the rays of `dt` seconds ago and now, as the shader knows it.

    None if the blade is at rest, or moves along its ray: that appears as a point.
    """
    before = interaction.later(-dt)
    across = np.subtract(interaction.point, before.point)
    along = np.array(interaction.direction if interaction.parallel else np.subtract(before.point, before.origin))
    side = np.cross(across, along)
    size = float(np.linalg.norm(side))
    if size <= 1e-9 * float(np.linalg.norm(across) * np.linalg.norm(along)):
        return None
    side /= size
    across_from, along_from = np.cross(along, side), np.cross(side, across)
    across_from, along_from = across_from / (across_from @ across), along_from / (along_from @ along)
    vectors = {"across": across, "along": along, "side": side, "across_from": across_from, "along_from": along_from}
    return {
        "corner": before.origin,
        "unit": float(np.linalg.norm(along)),
        "meeting": 0.0 if interaction.parallel else 1.0,
        **{name: tuple(vector.tolist()) for name, vector in vectors.items()},
    }
