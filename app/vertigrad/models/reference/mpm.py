"""NumPy reference of shaders/models/mpm.wgsl and shaders/common/matter.wgsl, in float64 and without integers.

`known` has the fields of the shader's struct by name. Arrays are of particles (n, …); matrices (n, 3, 3)
are row by row.
Sources are those of the shaders.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..physics.mpm_matter import DENSEST, HARDEST, LOOSEST
from . import grids
from .obstacle import Obstacles

WATER, JELLY, SNOW, SAND = range(4)
WALL = 3
_ONE = np.eye(3)

Known = Mapping[str, Any]


class Particles(NamedTuple):
    """Positions [m], shades, velocities [m/s] and their gradients [1/s], elastic deformation, memory and materials.

    `mass` [kg], of one element, is what was on the grid in the step that computed these.
    """

    positions: np.ndarray
    shades: np.ndarray
    velocities: np.ndarray
    gradients: np.ndarray
    elastic: np.ndarray
    memory: np.ndarray
    materials: np.ndarray
    mass: np.ndarray = np.zeros(1)

    @staticmethod
    def of(particles: np.ndarray, affine: np.ndarray, strains: np.ndarray, materials: np.ndarray) -> Particles:
        """From tensors as the model has them: rows of 8, 12 and 12 numbers."""
        return Particles(
            particles[:, 0:3],
            particles[:, 3],
            particles[:, 4:7],
            _matrices(affine),
            _matrices(strains),
            strains[:, 3],
            materials,
        )

    def packed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As the model has them: particles, affine, strains."""
        speeds = np.linalg.norm(self.velocities, axis=1)
        particles = np.column_stack([self.positions, self.shades, self.velocities, speeds])
        strains = _columns(self.elastic)
        strains[:, 3] = self.memory
        return particles, _columns(self.gradients), strains


