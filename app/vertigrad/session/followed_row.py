"""`FollowedRow`: a row of a layer that is found on the GPU, and its values, which are read while it is followed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ..gpu import Gpu
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.picking import Corners, PickResult
from ..renderer.view import View
from ..scene.stage import Stage
from .picking import CursorPicker
from .row_values import Fact, RowValues


class Row(NamedTuple):
    """A row of a layer; after a click on a cell, that cell and the rows of its corners."""

    layer: str
    row: int
    cell: int | None = None
    corners: Corners | None = None


class FollowedRow(ABC):
    """`row` is the row, if any; `facts` are its attributes, then its model's other outputs.

    Both arrive some frames after they were requested, without a stall.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View):
        self._stage, self._camera = stage, camera
        self._picker, self._values = CursorPicker(gpu, stage, camera, view), RowValues(stage)
        self.row: Row | None = None

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return self._picker.pending or self._values.pending

    @property
    def facts(self) -> list[Fact]:
        """The values of the row, by name."""
        return self._values.facts

    @abstractmethod
    def clear(self) -> None:
        """No row any more."""

    @property
    def _layer(self) -> Layer | None:
        """That of the row."""
        return self._stage.layers.get(self.row.layer) if self.row is not None else None

    def _follow_values(self, changes: int) -> None:
        """Request them if tensors have changed; a row that no longer exists, its layer being rebuilt, is cleared."""
        layer = self._layer
        if self.row is not None and (layer is None or self.row.row >= layer.rows):
            self.clear()
        elif self.row is not None and layer is not None:
            self._values.follow(layer, self.row.row, changes)

    def _request(self, cursor: tuple[float, float], size: tuple[int, int]) -> None:
        """Find what is visible at a pixel of a viewport of `size`. Raises `LimitError`."""
        names = list(self._stage.layers)

        def take(result: PickResult | None) -> None:
            if result is None or names != list(self._stage.layers):
                self._found(None, 0.0)
            else:
                self._found(Row(names[result.layer], result.row, result.cell, result.corners), result.depth)

        self._picker.request(cursor, size, take)

    @abstractmethod
    def _found(self, row: Row | None, depth: float) -> None:
        """What the last request has found, and its depth; None: nothing."""
