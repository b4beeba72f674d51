"""NumPy reference of spray, foam and bubbles, in float64, by all pairs.

With W(r) = 1 - r / h for distances r below h = 2 spacings, x_ij = x_i - x_j, v_ij = v_i - v_j, directions with a hat,
and clamp(I, low, high) = (min(I, high) - min(I, low)) / (high - low), a fluid's particle emits in a step of dt seconds

    n = dt clamp(v² / 2) (trapped_air_rate clamp(Σ |v_ij| (1 - v̂_ij · x̂_ij) W) + wave_crest_rate clamp(κ))

on average. κ = Σ (1 - n̂_i · n̂_j) W over neighbors at the surface behind the tangent plane, if v̂_i · n̂_i > 0.6; n_i is
the weighted mean of x̂_ij, and of the surface are particles whose |n_i| is `SURFACE` or more.

A particle of foam moves with the weighted mean u of the fluid's velocities. Spray falls, v' = v - dt g. Of bubbles
v' = u + (v - u) exp(-drag dt) + dt buoyancy g.

Source: Ihmsen, Akinci, Akinci and Teschner 2012, "Unified Spray, Foam and Air Bubbles for Particle-Based Fluids",
sections 3.1 to 3.3. Theirs differ in that energies are those of particles, not of their mass, and
drag is a fraction of each step.

`fields` are the values of the uniform struct in shaders/models/foam.wgsl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .obstacle import Obstacles

Fields = Mapping[str, Any]
SURFACE, AHEAD, FRICTION = 0.3, 0.6, 0.5  # as in the shader
SPRAY, FOAM, BUBBLE = 1, 2, 3


class Fluid(NamedTuple):
    """Positions [m] and velocities [m/s] of a fluid's particles, each (n, 3)."""

    positions: np.ndarray
    velocities: np.ndarray


def potentials(fluid: Fluid, fields: Fields, pick: np.ndarray) -> np.ndarray:
    """Trapped air, wave crest, kinetic energy, and the mean number of new particles, of those in `pick`: (m, 4)."""
    velocities = fluid.velocities[pick]
    air = _clamped(_trapped_air(fluid, fields, pick), fields["trapped_air"])
    crest = _clamped(_crest(fluid, fields, pick), fields["wave_crest"])
    energy = _clamped(0.5 * np.sum(velocities**2, 1), fields["energy"])
    rate = fields["trapped_air_rate"] * air + fields["wave_crest_rate"] * crest
    return np.stack([air, crest, energy, fields["dt"] * energy * rate], 1)


