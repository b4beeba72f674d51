"""`PointCloud`: points from a file, with their colors, for layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ... import ops, params
from ...params import file, text
from ...tensor import Tensor
from ..base import DiagnosticSpec
from . import point_file
from .file_model import FileContent, FileModel
from .placement import longest_edge, up_axis


class Params(params.Params):
    """Point file, size, and colors."""

    file: Path = file(..., suffixes=point_file.SUFFIXES, doc="PLY, LAS, LAZ, CSV, Parquet, or NumPy arrays (n, 3)")
    size: float = longest_edge(2.0)
    up: str = up_axis()
    color: str = text(
        "auto", rebuild=True, doc="colors, normals, height or a column of the file; auto: colors or height"
    )


class PointCloud(FileModel):
    """Points from a file, centered at the origin. Points that are not finite are left out.

    Coordinates are centered in float64, so that large ones, such as those of UTM, keep their precision. The output
    `normal` exists only if the file has normals. A scalar `color` is drawn by the colormap of its layer.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "highest": DiagnosticSpec("height of the highest point"),
        "dropped": DiagnosticSpec("number of points left out because they are not finite"),
    }

    output_docs: ClassVar[Mapping[str, str]] = {
        "position": "point positions",
        "color": "point colors, sRGB from 0 to 1, or scalars (n,)",
        "normal": "unit normals",
    }

    @classmethod
    def choices(cls, params: Params) -> Mapping[str, Sequence[str]]:
        return {"color": point_file.choices(params.file)}

    @staticmethod
    def read(params: Params) -> FileContent:
        points = point_file.read(params.file, params.size, params.up, params.color)
        normals = {} if points.normals is None else {"normal": points.normals}
        arrays = {"position": points.positions, "color": points.colors, **normals}
        return FileContent(arrays, {"dropped": points.dropped})

    def diagnostics(self) -> dict[str, Tensor]:
        return {"highest": ops.max(self._views["position"][:, 1]), **super().diagnostics()}
