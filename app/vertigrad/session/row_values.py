"""`RowValues`: the values of one row of a layer, read without a stall."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..errors import GpuError
from ..gpu import Traffic
from ..renderer.layers import Constant, Layer
from ..renderer.layers.field import FieldDrawing
from ..renderer.layers.image import ImageDrawing
from ..renderer.layers.tensor import TensorLayer
from ..scene.schema import OutputRef
from ..scene.stage import Stage
from ..tensor import Readback, Tensor
from . import catalog
from .probe import grid_tensors, probed

EVERY = 0.1  # seconds between readings of the row's values: faster ones cannot be read


class Fact(NamedTuple):
    """One value of a row. `source` is the tensor it is read from, such as "galaxy.position", or empty.

    `value` is an array of the row's shape; None until it has arrived; or a constant of the layer.
    """

    name: str
    source: str
    value: np.ndarray | Constant | None


class RowValues:
    """`facts` are the attributes of a row, then its model's other outputs; of one row at a time."""

    def __init__(self, stage: Stage):
        self._stage = stage
        self._constants: dict[str, Constant] = {}
        self._sources: dict[str, str] = {}
        self._values: dict[str, np.ndarray] = {}
        self._readings: dict[str, Readback] = {}
        self._read_at, self._read_changes = -math.inf, -1

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return bool(self._readings)

    @property
    def facts(self) -> list[Fact]:
        """The values of the row, by name."""
        constants = [Fact(name, "", value) for name, value in self._constants.items()]
        return [Fact(name, source, self._values.get(name)) for name, source in self._sources.items()] + constants

    def clear(self) -> None:
        """Of no row any more."""
        for cached in (self._constants, self._sources, self._values, self._readings):
            cached.clear()

    def begin(self, layer: Layer, row: int) -> None:
        """Of this row from now on."""
        self.clear()
        self._read_at, self._read_changes = -math.inf, -1
        self._sources = {name: source for name, source, _ in _tensors(self._stage, layer)}
        if isinstance(layer.drawing, FieldDrawing):
            self._constants = dict(probed(self._stage, layer, layer.drawing, row))
        elif isinstance(layer, TensorLayer) and (index := layer.index(row)) is not None:
            self._constants = {"index": index}
        elif isinstance(layer.drawing, ImageDrawing):
            self._constants = {"pixel": layer.drawing.pixel_of(row)}
        else:
            self._constants = {n: value for n, value in layer.attributes.constants.items() if n in layer.ATTRIBUTES}

    def follow(self, layer: Layer, row: int, changes: int) -> None:
        """Collect what has arrived, and request the values if tensors have changed since; once a frame.

        `changes` counts how often they did.
        """
        self._collect()
        if self._readings or self._stage.in_progress is not None:  # amid a step, tensors are of different times
            return
        if changes != self._read_changes and time.perf_counter() - self._read_at >= EVERY:
            self._request(layer, row)
            self._read_at, self._read_changes = time.perf_counter(), changes

    def position(self) -> tuple[float, float, float] | None:
        """The row's position in world space; None if it has not arrived or is not finite."""
        value = self._values.get("position")
        if value is None or not np.isfinite(value).all():
            return None
        x, y, z = (float(part) for part in value)
        return x, y, z

    def _collect(self) -> None:
        if not self._readings or not all(reading.done for reading in self._readings.values()):
            return
        readings, self._readings = self._readings, {}
        with suppress(GpuError):  # the frame they were recorded in was dropped: requested again at the next change
            self._values = {name: reading.result() for name, reading in readings.items()}

    def _request(self, layer: Layer, row: int) -> None:
        for name, _, tensor in _tensors(self._stage, layer):
            index = _index(layer, name, tensor, row)
            if index is not None:
                with tensor[index] as part:
                    self._readings[name] = part.read_async(Traffic.DIAGNOSTICS)


def _index(layer: Layer, name: str, tensor: Tensor, row: int) -> tuple[int, ...] | None:
    """Where a row of the layer is in one of its tensors; None if it is not there."""
    if isinstance(layer, TensorLayer) and tensor is layer.tensors.get(name):
        return layer.index(row)
    return row_index(tensor, row, layer.rows)


def _tensors(stage: Stage, layer: Layer) -> Iterator[tuple[str, str, Tensor]]:
    """(name, source, tensor) of each attribute, then of the other outputs of the position's model with as many rows."""
    spec = stage.scene.layers[layer.name]
    if isinstance(layer, TensorLayer) and not isinstance(layer.drawing, FieldDrawing):
        yield from ((name, str(spec.attributes.get(name, "")), tensor) for name, tensor in layer.tensors.items())
        if "position" in layer.attributes.tensors and not isinstance(layer.drawing, ImageDrawing):
            yield "position", "", layer.attributes.tensors["position"].tensor
        return
    if isinstance(layer.drawing, FieldDrawing):
        yield from grid_tensors(stage, layer, layer.drawing)
        return
    if isinstance(layer.drawing, ImageDrawing):
        yield "pixels", str(spec.attributes.get("pixels", "")), layer.drawing.pixels
        return
    shown = set()
    for name, bound in layer.attributes.tensors.items():
        if name in layer.ATTRIBUTES:
            source = str(spec.attributes.get(name, ""))
            shown.add(source)
            yield name, source, bound.tensor
    position = spec.attributes.get("position")
    if not isinstance(position, OutputRef):
        return
    outputs: Mapping[str, Tensor] = stage.instances[position.model].outputs
    for name, tensor in outputs.items():
        source = str(OutputRef(position.model, name))
        if source not in shown and catalog.row_axes(tensor.shape, layer.attributes.rows) is not None:
            yield source, source, tensor


def row_index(tensor: Tensor, row: int, rows: int) -> tuple[int, ...]:
    """The index of a row in a tensor that has `rows` of them along its first axes."""
    return tuple(map(int, np.unravel_index(row, tensor.shape[: catalog.row_axes(tensor.shape, rows)])))
