"""How `WaveSource` is drawn: two ponds side by side, pins where drops fell, and what was heard as lines."""

from __future__ import annotations

import numpy as np

from .wave_source_scene import Beginning, plane

GAP = 1.06  # from the middle to the middles of the two ponds
LIFT = 0.05  # of receivers over the water
PIN = 0.5  # of what marks a drop
NEAR = 0.2  # around a drop what is found counts to it, in half sides
FRONT = 1.22  # z at which the first line is drawn
APART = 0.06  # of two lines
LOUD = 0.4  # height of a line where a wave of height 1 is heard


def claims(given: Beginning) -> np.ndarray:
    """What of a start counts to each drop, (drops, cells): its sign where it is near, else 0."""
    x, z = (axis.reshape(-1) for axis in plane(len(given.start)))
    away = np.hypot(x - given.drops[:, :1], z - given.drops[:, 1:])
    return np.where(away < NEAR, given.signs[:, None], 0.0)


def drawn(given: Beginning, steps: int) -> dict[str, np.ndarray]:
    """What is drawn, with x and z where they stay."""
    side = len(given.start)
    x, z = plane(side)
    level = np.zeros_like(x)
    right, left = (np.stack([x + shift, level, z], axis=-1) for shift in (GAP, -GAP))
    rows = [pond.reshape(-1, 3) for pond in (left, right)]
    feet = np.stack([given.drops[:, 0], np.zeros(len(given.drops)), given.drops[:, 1]], axis=-1)
    pins = np.stack([feet, feet + np.array([0.0, PIN, 0.0])], axis=1)
    return {
        "position": right,
        "normal": np.zeros((side, side, 3)),
        "wave": level,
        "true_position": left,
        "true_normal": np.zeros((side, side, 3)),
        "true_wave": level,
        "receiver": np.concatenate([pond[given.receiver_cells] for pond in rows]),
        "mismatch": np.zeros(2 * len(given.receiver_cells)),
        "drop_pin": np.concatenate([pins + np.array([shift, 0.0, 0.0]) for shift in (-GAP, GAP)]),
        "found_pin": np.tile([[GAP, 0.0, 0.0], [GAP, PIN, 0.0]], (len(pins), 1, 1)),
        "trace": _notes(len(given.receiver_cells), steps),
        "trace_wave": np.zeros((2 * len(given.receiver_cells), steps)),
    }


def _notes(receivers: int, steps: int) -> np.ndarray:
    """Lines of silence before both ponds, (2 receivers, steps, 3): time along x, one receiver behind the other."""
    time = np.broadcast_to(np.linspace(-0.95, 0.95, steps), (receivers, steps))
    depth = np.broadcast_to(FRONT + APART * np.arange(receivers)[:, None], time.shape)
    return np.concatenate([np.stack([time + shift, 0.0 * time, depth], axis=-1) for shift in (-GAP, GAP)])
