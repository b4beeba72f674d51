"""NumPy reference of shaders/common/smoke_bodies.wgsl: what air does to bodies, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .obstacle import Doubles, Obstacles


def loads(
    pressure: Doubles, solid: np.ndarray, fields: Mapping[str, Any], obstacles: Obstacles, density: float
) -> Doubles:
    """Force [N] and torque [N m] about its center of mass on each obstacle, (n, 6).

    `pressure` and `solid` (nz, ny, nx) as the step has them, `fields` as the shader's Params; `density` of air [kg/m³].
    """
    found, mass = np.zeros((len(obstacles.all), 6)), density * fields["edge"] ** 3
    for axis in range(3):
        along, walls = (np.moveaxis(values, 2 - axis, 0) for values in (pressure, solid))
        meets = walls[1:] != walls[:-1]
        force = np.where(walls[1:], along[:-1], -along[1:])[meets] * mass / fields["dt"]
        indices = [np.moveaxis(values, 2 - axis, 0)[1:][meets] for values in np.indices(solid.shape)[::-1]]
        at = np.stack(indices, axis=-1) + 0.5 - 0.5 * np.eye(3)[axis]
        _add(found, at, force[:, None] * np.eye(3)[axis], fields, obstacles)
    at = np.argwhere(solid)[:, ::-1] + 0.5
    _add(found, at, np.tile([0.0, mass * fields["gravity"], 0.0], (len(at), 1)), fields, obstacles)
    return found


def _add(found: Doubles, at: np.ndarray, force: Doubles, fields: Mapping[str, Any], obstacles: Obstacles) -> None:
    """Add forces (n, 3) at positions counted in cells to the obstacles there; none to the sphere."""
    position = np.asarray(fields["low"]) + fields["edge"] * at
    which, _, distance = obstacles.nearest(position, fields["obstacle_lag"])
    own = distance <= np.linalg.norm(position - fields["obstacle_center"], axis=1) - fields["obstacle_radius"]
    for number, body in enumerate(obstacles.all):
        here = own & (which == number)
        center = np.zeros(3) if body.rigid is None else body.rigid.center
        arm = position[here] - (body.position + center * body.scale @ body.axes)
        found[number] += np.concatenate([force[here].sum(axis=0), np.cross(arm, force[here]).sum(axis=0)])
