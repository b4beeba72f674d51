"""What `WaveSource` begins with: the water, what fell into it, and where the receivers are.

It is drawn as two ponds side by side, pins where drops fell, and the signals as lines.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

REACH = 0.25  # square of how many cells waves cross in a step, where nothing slows them; ½ is the stable limit
BANK = 0.8  # from the middle to where waves begin to be lost, over half a side
RING = 0.72  # of receivers, over half a side
BAY = 0.5  # drops fall within this
DISTANCE = 0.45  # two drops at least
SMOOTH = 1.0 / 36.0  # standard deviation of what a start is smoothed by, over a side
GAP = 1.06  # from the middle to the middles of the two ponds
LIFT = 0.05  # of receivers over the water
PIN = 0.5  # of what marks a drop
NEAR = 0.2  # around a drop what is found counts to it, in half sides
FRONT = 1.22  # z at which the first line is drawn
LINE_DISTANCE = 0.06
LOUD = 0.4  # height of a line where a wave of height 1 is heard


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
    """All of it, drawn at random; `shoals` is the fraction by which the slowest water is slower."""
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
    """x and z of each cell, (side, side), from −1 to 1; rows are along z."""
    line = np.linspace(-1.0, 1.0, side)
    z, x = np.meshgrid(line, line, indexing="ij")
    return x, z


def smoothing_kernel(side: int) -> np.ndarray:
    """What a start is smoothed by, along each axis: a Gaussian over an odd number of cells, of sum 1."""
    std = SMOOTH * side
    offsets = np.arange(-math.ceil(3.0 * std), math.ceil(3.0 * std) + 1)
    weights = np.exp(-0.5 * (offsets / std) ** 2)
    return weights / weights.sum()


def bay(side: int) -> np.ndarray:
    """1 where something may have fallen into the water, 0 near the receivers and beyond, (side, side)."""
    x, z = plane(side)
    return (np.hypot(x, z) < 0.5 * (BAY + RING)).astype(float)


def claims(scene: Beginning) -> np.ndarray:
    """What of a start counts to each drop, (drops, cells): its sign where it is near, else 0."""
    x, z = (axis.reshape(-1) for axis in plane(len(scene.start)))
    away = np.hypot(x - scene.drops[:, :1], z - scene.drops[:, 1:])
    return np.where(away < NEAR, scene.signs[:, None], 0.0)


def drawn(scene: Beginning, steps: int) -> dict[str, np.ndarray]:
    """What is drawn, with x and z where they stay."""
    side = len(scene.start)
    x, z = plane(side)
    level = np.zeros_like(x)
    right, left = (np.stack([x + shift, level, z], axis=-1) for shift in (GAP, -GAP))
    rows = [pond.reshape(-1, 3) for pond in (left, right)]
    feet = np.stack([scene.drops[:, 0], np.zeros(len(scene.drops)), scene.drops[:, 1]], axis=-1)
    pins = np.stack([feet, feet + np.array([0.0, PIN, 0.0])], axis=1)
    return {
        "position": right,
        "normal": np.zeros((side, side, 3)),
        "wave": level,
        "true_position": left,
        "true_normal": np.zeros((side, side, 3)),
        "true_wave": level,
        "receiver": np.concatenate([pond[scene.receiver_cells] for pond in rows]),
        "mismatch": np.zeros(2 * len(scene.receiver_cells)),
        "drop_pin": np.concatenate([pins + np.array([shift, 0.0, 0.0]) for shift in (-GAP, GAP)]),
        "found_pin": np.tile([[GAP, 0.0, 0.0], [GAP, PIN, 0.0]], (len(pins), 1, 1)),
        "trace": _notes(len(scene.receiver_cells), steps),
        "trace_wave": np.zeros((2 * len(scene.receiver_cells), steps)),
    }


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
    distance = DISTANCE
    while len(found) < count:
        position = random.uniform(-BAY, BAY, 2)
        if np.hypot(*position) < BAY and all(np.hypot(*(position - other)) > distance for other in found):
            found.append(position)
        distance *= 0.998  # so that it ends
    return np.array(found)


def _ring(side: int, count: int) -> np.ndarray:
    angle = 2.0 * np.pi * (np.arange(count) + 0.5) / count
    rows, columns = (np.rint((side - 1) * 0.5 * (1.0 + RING * f(angle))).astype(int) for f in (np.sin, np.cos))
    return rows * side + columns


def _notes(receivers: int, steps: int) -> np.ndarray:
    """Lines of silence before both ponds, (2 receivers, steps, 3): time along x, one receiver behind the other."""
    time = np.broadcast_to(np.linspace(-0.95, 0.95, steps), (receivers, steps))
    depth = np.broadcast_to(FRONT + LINE_DISTANCE * np.arange(receivers)[:, None], time.shape)
    return np.concatenate([np.stack([time + shift, 0.0 * time, depth], axis=-1) for shift in (-GAP, GAP)])
