"""`SplatsLayer`: Gaussian splats, sorted by depth on the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError
from ...gpu import Kernel, Plan
from ...memory import Block
from ...ops.sorting import argsort
from ...params import Params, number, switch, vector
from ...tensor import Tensor
from ..moment import Moment
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing
from .recipe import Recipe, Stage
from .splat_tiles import SplatTiles, blends_in_tiles
from .styles import Range

ORDER_SHADER = "draw/splat_order.wgsl"
ARRAYS = {  # attribute: name in the kernel
    "position": "positions",
    "scale": "scales",
    "rotation": "rotations",
    "opacity": "opacities",
    "color": "colors",
    "harmonics": "harmonics",
}
RANKED = [name for name in ARRAYS if name != "harmonics"]  # attributes that rows are ranked by, or left out for
RECIPE = Recipe(
    shader="draw/splats.wgsl",
    stages=[Stage("splat", "splat", over=True)],
    topology="triangle-strip",
)
SHADE = Stage("shade", "splat")  # drawn in shadow maps only


EVERYWHERE = 3e38
Corner = tuple[float, ...] | Literal["none"]


class SplatsStyle(Params):
    """The style of splats."""

    size: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=5.0, scale="log", doc="factor of all standard deviations"
    )
    opacity_scale: float = number(1.0, min=0.0, max=1.0, doc="factor of all opacities")
    colormap: str = styles.colormap("viridis")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    brightness: float = styles.brightness()
    tone_map: str = styles.OWN_TONE_MAP
    blur: float = number(
        0.3, min=0.0, max=16.0, slider_max=2.0, unit="pixels²", doc="variance of the low-pass filter on the screen"
    )
    antialiased: bool = switch(False, doc="compensate the opacity of splats that the filter enlarges")
    crop_low: Corner = vector("none", words=("none",), gizmo="position", doc="low corner of the box that is drawn")
    crop_high: Corner = vector("none", words=("none",), gizmo="position", doc="high corner of the box that is drawn")
    shadow: float = number(
        0.0,
        min=0.0,
        max=1.0,
        doc="strength of the shadows that it casts and receives where the view has shadows; 0: none, for colors that "
        "have light in them already, as trained ones have",
    )
    min_opacity: float = number(0.0, min=0.0, max=1.0, doc="opacity below which splats are not drawn")

    @property
    def has_shadows(self) -> bool:
        """Whether it casts and receives shadows."""
        return self.shadow > 0.0

    def crop(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the box in which the centers of drawn splats are."""
        low, high = self.crop_low, self.crop_high
        return (-EVERYWHERE,) * 3 if low == "none" else tuple(low), (EVERYWHERE,) * 3 if high == "none" else tuple(high)


