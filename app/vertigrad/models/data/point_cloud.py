"""`PointCloud`: points from a file, with their colors, for layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...params import file
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import StaticModel
from . import point_file
from .placement import longest_edge, up_axis


class Params(params.Params):
    """Point file and size."""

    file: Path = file(..., suffixes=point_file.SUFFIXES, doc="point file: (n, 3) or (n, 6) in .npy or .npz, or a PLY")
    size: float = longest_edge(2.0)
    up: str = up_axis()


class PointCloud(StaticModel):
    """Points from a file, centered at the origin. Points that are not finite are left out.

    There is an output `color` only if the file has colors.
    """

    Params = Params
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "highest": DiagnosticSpec("height of the highest point"),
        "dropped": DiagnosticSpec("number of points left out because they are not finite"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        points = _points(params)
        outputs = {"position": OutputSpec((len(points.positions), 3), "f32", "point positions")}
        if points.colors is not None:
            outputs["color"] = OutputSpec((len(points.positions), 3), "f32", "point colors, sRGB from 0 to 1")
        return outputs

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        self._dropped = _points(params).dropped
        with self._building() as parts:
            self._outputs = {key: parts.copied(key, array) for key, array in _arrays(params).items()}

    def outputs(self) -> dict[str, Tensor]:
        return dict(self._outputs)

    def diagnostics(self) -> dict[str, Tensor]:
        return {"highest": ops.max(self._outputs["position"][:, 1]), "dropped": Tensor.full((), self._dropped)}

    def compare_with_reference(self) -> list[Comparison]:
        """The points as they were read."""
        return [
            compare(key, self._outputs[key].numpy(), np.asarray(array, float), 1e-7)
            for key, array in _arrays(self._params).items()
        ]


def _points(params: Params) -> point_file.Points:
    return point_file.read(params.file, params.size, params.up)


def _arrays(params: Params) -> dict[str, np.ndarray]:
    points = _points(params)
    return {"position": points.positions} | ({} if points.colors is None else {"color": points.colors})
