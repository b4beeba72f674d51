"""The light of a black body, as linear colors (Rec. 709) in units of its luminance at one temperature."""

from __future__ import annotations

import numpy as np

COLDEST, HOTTEST = 600.0, 3600.0  # K, of the table
ENTRIES = 256
UNIT = 1800.0  # K, at which the luminance is 1: the soot of a candle
SECOND_RADIATION = 1.438777e7  # h c / k [nm K]
WAVELENGTHS = np.arange(380.0, 781.0, 5.0)  # nm
# Peak, wavelength [nm], and widths below and above it, of the lobes of the CIE 1931 color matching functions (Wyman,
# Sloan and Shirley 2013, "Simple Analytic Approximations to the CIE XYZ Color Matching Functions", JCGT 2)
LOBES = (
    ((1.056, 599.8, 37.9, 31.0), (0.362, 442.0, 16.0, 26.7), (-0.065, 501.1, 20.4, 26.2)),
    ((0.821, 568.8, 46.9, 40.5), (0.286, 530.9, 16.3, 31.1)),
    ((1.217, 437.0, 11.8, 36.0), (0.681, 459.0, 26.0, 13.8)),
)
RGB_FROM_XYZ = np.array(  # IEC 61966-2-1
    [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]]
)


def tristimulus(temperatures: np.ndarray) -> np.ndarray:
    """X, Y and Z (n, 3) of Planck's law at temperatures (n,) [K], in arbitrary but equal units."""
    matching = np.array([sum(_lobe(*lobe) for lobe in lobes) for lobes in LOBES])
    with np.errstate(over="ignore"):
        radiance = WAVELENGTHS**-5.0 / np.expm1(SECOND_RADIATION / (WAVELENGTHS * temperatures[:, None]))
    return radiance @ matching.T


def radiance(temperatures: np.ndarray) -> np.ndarray:
    """Linear colors (n, 3) at temperatures (n,) [K], of luminance 1 at `UNIT`; negative components are cut off."""
    unit = tristimulus(np.array([UNIT]))[0, 1]
    return np.maximum(tristimulus(temperatures) @ RGB_FROM_XYZ.T / unit, 0.0)


def table() -> np.ndarray:
    """Colors and a fourth component of 0 (`ENTRIES`, 4), f32, at even distances from `COLDEST` to `HOTTEST`."""
    colors = radiance(np.linspace(COLDEST, HOTTEST, ENTRIES))
    return np.column_stack([colors, np.zeros(ENTRIES)]).astype(np.float32)


def _lobe(peak: float, middle: float, below: float, above: float) -> np.ndarray:
    away = WAVELENGTHS - middle
    return peak * np.exp(-0.5 * (away / np.where(away < 0.0, below, above)) ** 2)
