"""`Selection`: a row of a layer, selected by a click or in a panel, and its values."""

from __future__ import annotations

from ..errors import ParameterError
from ..models.base import ModelCamera
from ..params import unknown
from ..renderer.highlight import Mark
from ..renderer.layers.field import FieldDrawing
from ..renderer.layers.image import ImageDrawing
from ..scene.schema import OutputRef
from .followed_row import FollowedRow, Row


class Selection(FollowedRow):
    """`row` is the selected row, if any; its values are read a few times a second while the models move."""

    picked: Row | None = None  # the latest that was selected, even if its values cannot be followed

    def pick(self, cursor: tuple[float, float], size: tuple[int, int]) -> None:
        """Select what is visible at the pixel `cursor` of a viewport of `size`; nothing if that is the background.

        The result arrives some frames later, unless something else is selected before. Raises `LimitError`.
        """
        self._request(cursor, size)

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
        self._values.clear()

    def follow(self, changes: int) -> None:
        """Collect what has arrived, and request the row's values if tensors have changed since; once a frame.

        `changes` counts how often they did. A row that no longer exists, since its layer was rebuilt, is deselected.
        """
        self._picker.dropped()
        self._follow_values(changes)

    def mark(self) -> Mark | None:
        """The selected row as it is marked in the viewport."""
        layer = self._layer
        if self.row is None or layer is None or isinstance(layer.drawing, FieldDrawing | ImageDrawing):
            return None
        rows = layer.attributes.rows
        corners = self.row.corners if self.row.corners and max(self.row.corners) < rows else None
        return Mark(layer, self.row.row, corners) if self.row.row < rows else None

    def position(self) -> tuple[float, float, float] | None:
        """The row's position in world space; None if it has not arrived or is not finite."""
        layer = self._layer
        if self.row is not None and layer is not None and isinstance(layer.drawing, FieldDrawing):
            return layer.drawing.position_of(self.row.row)
        return self._values.position()

    @property
    def camera(self) -> ModelCamera | None:
        """The camera that the row stands for, if it stands for one."""
        layer = self._layer
        if self.row is None or layer is None:
            return None
        position = self._stage.scene.layers[layer.name].attributes.get("position")
        if not isinstance(position, OutputRef):
            return None
        return self._stage.instances[position.model].model.model_camera(position.output, self.row.row)

    # inside -----------------------------------------------------------------------------------------------------

    def _found(self, row: Row | None, depth: float) -> None:
        self.clear()
        if row is not None:
            self._set(row)

    def _set(self, row: Row) -> None:
        self.row = self.picked = row
        self._values.begin(self._stage.layers[row.layer], row.row)
