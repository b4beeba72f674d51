"""NumPy reference of smoke: one step of the air, in float64, and the equations.

    du/dt + (u . grad) u = -grad p + buoyancy T y - weight s y + confinement h (N x w) + forces at source and tool
    div u = 0,    ds/dt + u . grad s = D lap s,    dT/dt + u . grad T = D lap T

    ds/dt = -b s,    dT/dt = heat b s - c T^4    with the rate of combustion b where T exceeds the ignition temperature

with density s of smoke, of fuel where it burns, temperature T above the surroundings, curl w = curl u and
N = grad |w| / |grad |w||.

Sources:
    Buoyancy and vorticity confinement   Fedkiw, Stam and Jensen 2001, "Visual Simulation of Smoke", equations 8 to 11.
    Combustion and radiation   Nguyen, Fedkiw and Jensen 2002, "Physically Based Modeling and Animation of Fire",
                section 4.2: heat that is released, and cooling with the fourth power of the temperature, integrated
                exactly. Fuel and soot are one density: what has cooled before it burnt stays as smoke.
    Advection   MacCormack's scheme without conditions on the step, held within the values that were around: Selle,
                Fedkiw, Kim, Liu and Rossignac 2008, "An Unconditionally Stable MacCormack Method", section 4. Near
                sides that let air through it is Stam's (1999) alone. Paths are followed with the midpoint rule.
    Mass        Neither scheme conserves it. The sum is corrected after each step by one factor, as weather models do
                (Priestley 1993, "A Quasi-Conservative Version of the Semi-Lagrangian Advection Scheme").
    Grid        Harlow and Welch 1965; the pressure is in `reference/smoke_pressure.py`.

Arrays are indexed [z, y, x]: faces (nz + 1, ny + 1, nx + 1, 3) [m/s], matter (nz, ny, nx, 2), velocity (nz, ny, nx, 3).
Positions (..., 3) are x, y, z, counted in cells. `fields` are the values of the uniform struct in
shaders/models/smoke.wgsl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from . import smoke_pressure as pressure_reference

Fields = Mapping[str, Any]


class Air(NamedTuple):
    """What there is between two steps."""

    faces: np.ndarray
    matter: np.ndarray
    velocity: np.ndarray
    pressure: np.ndarray


def step(air: Air, fields: Fields, solid: np.ndarray, cycles: int, sweeps: int) -> Air:
    """The air a step later, with so many cycles for the pressure and sweeps of diffusion. `solid` is true in walls."""
    box = _Box(fields, solid)
    matter = _diffused(_corrected(_advected_matter(box, air), box, air), box, sweeps)
    matter = _emitted(matter, box)
    faces = _pushed(_advected_faces(box, air), matter, _swirl(air.velocity, fields), box)
    pressure = air.pressure.copy()
    found = pressure_reference.levels(pressure_reference.finest(solid, box.open_low, box.open_high))
    rhs = np.where(solid, 0.0, outflow(faces))
    for _ in range(cycles):
        pressure_reference.v_cycle(found, pressure, rhs)
    faces = _slipping(_projected(faces, pressure, box), box)
    return Air(faces, matter, centered(faces), pressure)


def outflow(faces: np.ndarray) -> np.ndarray:
    """What flows out of each cell through its faces [m/s]."""
    x, y, z = (np.diff(faces[..., axis], axis=2 - axis) for axis in range(3))
    return x[:-1, :-1] + y[:-1, :, :-1] + z[:, :-1, :-1]


def centered(faces: np.ndarray) -> np.ndarray:
    """Velocity in the middle of each cell: the mean of the two faces along each axis."""
    low = faces[:-1, :-1, :-1]
    x, y, z = faces[:-1, :-1, 1:, 0], faces[:-1, 1:, :-1, 1], faces[1:, :-1, :-1, 2]
    return 0.5 * (low + np.stack([x, y, z], axis=-1))


def sampled(values: np.ndarray, position: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (..., 8) of the eight samples around positions, and weights; sample (0, 0, 0) is at position `first`."""
    count = np.array(values.shape[2::-1])
    at = np.clip(position - first, 0.0, count - 1.0)
    low = np.minimum(at.astype(int), count - 2)
    part = at - low
    found, weights = [], []
    for k in range(8):
        offset = np.array([k & 1, k >> 1 & 1, k >> 2])
        x, y, z = np.moveaxis(low + offset, -1, 0)
        found.append(values[z, y, x])
        weights.append(np.where(offset == 1, part, 1.0 - part).prod(-1))
    return np.stack(found, -1), np.stack(weights, -1)


