"""`Splats`: Gaussian splats from a file, for the layer that draws them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...params import file
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import StaticModel
from . import splat_file
from .placement import AXES_BY_UP, longest_edge, up_axis


class Params(params.Params):
    """Which splats, and how large."""

    file: Path = file(..., suffixes=(splat_file.SUFFIX,), doc="splat file: a PLY as written by Gaussian splatting")
    size: float = longest_edge(0.0, " of the centers")
    up: str = up_axis("-y", tuple(AXES_BY_UP))


class Splats(StaticModel):
    """Gaussian splats from a file, centered at the origin. Splats that are not finite are left out.

    Colors are those of spherical harmonics of degree 0: independent of the view direction.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "opacity": DiagnosticSpec("mean opacity"),
        "dropped": DiagnosticSpec("number of splats left out because they are not finite"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        count = len(_splats(params).position)
        return {
            "position": OutputSpec((count, 3), "f32", "centers"),
            "scale": OutputSpec((count, 3), "f32", "standard deviations along the splat's axes"),
            "rotation": OutputSpec((count, 4), "f32", "quaternions x, y, z, w"),
            "opacity": OutputSpec((count,), "f32", "opacity at the center"),
            "color": OutputSpec((count, 3), "f32", "colors, sRGB"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        arrays = _splats(params)._asdict()
        self._dropped = arrays.pop("dropped")
        with self._building() as parts:
            self._outputs = {key: parts.copied(key, array) for key, array in arrays.items()}

    def outputs(self) -> dict[str, Tensor]:
        return dict(self._outputs)

    def diagnostics(self) -> dict[str, Tensor]:
        return {"opacity": ops.mean(self._outputs["opacity"]), "dropped": Tensor.full((), self._dropped)}

    def compare_with_reference(self) -> list[Comparison]:
        """The splats as they were read."""
        arrays: dict[str, Any] = _splats(self._params)._asdict()
        return [
            compare(key, tensor.numpy(), np.asarray(arrays[key], float), 1e-7) for key, tensor in self._outputs.items()
        ]


def _splats(params: Params) -> splat_file.Splats:
    return splat_file.read(params.file, params.size, params.up)
