"""`Selection`: a row of a layer, selected by a click or in a panel, and its values."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..errors import GpuError, ParameterError
from ..gpu import Gpu, Traffic
from ..models.base import ModelCamera
from ..params import unknown
from ..renderer.camera import OrbitCamera
from ..renderer.highlight import Mark
from ..renderer.layers import Constant, Layer
from ..renderer.layers.field import FieldDrawing
from ..renderer.picking import Corners, PickResult
from ..renderer.view import View
from ..scene.schema import OutputRef
from ..scene.stage import Stage
from ..tensor import Readback, Tensor
from . import catalog
from .picking import CursorPicker
from .probe import grid_tensors, probed

EVERY = 0.1  # seconds between readings of the row's values: faster ones cannot be read


class Row(NamedTuple):
    """The selected row of a layer; after a click on a cell, that cell and the rows of its corners."""

    layer: str
    row: int
    cell: int | None = None
    corners: Corners | None = None


class Fact(NamedTuple):
    """One value of a row. `source` is the tensor it is read from, such as "galaxy.position", or empty.

    `value` is an array of the row's shape; None until it has arrived; or a constant of the layer.
    """

    name: str
    source: str
    value: np.ndarray | Constant | None


class Selection:
    """`row` is the selected row, if any; `facts` are its attributes, then its model's other outputs.

    Values are read without a stall, a few times a second while the models move.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View):
        self._stage = stage
        self._picker = CursorPicker(gpu, stage, camera, view)
        self.row: Row | None = None
        self.picked: Row | None = None  # the latest that was selected, even if its values cannot be followed
        self._constants: dict[str, Constant] = {}
        self._sources: dict[str, str] = {}
        self._values: dict[str, np.ndarray] = {}
        self._readings: dict[str, Readback] = {}
        self._read_at, self._read_changes = -math.inf, -1

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return self._picker.pending or bool(self._readings)

    @property
    def facts(self) -> list[Fact]:
        """The values of the row, by name."""
        constants = [Fact(name, "", value) for name, value in self._constants.items()]
        return [Fact(name, source, self._values.get(name)) for name, source in self._sources.items()] + constants

    def pick(self, cursor: tuple[float, float], size: tuple[int, int]) -> None:
        """Select what is visible at the pixel `cursor` of a viewport of `size`; nothing if that is the background.

        The result arrives some frames later, unless something else is selected before. Raises `LimitError`.
        """
        names = list(self._stage.layers)

        def take(result: PickResult | None) -> None:
            self.clear()
            if result is not None and names == list(self._stage.layers):
                self._set(Row(names[result.layer], result.row, result.cell, result.corners))

        self._picker.request(cursor, size, take)

    def select(self, layer: str, row: int) -> None:
        """Select a row by its number. Raises `ParameterError` if there is no such row."""
        layers = self._stage.layers
        if layer not in layers:
            raise ParameterError(unknown("layer", layer, layers))
        rows = layers[layer].rows
        if not 0 <= row < rows:
            raise ParameterError(f"{layer} has no row {row:,}; its rows are 0 to {rows - 1:,}")
        self.clear()
        self._set(Row(layer, row))

    def clear(self) -> None:
        """Deselect."""
        self.row = None
        self._picker.cancel()
        for cached in (self._constants, self._sources, self._values, self._readings):
            cached.clear()

    def follow(self, changes: int) -> None:
        """Collect what has arrived, and request the row's values if tensors have changed since; once a frame.

        `changes` counts how often they did. A row that no longer exists, since its layer was rebuilt, is deselected.
        """
        self._picker.dropped()
        if self.row is None:
            return
        layer = self._stage.layers.get(self.row.layer)
        if layer is None or self.row.row >= layer.rows:
            return self.clear()
        self._collect()
        if self._readings or self._stage.in_progress is not None:  # amid a step, tensors are of different times
            return
        if changes != self._read_changes and time.perf_counter() - self._read_at >= EVERY:
            self._request_values(layer, self.row.row)
            self._read_at, self._read_changes = time.perf_counter(), changes

    def mark(self) -> Mark | None:
        """The selected row as it is marked in the viewport."""
        layer = self._stage.layers.get(self.row.layer) if self.row is not None else None
        if self.row is None or layer is None or isinstance(layer.drawing, FieldDrawing):
            return None
        rows = layer.attributes.rows
        corners = self.row.corners if self.row.corners and max(self.row.corners) < rows else None
        return Mark(layer, self.row.row, corners) if self.row.row < rows else None

    def position(self) -> tuple[float, float, float] | None:
        """The row's position in world space; None if it has not arrived or is not finite."""
        layer = self._stage.layers.get(self.row.layer) if self.row is not None else None
        if self.row is not None and layer is not None and isinstance(layer.drawing, FieldDrawing):
            return layer.drawing.position_of(self.row.row)
        value = self._values.get("position")
        if value is None or not np.isfinite(value).all():
            return None
        x, y, z = (float(part) for part in value)
        return x, y, z

    @property
    def camera(self) -> ModelCamera | None:
        """The camera that the row stands for, if it stands for one."""
        layer = self._stage.layers.get(self.row.layer) if self.row is not None else None
        if self.row is None or layer is None:
            return None
        position = self._stage.scene.layers[layer.name].attributes.get("position")
        if not isinstance(position, OutputRef):
            return None
        return self._stage.instances[position.model].model.model_camera(position.output, self.row.row)

    # inside -----------------------------------------------------------------------------------------------------

    def _set(self, row: Row) -> None:
        self.row = self.picked = row
        self._read_at, self._read_changes = -math.inf, -1
        layer = self._stage.layers[row.layer]
        self._sources = {name: source for name, source, _ in _tensors(self._stage, layer)}
        self._constants = {n: value for n, value in layer.attributes.constants.items() if n in layer.ATTRIBUTES}
        if isinstance(layer.drawing, FieldDrawing):
            self._constants = dict(probed(self._stage, layer, layer.drawing, row.row))

    def _collect(self) -> None:
        if not self._readings or not all(reading.done for reading in self._readings.values()):
            return
        readings, self._readings = self._readings, {}
        with suppress(GpuError):  # the frame they were recorded in was dropped: requested again at the next change
            self._values = {name: reading.result() for name, reading in readings.items()}

    def _request_values(self, layer: Layer, row: int) -> None:
        for name, _, tensor in _tensors(self._stage, layer):
            with tensor[row_index(tensor, row, layer.rows)] as part:
                self._readings[name] = part.read_async(Traffic.DIAGNOSTICS)


def _tensors(stage: Stage, layer: Layer) -> Iterator[tuple[str, str, Tensor]]:
    """(name, source, tensor) of each attribute, then of the other outputs of the position's model with as many rows."""
    if isinstance(layer.drawing, FieldDrawing):
        yield from grid_tensors(stage, layer, layer.drawing)
        return
    shown, spec = set(), stage.scene.layers[layer.name]
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
