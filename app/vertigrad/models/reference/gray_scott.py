"""NumPy reference of the Gray-Scott kernels in float64: the two Laplacians, a step, and the raised surface."""

from __future__ import annotations

import numpy as np

from ..physics.surfaces import Doubles, Surface


def laplacian_of_plane(values: Doubles, edge: float) -> Doubles:
    """Nine-point Laplacian of values (side, side, ...) that repeat, of spacing `edge`; its error is isotropic."""
    edges = sum(np.roll(values, shift, axis) for axis in (0, 1) for shift in (-1, 1))
    corners = sum(np.roll(values, (a, b), (0, 1)) for a in (-1, 1) for b in (-1, 1))
    return (4.0 * edges + corners - 20.0 * values) / (6.0 * edge * edge)


def laplacian_of_mesh(values: Doubles, surface: Surface) -> Doubles:
    """Laplacian of values (n, ...) at the points of a mesh."""
    rows = np.repeat(np.arange(len(values)), np.diff(surface.starts))
    differences = values[surface.neighbors] - values[rows]
    return np.add.reduceat((differences.T * surface.weights).T, surface.starts[:-1])


def gradient_on_mesh(values: Doubles, surface: Surface) -> Doubles:
    """Slopes (n, 3) of values (n,)."""
    rows = np.repeat(np.arange(len(values)), np.diff(surface.starts))
    differences = (values[surface.neighbors] - values[rows]) * surface.weights
    along = surface.points[surface.neighbors] - surface.points[rows]
    return 0.5 * np.add.reduceat(differences[:, None] * along, surface.starts[:-1])


def gradient_on_plane(values: Doubles, edge: float) -> Doubles:
    """Slopes (side², 3) of values (side, side), columns along x and rows along z."""
    smooth = [4.0 * values + np.roll(values, 1, axis) + np.roll(values, -1, axis) for axis in (0, 1)]
    x = (np.roll(smooth[0], -1, 1) - np.roll(smooth[0], 1, 1)) / (12.0 * edge)
    z = (np.roll(smooth[1], -1, 0) - np.roll(smooth[1], 1, 0)) / (12.0 * edge)
    return np.stack([x, 0.0 * x, z], axis=-1).reshape(-1, 3)


def step(
    field: Doubles,
    laplacian: Doubles,
    *,
    feed: float,
    kill: float,
    diffusion: tuple[float, float],
    dt: float,
    fastest: float = np.inf,
) -> Doubles:
    """u and v (..., 2) after an Euler step of `dt`, given their Laplacian; u is eaten at a rate up to `fastest`."""
    u, v = field[..., 0], field[..., 1]
    eaten = u * np.minimum(v * v, fastest)
    reaction = np.stack([feed * (1.0 - u) - eaten, eaten - (feed + kill) * v], axis=-1)
    return field + dt * (np.array(diffusion) * laplacian + reaction)


def raised(points: Doubles, normals: Doubles, v: Doubles, gradient: Doubles, height: float) -> tuple[Doubles, Doubles]:
    """Positions and unit normals (n, 3) of the surface raised by `height` times v."""
    tilted = normals - height * gradient
    return points + height * v[:, None] * normals, tilted / np.linalg.norm(tilted, axis=1, keepdims=True)
