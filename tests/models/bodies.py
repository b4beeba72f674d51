"""Bodies for the tests of gravity."""

from __future__ import annotations

import numpy as np

from vertigrad.models.physics.galaxy import Bodies


def bodies(positions: object, velocities: object, masses: object) -> Bodies:
    m = np.asarray(masses, np.float32)
    return Bodies(np.asarray(positions, np.float32), np.asarray(velocities, np.float32), m, np.zeros(len(m), np.uint32))


def random_bodies(count: int, seed: int = 3) -> Bodies:
    random = np.random.default_rng(seed)
    return bodies(random.normal(size=(count, 3)), 0.3 * random.normal(size=(count, 3)), random.random(count) / count)