def advance(
    fluid: Fluid,
    fields: Fields,
    positions: np.ndarray,
    velocities: np.ndarray,
    floor: np.ndarray | None = None,
    obstacle: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and life (m, 4), velocities and kinds (m, 4), a step later."""
    here, velocity, life = positions[:, :3], velocities[:, :3], positions[:, 3]
    _, _, weights = _pairs(here, fluid.positions, fields["reach"])
    total = weights.sum(1, keepdims=True)
    around = weights @ fluid.velocities / np.maximum(total, 1e-12)
    kinds = kinds_of((weights > 0.0).sum(1), fields)
    falls = velocity - fields["dt"] * fields["gravity"] * np.array([0.0, 1.0, 0.0])
    lift = fields["dt"] * fields["buoyancy"] * fields["gravity"] * np.array([0.0, 1.0, 0.0])
    rises = around + (velocity - around) * np.exp(-fields["dt"] * fields["drag"]) + lift
    now = np.select([kinds[:, None] == SPRAY, kinds[:, None] == BUBBLE], [falls, rises], around)
    after, now = _held(here + fields["dt"] * now, now, floor, obstacle, fields["obstacle_pace"])
    life = np.maximum(life - fields["dt"] / np.array(fields["lifetimes"])[kinds - 1], 0.0)
    return np.column_stack([after, life]), np.column_stack([now, kinds])


def kinds_of(neighbors: np.ndarray, fields: Fields) -> np.ndarray:
    """Kinds by the number of the fluid's particles around."""
    kinds = np.where(neighbors > fields["bubble_neighbors"], BUBBLE, FOAM)
    return np.where(neighbors < fields["spray_neighbors"], SPRAY, kinds)


def _clamped(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    low, high = limits
    return np.clip((values - low) / max(high - low, 1e-12), 0.0, 1.0)


def _pairs(here: np.ndarray, others: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets from the others, distances, and weights, (m, n, ...)."""
    offsets = here[:, None] - others[None]
    away = np.linalg.norm(offsets, axis=-1)
    return offsets, away, np.maximum(1.0 - away / reach, 0.0)


def _directions(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _neighbors(fluid: Fluid, fields: Fields, pick: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets from the others, and weights, 0 of a particle itself."""
    offsets, _, weights = _pairs(fluid.positions[pick], fluid.positions, fields["reach"])
    weights[np.arange(len(pick)), pick] = 0.0
    return offsets, weights


def _trapped_air(fluid: Fluid, fields: Fields, pick: np.ndarray) -> np.ndarray:
    offsets, weights = _neighbors(fluid, fields, pick)
    relative = fluid.velocities[pick][:, None] - fluid.velocities[None]
    along = np.einsum("ijk,ijk->ij", relative, _directions(offsets))
    return np.sum((np.linalg.norm(relative, axis=-1) - along) * weights, 1)


def _normals(fluid: Fluid, fields: Fields, pick: np.ndarray) -> np.ndarray:
    offsets, weights = _neighbors(fluid, fields, pick)
    return np.einsum("ij,ijk->ik", weights, _directions(offsets)) / np.maximum(weights.sum(1, keepdims=True), 1e-12)


def _crest(fluid: Fluid, fields: Fields, pick: np.ndarray) -> np.ndarray:
    """Curvatures of those in `pick`; normals are those of particles within reach of them only."""
    offsets, weights = _neighbors(fluid, fields, pick)
    near = np.flatnonzero((weights > 0.0).any(0) | np.isin(np.arange(len(fluid.positions)), pick))
    normals = np.zeros_like(fluid.positions)
    for part in np.array_split(near, max(len(near) // 256, 1)):
        normals[part] = _normals(fluid, fields, part)
    mine, hats = normals[pick], _directions(normals)
    at_surface = np.linalg.norm(normals, axis=1) >= SURFACE
    behind = np.einsum("ijk,ik->ij", -offsets, mine) < 0.0
    bends = 1.0 - hats[pick] @ hats.T
    sums = np.sum(bends * weights * (behind & at_surface[None]), 1)
    ahead = np.einsum("ik,ik->i", _directions(fluid.velocities[pick]), hats[pick]) >= AHEAD
    return sums * (ahead & at_surface[pick])


def _held(
    positions: np.ndarray,
    velocities: np.ndarray,
    floor: np.ndarray | None,
    obstacle: np.ndarray | None,
    pace: float,
) -> tuple[np.ndarray, np.ndarray]:
    if floor is not None:
        high = np.array([floor[1, 1, 0], np.inf, floor[1, 1, 2]])
        held = np.clip(positions, floor[0, 0], high)
        into = (positions - held) * velocities > 0.0
        velocities = np.where(into, 0.0, velocities) * np.where(into.any(1), 1.0 - FRICTION, 1.0)[:, None]
        positions = held
    if obstacle is not None and len(positions):
        solid = Obstacles.of(obstacle)
        distance, normals = solid.distance(positions), solid.normal(positions)
        inside = distance < 0.0
        along = np.einsum("ik,ik->i", velocities - solid.velocity(positions, pace=pace), normals)
        positions = positions - np.where(inside, distance, 0.0)[:, None] * normals
        velocities = velocities - np.where(inside, np.minimum(along, 0.0), 0.0)[:, None] * normals
    return positions, velocities
