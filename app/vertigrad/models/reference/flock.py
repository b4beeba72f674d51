"""NumPy reference of the flock: how birds steer, in float64, by all pairs.

A bird sees those within `radius` that are not behind it, and steers by what it sees [m/s²]:

    separation   sum over those within `near` of (x - x_j) / d (1 - d / near)
    cohesion     mean of x_j - x
    alignment    mean of v_j - v

Sources:
    Steering   Reynolds 1987, "Flocks, Herds, and Schools: A Distributed Behavioral Model". What is urgent, such as an
               obstacle, takes of the acceleration that a bird is able to first ("prioritized acceleration allocation").
    Obstacle   Reynolds 1999, "Steering Behaviors for Autonomous Characters", obstacle avoidance.
    Order      Vicsek, Czirók, Ben-Jacob, Cohen and Shochet 1995, "Novel Type of Phase Transition in a System of
               Self-Driven Particles", equation 3: the length of the mean heading.

`fields` are the values of the uniform struct in shaders/models/flock.wgsl. Arrays are (birds, 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ops.philox import philox

Fields = Mapping[str, Any]
ROOM = 0.55  # fraction of the distance to the sides in which birds fly as they like; as in the shader


def step(
    positions: np.ndarray, velocities: np.ndarray, fields: Fields, periodic: bool, pick: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and how many others are visible, a step later, of the birds whose numbers are in `pick`."""
    here, velocity = positions[pick], velocities[pick]
    neighbor_count, social = _social(positions, velocities, fields, periodic, pick)
    urgent = _fled(here, fields) + _avoided(here, velocity, fields) + _attracted(here, velocity, fields)
    if not periodic:
        urgent = urgent + _turned_back(here, fields)
    urgent = _at_most(urgent, fields["agility"])
    steering = urgent + _at_most(social, fields["agility"] - _lengths(urgent))
    faster = velocity + fields["dt"] * steering
    calm = 1.0 - _lengths(urgent) / max(fields["agility"], 1e-12)
    slowest, fastest = fields["speed_range"]
    speed = np.clip(_lengths(faster), calm * slowest, fastest)
    faster = _with_length(_with_length(faster, 1.0) + fields["noise"] * _random(pick, fields), speed)
    return (*_settled(here + fields["dt"] * faster, faster, fields, periodic), neighbor_count)


def _social(
    positions: np.ndarray, velocities: np.ndarray, fields: Fields, periodic: bool, pick: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    here, velocity = positions[pick], velocities[pick]
    offset = positions[None] - here[:, None]
    if periodic:
        offset = offset - fields["extent"] * np.floor(offset / fields["extent"] + 0.5)
    away = np.linalg.norm(offset, axis=-1)
    others = (away < fields["radius"]) & (np.arange(len(positions)) != pick[:, None]) & (away > 0.0)
    close = others & (away < fields["near"])
    push = np.where(close, (1.0 - away / fields["near"]) / np.where(close, away, 1.0), 0.0)
    separation = -(push[..., None] * offset).sum(1)
    heading = _with_length(velocity, 1.0)
    sees = others & (np.einsum("ijk,ik->ij", offset, heading) >= fields["sight"] * away)
    neighbor_count = sees.sum(1)
    weights = sees / np.maximum(neighbor_count, 1)[:, None]
    social = fields["separation"] * separation + fields["cohesion"] * np.einsum("ij,ijk->ik", weights, offset)
    along = np.where(neighbor_count[:, None] > 0, weights @ velocities - velocity, 0.0)
    social = social + fields["alignment"] * along
    social[:, 1] -= fields["leveling"] * velocity[:, 1]
    return neighbor_count, social


def _turned_back(here: np.ndarray, fields: Fields) -> np.ndarray:
    beyond = np.maximum(_lengths(2.0 * here / np.asarray(fields["extent"])) - ROOM, 0.0) / (1.0 - ROOM)
    return _with_length(-here, 2.0 * fields["agility"] * beyond)


def _fled(here: np.ndarray, fields: Fields) -> np.ndarray:
    offset = here - np.asarray(fields["predator"])
    strength = np.maximum(1.0 - _lengths(offset) / max(fields["fear"], 1e-6), 0.0)
    return _with_length(offset, 2.0 * fields["agility"] * strength)


def _avoided(here: np.ndarray, velocity: np.ndarray, fields: Fields) -> np.ndarray:
    offset, radius = np.asarray(fields["obstacle"]) - here, fields["obstacle_radius"]
    speed, heading = _lengths(velocity), _with_length(velocity, 1.0)
    ahead = (offset * heading).sum(1, keepdims=True)
    side, gap = ahead * heading - offset, _lengths(offset) - radius
    hits = (ahead > 0.0) & (_lengths(side) < 1.25 * radius) & (gap < speed) & (radius > 0.0)
    urgency = np.clip(1.0 - gap / np.maximum(speed, 1e-12), 0.0, 1.0)
    return np.where(hits, _with_length(side, 2.0 * fields["agility"] * urgency), 0.0)


def _attracted(here: np.ndarray, velocity: np.ndarray, fields: Fields) -> np.ndarray:
    offset, attraction = np.asarray(fields["tool_point"]) - here, fields["attraction"]
    falloff = np.clip(2.0 - 2.0 * _lengths(offset) / max(fields["tool_radius"], 1e-6), 0.0, 1.0)
    along = max(np.sign(attraction), 0.0) * (np.asarray(fields["tool_velocity"]) - velocity)
    return attraction * falloff * (_with_length(offset, fields["agility"]) + along)


def _random(pick: np.ndarray, fields: Fields) -> np.ndarray:
    counter = np.zeros((len(pick), 4), np.uint64)
    counter[:, 0], counter[:, 1], counter[:, 2:] = pick, fields["turn"], fields["stream"]
    chance = (philox(counter, fields["key"])[:, :3] >> 8) * 2.0**-24
    return (2.0 * chance - 1.0) * np.sqrt(3.0)


def _settled(here: np.ndarray, now: np.ndarray, fields: Fields, periodic: bool) -> tuple[np.ndarray, np.ndarray]:
    if periodic:
        here = here - fields["extent"] * np.floor(here / fields["extent"] + 0.5)
    out = here - np.asarray(fields["obstacle"])
    normal = _with_length(out, 1.0)
    within = _lengths(out) < fields["obstacle_radius"]
    inward = np.minimum((now * normal).sum(1, keepdims=True), 0.0)
    along = _with_length(now - inward * normal + 1e-6 * normal, _lengths(now))
    surface = np.asarray(fields["obstacle"]) + fields["obstacle_radius"] * normal
    return np.where(within, surface, here), np.where(within, along, now)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=1, keepdims=True)


def _with_length(vectors: np.ndarray, length: Any) -> np.ndarray:
    return vectors * (length / np.maximum(_lengths(vectors), 1e-12))


def _at_most(vectors: np.ndarray, most: Any) -> np.ndarray:
    return vectors * np.minimum(1.0, most / np.maximum(_lengths(vectors), 1e-12))
