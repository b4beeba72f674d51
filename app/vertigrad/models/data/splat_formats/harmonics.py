"""Spherical harmonics of degree 1 to 3, as Gaussian splats have them, and what they become when splats are turned.

Order and signs are those of Kerbl et al. 2023: real harmonics with the Condon-Shortley phase, degree by degree, from
order -l to l.
"""

from __future__ import annotations

import numpy as np

from .values import HARMONICS


def basis(directions: np.ndarray, degree: int) -> np.ndarray:
    """The harmonics of degree 1 to `degree` in unit directions (n, 3), float64 (n, 3, 8 or 15)."""
    x, y, z = np.asarray(directions, np.float64).T
    xx, yy, zz = x * x, y * y, z * z
    first = np.sqrt(3.0 / (4.0 * np.pi)) * np.stack([-y, z, -x])
    second = np.sqrt(15.0 / (4.0 * np.pi)) * np.stack(
        [x * y, -y * z, (2.0 * zz - xx - yy) / np.sqrt(12.0), -x * z, 0.5 * (xx - yy)]
    )
    outer, middle, inner = (np.sqrt(k / np.pi) for k in (35.0 / 32.0, 105.0 / 4.0, 21.0 / 32.0))
    third = np.stack(
        [
            -outer * y * (3.0 * xx - yy),
            middle * x * y * z,
            -inner * y * (4.0 * zz - xx - yy),
            np.sqrt(7.0 / (16.0 * np.pi)) * z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
            -inner * x * (4.0 * zz - xx - yy),
            0.5 * middle * z * (xx - yy),
            -outer * x * (xx - 3.0 * yy),
        ]
    )
    return np.concatenate([first, second, third][:degree]).T


def turned(harmonics: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Coefficients, f32 (n, 9, 24 or 45), of splats after the rotation by the matrix `turn` (3, 3).

    A rotation mixes harmonics of one degree only. The matrices are found from harmonics in as many directions as there
    are coefficients and more, by least squares, which is exact up to rounding.
    """
    count, values = harmonics.shape
    if not values:
        return harmonics
    degree, directions = HARMONICS.index(values), _directions(64)
    after, before = basis(directions, degree), basis(directions @ turn, degree)
    found = np.empty((count, values // 3, 3), np.float32)
    for each in range(1, degree + 1):
        block = slice(each * each - 1, (each + 1) ** 2 - 1)
        mix = np.linalg.lstsq(after[:, block], before[:, block], rcond=None)[0]
        found[:, block] = np.einsum("ji,nic->njc", mix.astype(np.float32), harmonics.reshape(count, -1, 3)[:, block])
    return found.reshape(count, values)


def _directions(count: int) -> np.ndarray:
    """Unit vectors all around, (count, 3): a Fibonacci lattice."""
    number = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * number / count, np.pi * (1.0 + 5.0**0.5) * number
    radius = np.sqrt(1.0 - z * z)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
