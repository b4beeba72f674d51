"""`Volume`: values on a grid from a file, with their place in space."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ... import params
from ...params import file, integer
from ..base import Placement
from . import volume_file
from .file_model import FileContent, ValuesModel, values_of


class Params(params.Params):
    """Which volume."""

    file: Path = file(
        ...,
        suffixes=volume_file.SUFFIXES,
        doc="NRRD, NIfTI, OpenVDB, one file of a DICOM series, an array (nz, ny, nx), or zarr.json of one",
    )
    frame: int = integer(0, min=0, max=1 << 20, slider_max=64, rebuild=True, doc="which, if the file has several")


class Volume(ValuesModel):
    """Values on a grid from a file: a scan, or a simulation.

    Axes are swapped and flipped to those of space: x to the right, y to the front, z upward, as in RAS. A click on a
    layer that draws `values` shows the value and its position in the units of the file.
    """

    Params = Params
    output_docs: ClassVar[Mapping[str, str]] = {"values": "values (nz, ny, nx)"}

    @staticmethod
    def read(params: Params) -> FileContent:
        return values_of(volume_file.read(params.file, params.frame).values)

    def placement(self) -> Placement:
        grid = volume_file.read(self._params.file, self._params.frame)
        return Placement(grid.affine, grid.unit, grid.quantity)
