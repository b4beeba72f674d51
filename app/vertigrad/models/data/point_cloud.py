"""`PointCloud`: points from a file, with their colors, for layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ... import ops, params
from ...params import file
from ...tensor import Tensor
from ..base import DiagnosticSpec
from . import point_file
from .file_model import FileContent, FileModel
from .placement import longest_edge, up_axis


class Params(params.Params):
    """Point file and size."""

    file: Path = file(..., suffixes=point_file.SUFFIXES, doc="point file: (n, 3) or (n, 6) in .npy or .npz, or a PLY")
    size: float = longest_edge(2.0)
    up: str = up_axis()


class PointCloud(FileModel):
    """Points from a file, centered at the origin. Points that are not finite are left out.

    There is an output `color` only if the file has colors.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "highest": DiagnosticSpec("height of the highest point"),
        "dropped": DiagnosticSpec("number of points left out because they are not finite"),
    }

    output_docs: ClassVar[Mapping[str, str]] = {
        "position": "point positions",
        "color": "point colors, sRGB from 0 to 1",
    }

    @staticmethod
    def read(params: Params) -> FileContent:
        points = point_file.read(params.file, params.size, params.up)
        colors = {} if points.colors is None else {"color": points.colors}
        return FileContent({"position": points.positions, **colors}, {"dropped": points.dropped})

    def diagnostics(self) -> dict[str, Tensor]:
        return {"highest": ops.max(self._views["position"][:, 1]), **super().diagnostics()}