class _Box:
    def __init__(self, fields: Fields, solid: np.ndarray):
        self.fields, self.solid = fields, solid
        self.open_low = tuple(bool(side) for side in fields["open_low"])
        self.open_high = tuple(bool(side) for side in fields["open_high"])
        self.count = np.array(solid.shape[::-1])
        self.courant = fields["dt"] / fields["edge"]

    def world(self, position: np.ndarray) -> np.ndarray:
        return np.asarray(self.fields["low"]) + self.fields["edge"] * position

    def has_left(self, position: np.ndarray) -> np.ndarray:
        return np.any((position < 0.0) & self.open_low | (position > self.count) & self.open_high, axis=-1)

    def blocked(self, axis: int) -> np.ndarray:
        """The faces along an axis that let no air through: one more of them than cells along it."""
        solid = np.moveaxis(self.solid, 2 - axis, 0)
        low = np.full((1, *solid.shape[1:]), not self.open_low[axis])
        high = np.full((1, *solid.shape[1:]), not self.open_high[axis])
        return np.moveaxis(np.concatenate([low, solid]) | np.concatenate([solid, high]), 0, 2 - axis)


def _positions(shape: tuple[int, ...], first: Any) -> np.ndarray:
    z, y, x = np.indices(shape)
    return np.stack([x, y, z], axis=-1) + np.asarray(first)


def _first_face(axis: int) -> np.ndarray:
    return np.where(np.arange(3) == axis, 0.0, 0.5)


def _own_faces(faces: np.ndarray, axis: int) -> np.ndarray:
    """Those faces along an axis that belong to a cell of the box on one side at least."""
    return faces[tuple(slice(None) if i == 2 - axis else slice(-1) for i in range(3))][..., axis]


def _wind(faces: np.ndarray, position: np.ndarray) -> np.ndarray:
    parts = [sampled(_own_faces(faces, axis), position, _first_face(axis)) for axis in range(3)]
    return np.stack([(values * weights).sum(-1) for values, weights in parts], -1)


def _traced(faces: np.ndarray, position: np.ndarray, courant: float) -> np.ndarray:
    middle = position + 0.5 * courant * _wind(faces, position)
    return position + courant * _wind(faces, middle)


def _advected_matter(box: _Box, air: Air) -> np.ndarray:
    middle = _positions(box.solid.shape, 0.5)
    back, forth = (_traced(air.faces, middle, sign * box.courant) for sign in (-1.0, 1.0))

    def at(matter: np.ndarray, position: np.ndarray) -> list[np.ndarray]:
        """The value at each position, the least and the most around it."""
        fluid, weights = sampled(~box.solid, position, np.full(3, 0.5))
        weights = weights * fluid
        total = weights.sum(-1)
        found = []
        for part in range(2):
            values, _ = sampled(matter[..., part], position, np.full(3, 0.5))
            mean = np.divide((values * weights).sum(-1), total, out=np.zeros(total.shape), where=total > 0.0)
            least = np.where(fluid, values, np.inf).min(-1)
            found.append([mean, least, np.where(fluid, values, -np.inf).max(-1)])
        return [np.where(total > 0.0, np.array([one[i] for one in found]), 0.0) for i in range(3)]

    value, least, most = at(air.matter, back)
    empty = box.solid | box.has_left(back)
    guess = np.moveaxis(np.where(empty, 0.0, value), 0, -1)
    returned = np.moveaxis(at(guess, forth)[0], 0, -1)
    better = np.clip(guess + 0.5 * (air.matter - returned), np.moveaxis(least, 0, -1), np.moveaxis(most, 0, -1))
    return np.where((empty | box.has_left(forth))[..., None], guess, better)


