"""The fluid's equations in float64, stage by stage as in shaders/models/fluid*.wgsl, for all particles or for a few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import Comparison, compare
from .grids import interpolated
from .obstacle import Obstacles

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

SHRINKS = 0.9  # what a plain turn of the solve is taken to leave of an error, at most
RELAXED, MARGIN, STIFFEST, FASTEST = 0.5, 0.1, 0.1, 2.0  # as in the shader
COMPARED = 128  # particles that are compared: each meets all others


@dataclass(frozen=True)
class Constants:
    """The uniforms of a step, by the shader's names.

    `field` are the obstacle's distances (nz, ny, nx), what a model of type obstacle has on the GPU, or None.
    """

    count: int
    spacing: float
    dt: float
    gravity: float
    viscosity: float
    density: float
    warm: float
    density_correction: float
    tank_low: tuple[float, ...]
    tank_high: tuple[float, ...]
    tolerance: float = 0.0
    shape: int = 0
    body_center: tuple[float, ...] = (0.0, 0.0, 0.0)
    body_half: tuple[float, ...] = (0.0, 0.0, 0.0)
    tool_point: tuple[float, ...] = (0.0, 0.0, 0.0)
    tool_velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    tool_reach: float = 1.0
    tool_drag_rate: float = 0.0
    field_low: tuple[float, ...] = (0.0, 0.0, 0.0)
    field_spacing: float = 1.0
    obstacle_lag: float = 0.0
    obstacle_pace: float = 1.0
    field: np.ndarray | None = None
    moved: np.ndarray | None = None  # at the end of the step, where a step moves it

    @property
    def placed(self) -> Obstacles | None:
        """The obstacles, if models place them."""
        return None if self.field is None or self.field.ndim != 1 else Obstacles.of(self.field)


class Pairs(NamedTuple):
    """Particle number `i` of those asked for has the particle number `j` of all near, at `offset` from it."""

    rows: int
    i: Integers
    j: Integers
    offset: Doubles
    kernel_gradient: Doubles

    @staticmethod
    def of(constants: Constants, positions: Doubles, of: Integers) -> Pairs:
        """All pairs of the particles `of` with others nearer than two spacings."""
        found = [_near(constants, positions, row) for row in of]
        i = np.repeat(np.arange(len(of)), [len(one) for one in found])
        j = np.concatenate(found) if found else np.zeros(0, np.int64)
        offset = positions[of[i]] - positions[j]
        return Pairs(len(of), i, j, offset, kernel_gradient(constants, offset))

    def sum(self, values: Doubles) -> Doubles:
        """Sums (rows, ...) over each one's neighbors of values (pairs, ...)."""
        total = np.zeros((self.rows, *values.shape[1:]))
        np.add.at(total, self.i, values)
        return total


def weight(q: Doubles) -> Doubles:
    """Volume times the cubic spline, at `q` spacings."""
    return np.where(q < 1.0, 1.0 - 1.5 * q**2 + 0.75 * q**3, 0.25 * np.maximum(2.0 - q, 0.0) ** 3) / np.pi


def kernel_gradient(constants: Constants, offset: Doubles) -> Doubles:
    """The gradient of that along offsets (n, 3), 1/m."""
    q = np.linalg.norm(offset, axis=1, keepdims=True) / constants.spacing
    outer = -0.75 * np.maximum(2.0 - q, 0.0) ** 2 / np.maximum(q, 1e-6)
    return offset * np.where(q < 1.0, 2.25 * q - 3.0, outer) / (np.pi * constants.spacing**2)


def layer(q: Doubles) -> tuple[Doubles, Doubles]:
    """The integral of the kernel over a plane `q` spacings away, times a spacing; and its derivative by q."""
    u = np.maximum(2.0 - q, 0.0)
    value = np.where(q < 1.0, 0.7 - q**2 + 0.75 * q**4 - 0.3 * q**5, 0.25 * u**4 - 0.1 * u**5)
    steep = np.where(q < 1.0, -2.0 * q + 3.0 * q**3 - 1.5 * q**4, -(u**3) + 0.5 * u**4)
    return value, steep


def beyond(q: Doubles) -> tuple[Doubles, Doubles]:
    """What a wall `q` spacings away adds to the relative density, and its derivative by q."""
    (near, near_steep), (far, far_steep) = layer(2.0 * q), layer(2.0 * q + 1.0)
    return near + far, 2.0 * (near_steep + far_steep)


