"""What a material point simulation starts as: bodies of four kinds of matter, filled evenly with particles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError

MATERIALS = ("water", "jelly", "snow", "sand")
SHAPES = ("none", "box", "ball")
# Steps of a sequence that fills a cube evenly: powers of the root of x^4 = x + 1 (Roberts 2018, "The unreasonable
# effectiveness of quasirandom sequences").
STEPS = 1.0 / 1.2207440846057596 ** np.arange(1, 4)


class Body(NamedTuple):
    """A box, or a ball, of one kind of matter: its middle, and its edges or three times its diameter [m]."""

    material: int
    shape: str
    middle: np.ndarray
    size: np.ndarray

    @property
    def volume(self) -> float:
        """In m³."""
        return float(np.prod(self.size)) * (math.pi / 6.0 if self.shape == "ball" else 1.0)


class Particles(NamedTuple):
    """Places (n, 3) [m] and kinds (n,) of all particles, and the volume [m³] that each has at rest."""

    positions: np.ndarray
    materials: np.ndarray
    volume: float


def bodies(params: Any) -> list[Body]:
    """The bodies that the parameters describe. Raises `InputError` if there are none, or one is not in the box."""
    found = []
    half = np.array([params.box[0] / 2.0, 0.0, params.box[2] / 2.0])
    for kind, name in enumerate(MATERIALS):
        shape, middle, size = (getattr(params, f"{name}{part}") for part in ("", "_at", "_size"))
        if shape == "none":
            continue
        size = (size[0],) * 3 if shape == "ball" else size
        body = Body(kind, shape, np.array(middle, float), np.array(size, float))
        low, high = body.middle - body.size / 2.0 + half, body.middle + body.size / 2.0 + half
        if (low < -1e-6).any() or (high > np.array(params.box) + 1e-6).any():
            raise InputError(
                f"the {name} reaches from {_told(low - half)} to {_told(high - half)}, the box from {_told(-half)} to "
                f"{_told(np.array(params.box) - half)}: move it by {name}_at, or make it smaller by {name}_size"
            )
        found.append(body)
    if not found:
        raise InputError("no water, jelly, snow or sand: give one of them a shape, box or ball")
    return found


def filled(found: Sequence[Body], count: int, seed: int, cell: float) -> Particles:
    """`count` particles, as many in each body as its share of the volume; neighbours in space mostly near in memory."""
    volumes = np.array([body.volume for body in found])
    ends = np.round(np.cumsum(volumes) / volumes.sum() * count).astype(int)
    counts = np.diff(ends, prepend=0)
    shifts = np.random.default_rng(seed).random((len(found), 3))
    places = [_inside(body, n, shift) for body, n, shift in zip(found, counts, shifts, strict=True)]
    ordered = [part[_by_block(part, cell)] for part in places]
    kinds = np.repeat([body.material for body in found], counts).astype(np.uint32)
    return Particles(np.concatenate(ordered).astype(np.float32), kinds, float(volumes.sum()) / count)


def _inside(body: Body, count: int, shift: np.ndarray) -> np.ndarray:
    """Places of a sequence that fills a cube, those in the body."""
    tried = math.ceil(count * (2.0 if body.shape == "ball" else 1.0)) + 64
    unit = (shift + np.arange(1, tried + 1)[:, None] * STEPS) % 1.0 - 0.5
    if body.shape == "ball":
        unit = unit[np.einsum("ij,ij->i", unit, unit) <= 0.25]
    assert len(unit) >= count, f"{len(unit)} of {count} places in a {body.shape}"
    return body.middle + unit[:count] * body.size


def _by_block(places: np.ndarray, cell: float) -> np.ndarray:
    """The order by blocks of four cells."""
    block = np.floor(places / (4.0 * cell)).astype(int)
    return np.lexsort(block.T)


def _told(corner: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.3g}" for x in corner) + ")"
