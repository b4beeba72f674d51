"""Where the birds of `Flock` are at first, and where they fly."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Extent = tuple[float, float, float]
Start = tuple[np.ndarray, np.ndarray]  # positions [m] and headings, each (count, 3), f32

# Of a murmuration: two bodies and what connects them, along a bent line whose length is 1.
BODIES = ((0.3, 0.12, 0.29), (0.72, 0.11, 0.2))  # where, how long, and the half width over the height of the box
LENGTH, BEHIND = 0.7, 0.39  # extent of that line along x, and of it behind the middle, over the width of the box
RISE, BEND = (0.13, 5.2, -0.9), (0.14, 4.4)  # its waves up and in depth: amplitudes over height and depth, rates, phase
THREAD = 0.045  # half width of what connects them, and of the tails
FLATNESS = 0.5  # thickness over width
TWIST = 1.9  # how far the flat side turns from one end to the other [rad]
STRAY = 0.08  # random part of headings


def ellipsoid(random: np.random.Generator, count: int, extent: Extent) -> Start:
    """Evenly in an ellipsoid in the middle of the box; headings are all around."""
    headings = _directions(random, count)
    positions = _directions(random, count) * random.random((count, 1)) ** (1 / 3)
    return _as_f32(positions * (0.35 * np.asarray(extent)), headings)


def murmuration(random: np.random.Generator, count: int, extent: Extent) -> Start:
    """Two flat bodies that are dense inside, and tails, along a bent line; all fly along it."""
    s = _drawn(random, count, lambda at: _half_width(at) ** 2)
    line, along = _line(s, extent)
    aside = np.cross(along, [0.0, 1.0, 0.0])
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    angle, radius = 2.0 * math.pi * random.random(count), random.random(count) ** 0.65  # more in the middle than evenly
    wide, thick, turn = radius * np.cos(angle), FLATNESS * radius * np.sin(angle), TWIST * (s - 0.5)
    right, upward = wide * np.sin(turn) + thick * np.cos(turn), wide * np.cos(turn) - thick * np.sin(turn)
    offset = right[:, None] * aside + upward[:, None] * np.cross(aside, along)
    headings = along + STRAY * random.standard_normal((count, 3))
    return _as_f32(line + extent[1] * _half_width(s)[:, None] * offset, headings)


STARTS: dict[str, Callable[[np.random.Generator, int, Extent], Start]] = {
    "ellipsoid": ellipsoid,
    "murmuration": murmuration,
}


def _line(s: np.ndarray, extent: Extent) -> Start:
    """The line of a murmuration at each part of it, and its direction there."""
    width, height, depth = extent
    rise, bend = RISE[1] * s + RISE[2], BEND[1] * s
    line = np.stack([width * (LENGTH * s - BEHIND), height * RISE[0] * np.sin(rise), depth * BEND[0] * np.cos(bend)], 1)
    slope = height * RISE[0] * RISE[1] * np.cos(rise), -depth * BEND[0] * BEND[1] * np.sin(bend)
    along = np.stack([np.full(len(s), width * LENGTH), *slope], axis=1)
    return line, along / np.linalg.norm(along, axis=1, keepdims=True)


def _half_width(s: np.ndarray) -> np.ndarray:
    """Of a murmuration at each part of its line, over the height of the box; 0 at both ends."""
    bodies = sum(wide * np.exp(-(((s - middle) / long) ** 2)) for middle, long, wide in BODIES)
    return (THREAD + bodies) * np.sqrt(np.clip(4.0 * s * (1.0 - s), 0.0, 1.0))


def _drawn(random: np.random.Generator, count: int, density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Random numbers from 0 to 1 of a density, by the inverse of its integral."""
    nodes = np.linspace(0.0, 1.0, 1025)
    total = np.concatenate([[0.0], np.cumsum(density(0.5 * (nodes[1:] + nodes[:-1])))])
    return np.interp(random.random(count) * total[-1], total, nodes)


def _directions(random: np.random.Generator, count: int) -> np.ndarray:
    found = random.standard_normal((count, 3))
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def _as_f32(positions: np.ndarray, headings: np.ndarray) -> Start:
    headings = headings / np.maximum(np.linalg.norm(headings, axis=1, keepdims=True), 1e-12)
    return positions.astype(np.float32), headings.astype(np.float32)
