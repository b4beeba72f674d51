"""What a material point simulation starts as: bodies of four kinds of matter, filled evenly with particles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ..reference.grids import interpolated

MATERIALS = ("water", "jelly", "snow", "sand")
SHAPES = ("none", "box", "ball", "mesh")
# Steps of a sequence that fills a cube evenly: powers of the root of x^4 = x + 1 (Roberts 2018, "The unreasonable
# effectiveness of quasirandom sequences").
STEPS = 1.0 / 1.2207440846057596 ** np.arange(1, 4)


SAMPLES = 1 << 15  # positions by which it is found how much of its box a mesh fills


class Body(NamedTuple):
    """One kind of matter in a box, a ball or a mesh: its middle, and the edges of the box around it [m].

    Of a mesh, `distances` (nz, ny, nx) are those of a grid stretched over the box, below 0 inside.
    """

    material: int
    shape: str
    middle: np.ndarray
    size: np.ndarray
    distances: np.ndarray | None = None

    @property
    def fill_fraction(self) -> float:
        """The fraction of its bounding box that it fills."""
        if self.distances is not None:
            return float(np.mean(self.holds(np.arange(1, SAMPLES + 1)[:, None] * STEPS % 1.0 - 0.5)))
        return math.pi / 6.0 if self.shape == "ball" else 1.0

    @property
    def volume(self) -> float:
        """In m³."""
        return float(np.prod(self.size)) * self.fill_fraction

    def holds(self, unit: np.ndarray) -> np.ndarray:
        """Which positions (n, 3), from -½ to ½ along each edge of the box, are inside."""
        if self.distances is not None:
            last = np.array(self.distances.shape[::-1]) - 1
            return interpolated(self.distances, (unit + 0.5) * last) < 0.0
        return np.einsum("ij,ij->i", unit, unit) <= 0.25 if self.shape == "ball" else np.ones(len(unit), bool)


class Particles(NamedTuple):
    """Positions (n, 3) [m] and kinds (n,) of all particles, and the volume [m³] that each has at rest."""

    positions: np.ndarray
    materials: np.ndarray
    volume: float


def bodies(params: Any, distances: np.ndarray | None = None) -> list[Body]:
    """The bodies that the parameters describe; `distances` are those of the mesh.

    Raises `InputError` if there are none, or one is not in the box.
    """
    found = []
    half = np.array([params.box[0] / 2.0, 0.0, params.box[2] / 2.0])
    for kind, name in enumerate(MATERIALS):
        shape, middle, size = (getattr(params, f"{name}{part}") for part in ("", "_center", "_size"))
        if shape == "none":
            continue
        size = (size[0],) * 3 if shape == "ball" else size
        grid = distances if shape == "mesh" else None
        body = Body(kind, shape, np.array(middle, float), np.array(size, float), grid)
        low, high = body.middle - body.size / 2.0 + half, body.middle + body.size / 2.0 + half
        if (low < -1e-6).any() or (high > np.array(params.box) + 1e-6).any():
            raise InputError(
                f"the {name} extends from {_text(low - half)} to {_text(high - half)}, the box from {_text(-half)} to "
                f"{_text(np.array(params.box) - half)}: move it by {name}_center, or make it smaller by {name}_size"
            )
        found.append(body)
    if not found:
        raise InputError("no water, jelly, snow or sand: give one of them a shape: box, ball or mesh")
    return found


def filled(found: Sequence[Body], count: int, seed: int, cell: float) -> Particles:
    """`count` particles, in proportion to the volumes of the bodies; neighbors in space mostly near in memory."""
    volumes = np.array([body.volume for body in found])
    ends = np.round(np.cumsum(volumes) / volumes.sum() * count).astype(int)
    counts = np.diff(ends, prepend=0)
    shifts = np.random.default_rng(seed).random((len(found), 3))
    positions = [_inside(body, n, shift) for body, n, shift in zip(found, counts, shifts, strict=True)]
    ordered = [part[_by_block(part, cell)] for part in positions]
    kinds = np.repeat([body.material for body in found], counts).astype(np.uint32)
    return Particles(np.concatenate(ordered).astype(np.float32), kinds, float(volumes.sum()) / count)


def _inside(body: Body, count: int, shift: np.ndarray) -> np.ndarray:
    """Positions of a sequence that fills a cube, those in the body."""
    filled = body.fill_fraction
    if filled <= 0.0:
        raise InputError("the mesh has no interior: none of its distances is negative, or it is thinner than its grid")
    tried = math.ceil(count / filled * 1.1) + 64
    unit = (shift + np.arange(1, tried + 1)[:, None] * STEPS) % 1.0 - 0.5
    unit = unit[body.holds(unit)]
    if len(unit) < count:  # a mesh of which the samples saw too little
        raise InputError(f"only {len(unit)} of {count} particles fit into the {body.shape}; use a finer grid")
    return body.middle + unit[:count] * body.size


def _by_block(positions: np.ndarray, cell: float) -> np.ndarray:
    block = np.floor(positions / (4.0 * cell)).astype(int)
    return np.lexsort(block.T)


def _text(corner: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.3g}" for x in corner) + ")"
