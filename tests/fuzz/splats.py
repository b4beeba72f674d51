"""Small files of splats in every format."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from vertigrad.models.data import splat_file

COUNT = 200
NAMES = ("a.ply", "a.compressed.ply", "a.splat", "a.spz")


@cache
def splat_files() -> dict[str, bytes]:
    """The content of a valid file of each format, by its name."""
    rng = np.random.default_rng(1)
    arrays = (
        *(rng.normal(size=(COUNT, 3)), np.exp(rng.normal(-3, 1, (COUNT, 3))), rng.normal(size=(COUNT, 4))),
        *(rng.uniform(0.02, 0.98, COUNT), rng.uniform(0, 1, (COUNT, 3)), rng.normal(0, 0.2, (COUNT, 45))),
    )
    splats = splat_file.Splats(*(array.astype(np.float32) for array in arrays))
    return {name: splat_file.packed(Path(name), splats) for name in NAMES}