class SplatsDrawing(Drawing):
    """`order` has the rows by depth, the nearest first, i32; those that are not drawn are last.

    `size` is the indirect draw, u32 (4,): element 1 is the number of rows that are drawn, which are the finite ones.
    """

    plans_extent = True
    rebuilds = ("has_shadows", "tone_map")  # of which there are shaders of tiles

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, SplatsLayer.ATTRIBUTES)
        self._scale, self._opacity = self.attributes.factors("scale"), self.attributes.number("opacity")
        self._read = {name: self.attributes.tensors[name] for name in ARRAYS if name in self.attributes.tensors}
        self._check()
        self._arrays: list[int] = []  # of each array, its first element and the elements from one row to the next
        for name in ARRAYS:
            bound = self._read.get(name)
            first = bound.resource(self.gpu, f"layer {self.name!r}: {name}")[1] if bound else 0
            self._arrays += [first, bound.stride if bound else 0]
        rows = self.attributes.rows
        self._keys = self.hold(Tensor.empty(rows, "u32", name=f"{self.name}.keys"))
        self.order = self.hold(Tensor.empty(rows, "i32", name=f"{self.name}.order"))
        self.size = self.hold(Tensor.empty(4, "u32", name=f"{self.name}.draw"))
        self._draws_all = False
        self._components = {name.upper(): self.attributes.components(name) for name in ARRAYS if name != "position"}
        read = [bound.tensor for bound in self._read.values()]
        self.shades = self.style.has_shadows
        defines = self._components | {"SHADOWED": self.shades}
        self.create(RECIPE, storage=[self.order, self.size, *read], defines=defines)
        self.tiles: SplatTiles | None = None
        if blends_in_tiles(self.gpu, rows):
            self.tiles = self.hold(
                SplatTiles(self, self._read, defines | {"TONE_MAP": self.tone_map}, self.order, self.size)
            )
        self.reads_depth = self.surveys = self.tiles is not None
        self._fits_tiles, self._forward = False, (0.0, 0.0, -1.0)

    def state(self, time: float) -> tuple[object, ...] | None:
        """Not known with tiles: how much memory they have is read back."""
        return super().state(time) if self.tiles is None else None

    def compute(self, moment: Moment | None) -> None:
        """Sort the rows by depth, unless tiles do, and find the extent of the colors if the range is automatic."""
        if moment is not None:
            self._forward = moment.forward
        if self.tiles is not None and moment is not None:
            super().compute(moment)
        else:
            self.plan.update(forward=self._forward)

    def draw_shade(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        self._draws_all = True
        self._draw(pass_, frame, [SHADE])
        self._draws_all = False

    def gather(self, frame: Frame) -> None:
        """With tiles, blend the splats that are not hidden by opaque objects."""
        if self.tiles is None:
            return
        self._fits_tiles = self.tiles.fits(frame)
        if self._fits_tiles:
            self.tiles.gather(frame, self.push())
        else:
            self.plan.replay(forward=self._forward)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw quads, as many as `size` says, and what tiles have blended."""
        super().draw_over(pass_, frame)
        if self.tiles is not None and self._fits_tiles:
            self.tiles.cover(pass_, frame)

    def blocks(self) -> list[Block]:
        blocks = super().blocks()
        return blocks if self.tiles is None else [*blocks, *self.tiles.blocks()]

    def record(self, plan: Plan) -> None:
        arrays: dict[str, Any] = {}
        for name, bound in ((name, self._read[name]) for name in RANKED if name in self._read):
            arrays |= {ARRAYS[name]: bound.tensor, f"{ARRAYS[name]}_strides": bound.stride}
        begin, rank = (Kernel.load(ORDER_SHADER, entry, self._components) for entry in ("begin", "rank"))
        rows = self.attributes.rows
        plan.dispatch(begin, 1, overwrites=("draw",), draw=self.size)
        plan.dispatch(rank, rows, overwrites=("keys",), keys=self._keys, draw=self.size, rows=rows, **arrays)
        with plan.recording():
            argsort(self._keys, out=self.order)

    @property
    def is_display_referred(self) -> bool:
        return True

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        if self._draws_all:
            pass_.draw(4, self.attributes.rows)
        else:
            pass_.draw_indirect(self.size.block.buffer, self.size.offset)

    def uniform(self) -> dict[str, Any]:
        style = self.style
        low, high = style.crop()
        return {
            "crop_low": low,
            "crop_high": high,
            "rows": self.attributes.rows,
            "scale": tuple(style.size * s for s in self._scale),
            "opacity": style.opacity_scale * self._opacity,
            "arrays": self._arrays,
        }

    def _check(self) -> None:
        """Raise `LayoutError` for types that the shaders do not read."""
        for name, bound in self._read.items():
            if bound.tensor.dtype.name != "f32":
                raise LayoutError(
                    f"layer {self.name!r}, {name}: tensor {bound.tensor.name!r} is {bound.tensor.dtype}; splats take "
                    "f32: cast it"
                )


class SplatsLayer(Layer):
    """A Gaussian cloud for each row of `position`, projected as an ellipse, blended in the order of depth.

    `harmonics` are added to the color, by the direction in which a splat is seen. Splats are drawn whose centers are in
    the box from `crop_low` to `crop_high`; a row with a value that is not finite is not drawn. Splats blend over opaque
    objects, by the depth of their centers. Colors are display-referred and blend as sRGB, to which captured scenes were
    fitted.
    """

    Style = SplatsStyle
    DRAWING = SplatsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "scale": AttributeSpec(False, (1, 3), 0.02, "standard deviation, or one along each of the splat's own axes"),
        "rotation": AttributeSpec(
            *(False, (4,), None, "rotation of those axes as a quaternion x, y, z, w"), without="splats without rotation"
        ),
        "opacity": AttributeSpec(False, (1,), 0.8, "opacity at the center"),
        "color": styles.color_attribute(styles.BLUE_GRAY),
        "harmonics": AttributeSpec(
            *(False, (9, 24, 45), None, "spherical harmonics of degree 1 to 1, 2 or 3: red, green and blue of each"),
            without="colors that do not depend on the view direction",
            storage=True,
        ),
    }
