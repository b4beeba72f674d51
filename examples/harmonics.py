"""Spherical harmonics on a mesh: a scalar at each vertex, a diverging colormap and its legend."""

import numpy as np
import trimesh
from numpy.polynomial.legendre import Legendre

import vertigrad as vg

sphere = trimesh.creation.icosphere(subdivisions=5)
x, y, z = sphere.vertices.T
faces = sphere.faces


def harmonic(degree: int, order: int) -> np.ndarray:
    """The real harmonic at each vertex, scaled to a maximum of 1."""
    along = np.sqrt(np.maximum(1 - z**2, 0)) ** order * Legendre.basis(degree).deriv(order)(z)
    values = along * np.cos(order * np.arctan2(y, x))
    return values / np.abs(values).max()


def shape(values: np.ndarray, relief: float) -> dict[str, np.ndarray]:
    """The attributes of the surface: the sphere with the harmonic as a relief."""
    position = sphere.vertices * (1 + relief * values)[:, None]
    normal = trimesh.Trimesh(position, faces, process=False).vertex_normals
    return {"position": position, "normal": normal, "color": values}


viewer = vg.Viewer("Spherical harmonics")
degree = viewer.slider("degree", 6, min=0, max=12)
order = viewer.slider("order", 3, min=0, max=12, doc="at most the degree")
relief = viewer.slider("relief", 0.25, min=0.0, max=0.6)
surface = viewer.surface(
    "harmonic",
    **shape(harmonic(6, 3), 0.25),
    index=faces,
    colormap="vik",
    range=(-1, 1),
    colorbar={"title": "harmonic"},
    roughness=0.4,
)
viewer.camera(position=(2.2, 1.5, 2.2))

shown = None
for _ in viewer.frames():
    chosen = degree.value, min(order.value, degree.value), relief.value
    if chosen != shown:
        surface.set(**shape(harmonic(*chosen[:2]), chosen[2]))
        shown = chosen
