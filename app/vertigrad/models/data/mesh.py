"""`Mesh`: a mesh from a file, for layers, and a grid of signed distances from it, for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...gpu import Kernel
from ...params import angle, file
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..parts import Parts
from . import sdf_grid
from .file_model import FileContent, FileModel
from .mesh_file import FORMATS, MeshFile, read
from .placement import longest_edge, up_axis
from .triangles import nearest_points

SHADER = "models/mesh.wgsl"
PART = 1024  # triangles that one dispatch reads
COMPARED = 200  # samples that the reference works out


class Params(params.Params):
    """Mesh file, size, and signed distance grid."""

    file: Path = file("assets/data/knot.ply", suffixes=FORMATS, doc="mesh file")
    size: float = longest_edge(2.0)
    up: str = up_axis()
    crease: float = angle(40.0, min=0.0, max=180.0, rebuild=True, doc="edges sharper than this angle are not smoothed")
    sdf_resolution: int = sdf_grid.resolution(512, slider_max=128)
    sdf_extent: float = sdf_grid.extent(1.5, min=1e-3, max=1e6, slider_max=10.0)


class Mesh(FileModel):
    """A mesh from a file, centered at the origin. It has an output `color` if its vertices have colors.

    `distance` is computed once, when the model is built, by brute force over all triangles and samples. A software
    adapter tests some ten million pairs per second, so meshes and grids must be small there.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "highest": DiagnosticSpec("height of the highest vertex"),
    }

    output_docs: ClassVar[Mapping[str, str]] = {
        "position": "vertex positions",
        "normal": "unit normals, outwards",
        "index": "triangles: three vertex indices each",
        "color": "vertex colors, sRGB from 0 to 1",
    }

    @staticmethod
    def read(params: Params) -> FileContent:
        mesh = _mesh(params)
        arrays = {"position": mesh.positions, "normal": mesh.normals, "index": mesh.index}
        return FileContent(arrays if mesh.colors is None else {**arrays, "color": mesh.colors})

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {**super().output_specs(params), **sdf_grid.distance_specs(sdf_grid.samples_of(params.sdf_resolution))}

    def diagnostics(self) -> dict[str, Tensor]:
        return {"highest": ops.max(self._views["position"][:, 1])}

    def compare_with_reference(self) -> list[Comparison]:
        """The mesh as it was read; some of the distances, in float64."""
        found = super().compare_with_reference()
        if "distance" in self._views:
            distance = self._views["distance"].numpy().ravel()
            pick = np.random.default_rng(0).integers(0, len(distance), COMPARED)
            side = sdf_grid.samples_of(self._params.sdf_resolution)
            positions = sdf_grid.lattice(side, self._params.sdf_extent)[pick]
            found.append(compare("distance", distance[pick], distances(_mesh(self._params), positions), 1e-4))
        return found

    def _create(self, parts: Parts) -> None:
        super()._create(parts)
        side = sdf_grid.samples_of(self._params.sdf_resolution)
        if side:
            sample(_mesh(self._params), self._params.sdf_extent, parts.empty("distance", side, side, side))


def sample(mesh: MeshFile, reach: float, distance: Tensor) -> None:
    """Record the signed distances of a cube's samples into `distance` (side, side, side)."""
    side, triangles = distance.shape[0], len(mesh.index)
    count = distance.size
    fields: dict[str, Any] = {"side": side, "reach": reach}
    with (
        Tensor.from_numpy(mesh.positions[mesh.index].reshape(-1), name="corners") as corners,
        Tensor.empty(count, name="nearest") as nearest,
        Tensor.empty(count, name="winding") as winding,
    ):
        sums = {"nearest": nearest, "winding": winding}
        for first in range(0, triangles, PART):
            part: dict[str, Any] = {"first": first, "count": min(PART, triangles - first)}
            Kernel.load(SHADER, "gather")(count, corners=corners, **sums, **fields, **part)
        finish = Kernel.load(SHADER, "finish")
        finish(count, overwrites=("distances",), distances=distance, **sums, **fields, first=0, count=0)


def distances(mesh: MeshFile, positions: np.ndarray) -> np.ndarray:
    """The reference in float64: signed distances (n,) of positions (n, 3)."""
    corners = mesh.positions.astype(float)[mesh.index]
    return np.array([_distance(corners - position) for position in positions])


def _distance(corners: np.ndarray) -> float:
    """From the origin to triangles (m, 3, 3)."""
    distances = np.linalg.norm(nearest_points(corners, np.zeros((len(corners), 3))), axis=1)
    a, b, c = np.moveaxis(corners, 1, 0)
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = (np.einsum("ij,ij->i", *pair) for pair in ((a, b), (b, c), (c, a)))
    ab, bc, ca = dots
    turns = np.arctan2(above, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2 * np.pi)
    return float(distances.min()) * (-1.0 if abs(turns) > 0.5 else 1.0)


def _mesh(params: Params) -> MeshFile:
    return read(params.file, params.size, params.up, params.crease)
