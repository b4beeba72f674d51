"""`image_grid`: the channels of a tensor side by side in one image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..gpu import Kernel
from ..tensor import Tensor
from . import launch
from .reduce import finite_range

WORKGROUP = 256
CHUNK = 8192  # elements that a workgroup takes; of a channel of no more, it finds the range itself


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
    values: Tensor, grid: GridShape, normalize: bool, out: Tensor, alongside: Sequence[Tensor] = (), gap: int = 0
) -> Tensor:
    """Write channels (channels, height, width), of any dtype, into the image `out`, f32, of `grid.size`, contiguous.

    Pixels of its gaps get the bits `gap`. With `normalize` each channel is scaled to its own range, from 0 to 1: that
    of its finite values, and of those of the same channel of the tensors `alongside`.
    """
    count = grid.height * grid.width
    wide, tall = grid.width + grid.gap, grid.height + grid.gap
    cells, chunks = grid.size[0] // tall * grid.columns, -(-wide * tall // CHUNK)
    scale = "" if not normalize else "alone" if chunks == 1 else "pairs"
    sizes: dict[str, Any] = {"channels": grid.channels, "count": count, "width": grid.width}
    sizes |= {"chunk": CHUNK, "chunks": chunks}
    placed: dict[str, Any] = {"cells": cells, "columns": grid.columns, "cell": (wide, tall), "gap": gap}
    with Tensor.empty((grid.channels * chunks if scale == "pairs" else 0, 2), temporary=True) as pairs:
        if scale == "pairs":
            kernel, read = _kernel("ranges", "", values, alongside)
            kernel(grid.channels * chunks * WORKGROUP, overwrites=("pairs",), pairs=pairs, **read, **sizes)
            placed["pairs"] = pairs
        kernel, read = _kernel("image", scale, values, alongside if scale == "alone" else ())
        kernel(cells * chunks * WORKGROUP, overwrites=("out",), out=out, **read, **sizes, **placed)
    return out


def _kernel(step: str, scale: str, values: Tensor, alongside: Sequence[Tensor]) -> tuple[Kernel, dict[str, Any]]:
    read = {"source": values} | {f"alongside_{number}": one for number, one in enumerate(alongside)}
    read_types = tuple((name, one.dtype.name) for name, one in read.items())
    defines = {"PASS": step, "SCALE": scale, "SOURCES": read_types}
    return Kernel.load("ops/image_grid.wgsl", defines=defines), launch.strided(**read)
