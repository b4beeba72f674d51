"""`Splats`: Gaussian splats from a file, for the layer that draws them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ... import ops, params
from ...params import file
from ...tensor import Tensor
from ..base import DiagnosticSpec
from . import splat_file
from .file_model import FileContent, FileModel
from .placement import AXES_BY_UP, longest_edge, up_axis


class Params(params.Params):
    """Which splats, and how large."""

    file: Path = file(..., suffixes=splat_file.SUFFIXES, doc="splat file: .ply, also compressed, .splat or .spz")
    size: float = longest_edge(0.0, " of the centers")
    up: str = up_axis("auto", ("auto", *AXES_BY_UP))


class Splats(FileModel):
    """Gaussian splats from a file, centered at the origin. Splats that are not finite are left out.

    There is an output `harmonics` only if the file has spherical harmonics of degree 1 or above, by which colors depend
    on the view direction.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "opacity": DiagnosticSpec("mean opacity"),
        "dropped": DiagnosticSpec("number of splats left out because they are not finite"),
    }

    output_docs: ClassVar[Mapping[str, str]] = {
        **{key: spec.doc for key, spec in splat_file.output_specs(None).items()},
        "harmonics": "spherical harmonics of degree 1 to 3: red, green and blue of each",
    }

    @staticmethod
    def read(params: Params) -> FileContent:
        splats = splat_file.read(params.file, params.size, params.up)
        arrays = splats.named
        if not splats.harmonics.shape[1]:
            del arrays["harmonics"]
        return FileContent(arrays, {"dropped": splats.dropped})

    def diagnostics(self) -> dict[str, Tensor]:
        return {"opacity": ops.mean(self._views["opacity"]), **super().diagnostics()}
