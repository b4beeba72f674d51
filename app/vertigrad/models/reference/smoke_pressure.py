"""NumPy reference of the pressure solve: multigrid V-cycles for the Poisson equation in a box with obstacles.

Arrays are indexed [z, y, x]. A level has for each cell the conductances of its lower faces along x, y and z: 1 between
two cells of fluid, 0 at a wall. An open face has the pressure 0 on the face, half a cell away: a conductance of 2 to
nothing, which only the diagonal knows. A coarse cell is two cells along each axis; its faces have the mean conductance
of the four faces on them, so a face half closed lets half as much through.

Sources: red and black Gauss-Seidel and the V-cycle, Trottenberg, Oosterlee and Schüller 2001, "Multigrid", sections
2.4 and 4.3; pressure 0 on open faces and walls as faces of no flux, Bridson 2015, "Fluid Simulation", section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SMOOTHINGS = 2  # sweeps of both colors before and after each coarser level
LAST_SWEEPS = 32  # sweeps of both colors that solve the coarsest level


class Level(NamedTuple):
    """Conductances of the lower faces along x, y, z, each (nz, ny, nx), and their sum around each cell."""

    lower: tuple[np.ndarray, np.ndarray, np.ndarray]
    diagonal: np.ndarray


def neighbors(field: np.ndarray, axis: int, by: int) -> np.ndarray:
    """What the cell `by` (1 or -1) further along x (0), y (1) or z (2) holds; 0 beyond the box."""
    along = 2 - axis
    padded = np.pad(field, [(1, 1) if i == along else (0, 0) for i in range(3)])
    return np.take(padded, np.arange(field.shape[along]) + 1 + by, axis=along)


def finest(solid: np.ndarray, open_low: tuple[bool, ...], open_high: tuple[bool, ...]) -> Level:
    """The level of the grid itself. `open_low` and `open_high` are the sides of the box that let air through."""
    fluid = np.where(solid, 0.0, 1.0)
    x, y, z = (fluid * neighbors(fluid, axis, -1) for axis in range(3))
    free = np.zeros_like(fluid)
    for axis in range(3):
        for side, is_open in ((0, open_low[axis]), (-1, open_high[axis])):
            np.moveaxis(free, 2 - axis, 0)[side] += 2.0 * is_open
    return _level((x, y, z), fluid * free)


def levels(first: Level) -> list[Level]:
    """`first` and all coarser levels: down to a grid that has an odd number of cells along an axis."""
    found = [first]
    while all(n % 2 == 0 for n in found[-1].diagonal.shape):
        fine = found[-1]
        free = fine.diagonal - _around(fine.lower)
        x, y, z = (_thinned(fine.lower[axis], axis) for axis in range(3))
        found.append(_level((x, y, z), summed(free) / 4.0))
    return found


def residual(level: Level, pressure: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """What is left of `rhs` in each cell of fluid."""
    left = rhs - (_flow(level, pressure) - level.diagonal * pressure)
    return np.where(level.diagonal > 0.0, left, 0.0)


def v_cycle(found: list[Level], pressure: np.ndarray, rhs: np.ndarray) -> None:
    """Improves `pressure`, of the first of the levels, in place."""
    level = found[0]
    if len(found) == 1:
        for _ in range(LAST_SWEEPS):
            _sweep(level, pressure, rhs, (0, 1))
        return
    for _ in range(SMOOTHINGS):
        _sweep(level, pressure, rhs, (0, 1))
    coarse_rhs = summed(residual(level, pressure, rhs)) / 2.0  # mean of 8, by the square of the edges' ratio
    coarse = np.zeros_like(coarse_rhs)
    v_cycle(found[1:], coarse, coarse_rhs)
    pressure += np.where(level.diagonal > 0.0, _between(found[1], coarse), 0.0)
    for _ in range(SMOOTHINGS):
        _sweep(level, pressure, rhs, (1, 0))


def summed(field: np.ndarray) -> np.ndarray:
    """The sum over the eight cells of each coarse one."""
    return sum((field[i::2, j::2, k::2] for i in (0, 1) for j in (0, 1) for k in (0, 1)), np.zeros(()))


def _level(lower: tuple[np.ndarray, np.ndarray, np.ndarray], free: np.ndarray) -> Level:
    return Level(lower, free + _around(lower))


def _around(lower: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return sum((lower[axis] + neighbors(lower[axis], axis, 1) for axis in range(3)), np.zeros(()))


def _thinned(lower: np.ndarray, axis: int) -> np.ndarray:
    """The mean of the four faces on each lower face, along `axis`, of the coarse cells."""
    for along in range(3):
        halves = [np.take(lower, np.arange(first, lower.shape[along], 2), axis=along) for first in (0, 1)]
        lower = halves[0] if along == 2 - axis else 0.5 * (halves[0] + halves[1])
    return lower


def _flow(level: Level, pressure: np.ndarray) -> np.ndarray:
    total = np.zeros_like(pressure)
    for axis in range(3):
        lower = level.lower[axis]
        total += lower * neighbors(pressure, axis, -1)
        total += neighbors(lower, axis, 1) * neighbors(pressure, axis, 1)
    return total


def _sweep(level: Level, pressure: np.ndarray, rhs: np.ndarray, colors: tuple[int, int]) -> None:
    z, y, x = np.indices(pressure.shape)
    fluid = level.diagonal > 0.0
    for color in colors:
        mine = ((x + y + z) % 2 == color) & fluid
        pressure[mine] = (_flow(level, pressure) - rhs)[mine] / level.diagonal[mine]


def _between(coarse: Level, pressure: np.ndarray) -> np.ndarray:
    """Trilinear on the finer grid, cells without fluid left out and the weights of the others made up for."""
    weights = np.where(coarse.diagonal > 0.0, 1.0, 0.0)
    values = pressure * weights
    for axis in range(3):
        values, weights = _refined(values, axis), _refined(weights, axis)
    return np.divide(values, weights, out=np.zeros_like(values), where=weights > 0.0)


def _refined(field: np.ndarray, axis: int) -> np.ndarray:
    """Twice the cells along an axis: three quarters of the cell around them, a quarter of the next on their side."""
    below = 0.75 * field + 0.25 * neighbors(field, axis, -1)
    above = 0.75 * field + 0.25 * neighbors(field, axis, 1)
    along = 2 - axis
    shape = [n * (2 if i == along else 1) for i, n in enumerate(field.shape)]
    return np.stack([below, above], axis=along + 1).reshape(shape)
