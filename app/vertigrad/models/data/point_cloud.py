"""`PointCloud`: points from a file, with their colors, for layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...gpu import gpu
from ...params import file, integer, text
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, PartOfData, Viewpoint, compare
from ..parts import Parts
from . import point_file, resident_points
from .file_model import FileContent, FileModel
from .placement import longest_edge, up_axis
from .point_pages import Page, Pages

PAGES = 256  # that are uploaded in a frame, at most


class Params(params.Params):
    """Point file, size, and colors."""

    file: Path = file(..., suffixes=point_file.SUFFIXES, doc="PLY, LAS, LAZ, CSV, Parquet, or NumPy arrays (n, 3)")
    size: float = longest_edge(2.0)
    up: str = up_axis()
    color: str = text(
        "auto", rebuild=True, doc="colors, normals, height or a column of the file; auto: colors or height"
    )
    resident: int = integer(
        1 << 23,
        min=1 << 12,
        max=1 << 28,
        scale="log",
        rebuild=True,
        doc="points in GPU memory; of a file with more, those that the camera needs",
    )


class PointCloud(FileModel):
    """Points from a file, centered at the origin. Points that are not finite are left out.

    Of a file with more points than `resident`, the outputs hold those that the camera needs, read from a file of levels
    of detail that is built on the GPU; rows without a point are NaN.

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

    _pages: Pages | None = None

    @staticmethod
    def read(params: Params) -> FileContent:
        if resident_points.is_larger(params.file, params.resident):
            _, positions, colors, dropped = resident_points.start(*_choice(params))
            return FileContent({"position": positions, "color": colors}, {"dropped": dropped})
        points = point_file.read(params.file, params.size, params.up, params.color)
        normals = {} if points.normals is None else {"normal": points.normals}
        arrays = {"position": points.positions, "color": points.colors, **normals}
        return FileContent(arrays, {"dropped": points.dropped})

    def diagnostics(self) -> dict[str, Tensor]:
        heights = self._views["position"][:, 1]
        highest = ops.max(heights) if self._pages is None else ops.max(ops.where(heights == heights, heights, -3e38))
        return {"highest": highest, **super().diagnostics()}

    def look(self, view: Viewpoint, wait: bool) -> bool:
        assert self._pages is not None
        for page in self._pages.follow(view, PAGES, wait):
            self._upload(page)
        return self._pages.pending

    def part_of_data(self) -> PartOfData | None:
        return self._pages

    def compare_with_reference(self) -> list[Comparison]:
        """The arrays as they were read; of a part of the points, those of the pages that are there now."""
        if self._pages is None:
            return super().compare_with_reference()
        arrays = dict(zip(("position", "color"), self._pages.content(), strict=True))
        found = {name: np.nan_to_num(self._views[name].numpy()) for name in arrays}
        return [compare(name, found[name], np.nan_to_num(array), 1e-7) for name, array in arrays.items()]

    def _create(self, parts: Parts) -> None:
        super()._create(parts)
        if resident_points.is_larger(self._params.file, self._params.resident):
            self._pages = resident_points.start(*_choice(self._params))[0].copy()
            parts.callback(self._pages.close)
            self.follows_camera = True

    def _upload(self, page: Page) -> None:
        for name, array in (("position", page.positions), ("color", page.colors)):
            owner = self._tensors[name].owner
            gpu().make_writable(owner)
            data = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
            gpu().upload(owner.block.buffer, data, page.row * (data.nbytes // len(array)))


def _choice(params: Params) -> tuple[Path, float, str, str, int]:
    return params.file, params.size, params.up, params.color, params.resident
