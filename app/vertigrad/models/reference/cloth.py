"""NumPy reference of the cloth's kernels, in float64: the equations of shaders/models/cloth.wgsl, in their order.

Arrays are positions and velocities (n, 3), inverse areas (n,), springs (e, 2). `values` are the uniform fields by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..physics.cloth_long import NONE, LongThreads
from ..physics.cloth_sheet import Color, Sheet
from . import grids
from .obstacle import Obstacle, Obstacles

Doubles = NDArray[np.float64]
Values = Mapping[str, Any]

ALONG = 0.02
STIFFNESS = 0.5
WAVES = np.array([[1.17, 0.35, 0.86], [-0.62, 1.1, 2.42], [3.6, -2.9, 3.3]])
HEIGHTS = np.array([0.5, 0.3, 0.2])


@dataclass
class State:
    """A cloth at one moment; `springs` and `distant` are rest lengths, negative where torn, and stiffnesses."""

    positions: Doubles
    velocities: Doubles
    normals: Doubles
    inverse: Doubles
    springs: Doubles
    distant: Doubles  # springs of long threads


@dataclass(frozen=True)
class Box:
    """Samples (nz, ny, nx, ...) of a box: its corner [m], cells per meter, and where in the first cell a sample is."""

    samples: Doubles
    low: Doubles
    scale: Doubles
    inset: float  # 0.5: samples are in the middles of cells; 0: at their corners

    def at(self, positions: Doubles) -> Doubles:
        """Trilinear between samples, the nearest beyond them."""
        return grids.interpolated(self.samples, self._counted(positions))

    def gradient(self, positions: Doubles) -> Doubles:
        """Gradient [1/m] of `at`, samples being numbers."""
        return grids.gradient(self.samples, self._counted(positions)) * self.scale

    def holds(self, positions: Doubles) -> NDArray[np.bool_]:
        """Which positions are inside."""
        at = (positions - self.low) * self.scale
        return np.all((at >= 0.0) & (at <= np.array(self.samples.shape[2::-1]) + 2.0 * self.inset - 1.0), axis=1)

    def _counted(self, positions: Doubles) -> Doubles:
        return (positions - self.low) * self.scale - self.inset


def sweep(
    state: State,
    sheet: Sheet,
    long: LongThreads,
    values: Values,
    steps: int,
    wind: Box | None,
    obstacle: Box | Obstacles | None,
) -> None:
    """`steps` small steps, and what is drawn afterwards, such as normals; changes `state`."""
    pairs = partners(state.positions, sheet.rest_positions, values["reach"]) if values["collides"] else None
    for step in range(steps):
        predicted = predict(state, values, wind)
        for color in long.colors:
            stretch(state, long.edges, state.distant, color, values)
        for color in sheet.colors:
            if color.kind == 2:
                hinge(state, sheet, color, values)
            else:
                stretch(state, sheet.edges, state.springs, color, values)
        pushes = repel(state, values, pairs) if pairs is not None else 0.0
        resolve(state, predicted, pushes, {**values, "substep_lag": (steps - 1 - step) * values["h"]}, obstacle)
    tear(state, sheet, values)
    part_long(state, sheet, long)
    state.normals = normals(state, sheet)


def predict(state: State, values: Values, wind: Box | None) -> Doubles:
    """Free motion of what is not pinned."""
    h, free = values["h"], state.inverse > 0
    velocity = state.velocities.copy()
    velocity[:, 1] -= values["gravity"] * h
    waves = np.sin(state.positions @ WAVES.T - np.array(values["phases"])) @ HEIGHTS
    air = np.array(values["wind"]) * (1.0 + values["gust"] * waves)[:, None]
    if wind is not None:
        air = air + wind.at(state.positions)
    relative_velocity = air - velocity
    rate = values["drag"] / values["density"] * np.linalg.norm(relative_velocity, axis=1, keepdims=True)
    across = state.normals * np.sum(relative_velocity * state.normals, axis=1, keepdims=True)
    velocity += across * _taken(rate, h) + (relative_velocity - across) * _taken(rate * ALONG, h)
    velocity *= 1.0 - _taken(values["damping"], h)
    velocity += (np.array(values["tool_velocity"]) - velocity) * held(state.positions, values)
    state.velocities[free] = velocity[free]
    state.positions = state.positions + h * state.velocities
    return state.positions.copy()


def held(positions: Doubles, values: Values) -> Doubles:
    """How firmly the tool holds what is there (n, 1): the fraction of its own motion that it loses in a small step."""
    far = np.linalg.norm(positions - values["tool_point"], axis=1, keepdims=True) / values["tool_radius"]
    x = np.clip((far - 0.5) / 0.5, 0.0, 1.0)
    return _taken(values["tool_rate"] * (1.0 - x * x * (3.0 - 2.0 * x)), values["h"])


def stretch(state: State, edges: NDArray[np.int64], springs: Doubles, color: Color, values: Values) -> None:
    """Edges of one color, which share no vertex that moves; long ones only pull."""
    part = slice(color.first, color.first + color.count)
    a, b = edges[part].T
    length = springs[part, 0]
    span = state.positions[a] - state.positions[b]
    far = np.linalg.norm(span, axis=1)
    weight = state.inverse[a] + state.inverse[b]
    stiffness = np.array([values["shear"], 0.0, 0.0] if color.kind == 1 else values["stiffness"])
    s = springs[part, 1:] @ stiffness * values["h"] ** 2 / values["density"]
    works = (length > 0) & (weight > 0) & (far > (length if color.kind == 3 else 0.0))
    size = np.where(works, (far - length) / np.where(far > 0, far, 1.0) * s / (1.0 + s * weight), 0.0)
    np.subtract.at(state.positions, a, (state.inverse[a] * size)[:, None] * span)
    np.add.at(state.positions, b, (state.inverse[b] * size)[:, None] * span)


def hinge(state: State, sheet: Sheet, color: Color, values: Values) -> None:
    """Hinges of one color."""
    part = slice(color.first, color.first + color.count)
    a, b, c, one, two = sheet.hinges[part].T
    weight = state.inverse[a] + 4.0 * state.inverse[b] + state.inverse[c]
    s = values["bend"] * sheet.bend_stiffnesses[part] * values["h"] ** 2 / values["density"]
    works = (state.springs[one, 0] > 0) & (state.springs[two, 0] > 0) & (weight > 0)
    bow = state.positions[a] - 2.0 * state.positions[b] + state.positions[c]
    correction = np.where(works, s / (1.0 + s * weight), 0.0)[:, None] * bow
    state.positions[a] -= state.inverse[a][:, None] * correction
    state.positions[b] += 2.0 * state.inverse[b][:, None] * correction
    state.positions[c] -= state.inverse[c][:, None] * correction


def partners(positions: Doubles, rest_positions: Doubles, reach: float) -> list[NDArray[np.int64]]:
    """Of each vertex those that are near now and were not as it was cut."""
    found = []
    for i in range(len(positions)):
        near = np.linalg.norm(positions - positions[i], axis=1) < reach
        found.append(np.flatnonzero(near & (np.linalg.norm(rest_positions - rest_positions[i], axis=1) >= reach)))
    return found


def repel(state: State, values: Values, pairs: list[NDArray[np.int64]]) -> Doubles:
    """How far each vertex is pushed by those it overlaps."""
    pushes = np.zeros_like(state.positions)
    for i, others in enumerate(pairs):
        if not len(others) or state.inverse[i] == 0:
            continue
        offset = state.positions[i] - state.positions[others]
        far = np.linalg.norm(offset, axis=1, keepdims=True)
        depth = values["thickness"] - far
        normal = offset / np.where(far > 0, far, 1.0)
        displacement = (state.velocities[i] - state.velocities[others]) * values["h"]
        slide = displacement - normal * np.sum(displacement * normal, axis=1, keepdims=True)
        size = np.linalg.norm(slide, axis=1, keepdims=True)
        held = np.where(size > 0, np.minimum(1.0, values["friction"] * depth / np.where(size > 0, size, 1.0)), 0.0)
        fraction = (state.inverse[i] / (state.inverse[i] + state.inverse[others]))[:, None]
        pushes[i] = np.sum(np.where((depth > 0) & (far > 0), (normal * depth - slide * held) * fraction, 0.0), axis=0)
    return STIFFNESS * pushes


def resolve(
    state: State, predicted: Doubles, pushes: Doubles | float, values: Values, obstacle: Box | Obstacles | None
) -> None:
    """Contacts, and the velocities that came of it all."""
    h, free = values["h"], state.inverse > 0
    start = predicted - h * state.velocities
    position = state.positions + pushes
    position = position + (predicted - position) * held(start, values)
    if values["radius"] > 0:
        out = position - values["center"]
        far = np.linalg.norm(out, axis=1, keepdims=True)
        clear = far[:, 0] - values["radius"] - values["gap"]
        position = _pushed_out(position, start, out / np.where(far > 0, far, 1.0), clear, values["friction"])
    if isinstance(obstacle, Obstacles):
        which, near, distance = obstacle.nearest(position, values["obstacle_lag"] + values["substep_lag"], h)
        carried, normal = (
            obstacle.of_nearest(which, [getattr(one, what)(near) for one in obstacle.all])
            for what in ("velocity_at", "normal")
        )
        clear = distance - values["gap"]
        mass = values["density"] / np.where(free, state.inverse, 1.0)
        touching = (clear < 0) & free
        give = np.zeros((len(position), 3, 3))
        for number, one in enumerate(obstacle.all):
            mine = touching & (which == number)
            give[mine] = _give(one, near[mine], mass[mine], mine.sum())
        position = _pushed_out(position, start + carried * h, normal, clear, values["friction"], give)
    elif obstacle is not None:
        gradient = obstacle.gradient(position)
        size = np.linalg.norm(gradient, axis=1, keepdims=True)
        clear = np.where(obstacle.holds(position) & (size[:, 0] > 1e-6), obstacle.at(position) - values["gap"], 0.0)
        position = _pushed_out(position, start, gradient / np.where(size > 0, size, 1.0), clear, values["friction"])
    up = np.broadcast_to([0.0, 1.0, 0.0], position.shape)
    position = _pushed_out(position, start, up, position[:, 1] - values["ground"] - values["gap"], values["friction"])
    state.velocities[free] += (position - predicted)[free] / h
    state.positions[free] = position[free]


def tear(state: State, sheet: Sheet, values: Values) -> None:
    """Edges that are stretched too far part for good."""
    span = np.linalg.norm(np.subtract(*(state.positions[sheet.edges[:, end]] for end in (0, 1))), axis=1)
    lengths = state.springs[:, 0]
    state.springs[:, 0] = np.where((lengths > 0) & (span > lengths * (1.0 + values["limit"])), -lengths, lengths)


def part_long(state: State, sheet: Sheet, long: LongThreads) -> None:
    """Long edges part with the shorter ones along which they run."""
    for color, hop in zip(long.colors, long.hops, strict=True):
        for n in range(color.first, color.first + color.count):
            a, b = long.edges[n]
            in_row = b - a < sheet.columns
            along = np.arange(a, b, hop * (1 if in_row else sheet.columns))
            found = long.next[along, 2 * (hop > 1) + (not in_row)]
            assert (found != NONE).all()
            if ((state.distant if hop > 1 else state.springs)[found, 0] <= 0).any():
                state.distant[n, 0] = -abs(state.distant[n, 0])


def normals(state: State, sheet: Sheet) -> Doubles:
    """Means of the normals of the triangles that are left around each vertex, by area."""
    whole = np.all(state.springs[sheet.sides, 0] > 0, axis=1)
    a, b, c = (state.positions[sheet.triangles[:, corner]] for corner in range(3))
    crosses = np.where(whole[:, None], np.cross(b - a, c - a), 0.0)
    sums = np.zeros_like(state.positions)
    for corner in range(3):
        np.add.at(sums, sheet.triangles[:, corner], crosses)
    sizes = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.where(sizes > 0, sums / np.where(sizes > 0, sizes, 1.0), state.normals)


def _taken(rate: Any, h: float) -> Any:
    return rate * h / (1.0 + rate * h)


def _give(body: Obstacle, at: Doubles, mass: Doubles, contacts: int) -> Doubles:
    """What a body gives way (n, 3, 3) at positions (n, 3), each of which meets an equal part of it."""
    if body.rigid is None or not body.free:
        return np.zeros((len(at), 3, 3))
    xx, yy, zz, xy, xz, yz = body.rigid.inertia
    turning = body.axes.T @ np.linalg.inv([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ body.axes
    arms = at - body.position - body.scale * body.rigid.center @ body.axes
    turned = np.stack([np.cross(np.cross(arms, axis) @ turning, arms) for axis in np.eye(3)], axis=2)
    return (mass * contacts)[:, None, None] * (np.eye(3) / body.rigid.mass + turned)


def _pushed_out(
    position: Doubles, start: Doubles, normal: Doubles, clear: Doubles, friction: float, give: Doubles | float = 0.0
) -> Doubles:
    give = np.broadcast_to(give, (len(position), 3, 3))
    depth = -clear / (1.0 + _along(give, normal))
    outside = position + depth[:, None] * normal
    displacement = outside - start + depth[:, None] * np.einsum("nij,nj->ni", give, normal)
    slide = displacement - normal * np.sum(displacement * normal, axis=1, keepdims=True)
    size = np.linalg.norm(slide, axis=1)
    size = np.where(size > 0, size, 1.0)
    held = np.minimum(1.0 / (1.0 + _along(give, slide / size[:, None])), friction * depth / size)
    return np.where((clear < 0)[:, None], outside - slide * held[:, None], position)


def _along(matrices: Doubles, directions: Doubles) -> Doubles:
    return np.einsum("ni,nij,nj->n", directions, matrices, directions)
