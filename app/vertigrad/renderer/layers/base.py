"""`Layer`: what draws tensors; and what it is told when it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import wgpu

from ...gpu import Gpu
from ...memory import Block
from ...params import Params
from ...tensor import Tensor
from ..moment import Moment

if TYPE_CHECKING:
    from ..annotations.overlay import ColorBar
    from .attributes import Attributes

Constant = float | tuple[float, ...] | str
Attribute = Tensor | Constant
Drawn = Literal["color", "depth", "clear"]
Transparency = Literal["none", "some", "all"]


@dataclass(frozen=True)
class AttributeSpec:
    """What may be bound under an attribute's name.

    `components` are the numbers of components a row of the tensor may have; `default` is the constant used where
    nothing is bound, None where there is none. Its tensor has as many rows as that of "position", unless `own_rows`.
    """

    required: bool
    components: tuple[int, ...]
    default: Constant | None
    doc: str
    own_rows: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture being drawn: where its `View` uniform lies in the uniform ring."""

    view_offset: int
    depth: wgpu.GPUTextureView | None = None  # of what is solid, while layers that read it draw over that
    split: bool = False  # whether display-referred colors have a target of their own
    drawn: Drawn = "color"  # "depth": how deep solid things lie, for one sample a pixel; "clear": what is transparent


class Layer(ABC):
    """Draws tensors, bound by attribute name, where they lie: their bytes are never copied.

    A layer is long-lived. `bind` is called when a tensor is another or has another layout; what changes with each
    picture is read when it is drawn: the style's values, and the block and offset of each tensor, so that a
    copy-on-write move of a block is followed.
    """

    Style: ClassVar[type[Params]]
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]]

    reads_depth: bool = False  # whether what is drawn over asks how far away solid things are
    casts: ClassVar[bool] = False  # whether `draw` can also draw "depth" frames
    blends: ClassVar[bool] = False  # and "clear" ones

    name: str
    style: Any  # of the class `Style`
    colorbar: ColorBar | None = None  # its legend, if the scene asks for one

    @abstractmethod
    def __init__(self, gpu: Gpu, name: str, style: Any): ...

    @abstractmethod
    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn; what was bound before stays then.
        """

    @abstractmethod
    def prepare(self, moment: Moment | None = None) -> None:
        """Record what must precede the picture's pass; called for all layers before anything of it is recorded.

        `moment` is None where only places are wanted, not how things look.
        """

    def survey(self, frame: Frame) -> None:  # noqa: B027  most layers need nothing of this
        """Record what must be known before `draw`; called where `reads_depth`, outside of any pass."""

    def gather(self, frame: Frame) -> None:  # noqa: B027
        """Record what is found by the depth of solid things, before `draw_over`; called where `reads_depth`."""

    @abstractmethod
    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of what is solid."""

    @abstractmethod
    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of what blends over the solid parts of all layers; follows `draw`."""

    @abstractmethod
    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the draw calls of what is seen, each pixel the number of a row instead of a color.

        The pass has one sample and the attachments of renderer/rows.py; fragments return what `seen_row` or
        `seen_cell` of shaders/common/seen.wgsl make of a row. Called when something was clicked, not in each frame.
        Raises `LimitError` if the layer is too large for that.
        """

    @property
    @abstractmethod
    def attributes(self) -> Attributes:
        """What was bound last: "position", which every layer has, says where each row is."""

    @property
    def transparency(self) -> Transparency:
        """How much of what `draw` draws lets light through."""
        return self.attributes.transparency if self.blends else "none"

    @property
    def display_referred(self) -> bool:
        """Whether its colors are those that a screen shows, which exposure, tone map and glow leave as they are."""
        return False

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """Every block that is read when the layer is drawn."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""

    @abstractmethod
    def close(self) -> None:
        """Give up the memory that the layer itself made; the tensors bound are not its own. Idempotent."""