def svd(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(u, s, v) with a = u diag(s) vᵀ, u and v rotations; the last singular value has the determinant's sign."""
    u, s, vt = np.linalg.svd(a)
    v = np.swapaxes(vt, 1, 2).copy()
    for turn in (u, v):
        flipped = np.linalg.det(turn) < 0.0
        turn[flipped, :, 2] *= -1.0
        s[flipped, 2] *= -1.0
    return u, s, v


def strained(particles: Particles, known: Known) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Elastic deformation and memory after a step, Kirchhoff's stress [Pa] and the elastic energy [J/m³]."""
    turn = known["dt"] * particles.gradients
    elastic = particles.elastic + turn @ particles.elastic
    memory, stress = particles.memory.copy(), np.zeros_like(elastic)
    energy = np.zeros(len(memory))
    for kind in np.unique(particles.materials):
        mine = particles.materials == kind
        mu, lambda_ = known["mu"][kind], known["lambda"][kind]
        if kind == WATER:
            elastic[mine] = particles.elastic[mine]
            j = np.clip(memory[mine] * (1.0 + np.trace(turn[mine], axis1=1, axis2=2)), DENSEST, LOOSEST)
            less = np.minimum(j, 1.0)
            push = -lambda_ / 7.0 * (less**-7.0 - 1.0) * j
            shear = particles.gradients[mine] + np.swapaxes(particles.gradients[mine], 1, 2)
            memory[mine] = j
            stress[mine] = push[:, None, None] * _ONE + mu * j[:, None, None] * shear
            energy[mine] = lambda_ / 7.0 * ((less**-6.0 - 1.0) / 6.0 + less - 1.0)
            continue
        u, s, v = svd(elastic[mine])
        held, principal, energy[mine], memory[mine] = _yielded(kind, s, memory[mine], known, mu, lambda_)
        flows = (held != s).any(axis=1)
        elastic[mine] = np.where(flows[:, None, None], (u * held[:, None]) @ np.swapaxes(v, 1, 2), elastic[mine])
        stress[mine] = (u * principal[:, None]) @ np.swapaxes(u, 1, 2)
    return elastic, memory, stress, energy


def step(particles: Particles, known: Known, obstacle: np.ndarray | None = None) -> Particles:
    """The particles a physical step later."""
    dt, cell = known["dt"], known["cell"]
    elastic, memory, stress, _ = strained(particles, known)
    mass = np.array(known["mass"])[particles.materials] * known["unit"]
    force = 4.0 * dt * known["volume"] / cell**2
    bend = mass[:, None, None] * particles.gradients - force * stress
    size = np.array(known["size"])
    sums = np.zeros((np.prod(size), 4))
    around = list(_around(particles.positions, known))
    for weight, offset, rows in around:
        momentum = mass[:, None] * particles.velocities + np.einsum("nij,nj->ni", bend, offset)
        contributions = weight[:, None] * np.column_stack([momentum, mass])
        for axis in range(4):
            sums[:, axis] += np.bincount(rows, contributions[:, axis], len(sums))
    nodes = _moved(sums, known, obstacle)
    velocities, gradients = np.zeros_like(particles.velocities), np.zeros_like(particles.gradients)
    for weight, offset, rows in around:
        contribution = weight[:, None] * nodes[rows]
        velocities += contribution
        gradients += 4.0 / cell**2 * contribution[:, :, None] * offset[:, None, :]
    low, cells = np.array(known["low"]), np.array(known["cells"])
    least, most = low + (WALL - 1) * cell, low + (cells + WALL + 1) * cell
    positions = np.clip(particles.positions + dt * velocities, least, most)
    return Particles(
        positions,
        particles.shades,
        velocities,
        gradients,
        elastic,
        memory,
        particles.materials,
        sums[:, 3].sum()[None],
    )


def _matrices(columns: np.ndarray) -> np.ndarray:
    return np.swapaxes(columns.reshape(-1, 3, 4)[:, :, 0:3], 1, 2).copy()


def _columns(matrices: np.ndarray) -> np.ndarray:
    padded = np.zeros((len(matrices), 3, 4))
    padded[:, :, 0:3] = np.swapaxes(matrices, 1, 2)
    return padded.reshape(-1, 12)


def _yielded(
    kind: int, s: np.ndarray, memory: np.ndarray, known: Known, mu: float, lambda_: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Singular values and memory after matter has yielded, principal stresses and energy."""
    if kind == SAND:
        logs = np.log(np.maximum(s, 1e-3)) + memory[:, None] / 3.0
        tip = np.where(memory > 0.0, 0.0, known["tip"])
        held = _slid(logs, mu, lambda_, known["slope"], tip)
        total = held.sum(axis=1)
        energy = mu * (held**2).sum(axis=1) + 0.5 * lambda_ * total**2
        same = (held == logs).all(axis=1)[:, None]
        gained = np.maximum(logs.sum(axis=1) - total, 0.0)
        return np.where(same, s, np.exp(held)), 2.0 * mu * held + lambda_ * total[:, None], energy, gained
    held, hard = s, np.ones(len(s))
    if kind == SNOW:
        held = np.clip(s, 1.0 - known["compression"], 1.0 + known["stretch"])
        yields = (held != s).any(axis=1)
        memory = np.where(yields, np.clip(memory * np.prod(s / held, axis=1), 0.1, 10.0), memory)
        hard = np.clip(np.exp(known["hardening"] * (1.0 - memory)), 0.02, HARDEST)
    j, off = np.prod(held, axis=1), held - 1.0
    stress = hard[:, None] * (2.0 * mu * off * held + lambda_ * ((j - 1.0) * j)[:, None])
    return held, stress, hard * (mu * (off**2).sum(axis=1) + 0.5 * lambda_ * (j - 1.0) ** 2), memory


def _slid(logs: np.ndarray, mu: float, lambda_: float, slope: float, tip: np.ndarray) -> np.ndarray:
    total = logs.sum(axis=1)
    shear = logs - total[:, None] / 3.0
    size = np.linalg.norm(shear, axis=1)
    beyond = np.maximum(size + (3.0 * lambda_ + 2.0 * mu) / (2.0 * mu) * (total - tip) * slope, 0.0)
    held = logs - shear * (beyond / np.maximum(size, 1e-30))[:, None]
    return np.where((total >= tip)[:, None], 0.0, held)


def _around(positions: np.ndarray, known: Known) -> Any:
    """Weight, offset from the particle [m] and row of each of its 27 nodes."""
    position = (positions - np.array(known["low"])) / known["cell"]
    base = np.floor(position - 0.5).astype(int)
    offset = position - base
    w = np.stack([0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2])
    nx, ny, _ = known["size"]
    for x, y, z in product(range(3), repeat=3):
        at = base + np.array([x, y, z])
        weight = w[x, :, 0] * w[y, :, 1] * w[z, :, 2]
        yield weight, ((x, y, z) - offset) * known["cell"], (at[:, 2] * ny + at[:, 1]) * nx + at[:, 0]


def _moved(sums: np.ndarray, known: Known, obstacle: np.ndarray | None) -> np.ndarray:
    """Velocities of the nodes after forces, the drag tool, obstacles and walls."""
    nx, ny, nz = known["size"]
    z, y, x = (axis.ravel() for axis in np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij"))
    at = np.stack([x, y, z], axis=1)
    position, pace = np.array(known["low"]) + at * known["cell"], known["cell"] / known["dt"]
    there = sums[:, 3] > 0.0
    velocity = np.zeros((len(sums), 3))
    velocity[there] = np.clip(sums[there, 0:3] / sums[there, 3:], -pace, pace)
    velocity[there, 1] -= known["gravity"] * known["dt"]
    reach = 1.0 - np.linalg.norm(position - np.array(known["tool_point"]), axis=1) / known["tool_radius"]
    coupling = known["tool_coupling"] * np.clip(2.0 * reach, 0.0, 1.0)[:, None]
    velocity += coupling * (np.array(known["tool_velocity"]) - velocity)
    out = position - np.array(known["ball"][:3])
    far = np.linalg.norm(out, axis=1)
    normal = out / np.maximum(far, 1e-20)[:, None]
    velocity = _stopped(velocity, normal, far < known["ball"][3], known["friction"])
    if obstacle is not None and obstacle.ndim == 1:
        placed, lag = Obstacles.of(obstacle), known["obstacle_lag"]
        inside = placed.distance(position, lag) < 0.5 * known["cell"]
        moving = np.where(inside[:, None], placed.velocity(position, lag, known["obstacle_pace"]), 0.0)
        velocity = moving + _stopped(velocity - moving, placed.normal(position, lag), inside, known["friction"])
    elif obstacle is not None:
        distance, gradient = _obstacle(position, known, obstacle)
        normal = gradient / np.maximum(np.linalg.norm(gradient, axis=1), 1e-20)[:, None]
        velocity = _stopped(velocity, normal, distance < 0.0, known["friction"])
    for axis in range(3):
        for sign, wall in ((1.0, at[:, axis] <= WALL), (-1.0, at[:, axis] >= WALL + known["cells"][axis])):
            normal = np.tile(sign * _ONE[axis], (len(at), 1))
            velocity = _stopped(velocity, normal, wall, known["friction"])
    return velocity


def _stopped(velocity: np.ndarray, normal: np.ndarray, where: np.ndarray, friction: float) -> np.ndarray:
    inward = np.einsum("ni,ni->n", velocity, normal)
    along = velocity - normal * inward[:, None]
    slower = np.maximum(0.0, 1.0 + friction * inward / np.maximum(np.linalg.norm(along, axis=1), 1e-20))
    return np.where((where & (inward < 0.0))[:, None], along * slower[:, None], velocity)


def _obstacle(position: np.ndarray, known: Known, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signed distance [m] and its gradient at each position, linear between the given ones; far away outside."""
    at = (position - np.array(known["obstacle_low"])) / known["obstacle_cell"]
    inside = ((at >= 0.0) & (at <= np.array(distances.shape[::-1]) - 1)).all(axis=1)
    value, gradient = grids.interpolated(distances, at), grids.gradient(distances, at)
    return np.where(inside, value, 1e9), np.where(inside[:, None], gradient, [0.0, 1.0, 0.0])
