"""`Relief`: a height field from an image or a two-dimensional array."""

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

LUMINANCE = (0.2126, 0.7152, 0.0722)  # Rec. 709


class Params(params.Params):
    """Size and height of the surface."""

    size: float = number(2.0, min=1e-3, max=1e3, scale="log", doc="length of the longer side of the surface")
    height: float = number(
        0.3, min=-100.0, max=100.0, slider_min=0.0, slider_max=2.0, doc="height per unit of the values"
    )
    base: float = number(0.0, min=-1e6, max=1e6, slider_min=-1.0, slider_max=1.0, doc="value at height 0")


class Relief(NamedTensorsModel):
    """Vertices on a grid, y up, as high as the values: no other model need know that it is drawn.

    `values` is a plane (rows, columns) or an image of 3 channels, before or behind its other axes; leading axes of 1
    do not count. With `height`, another plane, colors are those of `values` and heights those of the plane, which may
    be of another size: it is stretched over the image, linearly between its points. A pure function of its inputs.
    """

    Params = Params
    saved = ("position", "normal", "color", "level")
    inputs: ClassVar[Mapping[str, str]] = {
        "values": "a plane (rows, columns), or an image (3, rows, columns) or (rows, columns, 3); f32 or f16",
        "height": "the height of the surface, of shape (rows, columns), instead of the values; f32 or f16",
    }
    required_inputs = frozenset({"values"})
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest level"),
        "highest": DiagnosticSpec("highest level"),
        "mean": DiagnosticSpec("mean level"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {
            "position": OutputSpec((None, None, 3), "f32", "vertices of the surface, y up"),
            "normal": OutputSpec((None, None, 3), "f32", "unit normals of the surface"),
            "color": OutputSpec((None, None, 3), "f32", "image colors, clamped to 0 to 1; gray for a single channel"),
            "level": OutputSpec((None, None), "f32", "values drawn as height: the single channel, or the luminance"),
        }

    def step(self, dt: float) -> None:
        values = self._params
        self._plan.update(step=self._spacing(), height=values.height, base=values.base)

    def diagnostics(self) -> dict[str, Tensor]:
        levels = self._views["level"]
        return {"lowest": ops.min(levels), "highest": ops.max(levels), "mean": ops.mean(levels)}

    def compare_with_reference(self) -> list[Comparison]:
        """The whole surface, in float64."""
        self.step(0.0)
        values = self._values.numpy().astype(float)
        rows, columns, channels = values.shape
        if self._heights is not None:
            levels = stretched(self._heights.numpy().astype(float), rows, columns)
        else:
            levels = values[..., 0] if channels == 1 else values @ np.array(LUMINANCE)
        down, along = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        step = self._spacing()
        height = self._params.height * (levels - self._params.base)
        positions = np.stack([(along - (columns - 1) / 2) * step, height, (down - (rows - 1) / 2) * step], axis=-1)
        colors = np.clip(np.broadcast_to(values, (rows, columns, 3)), 0.0, 1.0)
        return [
            compare("position", self._views["position"].numpy(), positions, 1e-5),
            compare("color", self._views["color"].numpy(), colors, 1e-6),
            compare("level", self._views["level"].numpy(), levels, 1e-5),
        ]

    def reset(self) -> None:
        self.step(0.0)

    def _create(self, parts: Parts) -> None:
        held, inputs = parts.enter_context, self._inputs
        self._values = held(_by_channel(inputs["values"]))
        self._heights = held(_plane(inputs["height"])) if "height" in inputs else None
        rows, columns, channels = self._values.shape
        position, normal, color = (parts.empty(what, rows, columns, 3) for what in ("position", "normal", "color"))
        outputs = {"positions": position, "colors": color, "levels": parts.empty("level", rows, columns)}
        tensors, plane = outputs | {"values": self._values}, ""
        if self._heights is not None:
            tensors["heights"], plane = self._heights, self._heights.scalar
        defines = {"DTYPE": self._values.scalar, "CHANNELS": channels, "HEIGHT": plane}
        self._plan = parts.plan("step")
        kernels = Kernels("models/relief.wgsl", tensors, {"rows": rows, "columns": columns}, defines)
        kernels.add(self._plan, "main", rows * columns, *outputs)
        with self._plan.recording():
            ops.grid_normals(position, out=normal)

    def _spacing(self) -> float:
        return self._params.size / max(max(self._values.shape[:2]) - 1, 1)


def stretched(plane: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """A plane resized: linear between cell centers, and constant beyond the outermost."""
    for axis, count in enumerate((rows, columns)):
        length = plane.shape[axis]
        coordinate = np.clip((np.arange(count) + 0.5) * length / count - 0.5, 0, length - 1)
        before = coordinate.astype(int)
        after, part = np.minimum(before + 1, length - 1), coordinate - before
        part = part[:, None] if axis == 0 else part
        plane = (1 - part) * plane.take(before, axis) + part * plane.take(after, axis)
    return plane


def _plane(heights: Tensor) -> Tensor:
    """A view (rows, columns). Raises `InputError` if it is anything else."""
    view = without_leading_ones(heights, 2, "heights", "a relief needs")
    if view.ndim != 2 or not view.size:
        raise InputError(f"height of shape {heights.shape} is not (rows, columns)")
    return view


def _by_channel(values: Tensor) -> Tensor:
    """A view (rows, columns, channels) with 1 or 3 channels. Raises `InputError` if there is none."""
    view = without_leading_ones(values, 2, "values", "a relief needs")
    if view.ndim == 2:
        return view[:, :, None]
    if view.ndim == 3 and view.shape[0] == 3:
        return view.permute(1, 2, 0)
    if view.ndim == 3 and view.shape[2] in (1, 3):
        return view
    raise InputError(f"values of shape {values.shape} are neither (rows, columns) nor an image of 3 channels")
