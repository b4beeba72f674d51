"""Make the data of the scenes `village` and `head`: a laser scan of a village and a CT of a head. Neither exists.

    python assets/training/make_scans.py                     writes assets/data/village.npz and head.npz
    python assets/training/make_scans.py FOLDER POINTS SIDE   writes them larger, as .npz, .las, .npy and .nrrd

The village has houses, a church, trees, a river and hills, in meters, with colors, classes (those of LAS: 2 ground, 5
trees, 6 buildings, 9 water, 11 road) and intensities. The head has skin, bone, a brain with ventricles and a tumor, in
Hounsfield units. LAS and NRRD files, in coordinates of UTM zone 32, are written where laspy and pynrrd are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data"
CHANCE = np.random.default_rng(5)
EXTENT = 160.0  # m
CORNER = np.array([448_200.0, 5_411_900.0, 300.0])  # east, north, up [m]
CHURCH = np.array([104.0, 98.0])
GROUND, TREE, BUILDING, WATER, ROAD = 2, 5, 6, 9, 11
WALLS = ((0.86, 0.82, 0.72), (0.80, 0.72, 0.58), (0.76, 0.60, 0.50), (0.70, 0.74, 0.74))
ROOFS = ((0.62, 0.26, 0.17), (0.55, 0.22, 0.16), (0.68, 0.35, 0.22), (0.42, 0.24, 0.22))

Samples = tuple[np.ndarray, np.ndarray, int]  # positions (n, 3), colors (n, 3), class


# the village --------------------------------------------------------------------------------------------------------


def river(x: np.ndarray) -> np.ndarray:
    """The y of its middle [m]."""
    return 36.0 + 13.0 * np.sin(x / 25.0) + 0.1 * x


def road(x: np.ndarray) -> np.ndarray:
    """The y of the middle of the road [m]."""
    return 76.0 + 9.0 * np.sin(x / 31.0 + 1.0)


def ground(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The height of the ground [m]: hills to the north, the church's own, and the bed of the river."""
    hills = 15.0 / (1.0 + np.exp((118.0 - y + 8.0 * np.sin(x / 19.0)) / 9.0)) + 1.2 * np.sin(x / 13.0) * np.cos(
        y / 17.0
    )
    hill = 10.0 * np.exp(-(((x - CHURCH[0]) / 19.0) ** 2 + ((y - CHURCH[1]) / 14.0) ** 2))
    bed = 5.0 * np.exp(-(((y - river(x)) / 8.0) ** 2))
    return 6.0 + hills + hill - bed


def land(count: int) -> Iterator[Samples]:
    """Meadows, fields, road and water."""
    side = int(np.sqrt(count))
    steps = np.arange(side) * EXTENT / side
    xy = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    xy = xy + CHANCE.uniform(0.0, EXTENT / side, xy.shape)  # one in each square, so that there are no holes
    x, y = xy.T
    z = ground(x, y)
    fields = (np.floor((x + 0.3 * y) / 23.0) + np.floor((y - 0.2 * x) / 19.0)) % 3
    green = np.array([(0.33, 0.43, 0.18), (0.47, 0.50, 0.22), (0.62, 0.55, 0.30)])[fields.astype(int)]
    green[z > 14.0] = (0.30, 0.38, 0.19)
    wet, paved = np.abs(y - river(x)) < 6.0, np.abs(y - road(x)) < 2.4
    z[wet] = ground(x[wet], river(x[wet])) + 1.9
    positions = np.column_stack([xy, z])
    yield positions[~wet & ~paved], green[~wet & ~paved], GROUND
    yield positions[wet], np.tile((0.16, 0.34, 0.42), (wet.sum(), 1)), WATER
    yield positions[paved & ~wet], np.tile((0.55, 0.53, 0.50), ((paved & ~wet).sum(), 1)), ROAD


