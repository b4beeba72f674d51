"""`TrailsLayer`: where rows were before, as lines behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LimitError
from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...params import Params, choice, integer, interval, number, switch
from ...tensor import Tensor
from ..colormap import COLORMAPS
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import Content, ContentLayer
from .drawing import Drawing
from .field import ends
from .lines import RECIPE, STYLE

SHADER = "draw/trail.wgsl"
TRAILS = replace(RECIPE, stages={"line": True}, defines={"TRAILS": True})


class TrailsStyle(Params):
    """How trails look, and how far back they go."""

    length: int = integer(48, min=2, max=4096, slider_max=256, scale="log", doc="number of positions in each trail")
    sample_interval: float = number(
        0.0, min=0.0, max=1e3, slider_max=0.5, unit="s", doc="simulated time between these positions; 0: every frame"
    )
    colormap: str = choice("viridis", COLORMAPS, doc="colors of a scalar color")
    colormap_flip: bool = switch(False, doc="reverse the colormap")
    range: tuple[float, float] | Literal["auto"] = interval(
        "auto", words=("auto",), doc="values at the two ends of the colormap; auto: minimum and maximum"
    )
    brightness: float = number(
        1.0, min=0.0, max=1e4, slider_min=0.05, slider_max=50.0, scale="log", doc="factor of the color"
    )
    tone_mapped: bool = switch(False, doc="apply exposure, tone mapping and bloom")
    fade: float = number(1.0, min=0.0, max=1.0, doc="transparency at the end of a trail")
    taper: float = number(0.7, min=0.0, max=1.0, doc="how much thinner trails are at their end")


class TrailsLayer(ContentLayer["_Ring"]):
    """A line back through the last positions of each row, kept in a ring on the GPU.

    A position is remembered when simulated time has passed since the last; when time goes back, trails begin anew.
    Colors are those of the rows now.
    """

    Style: ClassVar[type[Params]] = TrailsStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": AttributeSpec(True, (3,), None, "x, y, z in world space"),
        "color": AttributeSpec(
            False, (1, 3, 4), (0.72, 0.76, 0.82), "a scalar for the colormap, or sRGB, or sRGB and alpha"
        ),
        "width": AttributeSpec(False, (1,), 2.0, "pixels"),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on; trails begin anew if there are other rows.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more positions than this
        adapter binds; what was bound before stays then.
        """
        bound = Attributes(self._gpu, self.name, self.ATTRIBUTES, attributes, "instance")
        color, width = bound.color(), bound.number("width")
        self._take(_Ring(self._gpu, self.name, bound, self.style.length))
        self._color, self._width, self._given = color, width, attributes

    def prepare(self, moment: Moment | None = None) -> None:
        """Remember where the rows are, if time has passed, and find the extent of the colors if it is wanted."""
        if self._bound.slots != self.style.length:
            self.bind(self._given)
        ring = self._bound
        ring.drawing.prepare(self.style)
        if moment is not None:
            ring.remember(moment.time, self.style.sample_interval)

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Trails fade, so none of them is solid: nothing."""

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the trails."""
        self._record(pass_, frame, rows=False)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the trails as the numbers of their rows."""
        self._record(pass_, frame, rows=True)

    @property
    def display_referred(self) -> bool:
        """Unless the style makes light of the colors."""
        return not self.style.tone_mapped

    def _record(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, rows: bool) -> None:
        ring = self._bound
        if ring.filled < 2:
            return
        offset = self._gpu.uniforms.push(self._uniform(ring))
        if rows:
            ring.drawing.start_rows(pass_, frame, "line", self.style, offset)
        else:
            ring.drawing.start(pass_, frame, "line", self.style, offset, self.display_referred)
        pass_.draw(6 * (ring.filled - 1), ring.attributes.rows)

    def _uniform(self, ring: _Ring) -> bytes:
        style = self.style
        looks = (*self._color, *ends(style.range), style.range == "auto", style.brightness, self._width)
        rows = ring.attributes.rows
        return STYLE.pack(*looks, style.fade, style.taper, rows, ring.head, ring.slots, ring.filled)


class _Ring(Content):
    """The last positions of all rows, (slots, rows, 3) of f32: `filled` of them are set, the latest is slot `head`."""

    def __init__(self, gpu: Gpu, name: str, attributes: Attributes, slots: int):
        self.attributes = attributes
        self.slots, self.head, self.filled = slots, 0, 0
        self._time = 0.0
        position, rows = attributes.tensors["position"], attributes.rows
        nbytes, limit = 12 * slots * rows, gpu.limits["max-storage-buffer-binding-size"]
        if nbytes > limit:
            raise LimitError(
                f"layer {name!r}: {slots} positions of {rows:,} rows are {nbytes:,} bytes; this adapter binds "
                f"{limit:,}; take a shorter length or fewer rows"
            )
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            self._ring = held(Tensor.empty((slots, rows, 3), name=f"{name}.ring"))
            self._plan = held(Plan(f"{name}.ring"))
            self._plan.dispatch(
                Kernel.load(SHADER, defines={"TYPE": position.tensor.scalar}),
                rows,
                positions=position.tensor,
                ring=self._ring,
                rows=rows,
                positions_strides=position.layout.stride // position.tensor.itemsize,
            )
            self.drawing = Drawing(gpu, TRAILS, attributes, storage=self._ring)
            stack.callback(self.drawing.close)
            self._held = stack.pop_all()

    def remember(self, time: float, interval: float) -> None:
        """Record that the positions are kept, if they are those of a later time."""
        if time < self._time:
            self.filled = 0
        if self.filled and (time <= self._time or time - self._time < interval):
            return
        self.head = (self.head + 1) % self.slots
        self.filled = min(self.filled + 1, self.slots)
        self._time = time
        self._plan.replay(slot=self.head)

    def blocks(self) -> Iterable[Block]:
        return self.drawing.blocks()

    def report(self) -> dict[str, Any]:
        return self.attributes.report()

    def close(self) -> None:
        self._held.close()
