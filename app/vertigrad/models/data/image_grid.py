"""`ImageGrid`: the channels of a tensor as one image, side by side, such as what a layer of a network computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...ops import image_grid as grids
from ...ops.image_grid import grid_shape
from ...params import integer, switch
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .planes import without_leading_ones


class Params(params.Params):
    """How the channels are placed and scaled."""

    columns: int = integer(
        0, min=0, max=4096, rebuild=True, doc="channels in a row of the image; 0: about as many as rows"
    )
    gap: int = integer(1, min=0, max=64, rebuild=True, doc="pixels between channels, which are 0")
    normalize: bool = switch(True, rebuild=True, doc="scale each channel to its own range, from 0 to 1")


class ImageGrid(NamedTensorsModel):
    """The channels of `values` (channels, rows, columns) side by side in one image, in the order of reading.

    Leading axes of size 1 are ignored, and (rows, columns) is one channel. A pure function of its input.
    """

    Params = Params
    saved = ("image",)
    inputs: ClassVar[Mapping[str, str]] = {
        "values": "channels (channels, rows, columns) or (rows, columns); f32 or f16"
    }
    required_inputs = frozenset({"values"})
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest value"),
        "highest": DiagnosticSpec("highest value"),
        "constant": DiagnosticSpec("fraction of channels whose values are all equal"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return {"image": OutputSpec((None, None), "f32", "the channels, with gaps to their right and below")}

    def step(self, dt: float) -> None:
        self._plan.update()

    def diagnostics(self) -> dict[str, Tensor]:
        low, high = grids.ranges(self._values)
        return {
            "lowest": ops.min(low),
            "highest": ops.max(high),
            "constant": ops.mean((low == high).to("f32")),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """The whole image, in float64."""
        self.step(0.0)
        values = self._values.numpy().astype(float)
        expected = image_grid(values, self._grid.columns, self._params.gap, self._params.normalize)
        return [compare("image", self._views["image"].numpy(), expected, 1e-5)]

    def reset(self) -> None:
        self.step(0.0)

    def _create(self, parts: Parts) -> None:
        self._values = parts.enter_context(_channels_of(self._inputs["values"]))
        channels, height, width = self._values.shape
        self._grid = grid_shape((channels, height, width), self._params.columns, self._params.gap)
        image = parts.empty("image", *self._grid.size)
        image.fill_(0)
        self._plan = parts.plan("step")
        with self._plan.recording():
            grids.image_grid(self._values, self._grid, self._params.normalize, image)


def image_grid(values: np.ndarray, columns: int, gap: int, normalize: bool) -> np.ndarray:
    """The image of channels (channels, rows, columns), in NumPy."""
    channels, height, width = values.shape
    image = np.zeros((-(-channels // columns) * (height + gap), columns * (width + gap)))
    for number, channel in enumerate(values):
        low, high = channel.min(), channel.max()
        top, left = number // columns * (height + gap), number % columns * (width + gap)
        scaled = (channel - low) / max(high - low, 1e-30) if normalize else channel
        image[top : top + height, left : left + width] = scaled
    return image


def _channels_of(values: Tensor) -> Tensor:
    """A view (channels, rows, columns). Raises `InputError` if there is none."""
    view = without_leading_ones(values, 2, "values", "an image grid needs")
    if view.ndim == 2:
        view = view[None]
    if view.ndim != 3 or not view.size:
        raise InputError(f"values of shape {values.shape} are neither (channels, rows, columns) nor (rows, columns)")
    return view
