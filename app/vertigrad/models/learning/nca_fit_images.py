"""Small images from formulas, for cells to grow."""

from __future__ import annotations

import numpy as np

IMAGES = ("butterfly", "heart")
FINE = 4  # samples along each side of a pixel


def image(name: str, side: int) -> np.ndarray:
    """Red, green and blue times alpha, and alpha, (side, side, 4), 0 to 1; clear near the edge."""
    line = (np.arange(side * FINE) + 0.5) / (side * FINE) * 2.0 - 1.0
    y, x = np.meshgrid(line, line, indexing="ij")
    fine = _butterfly(x, -y) if name == "butterfly" else _heart(x, -y)
    return fine.reshape(side, FINE, side, FINE, 4).mean((1, 3))


def _painted(layers: list[tuple[np.ndarray, tuple[float, float, float]]], shape: tuple[int, ...]) -> np.ndarray:
    image = np.zeros((*shape, 4))
    for mask, color in layers:
        image[mask] = (*color, 1.0)
    return image


def _ellipse(
    x: np.ndarray, y: np.ndarray, at: tuple[float, float], size: tuple[float, float], turn: float
) -> np.ndarray:
    """How far outside of an ellipse each point is: below 1 inside. `turn` is in radians."""
    dx, dy = x - at[0], y - at[1]
    along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
    return np.hypot(along / size[0], across / size[1])


def _butterfly(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    side = np.abs(x)  # both wings are the same
    upper = _ellipse(side, y, (0.36, 0.22), (0.44, 0.28), 0.75)
    lower = _ellipse(side, y, (0.28, -0.3), (0.34, 0.22), -0.9)
    spot, small = (
        _ellipse(side, y, (0.47, 0.33), (0.11, 0.11), 0.0),
        _ellipse(side, y, (0.33, -0.36), (0.08, 0.08), 0.0),
    )
    body = _ellipse(x, y, (0.0, -0.05), (0.065, 0.42), 0.0)
    feeler = (np.abs(side - 0.05 - 0.5 * (y - 0.35) ** 2 - 0.25 * (y - 0.35)) < 0.03) & (y > 0.33) & (y < 0.68)
    dark = (0.16, 0.10, 0.20)
    layers = [
        ((upper < 1.0) | (lower < 1.0), dark),
        (lower < 0.8, (0.93, 0.42, 0.24)),
        (upper < 0.82, (0.96, 0.62, 0.16)),
        ((spot < 1.0) | (small < 1.0), (0.24, 0.52, 0.86)),
        (feeler, dark),
        (body < 1.0, dark),
    ]
    return _painted(layers, x.shape)


def _heart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    u, v = x / 0.62, (y + 0.08) / 0.62
    inside = (u**2 + v**2 - 1.0) ** 3 - u**2 * v**3 * 1.2
    shine = _ellipse(x, y, (-0.3, 0.3), (0.2, 0.1), 0.8)
    return _painted([(inside < 0.0, (0.86, 0.14, 0.25)), (shine < 1.0, (0.98, 0.72, 0.74))], x.shape)
