"""`RowSelection`: the rows that are selected in the viewport, and the rows that are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import InputError, ParameterError
from ..gpu import Gpu
from ..params import Params, number, switch, unknown
from ..renderer.camera import OrbitCamera
from ..renderer.highlight import RowMarks
from ..renderer.layers import Layer
from ..renderer.view import View
from ..scene.schema import OutputRef
from ..scene.stage import Stage
from ..tensor import Tensor
from .region import SHAPES, Point, covered
from .row_positions import RowPositions
from .row_set import Covered, LayerRows, RowSet, has_rows, row_set

MODES = ("replace", "add", "remove")


class SelectSettings(Params):
    """How rows are selected by the mouse."""

    visible_only: bool = switch(False, doc="select only rows that are visible, not what is behind them")
    radius: float = number(
        0.04,
        min=0.002,
        max=1.0,
        slider_min=0.005,
        slider_max=0.3,
        scale="log",
        doc="radius of the selecting brush as a fraction of the viewport's height",
    )


@dataclass(frozen=True)
class RowState:
    """What is undone and redone: the selected rows, of one layer, and by layer the hidden rows."""

    selected: RowSet | None = None
    hidden: Mapping[str, RowSet] = field(default_factory=dict)


class RowSelection:
    """`state` is changed by `restore` alone; the other methods return what it would be, for the history.

    `shape` is the region that the mouse draws to select rows, if it does. Layers are points, marks and splats; a set of
    rows is no longer valid when its layer has another number of rows.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View, before: RowSelection | None = None):
        self._gpu, self._stage, self._camera, self._view = gpu, stage, camera, view
        self.settings = before.settings if before else SelectSettings()
        self.shape = before.shape if before else None
        self.state = RowState()
        self._applied: dict[str, tuple[Layer, RowSet, int]] = {}  # with the versions of the rows
        self._marks: tuple[RowSet, int, Tensor] | None = None
        self._positions = RowPositions()

    # what is there ----------------------------------------------------------------------------------------------

    @property
    def selected(self) -> RowSet | None:
        """The selected rows; None if there are none."""
        return self._valid(self.state.selected)

    @property
    def hidden(self) -> dict[str, RowSet]:
        """The hidden rows, by layer."""
        return {name: rows for name, rows in self.state.hidden.items() if self._valid(rows) is not None}

    @property
    def is_possible(self) -> bool:
        """Whether a layer has rows that can be selected."""
        return any(map(has_rows, self._stage.layers.values()))

    def marks(self) -> RowMarks | None:
        """The selected rows as they are marked in the viewport."""
        rows = self.selected
        if rows is None:
            self._drop_marks()
            return None
        found = self.rows_of(rows.layer)
        if self._marks is None or self._marks[0] is not rows or self._marks[1] != found.version:
            self._drop_marks()
            mask = found.in_tensors(rows.mask).astype(np.uint32)
            self._marks = rows, found.version, Tensor.from_numpy(mask, name=f"{rows.layer}.selected")
        return RowMarks(found.layer, self._marks[2])

    def rows_of(self, layer: str) -> LayerRows:
        """The rows of a layer that can be selected."""
        position = self._stage.scene.layers[layer].attributes.get("position")
        is_output = isinstance(position, OutputRef)
        part = self._stage.instances[position.model].model.part_of_data() if is_output else None
        return LayerRows(self._stage.layers[layer], part)

    # what may come ----------------------------------------------------------------------------------------------

    def in_region(
        self,
        shape: str,
        points: Sequence[Point],
        size: tuple[int, int],
        radius: float,
        mode: str,
        visible_only: bool,
    ) -> RowState:
        """Select the rows at pixels of a viewport of `size`; see `covered`. Of the layer that has most of them.

        `mode` is "replace", or "add" or "remove" to change the rows that are selected, whose layer it is then. Waits
        for the GPU where only visible rows are selected, and for positions that were just written. Raises
        `ParameterError`.
        """
        pixels, before = covered(shape, points, size, radius), self.selected
        layers = list(self._stage.layers.values())
        found = Covered(self._gpu, layers, self._positions, self._camera, self._view, pixels, visible_only)
        choice = [before.layer] if before is not None and mode != "replace" else list(self._stage.layers)
        masks = {name: found.rows(self.rows_of(name)) for name in choice if has_rows(self._stage.layers[name])}
        for name, hidden in self.hidden.items():
            if name in masks:
                masks[name] &= ~hidden.mask
        name = max(masks, key=lambda name: np.count_nonzero(masks[name]), default="")
        return self._combined(name, masks.get(name, np.zeros(0, bool)), mode)

    def of_rows(self, layer: str, rows: object, mode: str = "replace") -> RowState:
        """Select rows by their numbers, or by a mask of all. Raises `ParameterError`."""
        self._require(layer)
        count = self.rows_of(layer).count
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.shape == (count,):
            return self._combined(layer, chosen, mode)
        numbers = chosen.astype(np.int64) if chosen.size == 0 else chosen
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ParameterError(
                f"rows of {layer}: expected integers (n,) or a mask ({count},), got {chosen.dtype} {chosen.shape}"
            )
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
            raise ParameterError(f"{layer} has the rows 0 to {count - 1:,}; got {numbers.min():,} to {numbers.max():,}")
        mask = np.zeros(count, bool)
        mask[numbers] = True
        return self._combined(layer, mask, mode)

    def all_rows(self) -> RowState:
        """Select all rows of the layer in which rows are selected, else of that with most rows."""
        layer = self._layer_of_choice()
        return replace(self.state, selected=row_set(layer, self._selectable(layer)))

    def inverted(self) -> RowState:
        """Select the other rows of the layer, but for hidden ones."""
        layer, before = self._layer_of_choice(), self.selected
        mask = self._selectable(layer)
        return replace(self.state, selected=row_set(layer, mask if before is None else mask & ~before.mask))

    def nothing(self) -> RowState:
        """Deselect."""
        return replace(self.state, selected=None)

    def without_selected(self) -> RowState:
        """Hide the selected rows, and deselect them. Raises `InputError` if there are none."""
        rows = self._require_selected()
        return RowState(None, self._hidden_with(rows.layer, rows.mask))

    def only_selected(self) -> RowState:
        """Hide all other rows of the layer. Raises `InputError` if no rows are selected."""
        rows = self._require_selected()
        return RowState(rows, self._hidden_with(rows.layer, ~rows.mask))

    def with_hidden(self, layer: str, rows: object) -> RowState:
        """Hide exactly these rows of a layer, by their numbers or a mask. Raises `ParameterError`."""
        found = self.of_rows(layer, rows).selected
        others = {name: one for name, one in self.state.hidden.items() if name != layer}
        selected = self.selected
        if found is not None and selected is not None and selected.layer == layer:
            selected = row_set(layer, selected.mask & ~found.mask)
        return RowState(selected, others if found is None else {**others, layer: found})

    def all_shown(self) -> RowState:
        """Hide nothing."""
        return replace(self.state, hidden={})

    # what changes it --------------------------------------------------------------------------------------------

    def restore(self, state: RowState) -> None:
        """Select and hide these rows, as far as the layers have them. Raises what a layer raises; all is as before."""
        before, self.state = self.state, state
        try:
            self.follow()
        except BaseException:
            self.state = before
            self.follow()
            raise

    def follow(self) -> None:
        """Hide rows also of layers that were built since, and read what a region may select; once a frame."""
        if self.shape is not None:
            self._positions.prefetch([layer for layer in self._stage.layers.values() if has_rows(layer)])
        hidden = self.hidden
        for name, layer in self._stage.layers.items():
            applied, target = self._applied.get(name), hidden.get(name)
            if target is None and applied is not None:
                del self._applied[name]
                if applied[0] is layer:
                    layer.hide(None)
            elif target is not None:
                rows = self.rows_of(name)
                if applied is None or not (applied[0] is layer and applied[1:] == (target, rows.version)):
                    layer.hide(rows.in_tensors(target.mask))
                    self._applied[name] = layer, target, rows.version

    def select_shape(self, shape: str | None) -> None:
        """Let the mouse select by regions of this shape; None: it moves the camera. Raises `ParameterError`."""
        if shape is not None and shape not in SHAPES:
            raise ParameterError(f"shape is {shape!r}; expected {', '.join(SHAPES)}")
        self.shape = shape

    def set(self, name: str, value: object) -> None:
        """Change one of the `settings`. Raises `ParameterError`."""
        self.settings = self.settings.with_values({name: value})

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._drop_marks()

    # inside -----------------------------------------------------------------------------------------------------

    def _valid(self, rows: RowSet | None) -> RowSet | None:
        layer = self._stage.layers.get(rows.layer) if rows is not None else None
        if rows is None or layer is None or not has_rows(layer) or self.rows_of(rows.layer).count != rows.rows:
            return None
        return rows

    def _combined(self, layer: str, mask: np.ndarray, mode: str) -> RowState:
        if mode not in MODES:
            raise ParameterError(f"mode is {mode!r}; expected {', '.join(MODES)}")
        before = self.selected
        if mode != "replace" and before is not None and before.layer == layer:
            mask = before.mask | mask if mode == "add" else before.mask & ~mask
        elif mode == "remove":
            return replace(self.state, selected=before)
        return replace(self.state, selected=row_set(layer, mask))

    def _hidden_with(self, layer: str, mask: np.ndarray) -> dict[str, RowSet]:
        hidden = self.hidden
        if layer in hidden:
            mask = mask | hidden[layer].mask
        rows = row_set(layer, mask)
        return hidden if rows is None else {**hidden, layer: rows}

    def _require_selected(self) -> RowSet:
        if self.selected is None:
            raise InputError("no rows are selected; draw a box, a lasso or a brush stroke over points or splats first")
        return self.selected

    def _require(self, name: str) -> Layer:
        layers = self._stage.layers
        if name not in layers:
            raise ParameterError(unknown("layer", name, layers))
        if not has_rows(layers[name]):
            raise ParameterError(f"layer {name!r} has no rows to select; points, marks and splats have")
        return layers[name]

    def _selectable(self, layer: str) -> np.ndarray:
        mask, hidden = self.rows_of(layer).drawn(self._positions), self.hidden.get(layer)
        return mask if hidden is None else mask & ~hidden.mask

    def _layer_of_choice(self) -> str:
        if self.selected is not None:
            return self.selected.layer
        layers = [name for name, layer in self._stage.layers.items() if has_rows(layer)]
        if not layers:
            raise InputError("the scene has no layer of points, marks or splats, whose rows could be selected")
        return max(layers, key=lambda name: self.rows_of(name).count)

    def _drop_marks(self) -> None:
        if self._marks is not None:
            self._marks[2].close()
            self._marks = None
