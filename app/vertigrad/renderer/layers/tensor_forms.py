"""The forms in which a tensor is drawn: each computes the attributes of another layer from it, on the GPU."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...errors import LayoutError
from ...gpu import Plan
from ...ops.image_grid import grid_shape, image_grid
from ...params import Params
from ...tensor import Tensor, f32
from ..extent import Extent
from .attributes import describe
from .base import Attribute, Layer
from .image import ImageLayer, ImageStyle
from .instances import InstancesLayer, InstancesStyle
from .lines import LinesLayer, LinesStyle
from .points import PointsLayer, PointsStyle
from .styles import SYMMETRIC
from .surface import SurfaceLayer, SurfaceStyle
from .tensor_shapes import default_form, objection, planes, stripped
from .volume import VolumeLayer, VolumeStyle

GAP = 1  # pixels between channels
BAR = 0.8  # width of a bar, of the spacing
DOT, SPREAD = 0.01, 0.2  # radius of a point at most, and of many points times the root of their number, of the size
LEAST = 1e-30  # largest magnitude below which all values are 0


class Form(ExitStack):
    """What a layer of type `LAYER` draws instead of a tensor; close it.

    `values` is the tensor without leading axes of 1, as f32. `update` computes `attributes` from it.
    """

    LAYER: ClassVar[type[Layer]]
    moved_by: ClassVar[tuple[str, ...]] = ()  # values of the style that the computation depends on

    def __init__(self, name: str, style: Any, tensor: Tensor, minus: Tensor | None):
        super().__init__()
        self.name, self._tensor, self._minus = name, tensor, minus
        self.shape = stripped(tensor.shape)
        self.attributes: dict[str, Attribute] = {}
        self._plan: Plan | None = None
        self._extent: Extent | None = None  # of the values, where heights are relative to it
        self._recorded_for: tuple[object, ...] = ()
        try:
            self.build(style)
            self.update(style)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def build(self, style: Any) -> None:
        """Create `attributes`. Raises `LayoutError`."""

    @abstractmethod
    def compute(self, values: Tensor, style: Any) -> None:
        """Record the computation of the attributes."""

    @abstractmethod
    def style(self, style: Any) -> Params:
        """The style of the layer, for that of the tensor."""

    @abstractmethod
    def element(self, row: int) -> int | None:
        """The row-major index of the element that is drawn as this row."""

    def update(self, style: Any) -> None:
        """Compute the attributes."""
        values = tuple(getattr(style, name) for name in self.moved_by)
        if self._plan is None or values != self._recorded_for:
            self._record(style)
            self._recorded_for = values
        assert self._plan is not None
        self._plan.replay()

    def report(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """Where the tensors are, for the layer's report."""
        read = {"tensor": self._tensor, "minus": self._minus}
        return {
            name: partial(describe, one, one.strides[-1] if one.ndim else one.itemsize, one.dtype.name)
            for name, one in read.items()
            if one is not None
        }

    def held(self, name: str, *shape: int) -> Tensor:
        """A tensor, at first of zeros, which becomes an attribute of the layer."""
        tensor = self.enter_context(Tensor.zeros(shape, f32, f"{self.name}.{name}"))
        self.attributes[name] = tensor
        return tensor

    def _values(self) -> Tensor:
        """The tensor, or the difference, recorded as f32."""
        values = _as_f32(self._tensor)
        if self._minus is not None:
            values = values - _as_f32(self._minus)
        return values.contiguous().reshape(*self.shape)

    def _record(self, style: Any) -> None:
        if self._plan is None:
            self.callback(self._close_plan)
        self._close_plan()
        self._plan = Plan(f"{self.name}.form")
        with self._plan.recording():
            self.compute(self._values(), style)

    def _close_plan(self) -> None:
        for owned in (self._plan, self._extent):
            if owned is not None:
                owned.close()
        self._plan = self._extent = None

    def _relative(self, values: Tensor) -> Tensor:
        """The values divided by their largest finite magnitude; recorded into the plan."""
        assert self._plan is not None
        self._extent = Extent(values)
        self._extent.add_to(self._plan)
        return values / ops.maximum(ops.max(ops.absolute(self._extent.pair)), LEAST)


