"""What `WaveSource` begins with: the water, what fell into it, and where it is listened to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

REACH = 0.25  # square of how many cells waves cross in a step, where nothing slows them; ½ is the stable limit
BANK = 0.8  # from the middle to where waves begin to be lost, over half a side
RING = 0.72  # of receivers, over half a side
BAY = 0.5  # drops fall within this
APART = 0.45  # two drops at least
SMOOTH = 1.0 / 36.0  # standard deviation of what a start is smoothed by, over a side


class Beginning(NamedTuple):
    """Lengths are in half sides, y of the scene being up.

    `medium` (side, side, 2) as `Waves` takes it; `receiver_cells` (receivers,) the cells of receivers; `start` (side,
    side) the true initial heights; `drops` (drops, 2) their positions (x, z), and `signs` whether they are hills or
    hollows.
    """

    medium: np.ndarray
    receiver_cells: np.ndarray
    start: np.ndarray
    drops: np.ndarray
    signs: np.ndarray


def beginning(random: np.random.Generator, side: int, receivers: int, drops: int, shoals: float) -> Beginning:
    """All of it, drawn at random; `shoals` is the share by which the slowest water is slower."""
    x, z = plane(side)
    reach = REACH * (1.0 - shoals * _islands(random, x, z)) ** 2
    edge = np.maximum(np.abs(x), np.abs(z))
    loss = 0.25 * np.clip((edge - BANK) / (1.0 - BANK), 0.0, 1.0) ** 2
    centers = _scattered(random, drops)
    signs = np.where(np.arange(drops) % 3 == 2, -1.0, 1.0)
    start = np.zeros((side, side))
    for (cx, cz), sign in zip(centers, signs, strict=True):
        width, height = random.uniform(0.07, 0.11), random.uniform(0.7, 1.0)
        start += sign * height * np.exp(-((x - cx) ** 2 + (z - cz) ** 2) / (2.0 * width**2))
    return Beginning(np.stack([reach, loss], axis=-1), _ring(side, receivers), start, centers, signs)


def plane(side: int) -> tuple[np.ndarray, np.ndarray]:
    """x and z of each cell, (side, side), from −1 to 1; rows lie along z."""
    line = np.linspace(-1.0, 1.0, side)
    z, x = np.meshgrid(line, line, indexing="ij")
    return x, z


def shares(side: int) -> np.ndarray:
    """What a start is smoothed by, along each axis: a Gaussian over an odd number of cells, of sum 1."""
    deviation = SMOOTH * side
    offsets = np.arange(-math.ceil(3.0 * deviation), math.ceil(3.0 * deviation) + 1)
    curve = np.exp(-0.5 * (offsets / deviation) ** 2)
    return curve / curve.sum()


def bay(side: int) -> np.ndarray:
    """1 where something may have fallen into the water, 0 near the receivers and beyond, (side, side)."""
    x, z = plane(side)
    return (np.hypot(x, z) < 0.5 * (BAY + RING)).astype(float)


def _islands(random: np.random.Generator, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """How shallow the water is, 0 to 1: a few banks under it."""
    shallow = np.zeros_like(x)
    for _ in range(4):
        cx, cz = random.uniform(-0.6, 0.6, 2)
        shallow = np.maximum(shallow, np.exp(-((x - cx) ** 2 + (z - cz) ** 2) / (2.0 * random.uniform(0.1, 0.25) ** 2)))
    return shallow


def _scattered(random: np.random.Generator, count: int) -> np.ndarray:
    """Positions (count, 2) in the bay, as far apart as there is room for."""
    found: list[np.ndarray] = []
    apart = APART
    while len(found) < count:
        position = random.uniform(-BAY, BAY, 2)
        if np.hypot(*position) < BAY and all(np.hypot(*(position - other)) > apart for other in found):
            found.append(position)
        apart *= 0.998  # so that it ends
    return np.array(found)


def _ring(side: int, count: int) -> np.ndarray:
    angle = 2.0 * np.pi * (np.arange(count) + 0.5) / count
    rows, columns = (np.rint((side - 1) * 0.5 * (1.0 + RING * f(angle))).astype(int) for f in (np.sin, np.cos))
    return rows * side + columns
