"""The sky of shaders/draw/environment_maps.wgsl in NumPy: single scattering in float64, in many more steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

PLANET, AIR, EYE = 6360.0, 6460.0, 0.2  # [km]
RAYLEIGH, OZONE = np.array([5.802e-3, 13.558e-3, 33.1e-3]), np.array([0.65e-3, 1.881e-3, 0.085e-3])
MIE, MIE_EXTINCTION, ASYMMETRY = 3.996e-3, 4.44e-3, 0.8


def depth(start: np.ndarray, direction: np.ndarray, end: float, steps: int) -> np.ndarray:
    """Optical depth of red, green and blue along a ray."""
    edges = np.linspace(0.0, 1.0, steps + 1) ** 2 * end
    middle, lengths = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    height = np.linalg.norm(start + middle[:, None] * direction, axis=1) - PLANET
    ozone = np.maximum(0.0, 1.0 - np.abs(height - 25.0) / 15.0) @ lengths
    rayleigh, mie = (np.exp(-height / scale) @ lengths for scale in (8.0, 1.2))
    return RAYLEIGH * rayleigh + MIE_EXTINCTION * mie + OZONE * ozone


def reach(start: np.ndarray, direction: np.ndarray, radius: float = AIR) -> float:
    along = start @ direction
    return float(-along + np.sqrt(radius**2 - start @ start + along**2))


def from_sun(position: np.ndarray, sun: np.ndarray) -> np.ndarray:
    along = position @ sun
    if along < 0 and position @ position - along**2 < PLANET**2:
        return np.zeros(3)
    return np.exp(-depth(position, sun, reach(position, sun), 100))


def sky(direction: np.ndarray, sun: np.ndarray, steps: int = 200) -> np.ndarray:
    """Radiance above the horizon for each unit of the sun's irradiance; y is up."""
    eye, cosine = np.array([0.0, PLANET + EYE, 0.0]), float(direction @ sun)
    rayleigh, g2 = 3 / (16 * np.pi) * (1 + cosine**2), ASYMMETRY**2
    mie = 3 / (8 * np.pi) * (1 - g2) * (1 + cosine**2) / ((2 + g2) * (1 + g2 - 2 * ASYMMETRY * cosine) ** 1.5)
    edges = np.linspace(0.0, 1.0, steps + 1) ** 2 * reach(eye, direction)
    total = np.zeros(3)
    for before, after in pairwise(edges):
        middle = 0.5 * (before + after)
        position = eye + direction * middle
        height = np.linalg.norm(position) - PLANET
        scattered = RAYLEIGH * rayleigh * np.exp(-height / 8.0) + MIE * mie * np.exp(-height / 1.2)
        total += np.exp(-depth(eye, direction, middle, 50)) * from_sun(position, sun) * scattered * (after - before)
    return total