def _corrected(advected: np.ndarray, box: _Box, air: Air) -> np.ndarray:
    """What advection gained or lost in all is taken from or given to all; what flowed out of the box is lost."""
    away = np.zeros(box.solid.shape)
    for axis in range(3):
        own = np.moveaxis(_own_faces(air.faces, axis), 2 - axis, 0)
        sides = np.moveaxis(away, 2 - axis, 0)
        sides[0] += np.maximum(-own[0], 0.0)
        sides[-1] += np.maximum(own[-1], 0.0)
    left = np.maximum(1.0 - away * box.courant, 0.0)[..., None] * air.matter
    target, there = left.sum((0, 1, 2)), advected.sum((0, 1, 2))
    return advected * np.where(there > 1e-20, np.clip(target / np.maximum(there, 1e-20), 0.5, 2.0), 1.0)


def _advected_faces(box: _Box, air: Air) -> np.ndarray:
    guess, passes = np.zeros_like(air.faces), []
    for axis in range(3):
        own = _own_faces(air.faces, axis)
        position = _positions(own.shape, _first_face(axis))
        back, forth = (_traced(air.faces, position, sign * box.courant) for sign in (-1.0, 1.0))
        values, weights = sampled(own, back, _first_face(axis))
        _own_faces(guess, axis)[...] = (values * weights).sum(-1)
        passes.append((values, forth, box.has_left(back) | box.has_left(forth)))
    better = np.zeros_like(guess)
    for axis, (values, forth, left) in enumerate(passes):
        first = _own_faces(guess, axis)
        returned, weights = sampled(first, forth, _first_face(axis))
        corrected = first + 0.5 * (_own_faces(air.faces, axis) - (returned * weights).sum(-1))
        _own_faces(better, axis)[...] = np.where(left, first, np.clip(corrected, values.min(-1), values.max(-1)))
    return better


def _diffused(matter: np.ndarray, box: _Box, sweeps: int) -> np.ndarray:
    fluid = np.where(box.solid, 0.0, 1.0)
    for _ in range(sweeps):
        gain = np.zeros_like(matter)
        for axis in range(3):
            for by in (-1, 1):
                both = fluid * pressure_reference.neighbors(fluid, axis, by)
                for part in range(2):
                    other = pressure_reference.neighbors(matter[..., part], axis, by)
                    gain[..., part] += both * (other - matter[..., part])
        matter = matter + box.fields["spread"] * gain
    return matter


def _fade(position: np.ndarray, middle: Any, radius: float) -> np.ndarray:
    return np.clip(2.0 - 2.0 * np.linalg.norm(position - np.asarray(middle), axis=-1) / max(radius, 1e-6), 0.0, 1.0)


def _reacted(matter: np.ndarray, fields: Fields) -> np.ndarray:
    fraction, ignition, heat, radiation = fields["combustion"]
    density, temperature = matter[..., 0], matter[..., 1]
    burnt = fraction * np.clip((temperature - ignition) / (0.25 * ignition + 1e-6), 0.0, 1.0) * density
    hot = temperature + heat * burnt
    return np.stack([density - burnt, hot * (1.0 + radiation * np.maximum(hot, 0.0) ** 3) ** (-1 / 3)], axis=-1)


def _emitted(matter: np.ndarray, box: _Box) -> np.ndarray:
    fields, position = box.fields, box.world(_positions(box.solid.shape, 0.5))
    source = _fade(position, fields["source_center"], fields["source_radius"])
    tool = fields["emit"] * _fade(position, fields["tool_point"], fields["tool_radius"])
    value = np.maximum(source, tool)[..., None] * np.asarray(fields["source_matter"])
    return np.where(
        box.solid[..., None], 0.0, np.maximum(_reacted(matter, fields) * np.asarray(fields["retained"]), value)
    )


def _gradient(field: np.ndarray, edge: float) -> np.ndarray:
    """Central differences along x, y, z, the last axis; cells beyond the box are like those at its sides."""
    padded = np.pad(field, 1, mode="edge")
    inner = slice(1, -1)
    x = padded[inner, inner, 2:] - padded[inner, inner, :-2]
    y = padded[inner, 2:, inner] - padded[inner, :-2, inner]
    z = padded[2:, inner, inner] - padded[:-2, inner, inner]
    return np.stack([x, y, z], -1) / (2.0 * edge)


