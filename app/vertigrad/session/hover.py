"""`Hover`: what is under the cursor while values are probed: the row of a layer, its values, and where it was hit."""

from __future__ import annotations

import math
import time

from ..gpu import Gpu
from ..renderer.camera import OrbitCamera
from ..renderer.view import View
from ..scene.stage import Stage
from .followed_row import FollowedRow, Row
from .row_values import EVERY
from .tool import Pixels, Vector, ray

FACTS = 8  # that are shown, at most


class Hover(FollowedRow):
    """While it is `on`, `row` is what is visible at the cursor, and `facts` are its values; both arrive frames later.

    Nothing is drawn or read while it is off, or while neither the cursor nor the camera moves and no tensor changes.
    """

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View, before: Hover | None = None):
        super().__init__(gpu, stage, camera, view)
        self.on = before is not None and before.on
        self.cursor: Pixels | None = None  # in a viewport of `_size`
        self._size = (1, 1)
        self.position: Vector | None = None  # where it was hit, in world space; None if it has no depth
        self._asked: object = None  # for what it was requested last, and when
        self._asked_at, self._changes = -math.inf, -1
        self._requested: tuple[Pixels, tuple[int, int]] = (0.0, 0.0), (1, 1)  # the cursor and the size then

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
        self._follow_values(changes)
        at = self.cursor, self._size, tuple(self._camera.position), tuple(self._camera.target), self._camera.fov
        moved, changed = at != self._asked, changes != self._changes
        if not self._picker.pending and (moved or (changed and time.perf_counter() - self._asked_at >= EVERY)):
            self._asked, self._changes, self._asked_at = at, changes, time.perf_counter()
            self._requested = self.cursor, self._size
            self._request(self.cursor, self._size)

    def _found(self, row: Row | None, depth: float) -> None:
        if row is None:
            self._values.clear()
            self.row = self.position = None
            return
        has_depth = math.isfinite(depth) and depth > 0.0
        point = ray(self._camera, *self._requested).point(depth) if has_depth else None
        self.position = None if point is None else (float(point[0]), float(point[1]), float(point[2]))
        if self.row is None or (self.row.layer, self.row.row) != (row.layer, row.row):
            self._values.begin(self._stage.layers[row.layer], row.row)
        self.row = row