def standing(constants: Constants, at: Doubles) -> Doubles:
    """Signed distances (n,) of positions (n, 3) from the body in the tank."""
    away, half = at - np.array(constants.body_center), np.array(constants.body_half)
    outside = np.abs(away) - half
    distance = np.full(len(at), 1e9)
    if constants.shape == 1:
        distance = np.linalg.norm(np.maximum(outside, 0.0), axis=1) + np.minimum(outside.max(axis=1), 0.0)
    elif constants.shape == 2:
        distance = np.linalg.norm(away, axis=1) - half[0]
    elif constants.shape == 3:
        around = np.stack([np.linalg.norm(away[:, [0, 2]], axis=1) - half[0], outside[:, 1]], axis=1)
        distance = np.linalg.norm(np.maximum(around, 0.0), axis=1) + np.minimum(around.max(axis=1), 0.0)
    return distance


def solid(constants: Constants, at: Doubles) -> Doubles:
    """Signed distances (n,) of positions (n, 3) from what is in the tank."""
    distance, placed = standing(constants, at), constants.placed
    if placed is not None:
        return np.minimum(distance, placed.distance(at, constants.obstacle_lag))
    return distance if constants.field is None else np.minimum(distance, sampled(constants, constants.field, at))


def moving(constants: Constants, at: Doubles) -> Doubles:
    """Velocities (n, 3) of the nearest solid."""
    placed = constants.placed
    if placed is None:
        return np.zeros_like(at)
    nearest = placed.distance(at, constants.obstacle_lag) < standing(constants, at)
    velocity = placed.velocity(at, constants.obstacle_lag, constants.obstacle_pace)
    return np.where(nearest[:, None], velocity, 0.0)


def sampled(constants: Constants, field: np.ndarray, at: Doubles) -> Doubles:
    """The grid of distances between its samples, and beyond it the nearest value and the distance to it."""
    free = (at - np.array(constants.field_low)) / constants.field_spacing
    beyond = free - np.clip(free, 0.0, np.array(field.shape[::-1]) - 1.0)
    return interpolated(field, free) + np.linalg.norm(beyond, axis=1) * constants.field_spacing


def outwards(constants: Constants, at: Doubles) -> Doubles:
    """Unit vectors (n, 3) along which those distances grow."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    total = sum(corner * solid(constants, at + 0.25 * constants.spacing * corner)[:, None] for corner in corners)
    long = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(long > 1e-12, total / np.maximum(long, 1e-300), [0.0, 1.0, 0.0])


def walled(constants: Constants, at: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The fraction (n,) of the kernel that walls take up, its gradient (n, 3) [1/m], and that without the tank's."""
    free, steep = np.ones(len(at)), np.zeros((len(at), 3))
    for axis in range(3):
        for side, distance in (
            (1.0, at[:, axis] - constants.tank_low[axis]),
            (-1.0, constants.tank_high[axis] - at[:, axis]),
        ):
            covered, fall = beyond(np.maximum(distance / constants.spacing, 0.0))
            free *= 1.0 - covered
            steep[:, axis] += side * fall / (1.0 - covered)
    covered, fall = beyond(np.maximum(solid(constants, at) / constants.spacing, 0.0))
    free *= 1.0 - covered
    body = (fall / (1.0 - covered))[:, None] * outwards(constants, at)
    scale = free[:, None] / constants.spacing
    return 1.0 - free, (steep + body) * scale, body * scale


def driven(constants: Constants, at: Doubles) -> Doubles:
    """Rates (n,) at which solids that move make densities fall."""
    return (moving(constants, at) * walled(constants, at)[2]).sum(axis=1)