def _swirl(velocity: np.ndarray, fields: Fields) -> np.ndarray:
    edge = fields["edge"]
    dx, dy, dz = np.moveaxis(np.stack([_gradient(velocity[..., axis], edge) for axis in range(3)], -1), -2, 0)
    curl = np.stack([dy[..., 2] - dz[..., 1], dz[..., 0] - dx[..., 2], dx[..., 1] - dy[..., 0]], -1)
    gradient = _gradient(np.linalg.norm(curl, axis=-1), edge)
    toward = gradient / (np.linalg.norm(gradient, axis=-1, keepdims=True) + 1e-3 / edge)
    return fields["confinement"] * edge * np.cross(toward, curl)


def _pushed(faces: np.ndarray, matter: np.ndarray, swirl: np.ndarray, box: _Box) -> np.ndarray:
    fields, pushed = box.fields, np.zeros_like(faces)
    buoyancy = fields["buoyancy"] * matter[..., 1] - fields["weight"] * matter[..., 0]
    for axis in range(3):
        force = swirl[..., axis] + (buoyancy if axis == 1 else 0.0)
        ends = [(1, 1) if i == 2 - axis else (0, 0) for i in range(3)]
        force = np.moveaxis(np.pad(force, ends, mode="edge"), 2 - axis, 0)
        force = np.moveaxis(0.5 * (force[:-1] + force[1:]), 0, 2 - axis)
        speed = _own_faces(faces, axis) + fields["dt"] * force
        position = box.world(_positions(speed.shape, _first_face(axis)))
        if axis == 1:
            jet = fields["jet"] * _fade(position, fields["source_center"], fields["source_radius"])
            speed = np.where(jet > 0.0, np.maximum(speed, jet), speed)
        tool = fields["drag"] * _fade(position, fields["tool_point"], fields["tool_radius"])
        speed = speed + tool * (fields["tool_velocity"][axis] - speed)
        held = np.clip(speed, -fields["top_speed"], fields["top_speed"])
        _own_faces(pushed, axis)[...] = np.where(box.blocked(axis), _driven(box, axis, position), held)
    return pushed


def _driven(box: _Box, axis: int, position: np.ndarray) -> np.ndarray:
    """The velocity along an axis of blocked faces at positions: that of the obstacle where it is what blocks them."""
    fields, at = box.fields, position.reshape(-1, 3)
    placed = fields.get("obstacle")
    if placed is None:
        return np.zeros(position.shape[:-1])
    lag = fields["obstacle_lag"]
    ball = np.linalg.norm(at - fields["obstacle_center"], axis=1) - fields["obstacle_radius"]
    own = placed.distance(at, lag) <= ball
    speed = np.where(own, placed.velocity(at, lag)[:, axis], 0.0).reshape(position.shape[:-1])
    inner = np.moveaxis(speed, 2 - axis, 0)
    inner[0], inner[-1] = 0.0, 0.0
    return np.clip(speed, -fields["top_speed"], fields["top_speed"])


def _projected(faces: np.ndarray, pressure: np.ndarray, box: _Box) -> np.ndarray:
    faces = faces.copy()
    for axis in range(3):
        along = np.moveaxis(pressure, 2 - axis, 0)
        rise = np.concatenate([2.0 * along[:1], np.diff(along, axis=0), -2.0 * along[-1:]])
        _own_faces(faces, axis)[...] -= np.where(box.blocked(axis), 0.0, np.moveaxis(rise, 0, 2 - axis))
    return faces


def _slipping(faces: np.ndarray, box: _Box) -> np.ndarray:
    """The faces within obstacles have the mean velocity of those next to them that air goes through."""
    faces = faces.copy()
    for axis in range(3):
        free = np.where(box.blocked(axis), 0.0, 1.0)
        own = _own_faces(faces, axis)
        buried = np.pad(box.solid & pressure_reference.neighbors(box.solid, axis, -1).astype(bool), _one_more(axis))
        total = sum(pressure_reference.neighbors(own * free, other, by) for other in range(3) for by in (-1, 1))
        number = sum(pressure_reference.neighbors(free, other, by) for other in range(3) for by in (-1, 1))
        own[...] = np.where(buried, total / np.maximum(number, 1.0), own)
    return faces


def _one_more(axis: int) -> list[tuple[int, int]]:
    return [(0, 1) if i == 2 - axis else (0, 0) for i in range(3)]
