"""`Layer`: draws tensors; its attributes, and the frame that it draws in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import wgpu

from ...gpu import Gpu
from ...memory import Block
from ...params import Params
from ...tensor import Tensor
from ..moment import Moment
from ..target import Drawn

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

    `components` are the numbers of components a row of the tensor may have; `default` is the constant used where
    nothing is bound, None where there is none. Its tensor has as many rows as that of "position", unless `own_rows`.
    `without` says what is drawn if nothing is bound, for an attribute that can be no constant.
    """

    required: bool
    components: tuple[int, ...]
    default: Constant | None
    doc: str
    own_rows: bool = False
    without: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One pass of an image: the offset of its `View` in the uniform ring, and what is drawn."""

    view_offset: int
    depth: wgpu.GPUTextureView | None = None  # of solid things, while layers that read it blend over them
    split: bool = False  # whether display-referred colors have a target of their own
    drawn: Drawn = "color"


class Layer:
    """Draws tensors, bound by attribute name, from their own blocks: their bytes are never copied.

    A layer is long-lived. `bind` is called when a tensor is another or has another layout; what changes with each
    frame is read when it is drawn: the style's values, and the block and offset of each tensor, so that a
    copy-on-write move of a block is followed. A kind of layer is the table of its attributes, its style, and a
    `Drawing`, which has everything on the device that is needed to draw one set of attributes: `drawing` draws those
    that were bound last.
    """

    Style: ClassVar[type[Params]]
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]]
    DRAWING: ClassVar[type[Drawing]]
    casts: ClassVar[bool] = False  # whether `Drawing.draw` can also draw "depth" frames
    blends: ClassVar[bool] = False  # and "clear" ones

    colorbar: ColorBar | None = None  # its legend, if the scene asks for one
    transparency: Transparency = "none"  # how much of what `Drawing.draw` draws lets light through

    def __init__(self, gpu: Gpu, name: str, style: Any):
        self.name = name
        self.style = style
        self._gpu = gpu
        self.drawing: Drawing = _Unbound(name)  # pyright: ignore[reportAttributeAccessIssue]
        self._values: Mapping[str, Attribute] = {}

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more than this adapter
        binds; what was bound before stays then.
        """
        drawing = self.DRAWING(self._gpu, self.name, self.style, attributes)
        self.close()
        self.drawing, self._values = drawing, attributes
        self.transparency = drawing.attributes.transparency if self.blends else "none"

    def prepare(self, moment: Moment | None = None) -> None:
        """Record what must precede the frame's passes; called for all layers before anything of it is recorded.

        `moment` is None where only positions are needed, not colors.
        """
        drawing = self.drawing
        if drawing.style_values != tuple(vars(self.style).values()):
            if drawing.is_outdated():
                self.bind(self._values)
                drawing = self.drawing
            else:
                drawing.restyle()
        drawing.prepare(moment)

    @property
    def attributes(self) -> Attributes:
        """What was bound last: "position", which every layer has, says where each row is.

        Layers of a grid have the corners of its box as "position".
        """
        return self.drawing.attributes

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self.drawing.blocks()

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        return self.drawing.report()

    def close(self) -> None:
        """Release the memory of the layer's own; the tensors bound are not its own. Idempotent."""
        self.drawing.close()
        self.drawing = _Unbound(self.name)  # pyright: ignore[reportAttributeAccessIssue]


class _Unbound:
    """Stands for a drawing before the first `bind`: using it raises."""

    def __init__(self, layer: str):
        self._layer = layer

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"layer {self._layer!r} has nothing bound; call bind first")

    def close(self) -> None:
        """Nothing to close."""
