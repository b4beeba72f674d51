"""How what a file holds is placed in a scene: scaled, its middle at the origin, y up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...params import choice, number

AXES_BY_UP = {  # matrices that turn the file's axes so that y points upwards
    "y": np.eye(3),
    "-y": np.diag([1.0, -1.0, -1.0]),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}


def longest_edge(default: float, of: str = "") -> Any:
    """The declaration of the parameter `size`."""
    doc = f"longest edge of the bounding box{of}; 0: as in the file"
    return number(default, min=0.0, max=1e6, slider_max=10.0, rebuild=True, doc=doc)


def up_axis(default: str = "y", axes: tuple[str, ...] = ("y", "z"), rebuild: bool = True) -> Any:
    """The declaration of the parameter `up`."""
    return choice(default, axes, rebuild=rebuild, doc="axis of the file that points up")


def placed(positions: np.ndarray, size: float, up: str) -> tuple[np.ndarray, float]:
    """Positions (n, 3), float64, as they are in the scene, and the factor by which they were scaled.

    `size` is the longest edge of their bounding box then; 0 preserves that of the file. `up` is one of `AXES_BY_UP`.
    """
    low, high = positions.min(axis=0), positions.max(axis=0)
    factor = size / max((high - low).max(), 1e-30) if size else 1.0
    return (positions - 0.5 * (low + high)) * factor @ AXES_BY_UP[up].T, factor