def meet(constants: Constants, pairs: Pairs, at: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Relative densities, gradients of the walls' fraction, and diagonals of the solve [1/m²]."""
    wall_fraction, steep, _ = walled(constants, at)
    q = np.linalg.norm(pairs.offset, axis=1) / constants.spacing
    total = pairs.sum(pairs.kernel_gradient)
    diagonal = ((total + steep) ** 2).sum(axis=1) + pairs.sum((pairs.kernel_gradient**2).sum(axis=1))
    dense = pairs.sum(weight(q)) + weight(np.zeros(1)) + wall_fraction
    return dense, steep, np.maximum(diagonal, STIFFEST / constants.spacing**2)


def push(constants: Constants, pairs: Pairs, at: Doubles, mine: Doubles, velocities: Doubles) -> Doubles:
    """Velocities after the step, were there no pressure: of rows with velocities `mine` among all `velocities`."""
    squared_distance = (pairs.offset**2).sum(axis=1) + 0.01 * constants.spacing**2
    coupling = (pairs.kernel_gradient * pairs.offset).sum(axis=1) / squared_distance
    shear = pairs.sum((mine[pairs.i] - velocities[pairs.j]) * coupling[:, None])
    acceleration = 2.0 * constants.viscosity * shear - [0.0, constants.gravity, 0.0]
    away = (at - np.array(constants.tool_point)) / constants.tool_reach
    grip = np.maximum(1.0 - (away**2).sum(axis=1), 0.0)
    blend = 1.0 - np.exp(-constants.dt * constants.tool_drag_rate * grip**2)[:, None]
    return (1.0 - blend) * (mine + constants.dt * acceleration) + blend * np.array(constants.tool_velocity)


def overfull(constants: Constants, dense: Doubles) -> Doubles:
    """What relative densities are beyond 1, of what is too much the fraction that a step takes away."""
    return (dense - 1.0) * np.where(dense < 1.0, 1.0, constants.density_correction)


def gathering(pairs: Pairs, steep: Doubles, mine: Doubles, velocities: Doubles) -> Doubles:
    """Rates at which relative densities grow."""
    relative = mine[pairs.i] - velocities[pairs.j]
    return (mine * steep).sum(axis=1) + pairs.sum((relative * pairs.kernel_gradient).sum(axis=1))


def pressed(pairs: Pairs, steep: Doubles, mine: Doubles, pressure: Doubles) -> Doubles:
    """Accelerations by pressure."""
    both = mine[pairs.i] + pressure[pairs.j]
    return -mine[:, None] * steep - pairs.sum(both[:, None] * pairs.kernel_gradient)


def chebyshev_weights(iterations: int) -> list[float]:
    """Chebyshev's weights of the turns of a solve (Golub & Varga 1961)."""
    weights = [1.0, 2.0 / (2.0 - SHRINKS**2)]
    while len(weights) < iterations:
        weights.append(4.0 / (4.0 - SHRINKS**2 * weights[-1]))
    return weights[:iterations]


def finish(constants: Constants, at: Doubles, velocity: Doubles) -> tuple[Doubles, Doubles]:
    """Positions and velocities after the step, held within the tank and outside of bodies."""
    distance = constants.dt * np.linalg.norm(velocity, axis=1, keepdims=True)
    velocity = velocity * np.minimum(1.0, FASTEST * constants.spacing / np.maximum(distance, 1e-30))
    position, margin = at + constants.dt * velocity, MARGIN * constants.spacing
    constants = constants if constants.moved is None else replace(constants, field=constants.moved)
    distance, normal = solid(constants, position)[:, None], outwards(constants, position)
    inside = distance < margin
    relative = velocity - moving(constants, position)
    inwards = np.minimum((relative * normal).sum(axis=1, keepdims=True), 0.0)
    position = np.where(inside, position + (margin - distance) * normal, position)
    velocity = np.where(inside, velocity - inwards * normal, velocity)
    held = np.clip(position, np.array(constants.tank_low) + margin, np.array(constants.tank_high) - margin)
    return held, np.where((position - held) * velocity > 0.0, 0.0, velocity)


def compared(constants: Constants, arrays: Mapping[str, Any]) -> list[Comparison]:
    """What a step left on the GPU, for some rows, against each stage from what that stage was given."""
    of = np.unique(np.linspace(0, constants.count - 1, min(constants.count, COMPARED)).astype(np.int64))
    here, pushed = arrays["sorted_positions"][:, :3].astype(float), arrays["pushed"][:, :3].astype(float)
    pressure, at = arrays["sorted_pressures"].astype(float), here[of]
    pairs = Pairs.of(constants, here, of)
    dense, steep, diagonal = meet(constants, pairs, at)
    excess = overfull(constants, dense) + constants.dt * (
        gathering(pairs, steep, pushed[of], pushed) - driven(constants, at)
    )
    positions, velocities = finish(
        constants, at, pushed[of] + constants.dt * pressed(pairs, steep, pressure[of], pressure)
    )
    return [
        compare("density", arrays["positions"][of, 3], constants.density * dense, 1e-5),
        compare("diagonal", arrays["walls"][of, 3], diagonal, 1e-4),
        compare("excess", 1.0 + arrays["excess"][of, 0], 1.0 + excess, 1e-5),
        compare("position", arrays["positions"][of, :3], positions, 1e-6),
        compare("velocity", arrays["velocities"][of, :3], velocities, 1e-4),
    ]


def _near(constants: Constants, positions: Doubles, row: int) -> Integers:
    near = ((positions - positions[row]) ** 2).sum(axis=1) < 4.0 * constants.spacing**2
    near[row] = False
    return np.nonzero(near)[0]
