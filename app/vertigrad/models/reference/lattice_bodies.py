"""NumPy reference of shaders/common/lattice_bodies.wgsl: what a flow does to bodies in a step, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lattice_boltzmann import OPPOSITE, C, W, streamed
from .obstacle import SPHERE, Doubles, Obstacle

FLUID = -1  # in a cell, instead of the number of an obstacle
OTHER_WALL = -2


class Cells(NamedTuple):
    """The obstacle in each cell (rows, columns), FLUID or OTHER_WALL, and the one a step before; distances [cells]."""

    owner: NDArray[np.int64]
    met: NDArray[np.int64]
    distance: Doubles


def changes(
    f: Doubles, cells: Cells, values: Mapping[str, Any], ends: str, sides: str, bodies: tuple[Obstacle, ...]
) -> Doubles:
    """Changes (n, 3) of the velocities of bodies along x and z [cells/step], and of their spins [rad/step]."""
    found = np.zeros((len(bodies), 3))
    for number, body in enumerate(bodies):
        if body.free and body.rigid is not None:
            force, slope = _load(f, cells, values, (ends, sides), number, middle(body))
            layer = values["fluid_density"] * depth(body) * values["edge"] ** 2
            turning = _inertia(body) / (layer * values["edge"] ** 2)
            inertia = np.diag([body.rigid.mass / layer] * 2 + [turning])
            found[number] = np.linalg.solve(inertia + slope, force)
    return found


def depth(body: Obstacle) -> float:
    """How high the fluid is that meets a body [m]."""
    return body.scale * float(4.0 / 3.0 * body.half[0] if body.kind == SPHERE else 2.0 * body.half[1])


def middle(body: Obstacle) -> Doubles:
    """The center of mass (3,) of a body [m]."""
    center = np.zeros(3) if body.rigid is None else body.rigid.center
    return body.position + center * body.scale @ body.axes


def _inertia(body: Obstacle) -> float:
    assert body.rigid is not None
    xx, yy, zz, xy, xz, yz = body.rigid.inertia
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return float((body.axes.T @ own @ body.axes)[1, 1])


def _load(
    f: Doubles, cells: Cells, values: Mapping[str, Any], boundaries: tuple[str, str], number: int, center: Doubles
) -> tuple[Doubles, Doubles]:
    """Force and torque (3,) on an obstacle, and how much less they are (3, 3) for each velocity of it."""
    rows, columns = cells.owner.shape
    row, column = np.indices(cells.owner.shape)
    at = center[[0, 2]] / values["edge"] + 0.5 * np.array([columns - 1, rows - 1])
    arm = np.stack([column, row], axis=-1) - at
    fluid, force, slope = cells.owner == FLUID, np.zeros(3), np.zeros((3, 3))
    for k in range(1, 9):
        r, x = row - C[k, 1], column - C[k, 0]
        inside = ((r >= 0) & (r < rows) | (boundaries[1] == "periodic")) & (
            (x >= 0) & (x < columns) | (boundaries[0] == "periodic")
        )
        r, x = r % rows, x % columns
        met = fluid & inside & (cells.owner[r, x] == number)
        thrown = -(f[OPPOSITE[k]] + streamed(k, f, cells.distance, values, *boundaries))[met]
        lever = _with_torques(np.broadcast_to(C[k], (int(met.sum()), 2)), arm[r, x][met])
        fraction = (cells.distance / np.maximum(cells.distance - cells.distance[r, x], 1e-6))[met]
        grows = 6.0 * W[k] * (1.0 + f.sum(axis=0)[met]) * np.where(fraction < 0.5, 1.0, 0.5 / np.maximum(fraction, 0.5))
        force += thrown @ lever
        slope += np.einsum("n,na,nb->ab", grows, lever, lever)
    near = np.abs(cells.distance) < 1.0
    covered = near & (cells.owner == number) & (cells.met == FLUID)
    left = near & fluid & (cells.met == number)
    momentum = np.einsum("kyx,kc->yxc", f, C) * (covered * 1.0 - left * 1.0)[..., None]
    return force + _with_torques(momentum.reshape(-1, 2), arm.reshape(-1, 2)).sum(axis=0), slope


def _with_torques(along: Doubles, arm: Doubles) -> Doubles:
    """Vectors in the plane (n, 2) that act at arms, with their torques (n, 3)."""
    return np.concatenate([along, (along[:, :1] * arm[:, 1:] - along[:, 1:] * arm[:, :1])], axis=1)
