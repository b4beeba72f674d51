"""Cameras around a mesh, and what each of them sees of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...gpu import Kernel, Plan
from ...tensor import Tensor, u32
from ..data.mesh_file import MeshFile
from ..kernels import Kernels
from ..parts import Parts
from .splat_fit_raster import Lens

SHADER = "models/splat_fit_views.wgsl"
SAMPLES = 3  # of a pixel, along each side
FIELD = math.radians(36.0)  # across an image
ROOM = 1.04  # around the ball with the mesh, over its radius
STEEPEST = 0.9  # how far above and below cameras are, over their distance


class Views:
    """Images of a mesh, `count` of `side` x `side` pixels, from cameras directed at the origin.

    `rows` (count, 3, 4) and their tensor `cameras` (3 · count, 4) are right, down and forward of each, with minus the
    camera's position along it; `images` (count, side, side, 4) linear colors times alpha, and alpha, which `record`
    makes.
    """

    def __init__(self, mesh: MeshFile, count: int, side: int, parts: Parts):
        radius = float(np.linalg.norm(mesh.positions, axis=1).max())
        distance = ROOM * radius / math.sin(0.5 * FIELD)
        self.lens = Lens(side, 0.5 * side / math.tan(0.5 * FIELD), 0.25 * (distance - radius))
        self.depths = distance - radius, distance + radius
        self.rows = cameras_around(count, distance)
        self.cameras = parts.copied("cameras", self.rows.reshape(-1, 4))
        index = parts.copied("triangles", mesh.index)
        self._mesh = {"positions": parts.copied("vertices", mesh.positions), "index": index}
        self._normals, self._faces = parts.copied("normals", mesh.normals), len(mesh.index)
        self.images = parts.zeros("images", count, side, side, 4)

    def record(self, bands: float, light: tuple[float, ...], dark: tuple[float, ...]) -> None:
        """Record the images anew, the mesh having so many bands of color, and these linear colors."""
        cover, shade = (Kernel.load(SHADER, entry, {"SAMPLES": SAMPLES}) for entry in ("cover", "shade"))
        side = self.lens.side
        fixed: dict[str, Any] = {
            **{"side": side, "faces": self._faces, "number_bits": max(self._faces - 1, 1).bit_length()},
            **{"focal": self.lens.focal, "near": self.depths[0], "far": self.depths[1]},
            **{"bands": bands, "light": light, "dark": dark, "background": (0.0, 0.0, 0.0)},
        }
        with Tensor.empty((side * SAMPLES) ** 2, u32) as nearest:
            arrays = {"cameras": self.cameras, "nearest": nearest, **self._mesh, **fixed}
            for view in range(len(self.rows)):
                nearest.fill_(0)
                cover(self._faces, **arrays, view=view)
                shade(side**2, normals=self._normals, images=self.images, **arrays, view=view)

    def record_choice(self, plan: Plan, composited: Tensor) -> None:
        """Add one of the images over a background as sRGB; `view` and the linear `background` are given at replay."""
        tensors = {"shown": self.images, "composited": composited}
        kernels = Kernels(SHADER, tensors, {"side": self.lens.side}, {"SAMPLES": SAMPLES})
        kernels.add(plan, "choose", self.lens.side**2, "composited", replayed=("view", "background"))


def cameras_around(count: int, distance: float) -> np.ndarray:
    """Rows (count, 3, 4) of cameras on a spiral around the origin, each seeing as much of a ball there as any other.

    Vogel 1979, A better way to construct the sunflower head.
    """
    height = STEEPEST * (1.0 - (2.0 * np.arange(count) + 1.0) / count)
    angle = np.arange(count) * math.pi * (3.0 - math.sqrt(5.0))
    radius = np.sqrt(1.0 - height**2)
    forward = -np.stack([radius * np.cos(angle), height, radius * np.sin(angle)], axis=1)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    axes = np.stack([right, np.cross(forward, right), forward], axis=1)
    away = distance * np.einsum("nij,nj->ni", axes, forward)
    return np.concatenate([axes, away[..., None]], axis=2)