def house(center: np.ndarray, size: np.ndarray, turn: float, style: int, density: float) -> Iterator[Samples]:
    """Walls with windows and a gable roof; `size` is length, width and height of the walls [m]."""
    length, width, height = size
    ridge = height + 0.55 * width
    count = int(density * 2.0 * (length + width) * height)
    along, up = CHANCE.uniform(0.0, 2.0 * (length + width), count), CHANCE.uniform(0.0, 1.0, count)
    side = np.searchsorted(np.cumsum([length, width, length]), along)
    at = along - np.array([0.0, length, length + width, 2 * length + width])[side]
    x = np.select([side == 0, side == 1, side == 2], [at, np.full(count, length), length - at], 0.0) - length / 2
    y = (
        np.select([side == 0, side == 1, side == 2], [np.zeros(count), at, np.full(count, width)], width - at)
        - width / 2
    )
    top = np.where(side % 2 == 1, ridge - (ridge - height) * np.abs(y) / (width / 2), height)
    walls = np.column_stack([x, y, up * top])
    window = (at % 2.4 > 0.9) & (at % 2.4 < 1.7) & (walls[:, 2] % 2.8 > 1.0) & (walls[:, 2] % 2.8 < 2.2)
    colors = np.where(window[:, None], (0.14, 0.17, 0.22), WALLS[style % 4])
    count = int(density * 2.6 * length * width)
    y = CHANCE.uniform(-0.56, 0.56, count) * width
    z = ridge - (ridge - height) * np.abs(y) / (width / 2)
    roof = np.column_stack([CHANCE.uniform(-0.53, 0.53, count) * length, y, z])
    shades = np.array(ROOFS[style % len(ROOFS)]) * np.where(np.sin(9.0 * np.abs(y)) > 0.6, 0.85, 1.0)[:, None]
    for part, color in ((walls, colors), (roof, shades)):
        yield turned(part, turn) + placed(center), color, BUILDING


def church(density: float) -> Iterator[Samples]:
    """A nave, and a tower with a spire."""
    yield from house(CHURCH, np.array([19.0, 9.0, 8.0]), 0.35, 0, density)
    tower = CHURCH - 12.0 * np.array([np.cos(0.35), np.sin(0.35)])
    yield from house(tower, np.array([6.0, 6.0, 19.0]), 0.35, 0, density)
    count = int(60 * density)
    up, around = 1.0 - np.sqrt(CHANCE.uniform(0.0, 1.0, count)), CHANCE.uniform(0.0, 2 * np.pi, count)
    radius = 3.2 * (1.0 - up)
    spire = np.column_stack([radius * np.cos(around), radius * np.sin(around), 19.5 + 15.0 * up])
    yield spire + placed(tower), np.tile((0.28, 0.42, 0.40), (count, 1)), BUILDING


def tree(center: np.ndarray, height: float, is_fir: bool, density: float) -> Samples:
    """A cone, or a crown on a trunk, with leaves near its surface."""
    count = int(density * height * (2.4 if is_fir else 3.4))
    around, up = CHANCE.uniform(0.0, 2 * np.pi, count), CHANCE.uniform(0.0, 1.0, count)
    if is_fir:
        radius, z = 0.26 * height * (1.0 - up) * CHANCE.uniform(0.75, 1.05, count), height * (0.1 + 0.9 * up)
        color = np.array((0.10, 0.24, 0.13)) * (0.7 + 0.6 * up[:, None])
    else:
        radius = 0.36 * height * np.sqrt(1.0 - (2.0 * up - 1.0) ** 2) * CHANCE.uniform(0.85, 1.05, count)
        z = height * (0.3 + 0.7 * up)
        color = np.array((0.22, 0.40, 0.12)) * (0.6 + 0.7 * up[:, None]) * CHANCE.uniform(0.8, 1.2)
    xyz = np.column_stack([radius * np.cos(around), radius * np.sin(around), z])
    return xyz + placed(center), color, TREE


def objects(density: float) -> Iterator[Samples]:
    """Houses along the road, the church, and trees where nothing else is."""
    taken = [*CHURCH[None], CHURCH - (11.0, 4.0)]
    for x in np.arange(9.0, EXTENT - 8.0, 11.5):
        for side in (-1.0, 1.0):
            turn = np.arctan(9.0 / 31.0 * np.cos(x / 31.0 + 1.0))
            center = np.array([x + CHANCE.uniform(-1.5, 1.5), road(x) + side * CHANCE.uniform(8.0, 10.0)])
            if min(np.linalg.norm(center - other) for other in taken) < 8.0 or abs(center[1] - river(x)) < 11.0:
                continue
            taken.append(center)
            size = np.array([CHANCE.uniform(7.5, 10.0), CHANCE.uniform(5.5, 7.0), CHANCE.uniform(3.4, 6.0)])
            yield from house(center, size, turn, int(CHANCE.integers(9)), density)
    yield from church(density)
    for _ in range(420):
        center = CHANCE.uniform(3.0, EXTENT - 3.0, 2)
        wooded = center[1] > 122.0 or CHANCE.uniform() < 0.16
        clear = min(np.linalg.norm(center - other) for other in taken) > 7.5
        if wooded and clear and abs(center[1] - river(center[0])) > 8.0 and abs(center[1] - road(center[0])) > 4.5:
            yield tree(center, CHANCE.uniform(4.0, 9.5), bool(center[1] > 118.0), 7.0 * density)


