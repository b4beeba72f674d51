"""`Hover`: what is under the cursor while values are probed: the row of a layer, its values, and where it was hit."""

from __future__ import annotations

import math
import time

from ..gpu import Gpu
from ..renderer.camera import OrbitCamera
from ..renderer.picking import PickResult
from ..renderer.view import View
from ..scene.stage import Stage
from .picking import CursorPicker
from .row_values import EVERY, Fact, RowValues
from .selection import Row
from .tool import Pixels, Vector, ray

FACTS = 8  # that are shown, at most


class Hover:
    """While it is `on`, `row` is what is visible at the cursor, and `facts` are its values; both arrive frames later.

    Nothing is drawn or read while it is off, or while neither the cursor nor the camera moves and no tensor changes.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View, before: Hover | None = None):
        self._stage, self._camera = stage, camera
        self._picker, self._values = CursorPicker(gpu, stage, camera, view), RowValues(stage)
        self.on = before is not None and before.on
        self.cursor: Pixels | None = None  # in a viewport of `_size`
        self._size = (1, 1)
        self.row: Row | None = None
        self.position: Vector | None = None  # where it was hit, in world space; None if it has no depth
        self._asked: object = None  # for what it was requested last, and when
        self._asked_at, self._changes = -math.inf, -1

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return self._picker.pending or self._values.pending

    @property
    def facts(self) -> list[Fact]:
        """The values of the row, by name."""
        return self._values.facts

    def turn(self, on: bool) -> None:
        """Probe what is under the cursor, or no longer."""
        self.on = on
        if not on:
            self.move(None, self._size)

    def move(self, cursor: Pixels | None, size: tuple[int, int]) -> None:
        """The cursor is at this pixel of a viewport of `size`; None: not over it."""
        self.cursor, self._size = cursor, size
        if cursor is None:
            self.clear()

    def clear(self) -> None:
        """Forget what was there: the models were rebuilt, or the cursor is elsewhere."""
        self._picker.cancel()
        self._values.clear()
        self.row = self.position = self._asked = None

    def follow(self, changes: int) -> None:
        """Request what is at the cursor, if that may be another row now, and collect what has arrived; once a frame."""
        if not self.on or self.cursor is None:
            return
        if self._picker.dropped():
            self._asked = None
        layer = self._stage.layers.get(self.row.layer) if self.row is not None else None
        if self.row is not None and (layer is None or self.row.row >= layer.rows):
            self.clear()
        elif self.row is not None and layer is not None:
            self._values.follow(layer, self.row.row, changes)
        at = self.cursor, self._size, tuple(self._camera.position), tuple(self._camera.target), self._camera.fov
        moved, changed = at != self._asked, changes != self._changes
        if not self._picker.pending and (moved or (changed and time.perf_counter() - self._asked_at >= EVERY)):
            self._asked, self._changes, self._asked_at = at, changes, time.perf_counter()
            self._request(self.cursor, self._size)

    def _request(self, cursor: Pixels, size: tuple[int, int]) -> None:
        names = list(self._stage.layers)

        def take(result: PickResult | None) -> None:
            if result is None or names != list(self._stage.layers):
                self._values.clear()
                self.row = self.position = None
                return
            row = Row(names[result.layer], result.row, result.cell, result.corners)
            has_depth = math.isfinite(result.depth) and result.depth > 0.0
            point = ray(self._camera, cursor, size).point(result.depth) if has_depth else None
            self.position = None if point is None else (float(point[0]), float(point[1]), float(point[2]))
            if self.row is None or (self.row.layer, self.row.row) != (row.layer, row.row):
                self._values.begin(self._stage.layers[row.layer], row.row)
            self.row = row

        self._picker.request(cursor, size, take)
