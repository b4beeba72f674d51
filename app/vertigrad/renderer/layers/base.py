"""`Layer`: draws tensors; and what it is given when it does."""

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
    `Drawing`, which has everything on the device that is needed to draw one set of attributes.
    """

    Style: ClassVar[type[Params]]
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]]
    DRAWING: ClassVar[type[Drawing]]
    casts: ClassVar[bool] = False  # whether `draw` can also draw "depth" frames
    blends: ClassVar[bool] = False  # and "clear" ones

    colorbar: ColorBar | None = None  # its legend, if the scene asks for one
    reads_depth: bool = False  # whether what is drawn over needs the depth of solid things
    surveys: bool = False  # whether `survey` and `gather` are to be called
    transparency: Transparency = "none"  # how much of what `draw` draws lets light through

    def __init__(self, gpu: Gpu, name: str, style: Any):
        self.name = name
        self.style = style
        self._gpu = gpu
        self._drawing: Drawing = _Unbound(name)  # pyright: ignore[reportAttributeAccessIssue]
        self._values: Mapping[str, Attribute] = {}

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more than this adapter
        binds; what was bound before stays then.
        """
        drawing = self.DRAWING(self._gpu, self.name, self.style, attributes)
        self.close()
        self._drawing, self._values = drawing, attributes
        self.reads_depth, self.surveys = drawing.reads_depth, drawing.surveys
        self.transparency = drawing.attributes.transparency if self.blends else "none"

    def prepare(self, moment: Moment | None = None) -> None:
        """Record what must precede the frame's passes; called for all layers before anything of it is recorded.

        `moment` is None where only positions are needed, not colors.
        """
        drawing = self._drawing
        if drawing.style_values != tuple(vars(self.style).values()):
            if drawing.is_outdated():
                self.bind(self._values)
                drawing = self._drawing
            else:
                drawing.restyle()
        drawing.prepare(moment)

    def survey(self, frame: Frame) -> None:
        """Record what must precede `draw`; called where it `surveys`, outside of any pass."""
        self._drawing.survey(frame)

    def gather(self, frame: Frame) -> None:
        """Record what is computed from the depth of solid things, before `draw_over`; called where it `surveys`."""
        self._drawing.gather(frame)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of what is solid."""
        self._drawing.draw(pass_, frame)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of what blends over the solid parts of all layers; follows `draw`."""
        self._drawing.draw_over(pass_, frame)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of a frame of "rows": each pixel gets the number of a row instead of a color.

        The pass has one sample; fragments return `seen_row` or `seen_cell` of shaders/common/seen.wgsl. Called for a
        click, not in each frame. Raises `LimitError` if the layer is too large for that.
        """
        self._drawing.draw_rows(pass_, frame)

    @property
    def attributes(self) -> Attributes:
        """What was bound last: "position", which every layer has, says where each row is.

        Layers of a grid have the corners of its box as "position".
        """
        return self._drawing.attributes

    @property
    def display_referred(self) -> bool:
        """Whether its colors are those that a screen shows, which exposure, tone map and glow leave as they are."""
        return self._drawing.display_referred

    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""
        return self._drawing.blocks()

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        return self._drawing.report()

    def close(self) -> None:
        """Release the memory of the layer's own; the tensors bound are not its own. Idempotent."""
        self._drawing.close()
        self._drawing = _Unbound(self.name)  # pyright: ignore[reportAttributeAccessIssue]


class _Unbound:
    """In the place of a drawing before the first `bind`: using it raises."""

    def __init__(self, layer: str):
        self._layer = layer

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"layer {self._layer!r} has nothing bound; call bind first")

    def close(self) -> None:
        """Nothing to close."""
