"""`Picker`: which row of which layer is under the cursor, found on the GPU and read some frames later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..gpu import Gpu, Reading
from .camera import OrbitCamera
from .layers.base import Layer
from .row_image import RowImage
from .view import View

REGION = 9  # pixels a side that are searched, the cursor's in the middle

Corners = tuple[int, int, int]


@dataclass(frozen=True)
class PickResult:
    """What is at a pixel of the image.

    `layer` is its index among the layers that were drawn. `cell` is the triangle of a surface, `row` its nearest corner
    and `corners` all three; of points, `cell` and `corners` are None. `depth` is the distance from the eye along the
    direction of view, in world units.
    """

    layer: int
    row: int
    depth: float
    cell: int | None = None
    corners: Corners | None = None


class Picker:
    """Draws a few pixels around the cursor with row indices instead of colors, when `pick` is called."""

    def __init__(self, gpu: Gpu):
        self._image = RowImage(gpu, (REGION, REGION))

    def pick(
        self,
        layers: Sequence[Layer],
        camera: OrbitCamera,
        size: tuple[int, int],
        cursor: tuple[float, float],
        then: Callable[[PickResult | None], None],
        view: View | None = None,
    ) -> Reading:
        """Record the search at the pixel `cursor` of an image of `size`; `then` is called when the result has arrived.

        The result is the row nearest to the eye in the nonempty pixel nearest to the cursor, at most half of `REGION`
        away; None if all these pixels are empty. What the clipping planes of `view` cut off cannot be picked.
        Raises `LimitError` for a surface that is too large.
        """
        x, y = (int(coordinate) - REGION // 2 for coordinate in cursor)
        self._image.record(layers, camera, size, (x, y), view or View())
        rows: list[np.ndarray] = []
        self._image.read_rows(rows.append)  # they arrive in the order in which they are requested
        return self._image.read_corners(lambda corners: then(_nearest(rows[0], corners)))


def _nearest(rows: np.ndarray, corners: np.ndarray) -> PickResult | None:
    y, x = np.nonzero(rows[:, :, 0])
    if not len(x):
        return None
    middle = REGION // 2
    best = np.argmin(np.hypot(x - middle, y - middle))
    layer, row, cell, bits = (int(value) for value in rows[y[best], x[best]])
    depth = float(np.uint32(bits).view(np.float32))
    if not cell:
        return PickResult(layer - 1, row, depth)
    second, third = (int(value) for value in corners[y[best], x[best]])
    return PickResult(layer - 1, row, depth, cell - 1, (row, second, third))
