"""`RowSet`: several rows of a layer; and which rows of a layer are in a region of the image."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..gpu import Gpu
from ..models.base import PartOfData
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.layers.marks import MarksDrawing
from ..renderer.layers.points import PointsDrawing
from ..renderer.layers.splats import SplatsDrawing
from ..renderer.row_image import RowImage
from ..renderer.view import View
from .row_positions import RowPositions

SKIN = 2.0  # pixels behind what is visible at which a row still counts as visible: rows of one surface hide each other


@dataclass(frozen=True)
class RowSet:
    """Some of the `rows` of a layer, one or more. `bits` has one for each row, as `numpy.packbits` makes them."""

    layer: str
    rows: int
    bits: bytes = field(repr=False)

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.mask))

    @property
    def mask(self) -> np.ndarray:
        """Which rows they are: bool (rows,)."""
        return np.unpackbits(np.frombuffer(self.bits, np.uint8), count=self.rows).astype(bool)


class LayerRows:
    """The rows of a layer that can be selected: those of its tensors, or those of data of which these hold a `part`."""

    def __init__(self, layer: Layer, part: PartOfData | None = None):
        self.layer, self.part = layer, part

    @property
    def count(self) -> int:
        """How many there are."""
        return self.layer.attributes.rows if self.part is None else self.part.count

    @property
    def version(self) -> int:
        """Changes when the tensors hold other rows."""
        return 0 if self.part is None else self.part.version

    def of_tensors(self, mask: np.ndarray) -> np.ndarray:
        """The rows (count,) that are these rows of the tensors."""
        if self.part is None:
            return mask
        found, numbers = np.zeros(self.count, bool), self.part.numbers[mask]
        found[numbers[numbers >= 0]] = True
        return found

    def in_tensors(self, mask: np.ndarray) -> np.ndarray:
        """Which rows of the tensors are of the rows `mask`, (count,)."""
        return mask if self.part is None else mask[self.part.numbers] & (self.part.numbers >= 0)

    def drawn(self, positions: RowPositions) -> np.ndarray:
        """The rows that may be drawn, also those that the tensors do not hold now. May wait for the GPU."""
        if self.part is not None:
            return np.ones(self.count, bool)
        return drawn_rows(self.layer, positions.of(self.layer))


def row_set(layer: str, mask: np.ndarray) -> RowSet | None:
    """The set of these rows; None if it is empty."""
    return RowSet(layer, len(mask), np.packbits(mask).tobytes()) if mask.any() else None


def has_rows(layer: Layer) -> bool:
    """Whether a layer draws something at the position of each row: points, marks or splats."""
    return isinstance(layer.drawing, PointsDrawing | MarksDrawing | SplatsDrawing)


def drawn_rows(layer: Layer, positions: np.ndarray) -> np.ndarray:
    """Which rows may be drawn: not those that are hidden, not finite, or outside of the crop of splats."""
    mask = np.asarray(np.isfinite(positions).all(axis=1))
    if isinstance(layer.drawing, SplatsDrawing):
        low, high = layer.drawing.style.crop()
        mask &= (positions >= low).all(axis=1) & (positions <= high).all(axis=1)
    return mask


def pixels_of(positions: np.ndarray, camera: OrbitCamera, size: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Where positions are on an image of `size`, (n, 2), and whether they are in front of the camera, (n,)."""
    width, height = size
    clip = (
        np.concatenate([positions, np.ones((len(positions), 1))], axis=1)
        @ (camera.projection(width / height) @ camera.view()).T
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        screen = clip[:, :2] / clip[:, 3:]
    return (screen * (0.5, -0.5) + 0.5) * (width, height), clip[:, 3] > 0.0


class Covered:
    """The rows of `layers` whose positions are at `pixels`, bool (height, width), of an image.

    With `visible_only`, those that the image shows: rows that have a pixel in the box around `pixels`, and rows at
    most `SKIN` pixels behind what is visible where they are, which waits for the GPU.
    """

    def __init__(
        self,
        gpu: Gpu,
        layers: list[Layer],
        positions: RowPositions,
        camera: OrbitCamera,
        view: View,
        pixels: np.ndarray,
        visible_only: bool,
    ):
        self._camera, self._pixels, self._layers, self._visible_only = camera, pixels, layers, visible_only
        self._positions = positions
        self._corner, self._image = (0, 0), None
        y, x = (np.flatnonzero(pixels.any(axis=axis)) for axis in (1, 0))
        if visible_only and len(x):
            self._corner = int(x[0]), int(y[0])
            size = int(x[-1] - x[0] + 1), int(y[-1] - y[0] + 1)
            self._image = _row_image(gpu, layers, camera, view, pixels.shape[::-1], self._corner, size)

    def rows(self, rows: LayerRows) -> np.ndarray:
        """Those of one layer: bool (count,)."""
        if rows.part is None or self._visible_only:
            return rows.of_tensors(self._of_tensors(rows.layer))
        mask = np.zeros(rows.count, bool)
        for numbers, positions in rows.part.pieces():
            mask[numbers] = self._inside(positions)[0]
        return mask

    def _inside(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which positions are at the pixels, and at which pixel of the image each is."""
        height, width = self._pixels.shape
        screen, mask = pixels_of(positions, self._camera, (width, height))
        mask &= (screen >= 0.0).all(axis=1) & (screen < (width, height)).all(axis=1)
        x, y = screen[mask].astype(np.int64).T
        mask[mask] = self._pixels[y, x]
        return mask, screen

    def _of_tensors(self, layer: Layer) -> np.ndarray:
        positions = self._positions.of(layer)
        mask, screen = self._inside(positions)
        mask &= drawn_rows(layer, positions)
        if self._image is not None:
            depth = -(positions[mask] @ self._camera.view()[2, :3] + self._camera.view()[2, 3])
            mask[mask] &= self._shown(layer, np.flatnonzero(mask), screen[mask].astype(np.int64), depth)
        return mask

    def _shown(self, layer: Layer, rows: np.ndarray, pixels: np.ndarray, depth: np.ndarray) -> np.ndarray:
        assert self._image is not None
        own = self._image[self._image[:, :, 0] == self._layers.index(layer) + 1, 1]
        x, y = (pixels - self._corner).T
        front = self._image[y, x]
        pixel = self._camera.pixel(self._pixels.shape[0]) * (1.0 if self._camera.orthographic else depth)
        near = depth <= np.ascontiguousarray(front[:, 3]).view(np.float32) + SKIN * pixel
        return np.isin(rows, own) | (near & (front[:, 0] > 0))


def _row_image(
    gpu: Gpu,
    layers: list[Layer],
    camera: OrbitCamera,
    view: View,
    size: tuple[int, int],
    corner: tuple[int, int],
    part: tuple[int, int],
) -> np.ndarray:
    found: list[np.ndarray] = []
    image = RowImage(gpu, part)
    try:
        image.record(layers, camera, size, corner, view)
        reading = image.read_rows(found.append)
        gpu.submit()
        gpu.readback.wait(reading)
    finally:
        gpu.sync()
        image.close()
    return found[0]
