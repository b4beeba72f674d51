"""NumPy reference of the wind's kernels, in float64; the sources are named in shaders/models/wind.wgsl."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

SIDE = 16  # cells of the lattice, a power of two
GAIN = 2.0 ** (-1.0 / 3.0)
SHIFT = np.array([5.3, 1.7, 9.1])  # from octave to octave, so that their lattices do not meet
SPEED = (
    1.22  # root mean square of the curl of three such noises, for a lattice of edge 1 (over 240,000 positions: 1.2222)
)


class Lattice(NamedTuple):
    """Of each of the three noises, at each corner (3, SIDE, SIDE, SIDE): what its gradient is at any time."""

    one: Doubles  # (..., 3)
    other: Doubles  # (..., 3)
    start: Doubles  # (...,), in turns
    rate: Doubles  # (...,), turns while `turn` goes from 0 to 1: whole, so that it can start again

    @staticmethod
    def random(seed: int) -> Lattice:
        """Unit vectors in any direction, turning in either direction."""
        random = np.random.default_rng(seed)
        shape = (3, SIDE, SIDE, SIDE)
        one, other = random.standard_normal((2, *shape, 3))
        one /= np.linalg.norm(one, axis=-1, keepdims=True)
        other -= one * np.sum(one * other, axis=-1, keepdims=True)
        other /= np.linalg.norm(other, axis=-1, keepdims=True)
        rate = random.integers(3, 9, shape) * random.choice([-1.0, 1.0], shape)
        return Lattice(one, other, random.random(shape), rate.astype(float))

    def rows(self) -> NDArray[np.float32]:
        """As the kernel reads it (3 SIDE³, 8)."""
        ends = [self.one, self.start[..., None], self.other, self.rate[..., None]]
        return np.concatenate(ends, axis=-1).reshape(-1, 8).astype(np.float32)

    def at(self, turn: float) -> Doubles:
        """Gradients (3, SIDE, SIDE, SIDE, 3)."""
        angle = 2.0 * np.pi * (self.start + self.rate * turn)[..., None]
        return self.one * np.cos(angle) + self.other * np.sin(angle)


def noise(gradients: Doubles, positions: Doubles) -> Doubles:
    """One noise of gradients (SIDE, SIDE, SIDE, 3), by z, y, x, at positions (..., 3), counted in cells."""
    floor = np.floor(positions)
    p = positions - floor
    weight = p**3 * (p * (p * 6.0 - 15.0) + 10.0)
    total = np.zeros(positions.shape[:-1])
    for corner in np.ndindex(2, 2, 2):
        x, y, z = np.moveaxis((floor.astype(int) + corner) % SIDE, -1, 0)
        weights = np.prod(np.where(corner, weight, 1.0 - weight), axis=-1)
        total += weights * np.sum(gradients[z, y, x] * (p - corner), axis=-1)
    return total


def potential(gradients: Doubles, positions: Doubles, v: dict[str, Any]) -> Doubles:
    """At positions (..., 3); `v` are the uniform fields."""
    total = np.zeros(positions.shape)
    for octave in range(v["octaves"]):
        size = 0.5**octave
        at = (positions - np.array(v["drift"])) / (v["eddy"] * size) + octave * SHIFT
        total += GAIN**octave * size * np.stack([noise(g, at) for g in gradients], axis=-1)
    if v["bounded"]:
        r = np.clip((positions[..., 1] - v["low"][1]) / v["eddy"], -1.0, 1.0)
        height = r * (15.0 / 8.0 - r**2 * (10.0 / 8.0 - 3.0 / 8.0 * r**2))
        total[..., 0] *= height
        total[..., 2] *= height
    return v["strength"] * v["eddy"] * total


def velocities(lattice: Lattice, v: dict[str, Any]) -> Doubles:
    """In the middles of all cells (nz, ny, nx, 3)."""
    nx, ny, nz = v["size"]
    index = np.stack(np.meshgrid(*(np.arange(n + 2) - 0.5 for n in (nz, ny, nx)), indexing="ij")[::-1], axis=-1)
    field = potential(lattice.at(v["turn"]), np.array(v["low"]) + index * v["cell"], v)

    def along(axis: int) -> Doubles:
        inner = field[tuple(slice(None) if a == axis else slice(1, -1) for a in range(3))]
        ahead, behind = (
            np.take(inner, range(*ends), axis) for ends in ((2, inner.shape[axis]), (0, inner.shape[axis] - 2))
        )
        return (ahead - behind) / (2.0 * v["cell"])

    z, y, x = (along(axis) for axis in range(3))
    curl = np.stack([y[..., 2] - z[..., 1], z[..., 0] - x[..., 2], x[..., 1] - y[..., 0]], axis=-1)
    return np.array(v["mean"]) + curl


def strength(turbulence: float, octaves: int) -> float:
    """What the potential is multiplied with for eddies of that root mean square speed, all octaves together."""
    return turbulence / (SPEED * float(np.sqrt(sum(GAIN ** (2 * octave) for octave in range(octaves)))))
