"""`TrailsLayer`: the past positions of rows, as lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import wgpu

from ...errors import LimitError
from ...gpu import Kernel, Plan
from ...params import Params, integer, number
from ...tensor import Tensor
from ..moment import Moment
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .drawing import Drawing
from .lines import RECIPE
from .recipe import Stage
from .styles import Range

SHADER = "draw/trail.wgsl"
TRAILS = replace(RECIPE, stages=[Stage("line", "line", over=True)], defines={"TRAILS": True})


class TrailsStyle(Params):
    """The style and length of trails."""

    length: int = integer(48, min=2, max=4096, slider_max=256, scale="log", doc="number of positions in each trail")
    sample_interval: float = number(
        0.0, min=0.0, max=1e3, slider_max=0.5, unit="s", doc="simulated time between these positions; 0: every frame"
    )
    colormap: str = styles.colormap("viridis")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    brightness: float = styles.brightness()
    tone_map: str = styles.TONE_MAP
    fade: float = number(1.0, min=0.0, max=1.0, doc="transparency at the end of a trail")
    taper: float = number(0.7, min=0.0, max=1.0, doc="how much thinner trails are at their end")


class TrailsDrawing(Drawing):
    """The last positions of all rows are in a ring buffer `ring` (slots, rows, 3) of f32.

    `filled` slots are set, the latest is slot `head`.
    """

    rebuilds = ("length",)

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, TrailsLayer.ATTRIBUTES)
        self._width = self.attributes.number("width")
        self.slots, self.head, self.filled, self._time = self.style.length, 0, 0, 0.0
        rows = self.attributes.rows
        nbytes, limit = 12 * self.slots * rows, self.gpu.limits["max-storage-buffer-binding-size"]
        if nbytes > limit:
            raise LimitError(
                f"layer {self.name!r}: {self.slots} positions of {rows:,} rows are {nbytes:,} bytes; this GPU "
                f"binds {limit:,}; take a shorter length or fewer rows"
            )
        self.ring = self.hold(Tensor.empty((self.slots, rows, 3), name=f"{self.name}.ring"))
        self.create(TRAILS, [self.attributes], [self.ring])

    @property
    def plan_key(self) -> tuple[object, ...]:
        return ()

    def record(self, plan: Plan) -> None:
        """Copy the positions into a slot of the ring buffer."""
        position, rows = self.attributes.tensors["position"], self.attributes.rows
        plan.dispatch(
            Kernel.load(SHADER, defines={"TYPE": position.tensor.scalar}),
            rows,
            positions=position.tensor,
            ring=self.ring,
            rows=rows,
            positions_strides=position.stride,
        )

    def compute(self, moment: Moment | None) -> None:
        """Store the positions, if time has advanced."""
        super().compute(moment)
        if moment is not None and self._is_due(moment.time):
            before = self.head, self.filled, self._time
            self._set((self.head + 1) % self.slots, min(self.filled + 1, self.slots), moment.time)
            self.plan.replay(slot=self.head)
            self.gpu.recorder.if_dropped(partial(self._set, *before))
        self.over = self.rows = self._recipe.stages if self.filled > 1 else ()

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(6 * (self.filled - 1), self.attributes.rows)

    def uniform(self) -> dict[str, Any]:
        ring = {"head": self.head, "slots": self.slots, "filled": self.filled}
        return {"width": self._width, "rows": self.attributes.rows, **ring}

    def _set(self, head: int, filled: int, time: float) -> None:
        self.head, self.filled, self._time = head, filled, time
        self.pipelines.style.pack(self.packed, 0, "head", head)
        self.pipelines.style.pack(self.packed, 0, "filled", filled)

    def _is_due(self, time: float) -> bool:
        if time < self._time:
            self.filled = 0
        return not self.filled or (time > self._time and time - self._time >= self.style.sample_interval)


class TrailsLayer(Layer):
    """A line through the last positions of each row, stored in a ring buffer on the GPU.

    A position is stored when simulated time has passed since the last one. Trails restart when time jumps back or other
    rows are bound. Colors are the current ones of the rows.
    """

    Style = TrailsStyle
    DRAWING = TrailsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "color": styles.color_attribute(styles.BLUE_GRAY),
        "width": AttributeSpec(False, (1,), 2.0, "pixels"),
    }
