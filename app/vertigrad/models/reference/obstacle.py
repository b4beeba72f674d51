"""Obstacles in float64, as shaders/common/obstacle.wgsl has them: distances, normals and velocities at positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .grids import interpolated

Doubles = NDArray[np.float64]

NONE, BOX, SPHERE, CYLINDER, GRID, HEIGHTS = range(6)
HEADER = 144  # numbers before the samples
POINTS = 32  # contact points that a header has room for
FAR = 1e9
CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)


class Rigid(NamedTuple):
    """How a body moves: mass [kg], center of mass (3,) and contact points (n, 3) in its own axes, before its scale.

    `inertia` [kg m²] are the elements xx, yy, zz, xy, xz, yz about that center, in its own axes. Contacts are spheres
    of a `radius` [m] around the points.
    """

    mass: float
    center: Doubles
    inertia: Doubles
    points: Doubles
    radius: float = 0.0
    friction: float = 0.0


class Obstacle(NamedTuple):
    """A shape in its own axes, `half` the edges of its box, and its placement: rows of `axes` are its axes in space.

    `samples` are distances (nz, ny, nx) or heights (nz, 1, nx), if it is of such a kind. `free` is whether a medium
    moves it, `load` the force [N] and torque [N m] of that medium.
    """

    kind: int
    position: Doubles
    scale: float
    half: Doubles
    axes: Doubles
    velocity: Doubles
    spin: Doubles
    samples: np.ndarray
    rigid: Rigid | None = None
    free: bool = False
    load: Doubles = np.zeros(6)

    @staticmethod
    def of(array: np.ndarray) -> Obstacle:
        """The first one of what a model has on the GPU."""
        head = array[:HEADER].astype(float)
        axes = head[8:20].reshape(3, 4)[:, :3]
        size = head[28:31].astype(int)
        samples = array[HEADER : HEADER + size.prod()].reshape(size[::-1]).astype(float)
        points = head[48:].reshape(POINTS, 3)[: int(head[19])]
        rigid = Rigid(head[11], head[32:35], head[36:42], points, head[15], head[23]) if head[11] > 0.0 else None
        placed = (int(head[0]), head[1:4], head[4], head[5:8], axes, head[20:23], head[24:27], samples)
        return Obstacle(*placed, rigid, head[35] == 1.0, head[42:48])

    def header(self) -> Doubles:
        """The numbers (HEADER,) that describe it, as the last one."""
        head = np.zeros(HEADER)
        head[0], head[1:4], head[4], head[5:8] = self.kind, self.position, self.scale, self.half
        head[8:20].reshape(3, 4)[:, :3] = self.axes
        head[20:23], head[24:27], head[28:31] = self.velocity, self.spin, self.samples.shape[::-1]
        if self.rigid is not None:
            head[11], head[15], head[19] = self.rigid.mass, self.rigid.radius, len(self.rigid.points)
            head[23], head[32:35], head[36:42] = self.rigid.friction, self.rigid.center, self.rigid.inertia
            head[48 : 48 + self.rigid.points.size] = self.rigid.points.ravel()
        return head

    def distance(self, at: Doubles) -> Doubles:
        """Signed distances (n,) [m] of positions (n, 3)."""
        return self._shape(self._local(at)) * self.scale

    def normal(self, at: Doubles) -> Doubles:
        """Unit vectors (n, 3) along which distances grow."""
        local, e = self._local(at), 0.01 * self.half.max()
        total = sum(corner * self._shape(local + e * corner)[:, None] for corner in CORNERS)
        long = np.linalg.norm(total, axis=1, keepdims=True)
        return np.where(long > 1e-12, total / np.maximum(long, 1e-300) @ self.axes, [0.0, 1.0, 0.0])

    def velocity_at(self, at: Doubles) -> Doubles:
        """Its velocities (n, 3) [m/s] at positions."""
        return self.velocity + np.cross(self.spin, at - self.position)

    def _local(self, at: Doubles) -> Doubles:
        return (at - self.position) @ self.axes.T / self.scale

    def _shape(self, at: Doubles) -> Doubles:
        outside = np.abs(at) - self.half
        match self.kind:
            case 1:
                return _box(outside)
            case 2:
                return np.linalg.norm(at, axis=1) - self.half[0]
            case 3:
                around = np.linalg.norm(at[:, [0, 2]], axis=1) - self.half[0]
                return _box(np.stack([around, outside[:, 1], np.full(len(at), -FAR)], axis=1))
            case 4:
                held = np.clip(at, -self.half, self.half)
                return interpolated(self.samples, self._index(held)) + np.linalg.norm(at - held, axis=1)
            case 5:
                return _box(np.stack([outside[:, 0], self._above(at), outside[:, 2]], axis=1))
        return np.full(len(at), FAR)

    def _index(self, at: Doubles) -> Doubles:
        return (at / self.half + 1.0) * 0.5 * (np.array(self.samples.shape[::-1]) - 1.0)

    def _above(self, at: Doubles) -> Doubles:
        here = self._index(np.clip(at, -self.half, self.half)) * [1.0, 0.0, 1.0]
        last = np.array(self.samples.shape[::-1]) - 1.0
        steep = np.ones(len(at))
        for axis in (0, 2):
            step = 0.5 * np.eye(3)[axis]
            rise = interpolated(self.samples, here + step) - interpolated(self.samples, here - step)
            steep += (rise * 0.5 * last[axis] / self.half[axis]) ** 2
        return (at[:, 1] - interpolated(self.samples, here)) / np.sqrt(steep)


class Obstacles(NamedTuple):
    """All obstacles of an array. Of several at a position, the nearest one."""

    all: tuple[Obstacle, ...]

    @staticmethod
    def of(array: np.ndarray) -> Obstacles:
        """Of what a model has on the GPU."""
        return Obstacles(tuple(Obstacle.of(array[first:]) for first in blocks(array)))

    def distance(self, at: Doubles, lag: float = 0.0) -> Doubles:
        """Signed distances (n,) [m] of positions (n, 3), `lag` seconds before the placement."""
        return self.nearest(at, lag)[2]

    def normal(self, at: Doubles, lag: float = 0.0) -> Doubles:
        """Unit vectors (n, 3) along which distances of the nearest one grow."""
        which, before, _ = self.nearest(at, lag)
        return self.of_nearest(which, [one.normal(before) for one in self.all])

    def velocity(self, at: Doubles, lag: float = 0.0, pace: float = 1.0) -> Doubles:
        """Velocities (n, 3) of the nearest one; `pace` is what a second of the scene is to one of the medium."""
        which, before, _ = self.nearest(at, lag)
        paces = [1.0 if one.free else pace for one in self.all]
        found = [one.velocity_at(before) * own for one, own in zip(self.all, paces, strict=True)]
        return self.of_nearest(which, found)

    def nearest(self, at: Doubles, lag: float, ahead: float = 0.0) -> tuple[NDArray[np.int64], Doubles, Doubles]:
        """Which is nearest, where positions are for it, and their distances.

        What is placed is `lag` seconds before its placement, and what a medium moves `ahead` after where it is.
        """
        lags = [-ahead if one.free else lag for one in self.all]
        before = [at + one.velocity_at(at) * own for one, own in zip(self.all, lags, strict=True)]
        distances = np.stack([one.distance(there) for one, there in zip(self.all, before, strict=True)])
        which = distances.argmin(axis=0)
        return which, self.of_nearest(which, before), distances.min(axis=0)

    @staticmethod
    def of_nearest(which: NDArray[np.int64], values: list[Doubles]) -> Doubles:
        """Of values (n, ...) for each obstacle those (n, ...) of the nearest one."""
        return np.stack(values)[which, np.arange(len(which))]


def falling(array: np.ndarray, speed: float) -> np.ndarray:
    """The same obstacles, where those that a medium moves fall faster by `speed` [m/s]."""
    array = array.copy()
    for first in blocks(array):
        array[first + 21] -= speed * array[first + 35]
    return array


def blocks(array: np.ndarray) -> list[int]:
    """Where the obstacles of an array begin."""
    found = [0]
    while array[found[-1] + 31] > 0.0:
        found.append(found[-1] + int(array[found[-1] + 31]))
    return found


def rotation(degrees: tuple[float, ...]) -> Doubles:
    """The axes (3, 3), in rows, of what is turned around x, then y, then z [degrees]."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
    around_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    around_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    around_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return (around_z @ around_y @ around_x).T


def spin(before: Doubles, after: Doubles, dt: float) -> Doubles:
    """The angular velocity [rad/s] that turns axes (rows) into others in `dt` seconds, the shorter way."""
    if np.array_equal(before, after):
        return np.zeros(3)  # the product below is not exactly symmetric
    turn = after.T @ before
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine = 0.5 * float(np.linalg.norm(axis))
    angle = np.arctan2(sine, 0.5 * (np.trace(turn) - 1.0))
    return axis / max(2.0 * sine, 1e-12) * angle / dt


def _box(outside: Doubles) -> Doubles:
    return np.linalg.norm(np.maximum(outside, 0.0), axis=1) + np.minimum(outside.max(axis=1), 0.0)
