"""`ImageLayer`: a tensor as an image, in the world or on the screen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import wgpu

from ...errors import LayoutError, ParameterError
from ...params import Params, choice, number, switch, vector
from ...tensor import Tensor
from . import styles
from .attributes import describe
from .base import Attribute, AttributeSpec, Layer
from .box import Corners
from .drawing import Drawing
from .recipe import Recipe, Stage
from .storage import storage_range
from .styles import Range

SOLID, OVER = Stage("image", "image"), Stage("image", "image", over=True)
RECIPE = Recipe(shader="draw/image.wgsl", stages=[SOLID, OVER], topology="triangle-strip")
FORMATS = {"f32": 4, "f16": 2, "u8": 1}  # bytes of an element
PLANES = {"xy": ((1, 0, 0), (0, -1, 0)), "xz": ((1, 0, 0), (0, 0, 1)), "zy": ((0, 0, -1), (0, -1, 0))}  # right, down
TRANSPARENT = (
    0x7FC06A90  # a NaN by its bits, mirrored in draw/image.wgsl: a pixel of `MarkedImageLayer` without a value
)
PLACEMENTS = {"world": 0, "front": 1, "behind": 2}
ANCHORS = {
    **{"middle": (0, 0), "upper left": (-1, 1), "upper right": (1, 1)},
    **{"lower left": (-1, -1), "lower right": (1, -1)},
}


class ImageStyle(Params):
    """The position and style of an image."""

    placement: str = choice(
        "world", tuple(PLACEMENTS), doc="in the world, or on the screen in front of or behind everything"
    )
    center: tuple[float, ...] = vector((0.0, 0.0, 0.0), gizmo="position", doc="in the world: its center")
    width: float = styles.length(2.0, 0.1, 10.0, "in the world: its width")
    plane: str = choice(
        "xy", tuple(PLANES), doc="in the world: xy is upright and faces z, zy is upright and faces x, xz is horizontal"
    )
    screen_fraction: float = number(
        0.3, min=0.01, max=1.0, doc="on the screen: its size, as a fraction of the viewport"
    )
    anchor: str = choice("lower right", tuple(ANCHORS), doc="on the screen: its position")
    margin: float = number(
        0.03, min=0.0, max=0.5, slider_max=0.2, doc="on the screen: margin, as a fraction of the viewport"
    )
    smooth: bool = switch(True, doc="linear interpolation between pixels")
    colormap: str = styles.colormap("viridis", "colors of a single channel")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    opacity: float = number(1.0, min=0.0, max=1.0, doc="0: transparent, 1: opaque")
    brightness: float = styles.brightness()
    tone_map: str = styles.TONE_MAP


class ImageDrawing(Drawing):
    """A rectangle with the pixels of a tensor, which the fragment stage reads from its block."""

    marks_not_finite = False

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.pixels = pixels = _checked(self.name, values)
        channels = pixels.shape[2] if pixels.ndim == 3 else 1
        self._has_alpha = channels == 4
        _, first = storage_range(self.gpu, pixels, f"layer {self.name!r}: pixels")
        steps = [stride // pixels.itemsize for stride in pixels.strides]
        self._first, self._strides = first // pixels.itemsize, (steps[1], steps[0])
        self._component = steps[2] if pixels.ndim == 3 else 0
        self._corners = self.hold(Corners(self.name))
        self.bind_grid(values, ImageLayer.ATTRIBUTES, ImageLayer.ATTRIBUTES, self._corners.positions)
        if channels == 1:
            self.add_extent(self.extent_of(pixels))
        format = f"{pixels.dtype.name}x{channels}"
        self.reported["pixels"] = partial(describe, pixels, pixels.strides[1], format)
        defines = {"DTYPE": pixels.dtype.name, "CHANNELS": channels, "MARKED": self.marks_not_finite}
        self.create(RECIPE, storage=[pixels], defines=defines)

    def restyle(self) -> None:
        """Determine whether it blends, and whether its pixels can be picked."""
        super().restyle()
        style = self.style
        in_world = style.placement == "world"
        over = style.placement == "front" or (in_world and (style.opacity < 1 or self._has_alpha))
        self.solid, self.over = ([], [OVER]) if over else ([SOLID], [])
        self.rows = [SOLID] if in_world else []

    @property
    def row_count(self) -> int:
        """The pixels."""
        return self.pixels.shape[0] * self.pixels.shape[1]

    def pixel_of(self, row: int) -> tuple[int, int]:
        """Column and row of a pixel, counted from the upper left."""
        return row % self.pixels.shape[1], row // self.pixels.shape[1]

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(4)

    def uniform(self) -> dict[str, Any]:
        style = self.style
        rows, columns = self.pixels.shape[:2]
        origin, right, down = _rectangle(style, rows / columns)
        corners = list(zip(origin, (o + r + d for o, r, d in zip(origin, right, down, strict=True)), strict=True))
        on_screen = style.placement != "world"
        low, high = ((math.nan,) * 3 if on_screen else tuple(pick(pair) for pair in corners) for pick in (min, max))
        self._corners.set(low, high)
        return {
            **{"origin": origin, "right": right, "down": down},
            **{"first": self._first, "strides": self._strides, "component": self._component, "size": (columns, rows)},
            **{
                "screen_fraction": style.screen_fraction,
                "anchor": ANCHORS[style.anchor],
                "placement": PLACEMENTS[style.placement],
            },
        }


class ImageLayer(Layer):
    """A rectangle with the pixels of a tensor.

    It is display-referred, without a `tone_map`: the screen shows the bytes of the tensor.
    When picking, pixels count as rows.
    """

    Style = ImageStyle
    DRAWING = ImageDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "pixels": AttributeSpec(
            True, (1, 3, 4), None, "an image (rows, columns), or (rows, columns, 3 or 4) of sRGB; f32, f16 or u8"
        ),
    }


class _MarkedImageDrawing(ImageDrawing):
    marks_not_finite = True


class MarkedImageLayer(ImageLayer):
    """An image of one channel, f32, in which NaN and infinities are magenta; pixels `TRANSPARENT` are not drawn."""

    DRAWING = _MarkedImageDrawing


def _rectangle(style: ImageStyle, tall: float) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """The upper left corner, and the vectors along the upper and the left edge."""
    right = tuple(style.width * c for c in PLANES[style.plane][0])
    down = tuple(style.width * tall * c for c in PLANES[style.plane][1])
    origin = tuple(c - 0.5 * (r + d) for c, r, d in zip(style.center, right, down, strict=True))
    return origin, right, down


def _checked(layer: str, values: Mapping[str, Attribute]) -> Tensor:
    """Raises `ParameterError`, `LayoutError`."""
    pixels = values.get("pixels")
    if not isinstance(pixels, Tensor):
        raise ParameterError(f"layer {layer!r}: pixels must be a tensor, an image (rows, columns) or with channels")
    where = f"layer {layer!r}: pixels {pixels.name!r}"
    if pixels.dtype.name not in FORMATS:
        raise LayoutError(f"{where} are {pixels.dtype}; an image is f32, f16 or u8: cast it")
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or 0 in pixels.shape:
        raise LayoutError(
            f"{where} have the shape {pixels.shape}; an image has (rows, columns), or (rows, columns, 3 or 4)"
        )
    if pixels.ndim == 2 and pixels.dtype.name != "f32":
        raise LayoutError(f"{where} are {pixels.dtype}; one channel is mapped by the colormap and must be f32: cast it")
    return pixels
