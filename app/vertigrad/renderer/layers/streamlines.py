"""`StreamlinesLayer`: lines that follow a field of vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ...errors import LayoutError, LimitError
from ...gpu import Kernel, Plan
from ...params import choice, integer, number, switch, vector
from ...tensor import Tensor
from ..moment import Moment
from . import styles
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Layer
from .box import BoxStyle, Corner
from .field import Field
from .lines import LinesDrawing, LinesStyle
from .vector_field import PLANES, VectorField, longest

SHADER = "draw/streamlines.wgsl"
SPEED = "speed"
FINE = 0.5  # maximum length of an integration step, in cells
MOST_SUBSTEPS = 64


class StreamlinesStyle(BoxStyle, LinesStyle):
    """The style, box and seeds of lines through a field."""

    tube: bool = switch(True, doc="draw lit tubes that cast shadows, with widths in world units")
    plane: str = choice("xz", tuple(PLANES), rebuild=True, doc="plane of a two-dimensional field")
    count: int = integer(
        256, min=1, max=1 << 20, slider_max=4096, scale="log", doc="number of lines if no seeds are bound"
    )
    seed_low: Corner = vector(
        "auto", words=("auto",), doc="low corner of the box in which seeds are spread; auto: that of the field"
    )
    seed_high: Corner = vector("auto", words=("auto",), doc="high corner of the box in which seeds are spread")
    vertices: int = integer(96, min=2, max=4096, slider_max=512, scale="log", doc="number of vertices of each line")
    length: float = styles.length(1.0, 0.05, 10.0, "length of the lines, in world units")
    direction: str = choice("both", ("both", "forward", "backward"), doc="direction of integration from the seeds")
    width: float = styles.length(0.01, 1e-3, 0.1, "width in world units for tubes, in pixels for lines")
    taper: float = number(
        0.3, min=0.0, max=0.5, doc="fraction of a line over which it becomes thinner towards each end"
    )
    dashes: float = number(0.0, min=0.0, max=1.0, doc="0: solid lines, 1: dashes that move along the lines")
    dash_spacing: float = styles.length(0.5, 0.05, 5.0, "distance between dashes, in world units")
    dash_speed: float = number(
        0.4, min=-1e12, max=1e12, slider_min=-2.0, slider_max=2.0, doc="speed of the dashes, in world units per second"
    )


class StreamlinesDrawing(LinesDrawing):
    """Lines through positions that a kernel computes in each frame: (lines, vertices, 5) with color and width."""

    plans_extent = True
    rebuilds = ("count", "vertices", "plane")

    def build(self, values: Mapping[str, Attribute]) -> None:
        style, specs = self.style, StreamlinesLayer.ATTRIBUTES
        self._time = 0.0
        self._field = VectorField(self.gpu, self.name, "vectors", values, style.plane)
        self.hold(self._field.box)
        self._seeds = self._bound_seeds(values)
        color = values.get("color", SPEED)
        self._scalars = Field(self.gpu, self.name, "color", color) if isinstance(color, Tensor) else None
        self._lines, self._rows = self._seeds.rows if self._seeds else style.count, style.vertices
        self._check()
        self._vertices = self.hold(Tensor.empty((self._lines, self._rows, 5), name=f"{self.name}.vertices"))
        parts = {"position": slice(0, 3), "color": 3, "width": 4}
        drawn: dict[str, Attribute] = {key: self.hold(self._vertices[..., part]) for key, part in parts.items()}
        if not isinstance(color, Tensor) and color != SPEED:
            drawn["color"] = color
        seeds = [bound.tensor for bound in self._seeds] if self._seeds else []
        scalars = [self._scalars.tensor] if self._scalars else []
        super().build(drawn, self._field.tensor, *scalars, *seeds)
        self.bind_grid(values, specs, specs, self._field.box.positions)
        self.reported |= {"vectors": self._field.report, "color": self._scalars.report if self._scalars else color}
        if self._seeds:
            self.reported["seeds"] = self._seeds.tensors["seeds"].report

    def compute(self, moment: Moment | None) -> None:
        """Integrate the lines through the current field."""
        style = self.style
        if moment is not None:
            self._time = moment.time
        phase = math.fmod(self._time * style.dash_speed / style.dash_spacing, 1.0) if style.dashes else 0.0
        self.plan.update(dash_phase=phase)

    @property
    def plan_key(self) -> tuple[object, ...]:
        return tuple(vars(self.style).values())

    def record(self, plan: Plan) -> None:
        values: dict[str, Any] = {"seeds_offset": 0, "seeds_strides": 0}
        if self._seeds:
            seeds = self._seeds.tensors["seeds"]
            values = {"seeds": seeds.tensor, "seeds_strides": seeds.stride}
        if self._scalars:
            scalars = self._scalars
            values |= {"scalars": scalars.tensor, "scalars_size": scalars.size, "scalars_strides": scalars.strides}
        else:
            values |= {"scalars_offset": 0, "scalars_size": (0, 0, 0), "scalars_strides": (0, 0, 0)}
        plan.dispatch(
            Kernel.load(SHADER, defines={"SEEDS": self._seeds is not None, "SCALARS": self._scalars is not None}),
            self._lines,
            overwrites=("vertices",),
            vectors=self._field.tensor,
            vertices=self._vertices,
            **self._field.constants,
            **values,
            **self._style_fields(),
        )

    def _check(self) -> None:
        nbytes, limit = 12 * self._lines * self._rows, self.gpu.limits["max-storage-buffer-binding-size"]
        if nbytes > limit:
            raise LimitError(
                f"layer {self.name!r}: {self._rows} vertices on {self._lines:,} lines are {nbytes:,} bytes; this GPU "
                f"binds {limit:,}; take fewer rows or fewer lines"
            )

    def _style_fields(self) -> dict[str, Any]:
        style = self.style
        box = self._field.kernel_params(style)
        low, high = box["low"], box["high"]
        cell = longest((low, high)) / max(self._field.size)
        step = style.length / (self._rows - 1)
        return box | {
            "count": self._lines,
            "rows": self._rows,
            "missing": math.nan,
            "seed_low": low if style.seed_low == "auto" else style.seed_low,
            "seed_high": high if style.seed_high == "auto" else style.seed_high,
            "step": step,
            "substeps": min(max(math.ceil(step / max(FINE * cell, 1e-30)), 1), MOST_SUBSTEPS),
            "backward": {"both": self._rows // 2, "forward": 0, "backward": self._rows - 1}[style.direction],
            "width": style.width,
            "taper": style.taper,
            "dashes": style.dashes,
            "dash_spacing": style.dash_spacing,
        }

    def _bound_seeds(self, values: Mapping[str, Attribute]) -> Attributes | None:
        seeds = values.get("seeds")
        if seeds is None:
            return None
        specs = {"seeds": replace(StreamlinesLayer.ATTRIBUTES["seeds"], required=True)}
        attributes = Attributes(self.gpu, self.name, specs, {"seeds": seeds}, "instance")
        seeds = attributes.tensors["seeds"].tensor
        if seeds.dtype.name != "f32":
            raise LayoutError(
                f"layer {self.name!r}: seeds {seeds.name!r} are {seeds.dtype}; they must be f32: cast them"
            )
        return attributes


class StreamlinesLayer(Layer):
    """Streamlines of one length along the current vectors, integrated on the GPU in each frame.

    They end at the box, where a vector is zero, and where it is not finite. Their length does not depend on the speed,
    which is shown by the color. When picking, a row is line × vertices + vertex.
    """

    casts = True
    Style = StreamlinesStyle
    DRAWING = StreamlinesDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "vectors": AttributeSpec(True, (2, 3), None, "vectors on a grid (nz, ny, nx, 3), or on a two-dimensional one"),
        "seeds": AttributeSpec(False, (3,), None, "x, y, z of a point on each line", own_rows=True),
        "color": AttributeSpec(
            False, (1, 3, 4), SPEED, "scalars on a grid (nz, ny, nx), or one sRGB; without it, the speed", own_rows=True
        ),
    }
