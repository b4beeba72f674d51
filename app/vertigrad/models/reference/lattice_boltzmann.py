"""NumPy reference of shaders/models/lattice_boltzmann.wgsl: a step of every population, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

C = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]
MIRRORED = [0, 1, 4, 3, 2, 8, 7, 6, 5]

MOST_WALL_SPEED = 0.2  # [cells/step], of an obstacle
MOST_SPEED = 0.3  # [cells/step], of the fluid
DENSITIES = (0.4, 2.5)  # the least and the greatest


def step(f: Doubles, distance: Doubles, values: Mapping[str, Any], collision: str, ends: str, sides: str) -> Doubles:
    """Populations (9, rows, columns), less their weights, a step after `f`; `values` as in the shader's Params.

    `values["walls"]` are velocities (rows, columns, 2) of an obstacle that moves, in cells per step; or None.
    """
    came = np.stack([streamed(k, f, distance, values, ends, sides) for k in range(9)])
    after = _collided(came, values, collision)
    walls = values.get("walls")
    inside = 0.0 if walls is None else _equilibrium(_extra_around(f, distance), np.moveaxis(walls, -1, 0))
    return np.where(distance > 0.0, after, inside)


def limited(velocity: Doubles, most: float, axis: int) -> Doubles:
    """Velocities, none longer than `most`."""
    return velocity * np.minimum(1.0, most / np.maximum(np.linalg.norm(velocity, axis=axis, keepdims=True), 1e-20))


def moments(f: Doubles, distance: Doubles, values: Mapping[str, Any]) -> tuple[Doubles, Doubles]:
    """Velocity (rows, columns, 2) over the inflow, and density (rows, columns)."""
    density = 1.0 + f.sum(axis=0)
    momentum = np.einsum("kyx,kc->yxc", f, C) - 0.5 * np.array([values["force"], 0.0])
    velocity = momentum / (density * values["inflow"])[..., None]
    return np.where(distance[..., None] > 0.0, velocity, 0.0), np.where(distance > 0.0, density, 1.0)


def vorticity(velocity: Doubles, distance: Doubles) -> Doubles:
    """By central differences; one-sided at the borders, 0 inside walls."""
    turns = np.gradient(velocity[..., 1], axis=1) - np.gradient(velocity[..., 0], axis=0)
    return np.where(distance > 0.0, turns, 0.0)


def _extra_around(f: Doubles, distance: Doubles) -> Doubles:
    """The mean density (rows, columns), less 1, of the fluid next to each cell; 0 if there is none."""
    rows, columns = distance.shape
    wet = distance > 0.0
    sums = np.pad(np.stack([np.where(wet, f.sum(axis=0), 0.0), wet]), ((0, 0), (1, 1), (1, 1)), mode="edge")
    total, count = np.sum([sums[:, 1 + y : 1 + y + rows, 1 + x : 1 + x + columns] for x, y in C[1:]], axis=0)
    return total / np.maximum(count, 1.0)


def _equilibrium(extra: Doubles, u: Doubles) -> Doubles:
    along = 3.0 * np.einsum("kc,c...->k...", C, u)
    square = np.einsum("c...,c...->...", u, u)
    return np.einsum("k,k...->k...", W, extra + (1.0 + extra) * (along + 0.5 * along**2 - 1.5 * square))


def streamed(k: int, f: Doubles, distance: Doubles, values: Mapping[str, Any], ends: str, sides: str) -> Doubles:
    """What streams into each cell (rows, columns) in direction k, or is thrown back to it by what is there."""
    rows, columns = distance.shape
    row, column = np.indices(distance.shape)
    r, x = row - C[k, 1], column - C[k, 0]
    out_x, out_y = (x < 0) | (x >= columns), (r < 0) | (r >= rows)
    there = distance[r % rows, x % columns]
    back = f[OPPOSITE[k]]
    came = np.where(there > 0.0, f[k][r % rows, x % columns], _thrown_back(k, f, distance, there, values.get("walls")))
    if sides == "slip":
        came = np.where(out_y, np.where(distance[row, x % columns] > 0.0, f[MIRRORED[k]][row, x % columns], back), came)
    elif sides == "no slip":
        came = np.where(out_y, back, came)
    if ends == "open":
        came = np.where(out_x, _through_end(k, f, values, C[k, 0] > 0), came)
    return came


def _thrown_back(k: int, f: Doubles, distance: Doubles, there: Doubles, walls: Doubles | None) -> Doubles:
    rows, columns = distance.shape
    row, column = np.indices(distance.shape)
    fraction = distance / np.maximum(distance - there, 1e-6)
    back = f[OPPOSITE[k]]
    far = f[k] + (back - f[k]) * 0.5 / np.where(fraction >= 0.5, fraction, 1.0)
    r, x = row + C[k, 1], column + C[k, 0]
    inside = (r >= 0) & (x >= 0) & (r < rows) & (x < columns)
    behind = back[r % rows, x % columns]
    usable = inside & (distance[r % rows, x % columns] > 0.0)
    near = np.where(usable, behind + (back - behind) * 2.0 * fraction, back)
    wall_term = 0.0
    if walls is not None:
        hit = walls[(row - C[k, 1]) % rows, (column - C[k, 0]) % columns]
        wall_term = 6.0 * W[k] * (1.0 + f.sum(axis=0)) * (hit @ C[k])
    return np.where(fraction >= 0.5, far + wall_term * 0.5 / np.where(fraction >= 0.5, fraction, 1.0), near + wall_term)


def _through_end(k: int, f: Doubles, values: Mapping[str, Any], left: bool) -> Doubles:
    extra = f.sum(axis=0)
    back = f[OPPOSITE[k]]
    if left:
        gives = np.clip((1.5 - 1.0 - extra) / 0.2, 0.0, 1.0)
        return back + 6.0 * W[k] * C[k, 0] * values["inflow"] * gives
    u = np.einsum("kyx,kc->cyx", f, C) / (1.0 + extra)
    along = np.einsum("c,cyx->yx", C[k], u)
    return -back + W[k] * (9.0 * along**2 - 3.0 * (u**2).sum(axis=0))


def _forced(u: Doubles, force: float) -> Doubles:
    along = np.einsum("kc,c...->k...", C, u)
    cx = C[:, 0, None, None]
    return 3.0 * force * W[:, None, None] * (cx - u[0] + 3.0 * along * cx)


def _rates(values: Mapping[str, Any]) -> Doubles:
    columns, sponge = values["columns"], values["sponge"]
    near = np.maximum(np.arange(columns) - (columns - 1) + sponge, 0.0) / max(sponge, 1.0)
    return 1.0 / (3.0 * (values["viscosity"] + 0.3 * near**2) + 0.5)


def _collided(f: Doubles, values: Mapping[str, Any], collision: str) -> Doubles:
    extra, force = np.clip(f.sum(axis=0), DENSITIES[0] - 1.0, DENSITIES[1] - 1.0), values["force"]
    u = (np.einsum("kyx,kc->cyx", f, C) + 0.5 * np.array([force, 0.0])[:, None, None]) / (1.0 + extra)
    u = limited(u, MOST_SPEED, 0)
    even, forcing, rate = _equilibrium(extra, u), _forced(u, force), _rates(values)
    if collision == "trt":
        odd_rate = values["odd_rate"]
        off = even - f
        sums, differences = 0.5 * (off + off[OPPOSITE]), 0.5 * (off - off[OPPOSITE])
        even_forcing, odd_forcing = 0.5 * (forcing + forcing[OPPOSITE]), 0.5 * (forcing - forcing[OPPOSITE])
        relaxed_forcing = (1.0 - 0.5 * rate) * even_forcing + (1.0 - 0.5 * odd_rate) * odd_forcing
        return f + rate * sums + odd_rate * differences + relaxed_forcing
    xx, yy, xy = C[:, 0] ** 2, C[:, 1] ** 2, C[:, 0] * C[:, 1]
    off = f - even
    sxx, syy, sxy = (np.einsum("k,kyx->yx", c, off) for c in (xx, yy, xy))
    sxx, sxy = sxx + force * u[0], sxy + 0.5 * force * u[1]
    txxy, txyy = 2.0 * u[0] * sxy + u[1] * sxx, 2.0 * u[1] * sxy + u[0] * syy
    hxx, hyy, hxy = xx - 1 / 3, yy - 1 / 3, xy
    hxxy, hxyy = hxx * C[:, 1], hyy * C[:, 0]

    def spread(h: Doubles, a: Doubles) -> Doubles:
        return np.einsum("k,yx->kyx", W * h, a)

    second = 4.5 * (spread(hxx, sxx) + spread(hyy, syy) + 2.0 * spread(hxy, sxy))
    third = 13.5 * (spread(hxxy, txxy) + spread(hxyy, txyy))
    cubes = 13.5 * (1.0 + extra) * (spread(hxxy, u[0] ** 2 * u[1]) + spread(hxyy, u[0] * u[1] ** 2))
    return even + cubes + (1.0 - rate) * (second + third) + 0.5 * forcing