class ImageForm(Form):
    """Channels side by side; a vector is folded into rows."""

    LAYER = ImageLayer

    def build(self, style: Any) -> None:
        channels, height, width = planes(self.shape)
        self._grid = grid_shape(
            (min(channels, style.channels), height, width), style.columns, GAP if channels > 1 else 0
        )
        self.held("pixels", *self._grid.size).fill_(math.nan)  # gaps are transparent

    def compute(self, values: Tensor, style: Any) -> None:
        grid, out = self._grid, self.attributes["pixels"]
        assert isinstance(out, Tensor)
        if len(self.shape) < 2:
            _fold(values.reshape(-1), out)
        else:
            channels = values.reshape(-1, grid.height, grid.width)[: grid.channels]
            image_grid(channels, grid, style.normalize and grid.channels > 1, out)

    def style(self, style: Any) -> Params:
        rows, columns = self._grid.size
        width = style.size * min(1.0, columns / rows)
        same = {name: getattr(style, name) for name in ("center", "plane", "smooth", "brightness", *_COLORS)}
        return ImageStyle(width=width, **same)

    def element(self, row: int) -> int | None:
        found = self._grid.element(row)
        return found if found is not None and found < math.prod(self.shape) else None


class BarsForm(Form):
    """A bar for each element, upright, in rows behind each other."""

    LAYER = InstancesLayer
    moved_by = ("center", "size", "height")

    def build(self, style: Any) -> None:
        columns = self.shape[-1] if self.shape else 1
        self._rows, self._columns = math.prod(self.shape) // columns, columns
        for name, components in (("position", 3), ("size", 3), ("color", 1)):
            self.held(name, self._rows * columns, components)

    def compute(self, values: Tensor, style: Any) -> None:
        flat = values.reshape(-1)
        step = style.size / max(self._rows, self._columns)
        row, column = np.divmod(np.arange(flat.shape[0], dtype=np.float32), self._columns)
        places = {0: (column - (self._columns - 1) / 2), 2: (row - (self._rows - 1) / 2)}
        position, size, color = (self.attributes[name] for name in ("position", "size", "color"))
        assert isinstance(position, Tensor) and isinstance(size, Tensor) and isinstance(color, Tensor)
        half = self._relative(flat) * (0.5 * style.height)
        for axis, steps in places.items():
            ops.assign(position[:, axis], (steps * step + style.center[axis]).astype(np.float32))
            ops.assign(size[:, axis], 0.5 * BAR * step)
        ops.assign(position[:, 1], half + style.center[1])
        ops.assign(size[:, 1], ops.maximum(ops.absolute(half), 1e-4 * style.size))
        ops.assign(color[:, 0], flat)

    def style(self, style: Any) -> Params:
        return InstancesStyle(shape="cube", **{name: getattr(style, name) for name in _COLORS})

    def element(self, row: int) -> int | None:
        return row


class PointsForm(Form):
    """Rows of 2 numbers or more as points: the first three are the coordinates, the last one the color."""

    LAYER = PointsLayer
    moved_by = ("center", "size")

    def build(self, style: Any) -> None:
        rows = math.prod(self.shape[:-1])
        self.held("position", rows, 3)
        self.held("color", rows, 1)
        self.radius = self.attributes["size"] = style.size * min(DOT, SPREAD / math.sqrt(rows))

    def compute(self, values: Tensor, style: Any) -> None:
        position, color = self.attributes["position"], self.attributes["color"]
        assert isinstance(position, Tensor) and isinstance(color, Tensor)
        flat = values.reshape(-1, self.shape[-1])
        axes = min(3, flat.shape[1])
        scaled = self._relative(flat[:, :axes].contiguous()) * (0.5 * style.size)
        for axis in range(3):
            ops.assign(position[:, axis], scaled[:, axis] + style.center[axis] if axis < axes else style.center[axis])
        ops.assign(color[:, 0], flat[:, -1])

    def style(self, style: Any) -> Params:
        same = {name: getattr(style, name) for name in _COLORS}
        return PointsStyle(emissive=1.0, brightness=style.brightness, **same)

    def element(self, row: int) -> int | None:
        return row * self.shape[-1]


class LinesForm(Form):
    """Lines (lines, rows, 3)."""

    LAYER = LinesLayer
    moved_by = ("center", "size")

    def build(self, style: Any) -> None:
        self.held("position", *self.shape)
        self.attributes["width"] = 1.2

    def compute(self, values: Tensor, style: Any) -> None:
        position = self.attributes["position"]
        assert isinstance(position, Tensor)
        flat, target = values.reshape(-1, 3), position.reshape(-1, 3)
        scaled = self._relative(flat) * (0.5 * style.size)
        for axis in range(3):
            ops.assign(target[:, axis], scaled[:, axis] + style.center[axis])

    def style(self, style: Any) -> Params:
        return LinesStyle(brightness=style.brightness, **{name: getattr(style, name) for name in _COLORS})

    def element(self, row: int) -> int | None:
        return 3 * row


