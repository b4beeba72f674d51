"""Make a laser scan of a village and a CT of a head, to try formats with: scan.npz, scan.las, ct.npy and ct.nrrd.

    python assets/training/make_scans.py [POINTS] [SIDE]

Neither exists. The village has houses, trees and hills, in coordinates of UTM zone 32, with colors, classes (2 ground,
5 trees, 6 buildings) and intensities. The head has skin, bone, a brain with ventricles and a tumor, in Hounsfield
units. LAS and NRRD files are written where laspy and pynrrd are installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

CHANCE = np.random.default_rng(5)
CORNER = np.array([448_200.0, 5_411_900.0, 300.0])  # east, north, up [m]
EXTENT = 200.0  # m
COLORS = {2: (0.35, 0.42, 0.22), 5: (0.16, 0.38, 0.12), 6: (0.62, 0.33, 0.24)}
HOUSES = CHANCE.uniform(15.0, EXTENT - 15.0, (40, 2))
TREES = CHANCE.uniform(5.0, EXTENT - 5.0, (120, 2))


def hills(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The height of the ground [m]."""
    return 6.0 * np.sin(x / 31.0) * np.cos(y / 43.0) + 2.0 * np.sin(x / 11.0 + y / 17.0)


def village(count: int) -> dict[str, np.ndarray]:
    """Columns of `count` points."""
    xy = CHANCE.uniform(0.0, EXTENT, (count, 2))
    z, kind = hills(*xy.T), np.full(count, 2, np.uint8)
    for center in HOUSES:
        aside = xy - center
        inside = (np.abs(aside) < (6.0, 4.5)).all(axis=1)
        z[inside] = hills(*center) + 5.0 + 0.7 * (4.5 - np.abs(aside[inside, 1]))
        kind[inside] = 6
    for center in TREES:
        away = np.linalg.norm(xy - center, axis=1)
        inside = (away < 2.5) & (kind == 2)
        z[inside] += CHANCE.uniform(1.0, 3.0 + 2.0 * np.sqrt(6.25 - away[inside] ** 2))
        kind[inside] = 5
    shade = CHANCE.normal(1.0, 0.12, count)[:, None]
    rgb = np.array([COLORS[one] for one in (2, 5, 6)])[np.searchsorted((2, 5, 6), kind)] * shade
    return {
        "points": np.column_stack([xy, z]) + CORNER,
        "colors": (255 * np.clip(rgb, 0, 1)).astype(np.uint8),
        "classification": kind,
        "intensity": (3e4 * np.clip(shade[:, 0], 0, 2)).astype(np.uint16),
    }


def head(side: int) -> np.ndarray:
    """Hounsfield units (z, y, x) of a box of 200 mm."""
    z, y, x = np.meshgrid(*3 * [np.linspace(-1.0, 1.0, side, dtype=np.float32)], indexing="ij")
    skull = np.sqrt((x / 0.72) ** 2 + (y / 0.86) ** 2 + ((z - 0.05) / 0.8) ** 2)
    values = np.full(skull.shape, -1000.0, np.float32)
    values[skull < 1.0] = 40.0  # skin
    values[(skull < 0.93) & (skull > 0.84)] = 900.0
    brain = skull < 0.84
    folds = 6.0 * np.sin(17 * x + 5 * np.sin(9 * z)) * np.sin(15 * y) * np.sin(14 * z)
    values[brain] = (34.0 + folds)[brain]
    for aside in (-0.13, 0.13):
        values[((x - aside) / 0.07) ** 2 + (y / 0.32) ** 2 + ((z - 0.1) / 0.16) ** 2 < 1.0] = 5.0
    values[(x - 0.3) ** 2 + (y + 0.25) ** 2 + (z - 0.2) ** 2 < 0.013] = 75.0
    jaw = ((x / 0.5) ** 2 + ((y - 0.45) / 0.35) ** 2 + ((z + 0.75) / 0.16) ** 2 < 1.0) & (x**2 + (y - 0.3) ** 2 > 0.13)
    values[jaw] = 850.0
    return values + CHANCE.normal(0.0, 4.0, values.shape).astype(np.float32)


def write_las(path: Path, scan: dict[str, np.ndarray]) -> None:
    """The scan as LAS 1.4."""
    import laspy

    header = laspy.LasHeader(point_format=7, version="1.4")
    header.scales, header.offsets = [0.001] * 3, CORNER
    las = laspy.LasData(header)
    las.x, las.y, las.z = scan["points"].T
    las.red, las.green, las.blue = scan["colors"].T.astype(np.uint16) * 257
    las.classification, las.intensity = scan["classification"], scan["intensity"]
    las.write(path)


def main() -> None:
    count, side = (int(argument) for argument in (sys.argv[1:] + ["400000", "128"][len(sys.argv) - 1 :])[:2])
    scan, values = village(count), head(side)
    np.savez("scan.npz", **scan)  # pyright: ignore[reportArgumentType]
    np.save("ct.npy", values)
    try:
        write_las(Path("scan.las"), scan)
        import nrrd
    except ImportError as error:
        print(f"without LAS and NRRD: {error}")
        return
    spacing = 200.0 / side
    directions = {"space directions": np.eye(3) * spacing, "space origin": [-100.0] * 3}
    header = {"space": "right-anterior-superior", **directions, "space units": ["mm"] * 3}
    nrrd.write("ct.nrrd", values.transpose(2, 1, 0).astype(np.int16), header)


if __name__ == "__main__":
    main()
