"""`Layer`: draws tensors; its attributes, and the frame that it draws in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import wgpu

from ...gpu import Gpu
from ...memory import Block
from ...params import Params
from ...tensor import Tensor
from ..moment import Moment
from ..target import ONE_COLOR, Colors, Drawn
from .hidden_rows import HiddenRows

if TYPE_CHECKING:
    from ..annotations.overlay import ColorBar
    from .attributes import Attributes
    from .drawing import Drawing

Constant = float | tuple[float, ...] | str
Attribute = Tensor | Constant
Transparency = Literal["none", "some", "all"]


@dataclass(frozen=True)
class AttributeSpec:
    """What may be bound under an attribute's name.

    `components` are the allowed numbers of components of a row; `default` is the constant used if nothing is bound, or
    None. The tensor has as many rows as that of "position", unless `own_rows`. For an attribute that cannot be a
    constant, `without` describes what is drawn if nothing is bound. With `storage` shaders read the tensor as
    storage only, so that a row may have more components than a vertex format. With `any_layout` any shape and type fit.
    """

    required: bool
    components: tuple[int, ...]
    default: Constant | None
    doc: str
    own_rows: bool = False
    storage: bool = False
    any_layout: bool = False
    without: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One pass of an image: the offset of its `View` in the uniform ring, and what is drawn."""

    view_offset: int
    depth: wgpu.GPUTextureView | None = None  # of opaque objects, for layers that blend over them and read it
    colors: Colors = ONE_COLOR  # of the target
    drawn: Drawn = "color"
    image: wgpu.GPUTextureView | None = None  # the samples of light of opaque objects, for layers that refract
    lighting: wgpu.GPUBindGroup | None = None  # and group 1 of pipelines that light their fragments
    area_lights: bool = False  # whether there are any

    @property
    def size(self) -> tuple[int, int]:
        """The pixels of the image, in a frame that has a depth."""
        assert self.depth is not None
        width, height, _ = self.depth.texture.size
        return width, height


class Layer:
    """Draws tensors, bound by attribute name, from their own blocks: their bytes are never copied.

    A layer is long-lived. `bind` is called when a tensor is replaced or its layout changes. The values of the style,
    and the block and offset of each tensor, are read whenever the layer is drawn, so it follows a copy-on-write move of
    a block. A type of layer has a table of attributes, a style, and a `Drawing`, which has everything on the device
    that is needed to draw one set of attributes: `drawing` draws those that were bound last.
    """

    Style: ClassVar[type[Params]]
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]]
    DRAWING: ClassVar[type[Drawing]]
    framed: ClassVar[bool] = True  # whether it has positions that count for the box around everything
    most: ClassVar[int | None] = None  # how many layers of this type a scene may have; None: any
    casts: ClassVar[bool] = False  # whether `Drawing.draw` can also draw "depth" frames; else see `Drawing.shades`
    blends: ClassVar[bool] = False  # and "clear" ones

    colorbar: ColorBar | None = None  # its legend, if the scene has one
    transparency: Transparency = "none"  # how much of what `Drawing.draw` draws lets light through

    def __init__(self, gpu: Gpu, name: str, style: Any):
        self.name = name
        self.style = style
        self._gpu = gpu
        self.alongside: Sequence[Tensor] = ()  # values that count in the range of the colors, too
        self.drawing: Drawing = _Unbound(name)  # pyright: ignore[reportAttributeAccessIssue]
        self._values: Mapping[str, Attribute] = {}
        self._mask: np.ndarray | None = None  # of the rows that are hidden
        self._hidden: HiddenRows | None = None
        self._dropped: Drawing | None = None  # of which something is missing that was recorded when it was created

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these attributes from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more bytes than this GPU can
        bind; then the attributes that were bound before remain.
        """
        hidden = self._hidden_rows(attributes)
        try:
            shown = attributes if hidden is None else {**attributes, "position": hidden.positions}
            drawing = self.DRAWING(self._gpu, self.name, self.style, shown, self.alongside)
        except BaseException:
            if hidden is not None:
                hidden.close()
            raise
        self.close()
        self.drawing, self._values, self._hidden = drawing, attributes, hidden
        self.transparency = drawing.attributes.transparency if self.blends else "none"
        self._gpu.recorder.if_dropped(partial(setattr, self, "_dropped", drawing))

    def hide(self, rows: np.ndarray | None) -> None:
        """Do not draw these rows of "position", a mask (rows,); None: draw all. Raises as `bind`.

        Tensors with another number of rows that are bound later are drawn whole.
        """
        before, self._mask = self._mask, rows
        if self._hidden is not None and rows is not None and rows.shape == self._hidden.shape:
            self._hidden.set(rows)
            return
        try:
            self.bind(self._values)
        except BaseException:
            self._mask = before
            raise

    def prepare(self, moment: Moment | None = None) -> None:
        """Record what must precede the frame's passes; called for all layers before the frame is recorded.

        `moment` is None where only positions are needed, not colors.
        """
        if self._dropped is self.drawing:
            self.bind(self._values)
        if self._hidden is not None:
            self._hidden.record()
        drawing = self.drawing
        if drawing.style_values != tuple(vars(self.style).values()):
            if drawing.is_outdated():
                self.bind(self._values)
                drawing = self.drawing
            else:
                drawing.restyle()
                self._gpu.recorder.if_dropped(drawing.forget_style)
        drawing.prepare(moment)

    @property
    def attributes(self) -> Attributes:
        """The attributes that were bound last. Every layer has a "position".

        In layers of a grid, "position" has the corners of its box.
        """
        return self.drawing.attributes

    @property
    def rows(self) -> int:
        """Rows that can be picked: of a grid its samples, else those of "position"."""
        return self.drawing.row_count

    @property
    def casts_shadow(self) -> bool:
        """Whether it is drawn into shadow maps."""
        is_solid = self.casts and self.drawing.occludes and getattr(self.style, "casts_shadow", True)
        return is_solid or self.drawing.shades

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self.drawing.blocks()

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}, in their current state."""
        return self.drawing.report()

    def close(self) -> None:
        """Release the memory that the layer owns; the bound tensors are not closed. Idempotent."""
        self.drawing.close()
        self.drawing = _Unbound(self.name)  # pyright: ignore[reportAttributeAccessIssue]
        if self._hidden is not None:
            self._hidden.close()
            self._hidden = None

    def _hidden_rows(self, attributes: Mapping[str, Attribute]) -> HiddenRows | None:
        positions = attributes.get("position")
        if self._mask is None or not isinstance(positions, Tensor) or positions.size != 3 * len(self._mask):
            return None
        return HiddenRows(self.name, positions, self._mask, self._gpu.limits["max-vertex-buffer-array-stride"])


class _Unbound:
    """The drawing before the first `bind`: using it raises."""

    def __init__(self, layer: str):
        self._layer = layer

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"layer {self._layer!r} has nothing bound; call bind first")

    def close(self) -> None:
        """Nothing to close."""
