"""`RowSet`: several rows of a layer, selected by a box over the image."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..gpu import Traffic
from ..renderer.camera import OrbitCamera
from ..renderer.layers import Layer
from ..renderer.layers.marks import MarksDrawing
from ..renderer.layers.points import PointsDrawing
from ..renderer.layers.splats import SplatsDrawing

MODES = ("replace", "add", "remove")
MARKED = 3000  # rows that are marked in the viewport, at most
Point = tuple[float, float]


class RowSet(NamedTuple):
    """`mask` (rows,) is which rows of a layer are selected, `sample` (n, 3) the positions of some of them."""

    layer: str
    mask: np.ndarray
    sample: np.ndarray

    @property
    def count(self) -> int:
        """How many rows are selected."""
        return int(np.count_nonzero(self.mask))


def has_rows(layer: Layer) -> bool:
    """Whether a layer draws something at the position of each row: points, marks or splats."""
    return isinstance(layer.drawing, PointsDrawing | MarksDrawing | SplatsDrawing)


def row_set(layer: Layer, mask: np.ndarray, positions: np.ndarray) -> RowSet | None:
    """The set of these rows; None if it is empty."""
    chosen = np.flatnonzero(mask)
    sample = positions[chosen[:: max(-(-len(chosen) // MARKED), 1)]]
    return RowSet(layer.name, mask, sample) if len(chosen) else None


def rows_in_box(
    layers: list[Layer],
    camera: OrbitCamera,
    first: Point,
    last: Point,
    size: tuple[int, int],
    mode: str,
    old: RowSet | None,
) -> RowSet | None:
    """The rows whose positions are between two pixels of an image of `size`, of the layer that has most of them.

    `mode` is one of `MODES`: with "add" and "remove" the rows of `old` are changed, whose layer it is. Waits for the
    GPU. Raises `ParameterError` for another mode.
    """
    if mode not in MODES:
        raise ParameterError(f"mode is {mode!r}; expected {', '.join(MODES)}")
    if mode != "replace" and old is not None:
        layers = [layer for layer in layers if layer.name == old.layer and layer.attributes.rows == len(old.mask)]
    found = [(layer, positions_of(layer)) for layer in layers if has_rows(layer)]
    masks = [_inside(layer, positions, camera, first, last, size) for layer, positions in found]
    if not found:
        return old if mode != "replace" else None
    best = max(range(len(found)), key=lambda number: np.count_nonzero(masks[number]))
    (layer, positions), mask = found[best], masks[best]
    if mode != "replace" and old is not None:
        mask = old.mask | mask if mode == "add" else old.mask & ~mask
    elif mode == "remove":
        return None
    return row_set(layer, mask, positions)


def positions_of(layer: Layer) -> np.ndarray:
    """The positions of the rows, (rows, 3)."""
    tensor = layer.attributes.tensors["position"].tensor
    return tensor.read_async(Traffic.DIAGNOSTICS).result().reshape(-1, 3)


def pixels_of(positions: np.ndarray, camera: OrbitCamera, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Where positions are on an image of `size`, (n, 2), and whether they are in front of the camera, (n,)."""
    width, height = size
    clip = (
        np.concatenate([positions, np.ones((len(positions), 1))], axis=1)
        @ (camera.projection(width / height) @ camera.view()).T
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        screen = clip[:, :2] / clip[:, 3:]
    return (screen * (0.5, -0.5) + 0.5) * (width, height), clip[:, 3] > 0.0


def _inside(
    layer: Layer, positions: np.ndarray, camera: OrbitCamera, first: Point, last: Point, size: tuple[int, int]
) -> np.ndarray:
    pixels, is_before = pixels_of(positions, camera, size)
    low, high = np.minimum(first, last), np.maximum(first, last)
    mask = is_before & (pixels >= low).all(axis=1) & (pixels <= high).all(axis=1)
    if isinstance(layer.drawing, SplatsDrawing):
        low, high = layer.drawing.style.crop()
        mask &= (positions >= low).all(axis=1) & (positions <= high).all(axis=1)
    return mask
