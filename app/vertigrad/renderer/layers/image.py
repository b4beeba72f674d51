"""`ImageLayer`: a tensor as a picture, in the world or on the screen."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError, ParameterError
from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...params import Params, choice, interval, number, switch, vector
from ...tensor import Tensor
from ..colormap import COLORMAPS, colormap_texture
from ..extent import Extent
from ..moment import Moment
from ..pipelines import draw_cache, draw_shader, smooth_sampler
from ..rows import ROW_TARGETS, rows_depth
from ..target import color_targets, depth_state, multisample_state
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .box import CORNERS
from .box import SHADER as BOX_SHADER
from .content import Content, ContentLayer
from .field import ends, storage_range, whole
from .places import Places
from .stored import Stored

SHADER = "draw/image.wgsl"
STYLE = struct.Struct("<3fI3fi3ff2I2i2f2f2f2f2f8x")  # `Style` in the shader
FORMATS = {"f32": 4, "f16": 2, "u8": 1}  # bytes of an element
PLANES = {"xy": ((1, 0, 0), (0, -1, 0)), "xz": ((1, 0, 0), (0, 0, 1)), "zy": ((0, 0, -1), (0, -1, 0))}  # right, down
PLACES = {"world": 0, "front": 1, "behind": 2}
ANCHORS = {
    **{"middle": (0, 0), "upper left": (-1, 1), "upper right": (1, 1)},
    **{"lower left": (-1, -1), "lower right": (1, -1)},
}


class ImageStyle(Params):
    """Where a picture is, and how it looks."""

    placement: str = choice(
        "world", tuple(PLACES), doc="in the world, or on the screen in front of or behind everything"
    )
    center: tuple[float, ...] = vector((0.0, 0.0, 0.0), gizmo="position", doc="in the world: its center")
    width: float = number(
        2.0, min=1e-12, max=1e12, slider_min=0.1, slider_max=10.0, scale="log", doc="in the world: its width"
    )
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
    colormap: str = choice("viridis", COLORMAPS, doc="colors of a single channel")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    opacity: float = number(1.0, min=0.0, max=1.0, doc="0: transparent, 1: opaque")
    brightness: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the color"
    )


class ImageLayer(ContentLayer["_Content"]):
    """A rectangle with the pixels of a tensor, which the fragment stage reads from its block.

    It is display-referred: the screen shows the bytes of the tensor.
    """

    Style: ClassVar[type[Params]] = ImageStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "pixels": AttributeSpec(
            True, (1, 3, 4), None, "an image (rows, columns), or (rows, columns, 3 or 4) of sRGB; f32, f16 or u8"
        ),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more bytes than this adapter
        binds; what was bound before stays then.
        """
        content = _Content(self._gpu, self.name, attributes)
        content.uniform(self.style)  # so that it can be framed before it is drawn
        self._take(content)

    def prepare(self, moment: Moment | None = None) -> None:
        """Upload what is borrowed, and find the extent of the values if it is wanted."""
        self._bound.prepare(self.style)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw it, if nothing is seen through it."""
        if not self._is_over:
            self._record(pass_, frame, "solid")

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw it, if it blends over what is there, or lies before everything."""
        if self._is_over:
            self._record(pass_, frame, "over")

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw it as the numbers of its pixels, row by row; nothing if it is on the screen."""
        if self.style.placement == "world":
            self._record(pass_, frame, "rows")

    @property
    def display_referred(self) -> bool:
        """Always."""
        return True

    @property
    def _is_over(self) -> bool:
        style = self.style
        return style.placement == "front" or (
            style.placement == "world" and (style.opacity < 1 or self._bound.channels == 4)
        )

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, kind: str) -> None:
        content = self._bound
        offset = self._gpu.uniforms.push(content.uniform(self.style))
        pass_.set_pipeline(content.pipeline(kind))
        pass_.set_bind_group(0, content.group(self.style), (frame.view_offset, offset))
        pass_.draw(4)


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute]):
        self._gpu = gpu
        self._packed: tuple[Any, bytes] = (), b""  # the style's uniform, and the values it was made of
        self._pixels = pixels = _checked(name, given)
        self.channels = pixels.shape[2] if pixels.ndim == 3 else 1
        _, first = storage_range(gpu, pixels, f"layer {name!r}: pixels")
        steps = [stride // pixels.itemsize for stride in pixels.strides]
        self._first, self._strides = first // pixels.itemsize, (steps[1], steps[0])
        self._component = steps[2] if pixels.ndim == 3 else 0
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            specs = ImageLayer.ATTRIBUTES
            self.attributes = Attributes(gpu, name, specs, given, "vertex", beside=tuple(specs))
            self._corners = stack.enter_context(Tensor.zeros((CORNERS, 3), name=f"{name}.corners"))
            self.attributes.add("position", self._corners, (3,))
            self._plan = stack.enter_context(Plan(f"{name}.corners"))
            self._plan.dispatch(Kernel.load(BOX_SHADER), CORNERS, overwrites=("positions",), positions=self._corners)
            self._extent = Extent(pixels) if self.channels == 1 else None
            if self._extent is not None:
                stack.callback(self._extent.close)
                self.attributes.add("extent", self._extent.pair.expand(CORNERS, 2), (2,))
            kinds = ["storage"] + (["storage", "texture", "sampler"] if self._extent else [])
            self._stored = Stored(gpu, STYLE.size, kinds)
            self._places = Places(gpu, [pixels] if self._extent is None else [pixels, self._extent.pair])
            self._pipelines: dict[str, wgpu.GPURenderPipeline] = {}
            self.pipeline("solid")
            self._held = stack.pop_all()

    def prepare(self, style: ImageStyle) -> None:
        self._gpu.make_resident(self._pixels.owner)
        self.uniform(style)
        if self._extent is not None and style.range == "auto":
            self._extent.record()

    def uniform(self, style: ImageStyle) -> bytes:
        """The style as the shader has it; records the corners if it has become another."""
        key = tuple(vars(style).values())
        if key != self._packed[0]:
            self._packed = key, self._uniform(style)
        return self._packed[1]

    def group(self, style: ImageStyle) -> wgpu.GPUBindGroup:
        key = (style.colormap, style.colormap_flip, *self.blocks())
        return self._stored.group(key, lambda: self._resources(style))

    def blocks(self) -> list[Block]:
        return self._places.blocks

    def report(self) -> dict[str, Any]:
        pixels = self._pixels
        place = {"block": pixels.block.id, "offset": pixels.offset, "stride": pixels.strides[1]}
        return {"pixels": {"tensor": pixels.name, **place, "format": f"{pixels.dtype.name}x{self.channels}"}}

    def pipeline(self, kind: str) -> wgpu.GPURenderPipeline:
        """That draws what is solid, what blends over it, or rows."""
        if kind not in self._pipelines:
            self._pipelines[kind] = self._pipeline(kind)
        return self._pipelines[kind]

    def _pipeline(self, kind: str) -> wgpu.GPURenderPipeline:
        gpu, layout, picking = self._gpu, self._stored.layout, kind == "rows"
        defines = {"DTYPE": self._pixels.dtype.name, "CHANNELS": self.channels, "PICKING": picking}

        def make() -> wgpu.GPURenderPipeline:
            module = draw_shader(gpu, SHADER, defines)
            solid = kind == "solid"
            colors = color_targets(over=not solid, split=True, display_referred=True)
            return gpu.device.create_render_pipeline(
                label=f"{SHADER}:{kind}",
                layout=gpu.device.create_pipeline_layout(bind_group_layouts=[layout]),
                vertex={"module": module, "entry_point": "image_vertex"},
                fragment={
                    "module": module,
                    "entry_point": "image_fragment",
                    "targets": list(ROW_TARGETS) if picking else colors,  # pyright: ignore
                },
                primitive={"topology": "triangle-strip"},
                depth_stencil=rows_depth() if picking else depth_state(write=solid),  # pyright: ignore
                multisample={"count": 1} if picking else multisample_state(gpu, solid=solid),  # pyright: ignore
            )

        return draw_cache(gpu).get((SHADER, kind, *defines.items()), make)

    def close(self) -> None:
        self._held.close()

    def _uniform(self, style: ImageStyle) -> bytes:
        rows, columns = self._pixels.shape[:2]
        origin, right, down = _rectangle(style, rows / columns)
        corners = list(zip(origin, (o + r + d for o, r, d in zip(origin, right, down, strict=True)), strict=True))
        on_screen = style.placement != "world"
        low, high = ((math.nan,) * 3 if on_screen else tuple(pick(pair) for pair in corners) for pick in (min, max))
        self._plan.replay(low=low, high=high)
        return STYLE.pack(
            *(*origin, self._first, *right, self._component, *down, style.opacity),
            *(columns, rows, *self._strides, *ends(style.range), style.range == "auto", style.brightness),
            *(style.screen_fraction, style.margin, *ANCHORS[style.anchor], style.smooth, PLACES[style.placement]),
        )

    def _resources(self, style: ImageStyle) -> list[Any]:
        found: list[Any] = [storage_range(self._gpu, self._pixels, "a layer")[0]]
        if self._extent is not None:
            texture = colormap_texture(self._gpu, style.colormap, style.colormap_flip)
            found += [whole(self._extent.pair), texture, smooth_sampler(self._gpu)]
        return found


def _rectangle(style: ImageStyle, tall: float) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """The upper left corner, and the ways along the upper and the left edge."""
    right = tuple(style.width * c for c in PLANES[style.plane][0])
    down = tuple(style.width * tall * c for c in PLANES[style.plane][1])
    origin = tuple(c - 0.5 * (r + d) for c, r, d in zip(style.center, right, down, strict=True))
    return origin, right, down


def _checked(layer: str, given: Mapping[str, Attribute]) -> Tensor:
    """Raises `ParameterError`, `LayoutError`."""
    pixels = given.get("pixels")
    if not isinstance(pixels, Tensor):
        raise ParameterError(f"layer {layer!r}: pixels must be a tensor, a picture (rows, columns) or with channels")
    where = f"layer {layer!r}: pixels {pixels.name!r}"
    if pixels.dtype.name not in FORMATS:
        raise LayoutError(f"{where} are {pixels.dtype}; a picture is f32, f16 or u8: cast it")
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or 0 in pixels.shape:
        raise LayoutError(
            f"{where} have the shape {pixels.shape}; a picture has (rows, columns), or (rows, columns, 3 or 4)"
        )
    if pixels.ndim == 2 and pixels.dtype.name != "f32":
        raise LayoutError(f"{where} are {pixels.dtype}; one channel goes through the colormap and must be f32: cast it")
    return pixels
