"""How the training of splats on photos begins: the scene upright, and a splat for each point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base import ModelCamera
from ..data.colmap import Pinhole, SparseModel
from ..data.splat_formats.values import FIRST_HARMONIC

NEIGHBORS = 3  # whose mean squared distance is the variance that a splat begins with
OPACITY = 0.1  # that it begins with
DARKEST = 2  # of a color, of 255: one below 0 is cut off, and has no gradient
BOX = 64  # points that are compared with each other at once
MARGIN = 1.1  # of the extent of the cameras, as in the reference implementation


class Views(NamedTuple):
    """Where photos were taken, the scene upright and its points around the origin.

    `rows` (views, 4, 4): of the rotation to x right, y down, z forward, each with the translation along it; and focal
    lengths and principal point [pixels]. `extent` is the size of the region of the cameras.
    """

    rows: np.ndarray
    extent: float

    @property
    def positions(self) -> np.ndarray:
        """Of the cameras, (views, 3)."""
        return -np.einsum("nij,ni->nj", self.rows[:, :3, :3], self.rows[:, :3, 3])


def placed(model: SparseModel, pinholes: tuple[Pinhole, ...]) -> tuple[Views, np.ndarray]:
    """The views, and the points, turned so that y points up as the photos have it, and moved to the origin."""
    poses = np.stack([photo.view_from_world for photo in model.photos])
    turn, middle = _upright(-poses[:, 1, :3].mean(axis=0)), np.median(model.points, axis=0)
    rows = np.empty((len(poses), 4, 4))
    rows[:, :3, :3] = poses[:, :, :3] @ turn.T
    rows[:, :3, 3] = poses[:, :, 3] + poses[:, :, :3] @ middle
    rows[:, 3] = pinholes
    points = (model.points - middle) @ turn.T
    views = Views(rows, 0.0)
    spread = float(np.linalg.norm(views.positions - views.positions.mean(axis=0), axis=1).max())
    if spread < 1e-6:  # a single place: as far as the points are away
        spread = float(np.median(np.linalg.norm(points - views.positions[0], axis=1)))
    return Views(rows, MARGIN * max(spread, 1e-6)), points


def camera(views: Views, number: int, height: int) -> ModelCamera:
    """From where a photo of so many rows of pixels was taken, its target as far away as the origin."""
    rows, position = views.rows[number], views.positions[number]
    forward = rows[2, :3]
    distance = max(float(-position @ forward), 0.1 * views.extent)
    fov = 2.0 * np.degrees(np.arctan(0.5 * height / rows[3, 1]))
    return ModelCamera(tuple(position.tolist()), tuple((position + distance * forward).tolist()), float(fov))


def beginning(
    points: np.ndarray, colors: np.ndarray, most: int, harmonics: int, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """What is trained, f32, for a splat at each point, or at `most` of them by chance: round, and of its color."""
    if len(points) > most:
        chosen = np.sort(random.choice(len(points), most, replace=False))
        points, colors = points[chosen], colors[chosen]
    count = len(points)
    scale = 0.5 * np.log(np.maximum(neighbor_squares(points), 1e-7))
    arrays = {
        "position": points,
        "scale": np.repeat(scale[:, None], 3, axis=1),
        "rotation": np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        "opacity": np.full(count, np.log(OPACITY / (1.0 - OPACITY))),
        "color": (np.maximum(colors, DARKEST) / 255.0 - 0.5) / FIRST_HARMONIC,
        **({"harmonics": np.zeros((count, harmonics))} if harmonics else {}),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def neighbor_squares(points: np.ndarray) -> np.ndarray:
    """The mean squared distance of each point to its three nearest neighbors, (n,); of fewer points, to all others.

    Points are divided at medians into boxes (Bentley 1975, "Multidimensional binary search trees used for associative
    searching"); those of a box are compared with all in boxes that are as near as their third neighbor in their own.
    """
    boxes = _boxes(points)
    low, high = (np.array([how(points[box], axis=0) for box in boxes]) for how in (np.min, np.max))
    found = np.empty(len(points))
    for number, box in enumerate(boxes):
        own = points[box]
        bound = _least(own, own)[:, -1].max()
        gaps = np.maximum(np.maximum(low - high[number], low[number] - high), 0.0)
        near = np.flatnonzero((gaps**2).sum(axis=1) <= bound)
        found[box] = _least(own, points[np.concatenate([boxes[other] for other in near])]).mean(axis=1)
    return found


def _boxes(points: np.ndarray) -> list[np.ndarray]:
    """The numbers of points in boxes of at most `BOX` of them."""
    done, left = [], [np.arange(len(points))]
    while left:
        box = left.pop()
        if len(box) <= BOX:
            done.append(box)
            continue
        axis = np.ptp(points[box], axis=0).argmax()
        order = np.argpartition(points[box, axis], len(box) // 2)
        left += [box[order[: len(box) // 2]], box[order[len(box) // 2 :]]]
    return done


def _least(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The least squared distances (n, 3) of points to others but themselves, which are among the others; in order."""
    squares = sum((points[:, None, axis] - others[:, axis]) ** 2 for axis in range(3))
    count = min(NEIGHBORS + 1, len(others))
    least = np.sort(np.partition(squares, count - 1, axis=1)[:, :count], axis=1)
    return least[:, 1:] if count > 1 else np.zeros((len(points), 1))


def _upright(up: np.ndarray) -> np.ndarray:
    """The rotation by the least angle that takes the direction `up` to y."""
    length = float(np.linalg.norm(up))
    if length < 1e-6:  # photos of all directions
        return np.diag([1.0, -1.0, -1.0])
    x, y, z = up / length
    if y < -1.0 + 1e-9:
        return np.diag([1.0, -1.0, -1.0])
    factor = 1.0 / (1.0 + y)
    return np.array(
        [[1.0 - factor * x * x, -x, -factor * x * z], [x, y, z], [-factor * x * z, -z, 1.0 - factor * z * z]]
    )


def frustum(rows: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners (5, 3) and triangles (4, 3) of what a camera along −z sees, as the first one does: 1 long, open there."""
    fx, fy = rows[0, 3, :2]
    x, y = 0.5 * width / fx, 0.5 * height / fy
    corners = np.array([[0.0, 0.0, 0.0], [-x, -y, -1.0], [x, -y, -1.0], [x, y, -1.0], [-x, y, -1.0]])
    index = [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4]]
    return corners.astype(np.float32), np.array(index, np.uint32)


def frustum_rotations(rows: np.ndarray) -> np.ndarray:
    """Quaternions x, y, z, w (views, 4) that turn a camera along −z, with y up, to each of the views."""
    axes = np.stack([rows[:, 0, :3], -rows[:, 1, :3], -rows[:, 2, :3]], axis=2)  # in columns: right, up, backward
    return np.array([_quaternion(one) for one in axes], np.float32)


def camera_colors(views: int, held_out: list[int]) -> np.ndarray:
    """Colors (views, 3), sRGB: blue of photos for training, orange of those that are held out."""
    colors = np.tile(np.array([0.35, 0.6, 0.95], np.float32), (views, 1))
    colors[held_out] = (0.95, 0.6, 0.25)
    return colors


def _quaternion(turn: np.ndarray) -> np.ndarray:
    """x, y, z, w of a rotation: the eigenvector of Bar-Itzhack 2000, "New method for extracting the quaternion"."""
    (a, b, c), (d, e, f), (g, h, i) = turn
    matrix = np.array(
        [
            [a - e - i, d + b, g + c, h - f],
            [d + b, e - a - i, h + f, c - g],
            [g + c, h + f, i - a - e, d - b],
            [h - f, c - g, d - b, a + e + i],
        ]
    )
    return np.linalg.eigh(matrix)[1][:, 3]
