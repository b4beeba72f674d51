"""`Bars`: a bar chart of a one- or two-dimensional array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...params import number
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .planes import without_leading_ones

CORNERS = 24  # of a box, each once for every face that it belongs to
ATTRIBUTES = {"position": (3,), "normal": (3,), "level": ()}  # of a corner


class Params(params.Params):
    """Size of the bars."""

    size: float = number(2.0, min=1e-3, max=1e3, scale="log", doc="length of the longer side of the chart")
    width: float = number(0.72, min=0.05, max=1.0, doc="width of a bar, relative to the spacing")
    height: float = number(
        1.0, min=-100.0, max=100.0, slider_min=0.0, slider_max=4.0, doc="height of a bar whose value is 1"
    )


class Bars(NamedTensorsModel):
    """A bar chart of boxes on the plane y = 0, as high as the values; negative values point down.

    `values` has shape (columns,) or (rows, columns); leading axes of size 1 are ignored. A pure function of it.
    """

    Params = Params
    saved = tuple(ATTRIBUTES)
    inputs: ClassVar[Mapping[str, str]] = {"values": "a row (columns,) or a plane (rows, columns); f32 or f16"}
    required_inputs = frozenset({"values"})
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest value"),
        "highest": DiagnosticSpec("highest value"),
        "sum": DiagnosticSpec("sum of all values"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {
            "position": OutputSpec((None, 3), "f32", "vertices of the boxes, 24 each, y up"),
            "normal": OutputSpec((None, 3), "f32", "unit normals of the faces"),
            "level": OutputSpec((None,), "f32", "value of the bar"),
            "triangles": OutputSpec((None, 3), "u32", "12 triangles per box, counter-clockwise from outside"),
        }

    def step(self, dt: float) -> None:
        spacing, values = self._spacing(), self._params
        self._plan.update(step=spacing, width=spacing * values.width, height=values.height)

    def diagnostics(self) -> dict[str, Tensor]:
        return {"lowest": ops.min(self._values), "highest": ops.max(self._values), "sum": ops.sum(self._values)}

    def compare_with_reference(self) -> list[Comparison]:
        """All corners, in float64."""
        self.step(0.0)
        values = self._values.numpy().astype(float)
        spacing = self._spacing()
        expected = box_corners(values, spacing, spacing * self._params.width, self._params.height)
        return [
            compare("position", self._views["position"].numpy(), expected, 1e-5),
            compare("level", self._views["level"].numpy(), np.repeat(values.reshape(-1), CORNERS), 1e-6),
        ]

    def reset(self) -> None:
        self.step(0.0)

    def _create(self, parts: Parts) -> None:
        self._values = parts.enter_context(_rows_of(self._inputs["values"]))
        rows, columns = self._values.shape
        count = rows * columns * CORNERS
        outputs = {f"{name}s": parts.empty(name, count, *shape) for name, shape in ATTRIBUTES.items()}
        parts.copied("triangles", box_triangles(rows * columns))
        self._plan = parts.plan("step")
        constants, defines = {"rows": rows, "columns": columns}, {"DTYPE": self._values.scalar}
        kernels = Kernels("models/bars.wgsl", outputs | {"values": self._values}, constants, defines)
        kernels.add(self._plan, "main", count, *outputs)

    def _spacing(self) -> float:
        return self._params.size / max(self._values.shape)


def box_corners(values: np.ndarray, spacing: float, width: float, height: float) -> np.ndarray:
    """The corners of the boxes of values (rows, columns), shape (rows · columns · 24, 3); see the shader."""
    rows, columns = values.shape
    boxes = []
    for row in range(rows):
        for column in range(columns):
            top = values[row, column] * height
            foot = np.array([(column - (columns - 1) / 2) * spacing, top / 2, (row - (rows - 1) / 2) * spacing])
            half = 0.5 * np.array([width, abs(top), width])
            for side in range(3):
                for outward in (-1, 1):
                    for across, along in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                        unit = np.zeros(3)
                        unit[[side, (side + 1) % 3, (side + 2) % 3]] = outward, across * outward, along
                        boxes.append(foot + half * unit)
    return np.array(boxes)


def box_triangles(boxes: int) -> np.ndarray:
    """The corners of each triangle, shape (12 · boxes, 3), u32: two for each face of four corners."""
    first = 4 * np.arange(6 * boxes, dtype=np.uint32)[:, None, None]
    return (first + np.array([[0, 1, 2], [0, 2, 3]], np.uint32)).reshape(-1, 3)


def _rows_of(values: Tensor) -> Tensor:
    """A view (rows, columns). Raises `InputError` if there is none."""
    view = without_leading_ones(values, 1, "values", "bars need")
    if view.ndim == 0:
        view = view[None]
    if view.ndim == 1:
        view = view[None, :]
    if view.ndim != 2 or not view.size:
        raise InputError(f"values of shape {values.shape} are neither (columns,) nor (rows, columns)")
    return view
