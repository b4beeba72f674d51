"""Fit linearly transformed cosines to the facets of shaders/common/material.wgsl: assets/data/area_lights.npy.

    python tools/fit_area_lights.py

For each roughness and each angle of the eye, the reflected lobe without Fresnel's term is approximated by a cosine lobe
whose directions are transformed by a matrix (Heitz, Dupuy, Hill and Neubelt 2016, "Real-Time Polygonal-Light Shading
with Linearly Transformed Cosines"). Four numbers describe it: the tilt of the lobe's axis from the normal toward the
mirror direction [rad], and three of the matrix, relative to the width of the facets. Needs scipy; takes some minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

SIDE = 24  # roughnesses, and angles of the eye; mirrored in shaders/common/area_lights.wgsl
SAMPLES = 28  # along each side of a square of samples
TABLE = Path(__file__).parents[1] / "assets" / "data" / "area_lights.npy"


def width_of(roughness: float) -> float:
    """The GGX width of the shader."""
    return max(roughness * roughness, 0.005)


def facing_of(position: float) -> float:
    """The cosine of the eye's angle at a position in the table, 0 to 1: denser near grazing angles."""
    return max(1.0 - position * position, 1e-3)


class Lobe:
    """Light from each direction that facets reflect to the eye, by the cosine, as a density; and samples of it."""

    def __init__(self, width: float, facing: float):
        self._width, self._facing = width, facing
        self.eye = np.array([np.sqrt(1.0 - facing**2), 0.0, facing])
        steps = (np.arange(SAMPLES) + 0.5) / SAMPLES
        self.u, self.v = (grid.reshape(-1) for grid in np.meshgrid(steps, steps))
        cosine = np.sqrt((1.0 - self.u) / (1.0 + (width * width - 1.0) * self.u))
        sine, angle = np.sqrt(1.0 - cosine**2), 2.0 * np.pi * self.v
        half = np.stack([sine * np.cos(angle), sine * np.sin(angle), cosine], axis=1)
        toward = 2.0 * (half @ self.eye)[:, None] * half - self.eye
        self.directions = toward[(toward[:, 2] > 0.0) & (half @ self.eye > 0.0)]
        self._total = 1.0
        found, chosen = self.density(self.directions), self.chosen(self.directions)
        self._total = float((found / chosen).sum() / len(half))
        weights = found / chosen / len(half) / self._total
        mean = (self.directions * weights[:, None]).sum(axis=0)
        self.tilt = float(np.arctan2(-mean[0], mean[2]))

    def _distribution(self, toward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = toward + self.eye
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        w2 = self._width**2
        bell = half[:, 2] ** 2 * (w2 - 1.0) + 1.0
        return w2 / (np.pi * bell * bell), half

    def density(self, toward: np.ndarray) -> np.ndarray:
        """Per steradian, of unit vectors (n, 3)."""
        bell, _ = self._distribution(toward)
        w2, c, z = self._width**2, self._facing, np.maximum(toward[:, 2], 0.0)
        visibility = 0.5 / (z * np.sqrt(c * c * (1.0 - w2) + w2) + c * np.sqrt(z * z * (1.0 - w2) + w2))
        return np.where(toward[:, 2] > 0.0, bell * visibility * z, 0.0) / self._total

    def chosen(self, toward: np.ndarray) -> np.ndarray:
        """The density of `directions`, of which a part is below the surface."""
        bell, half = self._distribution(toward)
        return bell * half[:, 2] / (4.0 * np.maximum(half @ self.eye, 1e-6))

    def error(self, numbers: np.ndarray) -> float:
        """How far off a transformed cosine is: the cube of the difference, over samples of both (Heitz et al. 2016)."""
        tilt, across, aside, skew = numbers
        if across <= 1e-4 or aside <= 1e-4:
            return 1e9
        scale = self._width
        axes = np.array([[np.cos(tilt), 0, -np.sin(tilt)], [0, 1, 0], [np.sin(tilt), 0, np.cos(tilt)]])
        matrix = axes @ np.array([[across * scale, 0, skew * scale], [0, aside * scale, 0], [0, 0, 1.0]])
        inverse, size = np.linalg.inv(matrix), abs(np.linalg.det(matrix))

        def cosines(toward: np.ndarray) -> np.ndarray:
            before = toward @ inverse.T
            length = np.linalg.norm(before, axis=1)
            return np.maximum(before[:, 2], 0.0) / length**4 / (np.pi * size)

        sine, angle = np.sqrt(self.u), 2.0 * np.pi * self.v
        own = np.stack([sine * np.cos(angle), sine * np.sin(angle), np.sqrt(1.0 - self.u)], axis=1) @ matrix.T
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        total = 0.0
        for toward in (own, self.directions):
            found, fitted, chosen = self.density(toward), cosines(toward), self.chosen(toward)
            total += float((np.abs(found - fitted) ** 3 / (fitted + chosen + 1e-12)).sum())
        return total / len(own) * scale**4  # of one order for all widths

    def fitted(self, start: np.ndarray) -> np.ndarray:
        """The four numbers of the least error."""
        options = {"xatol": 1e-5, "fatol": 1e-12, "maxiter": 500}
        simplex = np.concatenate([[start], start + np.diag([0.05, 0.08, 0.08, 0.05])])
        return minimize(self.error, start, method="Nelder-Mead", options={**options, "initial_simplex": simplex}).x


def main() -> None:
    """Fit all of them; each begins with its neighbor."""
    table = np.zeros((SIDE, SIDE, 4), np.float32)
    for row in reversed(range(SIDE)):
        width = width_of(row / (SIDE - 1))
        for column in range(SIDE):
            lobe = Lobe(width, facing_of(column / (SIDE - 1)))
            start = np.array([lobe.tilt, 1.0, 1.0, 0.0])
            starts = [start]
            if column:
                starts.append(np.array([lobe.tilt, *table[row, column - 1, 1:]]))
            if row < SIDE - 1:
                starts.append(np.array([lobe.tilt, *table[row + 1, column, 1:]]))
            start = min(starts, key=lobe.error)
            if column == 0:  # round about the normal
                across = minimize(
                    lambda x, lobe=lobe: lobe.error(np.array([0.0, x[0], x[0], 0.0])), start[1:2], method="Nelder-Mead"
                ).x[0]
                table[row, 0] = 0.0, across, across, 0.0
            else:
                table[row, column] = lobe.fitted(start)
        print(row, table[row, :: SIDE // 6].round(3).tolist(), flush=True)
    np.save(TABLE, table)


if __name__ == "__main__":
    main()
