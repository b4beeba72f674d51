"""The sun's light through the air, by the coefficients of shaders/draw/environment_maps.wgsl."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

PLANET, AIR, EYE = 6360.0, 6460.0, 0.2  # radii, and the height of the eye [km]
RAYLEIGH = np.array([5.802e-3, 13.558e-3, 33.1e-3])  # scattering [1/km] at sea level (Bruneton 2017, Hillaire 2020)
MIE_EXTINCTION = 4.44e-3
OZONE = np.array([0.65e-3, 1.881e-3, 0.085e-3])
STEPS = 64


@lru_cache(256)
def transmittance(elevation: float) -> tuple[float, float, float]:
    """The fraction of the sun's red, green and blue light that arrives from `elevation` degrees above the horizon.

    0 from below.
    """
    sine, start = np.sin(np.radians(elevation)), PLANET + EYE
    along = start * sine
    if along < 0.0 and start * start - along * along < PLANET * PLANET:
        return 0.0, 0.0, 0.0
    end = -along + np.sqrt(AIR * AIR - start * start + along * along)
    parts = np.linspace(0.0, 1.0, STEPS + 1) ** 2 * end
    middle, lengths = 0.5 * (parts[1:] + parts[:-1]), np.diff(parts)
    height = np.sqrt(start * start + 2.0 * along * middle + middle * middle) - PLANET
    rayleigh, mie = (float(np.exp(-height / scale) @ lengths) for scale in (8.0, 1.2))
    ozone = float(np.maximum(0.0, 1.0 - np.abs(height - 25.0) / 15.0) @ lengths)
    red, green, blue = np.exp(-(RAYLEIGH * rayleigh + MIE_EXTINCTION * mie + OZONE * ozone))
    return float(red), float(green), float(blue)


def sun_tint(elevation: float) -> tuple[float, float, float]:
    """By what the air changes the color of the sun, relative to the zenith."""
    red, green, blue = (a / b for a, b in zip(transmittance(elevation), transmittance(90.0), strict=True))
    return red, green, blue