def placed(center: np.ndarray) -> np.ndarray:
    """The point of the ground there."""
    return np.array([*center, ground(*center)])


def turned(positions: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return positions @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def village(count: int) -> dict[str, np.ndarray]:
    """Columns of about `count` points; those of what stands on the ground are less than half of them."""
    parts = [*land(int(0.55 * count)), *objects(count / 55_000.0)]
    kinds = np.concatenate([np.full(len(positions), kind, np.uint8) for positions, _, kind in parts])
    positions = np.concatenate([positions for positions, _, _ in parts])
    positions = positions + CHANCE.normal(0.0, 0.05, positions.shape)  # m, of the scanner
    shade = CHANCE.normal(1.0, 0.09, len(positions))
    colors = np.clip(np.concatenate([color for _, color, _ in parts]) * shade[:, None], 0.0, 1.0)
    order = np.lexsort((positions[:, 1], np.floor(positions[:, 0] / 4.0)))  # in strips, which compress well
    return {
        "points": positions[order],
        "colors": (255 * colors[order]).astype(np.uint8),
        "classification": kinds[order],
        "intensity": (3e4 * np.clip(shade[order], 0, 2)).astype(np.uint16),
    }


# the head -----------------------------------------------------------------------------------------------------------


def ellipsoid(grid: np.ndarray, center: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
    """About the distance from its surface, negative inside."""
    scaled = (grid - np.array(center)) / np.array(radii)
    return (np.linalg.norm(scaled, axis=-1) - 1.0) * min(radii)


def tube(grid: np.ndarray, center: tuple[float, float], radius: float, low: float, high: float) -> np.ndarray:
    """The same of a cylinder along z."""
    away = np.hypot(grid[..., 0] - center[0], grid[..., 1] - center[1]) - radius
    return np.maximum(away, np.maximum(low - grid[..., 2], grid[..., 2] - high))


def head(side: int) -> np.ndarray:
    """Hounsfield units (z, y, x) of a box of 240 mm; the face is toward +y. Surfaces are about two cells wide."""
    steps = np.linspace(-1.0, 1.0, side, dtype=np.float32)
    z, y, x = np.meshgrid(steps, steps, steps, indexing="ij")
    grid = np.stack([x, y, z], axis=-1)
    values, soft = np.full(x.shape, -1000.0, np.float32), 1.6 / side

    def put(distance: np.ndarray, unit: float | np.ndarray) -> None:
        inside = 1.0 / (1.0 + np.exp(np.clip(distance / (0.5 * soft), -30.0, 30.0)))
        values[:] = values + inside * (unit - values)

    folds = 9.0 * np.sin(19 * x + 4 * np.sin(11 * z)) * np.sin(17 * y + 3 * np.sin(13 * x)) * np.sin(16 * z)
    for part in (  # skin: skull, face, nose, ears, neck
        *(ellipsoid(grid, (0, -0.06, 0.2), (0.62, 0.76, 0.68)), ellipsoid(grid, (0, 0.16, -0.22), (0.48, 0.56, 0.5))),
        *(ellipsoid(grid, (0, 0.64, -0.1), (0.1, 0.17, 0.2)), ellipsoid(grid, (0, 0.55, -0.5), (0.24, 0.16, 0.16))),
        *(ellipsoid(grid, (0.61, -0.06, -0.02), (0.05, 0.1, 0.15)), tube(grid, (0, -0.16), 0.34, -1.1, -0.2)),
        ellipsoid(grid, (-0.61, -0.06, -0.02), (0.05, 0.1, 0.15)),
    ):
        put(part, 30.0)
    skull = ellipsoid(grid, (0, -0.06, 0.2), (0.55, 0.69, 0.61))
    put(skull, 1000.0)
    put(np.maximum(ellipsoid(grid, (0, 0.2, -0.24), (0.4, 0.44, 0.4)), -0.2 - grid[..., 1]), 700.0)  # face
    put(ellipsoid(grid, (0, 0.2, -0.38), (0.3, 0.42, 0.33)), 25.0)  # mouth
    jaw = ellipsoid(grid, (0, 0.2, -0.56), (0.37, 0.44, 0.13))
    put(np.maximum(jaw, -ellipsoid(grid, (0, 0.12, -0.56), (0.29, 0.37, 0.3))), 1100.0)
    teeth = 1300.0 + 300.0 * np.sin(60 * np.arctan2(x, y - 0.1))
    for height in (-0.42, -0.34):
        arch = np.hypot(np.hypot(x / 0.26, (y - 0.2) / 0.36) * 0.3 - 0.3, z - height) - 0.035
        put(np.maximum(arch, 0.25 - y), teeth)
    put(skull + 0.075, 34.0 + folds)  # brain
    put(np.maximum(np.maximum(np.abs(x) - 0.012, skull + 0.085), 0.25 - z), 12.0)  # between its halves
    for at in (-0.1, 0.1):
        put(ellipsoid(grid, (at, -0.02, 0.27), (0.06, 0.27, 0.12)), 4.0)  # ventricles
        put(ellipsoid(grid, (2.1 * at, 0.5, 0.0), (0.13, 0.15, 0.12)), -60.0)  # fat around the eyes
        put(ellipsoid(grid, (2.1 * at, 0.55, 0.0), (0.095, 0.095, 0.095)), 18.0)
        put(ellipsoid(grid, (0.6 * at, 0.52, -0.18), (0.05, 0.16, 0.09)), -900.0)  # nose
    put(ellipsoid(grid, (0.27, -0.18, 0.36), (0.11, 0.13, 0.11)), 95.0)  # tumor
    put(tube(grid, (0, 0.02), 0.07, -1.1, -0.3), -950.0)  # windpipe
    for level in np.arange(-1.0, -0.3, 0.16):
        put(ellipsoid(grid, (0, -0.2, level), (0.13, 0.12, 0.062)), 650.0)  # vertebrae
        put(ellipsoid(grid, (0, -0.36, level), (0.035, 0.13, 0.035)), 700.0)
    put(tube(grid, (0, -0.28), 0.04, -1.1, 0.0), 40.0)  # spinal cord
    return values


# files --------------------------------------------------------------------------------------------------------------


def write_las(path: Path, scan: dict[str, np.ndarray]) -> None:
    """The scan as LAS 1.4."""
    import laspy

    header = laspy.LasHeader(point_format=7, version="1.4")
    header.scales, header.offsets = [0.001] * 3, CORNER
    las = laspy.LasData(header)
    las.x, las.y, las.z = (scan["points"] + CORNER).T
    las.red, las.green, las.blue = scan["colors"].T.astype(np.uint16) * 257
    las.classification, las.intensity = scan["classification"], scan["intensity"]
    las.write(path)


def write_large(folder: Path, count: int, side: int) -> None:
    """Files to try formats with."""
    scan, values = village(count), head(side) + CHANCE.normal(0.0, 4.0, (side, side, side)).astype(np.float32)
    np.savez(folder / "scan.npz", **scan | {"points": scan["points"] + CORNER})  # pyright: ignore[reportArgumentType]
    np.save(folder / "ct.npy", values)
    try:
        write_las(folder / "scan.las", scan)
        import nrrd
    except ImportError as error:
        print(f"without LAS and NRRD: {error}")
        return
    directions = {"space directions": np.eye(3) * 240.0 / side, "space origin": [-120.0] * 3}
    header = {"space": "right-anterior-superior", **directions, "space units": ["mm"] * 3}
    nrrd.write(str(folder / "ct.nrrd"), values.transpose(2, 1, 0).astype(np.int16), header)


def main() -> None:
    if len(sys.argv) > 1:
        return write_large(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    scan = village(90_000)
    centimeters = np.round(100.0 * (scan["points"] - scan["points"].mean(axis=0))).astype(np.int16)
    kept = {"points": centimeters, "colors": scan["colors"] // 4 * 4, "classification": scan["classification"]}
    np.savez_compressed(DATA / "village.npz", **kept)  # pyright: ignore[reportArgumentType]
    np.savez_compressed(DATA / "head.npz", values=np.round(head(96)).astype(np.int16))


if __name__ == "__main__":
    main()
