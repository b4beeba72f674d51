"""The forms in which a tensor is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import ops
from ...errors import LayoutError
from ...ops.image_grid import grid_shape, image_grid
from ...params import Params
from ...tensor import Tensor
from .image import TRANSPARENT, ImageStyle, MarkedImageLayer
from .instances import InstancesLayer, InstancesStyle
from .lines import LinesLayer, LinesStyle
from .points import PointsLayer, PointsStyle
from .styles import SYMMETRIC
from .surface import SurfaceLayer, SurfaceStyle
from .tensor_form import Form
from .tensor_shapes import default_form, objection, planes
from .volume import VolumeLayer, VolumeStyle

GAP = 1  # pixels between channels
BAR = 0.8  # width of a bar, of the spacing
DOT, SPREAD = 0.01, 0.2  # radius of a point at most, and of many points times the root of their number, of the size


class ImageForm(Form):
    """Channels side by side; a vector is folded into rows."""

    LAYER = MarkedImageLayer
    takes_any_type = True

    def build(self, style: Any) -> None:
        channels, height, width = planes(self.shape)
        self._grid = grid_shape(
            (min(channels, style.channels), height, width), style.columns, GAP if channels > 1 else 0
        )
        self._is_normalized = style.normalize and self._grid.channels > 1
        pixels = np.full(self._grid.size, TRANSPARENT, np.uint32).view(np.float32)  # in the gaps
        self.attributes["pixels"] = self.enter_context(Tensor.from_numpy(pixels, f"{self.name}.pixels"))

    def compute(self, values: Tensor, style: Any) -> None:
        out = self.attributes["pixels"]
        assert isinstance(out, Tensor)
        if len(self.shape) < 2:
            _fold(values.reshape(-1), out)
            return
        others = [self._channels(other) for other in self._others]
        image_grid(self._channels(values), self._grid, self._is_normalized, out, others, TRANSPARENT)

    def mapped(self, values: Any, style: Any) -> Any:
        if len(self.shape) < 2:
            return values.reshape(-1)
        return None if self._is_normalized else self._channels(values)

    def style(self, style: Any) -> Params:
        rows, columns = self._grid.size
        width = style.size * min(1.0, columns / rows)
        same = {name: getattr(style, name) for name in ("center", "plane", "smooth", "brightness", *_COLORS)}
        if self._is_normalized and style.range == "auto":
            same["range"] = (0.0, 1.0)
        return ImageStyle(width=width, **same)

    def half_height(self, style: Any) -> float:
        rows, columns = self._grid.size
        return 0.0 if style.plane == "xz" else 0.5 * style.size * min(1.0, rows / columns)

    def element(self, row: int) -> int | None:
        found = self._grid.element(row)
        return found if found is not None and found < math.prod(self.shape) else None

    def _channels(self, values: Any) -> Any:
        return values.reshape(-1, self._grid.height, self._grid.width)[: self._grid.channels]


class BarsForm(Form):
    """A bar for each element, upright, in rows behind each other."""

    LAYER = InstancesLayer
    moved_by = ("center", "size", "height")

    def build(self, style: Any) -> None:
        columns = self.shape[-1] if self.shape else 1
        self._rows, self._columns = math.prod(self.shape) // columns, columns
        for name, components in (("position", 3), ("size", 3), ("color", 1)):
            self.held(name, self._rows * columns, components)

    def arrange(self, style: Any) -> None:
        step = style.size / max(self._rows, self._columns)
        row, column = np.divmod(np.arange(self._rows * self._columns, dtype=np.float32), self._columns)
        steps = {0: (column - (self._columns - 1) / 2), 2: (row - (self._rows - 1) / 2)}
        position, size = (self.attributes[name] for name in ("position", "size"))
        assert isinstance(position, Tensor) and isinstance(size, Tensor)
        for axis, count in steps.items():
            ops.assign(position[:, axis], (count * step + style.center[axis]).astype(np.float32))
            ops.assign(size[:, axis], 0.5 * BAR * step)

    def compute(self, values: Tensor, style: Any) -> None:
        position, size, color = (self.attributes[name] for name in ("position", "size", "color"))
        assert isinstance(position, Tensor) and isinstance(size, Tensor) and isinstance(color, Tensor)
        half, middle, least = 0.5 * style.height, style.center[1], 1e-4 * style.size
        flat = self._measured(values, _flat)
        self._write_relative(flat, position[:, 1], lambda relative: relative * half + middle)
        self._write_relative(flat, size[:, 1], lambda relative: ops.maximum(ops.absolute(relative * half), least))
        ops.assign(color[:, 0], flat)

    def mapped(self, values: Any, style: Any) -> Any:
        return _flat(values)

    def style(self, style: Any) -> Params:
        return InstancesStyle(shape="cube", **{name: getattr(style, name) for name in _COLORS})

    def half_height(self, style: Any) -> float:
        return style.height

    def element(self, row: int) -> int | None:
        return row


class PointsForm(Form):
    """Rows of 2 numbers or more as points: the first three are the coordinates, the last one the color."""

    LAYER = PointsLayer
    moved_by = ("center", "size")
    whole_axes = 1

    def build(self, style: Any) -> None:
        rows = math.prod(self.shape[:-1])
        self.held("position", rows, 3)
        self.held("color", rows, 1)
        self.radius = self.attributes["size"] = style.size * min(DOT, SPREAD / math.sqrt(rows))

    def arrange(self, style: Any) -> None:
        position = self.attributes["position"]
        assert isinstance(position, Tensor)
        ops.assign(position[:, 2], style.center[2])  # of rows of 2 numbers

    def compute(self, values: Tensor, style: Any) -> None:
        position, color = self.attributes["position"], self.attributes["color"]
        assert isinstance(position, Tensor) and isinstance(color, Tensor)
        axes = min(3, self.shape[-1])
        own = self._measured(values, lambda one: self._rows(one)[:, :axes])
        self._write_scaled(own, position[:, :axes], style)
        ops.assign(color[:, 0], self.mapped(values, style))

    def mapped(self, values: Any, style: Any) -> Any:
        return self._rows(values)[:, -1]

    def style(self, style: Any) -> Params:
        same = {name: getattr(style, name) for name in _COLORS}
        return PointsStyle(emissive=1.0, brightness=style.brightness, **same)

    def half_height(self, style: Any) -> float:
        return 0.5 * style.size

    def element(self, row: int) -> int | None:
        return row * self.shape[-1]

    def _rows(self, values: Any) -> Any:
        return values.reshape(-1, self.shape[-1])


class LinesForm(Form):
    """Lines (lines, rows, 3)."""

    LAYER = LinesLayer
    moved_by = ("center", "size")
    whole_axes = 1

    def build(self, style: Any) -> None:
        self.held("position", *self.shape)
        self.attributes["width"] = 1.2

    def compute(self, values: Tensor, style: Any) -> None:
        position = self.attributes["position"]
        assert isinstance(position, Tensor)
        own = self._measured(values, lambda one: one.reshape(-1, 3))
        self._write_scaled(own, position.reshape(-1, 3), style)

    def mapped(self, values: Any, style: Any) -> Any:
        return None

    def style(self, style: Any) -> Params:
        return LinesStyle(brightness=style.brightness, **{name: getattr(style, name) for name in _COLORS})

    def half_height(self, style: Any) -> float:
        return 0.5 * style.size

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

    def arrange(self, style: Any) -> None:
        rows, columns = self._size
        position = self.attributes["position"]
        assert isinstance(position, Tensor)
        step = style.size / max(rows - 1, columns - 1)
        x = (np.arange(columns, dtype=np.float32) - (columns - 1) / 2) * step + style.center[0]
        z = (np.arange(rows, dtype=np.float32)[:, None] - (rows - 1) / 2) * step + style.center[2]
        for axis, steps in ((0, x), (2, z)):
            ops.assign(position[:, :, axis], np.broadcast_to(steps, self._size).astype(np.float32))

    def compute(self, values: Tensor, style: Any) -> None:
        position, normal, color = (self.attributes[name] for name in ("position", "normal", "color"))
        assert isinstance(position, Tensor) and isinstance(normal, Tensor) and isinstance(color, Tensor)
        height, middle = style.height, style.center[1]
        heights = self._measured(values, lambda one: self.mapped(one, style))
        self._write_relative(heights, position[:, :, 1], lambda relative: relative * height + middle)
        ops.grid_normals(position, out=normal)
        ops.assign(color, heights)

    def mapped(self, values: Any, style: Any) -> Any:
        return values.reshape(-1, *self._size)[style.channel]

    def style(self, style: Any) -> Params:
        return SurfaceStyle(**{name: getattr(style, name) for name in _COLORS})

    def half_height(self, style: Any) -> float:
        return style.height

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
        ops.assign(density, self.mapped(values, style))

    def mapped(self, values: Any, style: Any) -> Any:
        return values.reshape(-1, *self.shape[-3:])[style.channel]

    def style(self, style: Any) -> Params:
        cells = self.shape[:-4:-1]  # along x, y and z
        half = [0.5 * style.size * count / max(cells) for count in cells]
        low, high = (tuple(c + sign * h for c, h in zip(style.center, half, strict=True)) for sign in (-1, 1))
        same = {name: getattr(style, name) for name in ("brightness", *_COLORS)}
        if style.range == SYMMETRIC:  # dense at both ends, zero is transparent
            same |= {"density_range": SYMMETRIC, "opacity_curve": "0:1 0.5:0 1:1"}
        return VolumeStyle(low=low, high=high, emissive=1.0, extinction=8.0 / style.size, **same)

    def half_height(self, style: Any) -> float:
        return 0.5 * style.size * self.shape[-2] / max(self.shape[-3:])

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


def form_for(name: str, style: Any, tensor: Tensor, minus: Tensor | None, compared: Mapping[str, Tensor]) -> Form:
    """The form that the style asks for, or that fits the shape. Raises `LayoutError`, `LimitError`."""
    kind = default_form(tensor.shape) if style.draw == "auto" else style.draw
    if why_not := objection(kind, tensor.shape):
        raise LayoutError(f"layer {name!r}: {why_not}")
    return FORMS[kind](name, style, tensor, minus, compared)


def _flat(values: Any) -> Any:
    return values.reshape(-1)


def _fold(values: Tensor, image: Tensor) -> None:
    columns = image.shape[1]
    whole = values.shape[0] // columns
    ops.assign(image[:whole], values[: whole * columns].reshape(whole, columns))
    if whole * columns < values.shape[0]:
        ops.assign(image[whole, : values.shape[0] - whole * columns], values[whole * columns :])


def _require_channel(name: str, channel: int, count: int) -> None:
    if channel >= count:
        raise LayoutError(f"layer {name!r}: there is no channel {channel}; its channels are 0 to {count - 1}")