class SurfaceForm(Form):
    """A plane, or one channel, as a surface whose height is the value."""

    LAYER = SurfaceLayer
    moved_by = ("center", "size", "height")

    def build(self, style: Any) -> None:
        channels, rows, columns = planes(self.shape)
        _require_channel(self.name, style.channel, channels)
        self._first, self._size = style.channel * rows * columns, (rows, columns)
        self.held("position", rows, columns, 3)
        self.held("normal", rows, columns, 3)
        self.held("color", rows, columns)

    def compute(self, values: Tensor, style: Any) -> None:
        rows, columns = self._size
        plane = values.reshape(-1, rows, columns)[style.channel]
        position, normal, color = (self.attributes[name] for name in ("position", "normal", "color"))
        assert isinstance(position, Tensor) and isinstance(normal, Tensor) and isinstance(color, Tensor)
        step = style.size / max(rows - 1, columns - 1)
        x = (np.arange(columns, dtype=np.float32) - (columns - 1) / 2) * step + style.center[0]
        z = (np.arange(rows, dtype=np.float32)[:, None] - (rows - 1) / 2) * step + style.center[2]
        ops.assign(position[:, :, 0], np.broadcast_to(x, self._size).astype(np.float32))
        ops.assign(position[:, :, 2], np.broadcast_to(z, self._size).astype(np.float32))
        ops.assign(position[:, :, 1], self._relative(plane) * style.height + style.center[1])
        ops.grid_normals(position, out=normal)
        ops.assign(color, plane)

    def style(self, style: Any) -> Params:
        return SurfaceStyle(**{name: getattr(style, name) for name in _COLORS})

    def element(self, row: int) -> int | None:
        return self._first + row


class VolumeForm(Form):
    """The last three axes as a volume of density."""

    LAYER = VolumeLayer

    def build(self, style: Any) -> None:
        _require_channel(self.name, style.channel, math.prod(self.shape[:-3]))
        self.attributes["color"] = self.held("density", *self.shape[-3:])

    def compute(self, values: Tensor, style: Any) -> None:
        density = self.attributes["density"]
        assert isinstance(density, Tensor)
        ops.assign(density, values.reshape(-1, *self.shape[-3:])[style.channel])

    def style(self, style: Any) -> Params:
        cells = self.shape[:-4:-1]  # along x, y and z
        half = [0.5 * style.size * count / max(cells) for count in cells]
        low, high = (tuple(c + sign * h for c, h in zip(style.center, half, strict=True)) for sign in (-1, 1))
        same = {name: getattr(style, name) for name in ("brightness", *_COLORS)}
        if style.range == SYMMETRIC:  # dense at both ends, zero is transparent
            same |= {"density_range": SYMMETRIC, "opacity_curve": "0:1 0.5:0 1:1"}
        return VolumeStyle(low=low, high=high, emissive=1.0, extinction=8.0 / style.size, **same)

    def element(self, row: int) -> int | None:
        return None


_COLORS = ("colormap", "colormap_flip", "range")
FORMS: dict[str, type[Form]] = {
    "image": ImageForm,
    "bars": BarsForm,
    "points": PointsForm,
    "surface": SurfaceForm,
    "lines": LinesForm,
    "volume": VolumeForm,
}


def form_for(name: str, style: Any, tensor: Tensor, minus: Tensor | None) -> Form:
    """The form that the style asks for, or that fits the shape. Raises `LayoutError`, `LimitError`."""
    kind = default_form(tensor.shape) if style.draw == "auto" else style.draw
    if why_not := objection(kind, tensor.shape):
        raise LayoutError(f"layer {name!r}: {why_not}")
    return FORMS[kind](name, style, tensor, minus)


def _fold(values: Tensor, image: Tensor) -> None:
    columns = image.shape[1]
    whole = values.shape[0] // columns
    ops.assign(image[:whole], values[: whole * columns].reshape(whole, columns))
    if whole * columns < values.shape[0]:
        ops.assign(image[whole, : values.shape[0] - whole * columns], values[whole * columns :])


def _require_channel(name: str, channel: int, count: int) -> None:
    if channel >= count:
        raise LayoutError(f"layer {name!r}: there is no channel {channel}; its channels are 0 to {count - 1}")


def _as_f32(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype is f32 else ops.cast(tensor, f32)
