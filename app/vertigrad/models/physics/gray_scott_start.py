"""Where Gray-Scott patterns begin: discs of several sizes in a surface at rest, disturbed a little."""

from __future__ import annotations

import numpy as np

from .surfaces import Doubles

RADII = (0.03, 0.1)  # of the discs [length]
WITHIN = (0.3, 0.5)  # u and v in them
NOISE = 0.01  # of that


def discs(points: Doubles, turn: float | None, count: int, scale: float, seed: int) -> Doubles:
    """u and v (n, 2) at `points` (n, 3): 1 and 0, but for `count` discs.

    `scale` is how long a unit of length is on the surface. With `turn` it is a plane that repeats after so much along
    x and z.
    """
    random = np.random.default_rng(seed)
    middles = points[random.integers(len(points), size=count)]
    radii = scale * random.uniform(*RADII, count)
    noise = 1.0 + NOISE * random.uniform(-1.0, 1.0, (len(points), 2))
    field = np.tile([1.0, 0.0], (len(points), 1))
    along = np.argsort(points[:, 0])  # a disc is sought within a strip, not everywhere
    x = points[along, 0]
    for middle, radius in zip(middles, radii, strict=True):
        for shift in (0.0,) if turn is None else (-turn, 0.0, turn):
            there = middle + np.array([shift, 0.0, 0.0])
            strip = along[slice(*np.searchsorted(x, (there[0] - radius, there[0] + radius)))]
            away = points[strip] - there
            if turn is not None:
                away[:, 2] -= turn * np.round(away[:, 2] / turn)
            near = strip[np.einsum("nx,nx->n", away, away) <= radius**2]
            field[near] = WITHIN * noise[near]
    return field
