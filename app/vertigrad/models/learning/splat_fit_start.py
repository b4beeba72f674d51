"""What the splats of `SplatFit` begin with."""

from __future__ import annotations

import math

import numpy as np

from .solid_samples import on_surface

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
    made = {
        "position": anywhere if start == "box" else on_surface(positions, index, count, random),
        "scale": np.log(size) + 0.2 * random.normal(size=(count, 3)),
        "rotation": random.normal(size=(count, 4)),
        "opacity": np.full(count, math.log(FAINT / (1.0 - FAINT))),
        "color": random.normal(size=(count, 3)),
    }
    return {name: array.astype(np.float32) for name, array in made.items()}
