"""NumPy reference of shaders/models/shallow_water.wgsl: a physical step in float64, and the surface that is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class Water(NamedTuple):
    """Depth, velocity along and across an axis, and level of the surface; all of one shape."""

    depth: Doubles
    along: Doubles
    across: Doubles
    level: Doubles


def step(water: Doubles, bed: Doubles, values: Mapping[str, Any], edges: str, parts: int) -> Doubles:
    """Depth and discharge (rows, columns, 3) a physical step of at most so many `parts` after `water`.

    `values` are those of the shader's Params.
    """
    rest, left = values["time"], parts
    while rest > 0.0 and left > 0:
        u = np.abs(velocity(water, values["dry"]))
        rate = (u.max(axis=-1) + np.sqrt(values["gravity"] * water[..., 0])).max() / values["cell"]
        dt = rest / max(math.ceil(rest * rate / values["cfl"]), 1)
        water = substep(water, bed, dt, values, edges)
        rest, left = rest - dt if dt < rest else 0.0, left - 1
    return water


def substep(water: Doubles, bed: Doubles, dt: float, values: Mapping[str, Any], edges: str) -> Doubles:
    """Heun's two stages, then sources, friction and the tool."""
    first = water + dt * _change(water, bed, dt, values, edges)
    first[..., 0] = np.maximum(first[..., 0], 0.0)
    after = 0.5 * (water + first + dt * _change(first, bed, dt, values, edges))
    poured = values["rain"] + sum(values[spot][3] * _within(values[spot], bed.shape) for spot in ("spring", "tool"))
    after[..., 0] = np.maximum(after[..., 0], 0.0) + dt * poured
    u, depth = velocity(after, values["dry"]), after[..., 0]
    rubs = values["gravity"] * values["manning"] ** 2 * np.linalg.norm(u, axis=-1)
    rubs = rubs / np.maximum(depth, values["dry"]) ** (4.0 / 3.0)
    drag_rate = values["drag"][2] * _within(values["tool"], bed.shape)
    taken = u + dt * drag_rate[..., None] * np.array(values["drag"][:2])
    after[..., 1:] = depth[..., None] * taken / (1.0 + dt * (rubs + drag_rate))[..., None]
    return after


def drawn(depth: Doubles, bed: Doubles, values: Mapping[str, Any]) -> Doubles:
    """Heights of the water's surface in the scene, below the ground where it is dry."""
    wet = depth > values["film"]
    padded = np.pad(np.where(wet, bed + depth, 0.0), 1), np.pad(wet.astype(float), 1)
    rows, columns = bed.shape
    shifts = [(slice(i, i + rows), slice(j, j + columns)) for i in range(3) for j in range(3)]
    total, count = (sum(plane[shift] for shift in shifts) for plane in padded)
    hidden = bed - 0.02 * values["cell"]
    dry_level = np.where(count > 0.0, np.minimum(total / np.maximum(count, 1.0), hidden), hidden)
    return np.where(wet, bed + depth, dry_level) * values["height"]


def velocity(water: Doubles, dry: float) -> Doubles:
    """Discharge over depth, held in where depth vanishes (Kurganov & Petrova 2007, equation 2.17)."""
    depth = water[..., :1]
    return math.sqrt(2.0) * depth * water[..., 1:] / np.sqrt(depth**4 + np.maximum(depth**4, dry**4))


def _within(spot: tuple[float, ...], shape: tuple[int, ...]) -> Doubles:
    z, x = np.indices(shape)
    return np.maximum(1.0 - ((x - spot[0]) ** 2 + (z - spot[1]) ** 2) / spot[2] ** 2, 0.0) ** 2


def _change(water: Doubles, bed: Doubles, dt: float, values: Mapping[str, Any], edges: str) -> Doubles:
    u = velocity(water, values["dry"])
    depth, level = water[..., 0], water[..., 0] + bed
    most = np.maximum(values["cfl"] * values["cell"] / dt - np.sqrt(values["gravity"] * depth), 0.0)
    held = np.clip(u, -most[..., None], most[..., None])
    x = _along(Water(depth, held[..., 0], u[..., 1], level), values, edges)
    turned = (plane.T for plane in (depth, held[..., 1], u[..., 0], level))
    z = _along(Water(*turned), values, edges)
    return np.stack([x[0] + z[0].T, x[1] + z[2].T, x[2] + z[1].T], axis=-1)


def _along(cells: Water, values: Mapping[str, Any], edges: str) -> tuple[Doubles, Doubles, Doubles]:
    """What the faces of the last axis change a second: depth, and momentum along and across."""
    n = cells.depth.shape[1]
    beyond = "symmetric" if edges == "walls" else "edge"
    wide = Water(*(np.pad(plane, ((0, 0), (2, 2)), beyond) for plane in cells))
    if edges == "walls":
        wide.along[:, :2] *= -1.0
        wide.along[:, -2:] *= -1.0
    # cell 0 of `middle` is the one before the first
    before, middle, after = (Water(*(plane[:, k : k + n + 2] for plane in wide)) for k in range(3))
    low, high = _reconstructed(before, middle, after, values["dry"])
    left, right = Water(*(plane[:, :-1] for plane in high)), Water(*(plane[:, 1:] for plane in low))
    mass, one, other, across = _crossing(left, right, values["gravity"])
    lows, highs = (Water(*(plane[:, 1:-1] for plane in side)) for side in (low, high))
    push = 0.5 * values["gravity"] * (lows.depth + highs.depth) * (highs.level - lows.level)
    changes = (mass[:, :-1] - mass[:, 1:], other[:, :-1] - one[:, 1:] - push, across[:, :-1] - across[:, 1:])
    return changes[0] / values["cell"], changes[1] / values["cell"], changes[2] / values["cell"]


def _reconstructed(a: Water, here: Water, b: Water, dry: float) -> tuple[Water, Water]:
    level = np.minimum(np.minimum(a.depth, here.depth), b.depth) <= dry

    def slope(p: Doubles, q: Doubles, r: Doubles) -> Doubles:
        one, two = q - p, r - q
        least = np.where(np.abs(one) < np.abs(two), one, two)
        return np.where((one * two > 0.0) & ~level, least, 0.0)

    slopes = [slope(*three) for three in zip(a, here, b, strict=True)]
    low = Water(*(q - 0.5 * s for q, s in zip(here, slopes, strict=True)))
    return low, Water(*(q + 0.5 * s for q, s in zip(here, slopes, strict=True)))


def _crossing(a: Water, b: Water, g: float) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    top = np.maximum(a.level - a.depth, b.level - b.depth)
    h, k = np.maximum(a.level - top, 0.0), np.maximum(b.level - top, 0.0)
    u, v = a.along, b.along
    low = np.minimum(np.minimum(u - np.sqrt(g * h), v - np.sqrt(g * k)), 0.0)
    high = np.maximum(np.maximum(u + np.sqrt(g * h), v + np.sqrt(g * k)), 0.0)
    wet = (np.maximum(h, k) > 0.0) & (high > low)
    spread = np.where(wet, high - low, np.inf)
    mass = (high * h * u - low * k * v + low * high * (k - h)) / spread
    carried = (high * h * u * u - low * k * v * v + low * high * (k * v - h * u)) / spread
    pressed = 0.5 * g * (h - k) * (h + k) / spread
    across = mass * np.where(mass > 0.0, a.across, b.across)
    return mass, carried + low * pressed, carried + high * pressed, across
