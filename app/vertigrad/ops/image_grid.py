"""`image_grid`: the channels of a tensor side by side in one image."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..tensor import Tensor
from .elementwise import assign
from .functions import maximum, minimum
from .reduce import finite_range

LEAST = 1e-30  # range of a channel below which it is constant


class GridShape(NamedTuple):
    """Where channels (channels, height, width) are in the image: `columns` in a row, a gap right of and below each."""

    channels: int
    height: int
    width: int
    columns: int
    gap: int

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        rows = -(-self.channels // self.columns)
        return rows * (self.height + self.gap), self.columns * (self.width + self.gap)

    def element(self, pixel: int) -> int | None:
        """The row-major index in the tensor of a pixel, by its row-major index in the image; None in a gap."""
        y, x = divmod(pixel, self.size[1])
        row, y = divmod(y, self.height + self.gap)
        column, x = divmod(x, self.width + self.gap)
        channel = row * self.columns + column
        if y >= self.height or x >= self.width or channel >= self.channels:
            return None
        return (channel * self.height + y) * self.width + x


def grid_shape(shape: tuple[int, int, int], columns: int, gap: int) -> GridShape:
    """The grid of channels of this shape; with `columns` 0 the image is about square."""
    channels, height, width = shape
    columns = columns or max(1, round(math.sqrt(channels * height / width)))
    return GridShape(channels, height, width, min(columns, channels), gap)


def ranges(values: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the greatest finite value of each channel (channels, height, width), each (channels, 1, 1)."""
    return finite_range(values, (1, 2), keepdims=True)


def image_grid(
    values: Tensor, grid: GridShape, normalize: bool, out: Tensor, alongside: Tensor | None = None
) -> Tensor:
    """Write channels (channels, height, width) into the image `out`, of `grid.size`; its gaps are not written.

    With `normalize` each channel is scaled to its own range, from 0 to 1: that of its finite values, and of those of
    the same channel of `alongside`, if there is such a tensor.
    """
    rows, columns = -(-grid.channels // grid.columns), grid.columns
    if normalize:
        low, high = ranges(values)
        if alongside is not None:
            other_low, other_high = ranges(alongside)
            low, high = minimum(low, other_low), maximum(high, other_high)
        values = (values - low) / maximum(high - low, LEAST)
    tall, wide = grid.height + grid.gap, grid.width + grid.gap
    cells = out.reshape(rows, tall, columns, wide).permute(0, 2, 1, 3)[:, :, : grid.height, : grid.width]
    whole = grid.channels // columns
    split = whole * columns
    assign(cells[:whole], values[:split].reshape(whole, columns, grid.height, grid.width))
    if split < grid.channels:
        assign(cells[whole, : grid.channels - split], values[split:])
    return out
