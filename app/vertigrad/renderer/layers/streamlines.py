"""`StreamlinesLayer`: lines that follow a field of vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import wgpu

from ...errors import LayoutError, LimitError, ParameterError
from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...params import Params, choice, integer, number, switch, vector
from ...tensor import Tensor
from ..moment import Moment
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .content import Content, ContentLayer
from .field import Field
from .lines import LinesLayer, LinesStyle
from .places import Places
from .vector_field import PLANES, VectorField, longest

SHADER = "draw/streamlines.wgsl"
SPEED = "speed"
FINE = 0.5  # cells that a step of the method may be long
MOST_SUBSTEPS = 64


class StreamlinesStyle(LinesStyle):
    """How lines through a field look, where it lies, and where they begin."""

    tube: bool = switch(True, doc="draw lit tubes that cast shadows, with widths in world units")
    low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="low corner of the box in world space; auto: cubic cells around the origin"
    )
    high: tuple[float, ...] | Literal["auto"] = vector("auto", words=("auto",), doc="high corner of the box")
    samples: str = choice(
        "cells",
        ("cells", "nodes"),
        doc="cells: samples are at cell centers; nodes: the outer samples are on the faces of the box",
    )
    plane: str = choice("xz", tuple(PLANES), rebuild=True, doc="plane of a two-dimensional field")
    count: int = integer(
        256, min=1, max=1 << 20, slider_max=4096, scale="log", doc="number of lines if no seeds are bound"
    )
    seed_low: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="low corner of the box in which seeds are spread; auto: that of the field"
    )
    seed_high: tuple[float, ...] | Literal["auto"] = vector(
        "auto", words=("auto",), doc="high corner of the box in which seeds are spread"
    )
    vertices: int = integer(96, min=2, max=4096, slider_max=512, scale="log", doc="number of vertices of each line")
    length: float = number(
        1.0,
        min=1e-12,
        max=1e12,
        slider_min=0.05,
        slider_max=10.0,
        scale="log",
        doc="length of the lines, in world units",
    )
    direction: str = choice("both", ("both", "forward", "backward"), doc="direction of integration from the seeds")
    width: float = number(
        0.01,
        min=1e-12,
        max=1e12,
        slider_min=1e-3,
        slider_max=0.1,
        scale="log",
        doc="width in world units for tubes, in pixels for lines",
    )
    taper: float = number(
        0.3, min=0.0, max=0.5, doc="fraction of a line over which it becomes thinner towards each end"
    )
    dashes: float = number(0.0, min=0.0, max=1.0, doc="0: solid lines, 1: dashes that move along the lines")
    dash_spacing: float = number(
        0.5,
        min=1e-12,
        max=1e12,
        slider_min=0.05,
        slider_max=5.0,
        scale="log",
        doc="distance between dashes, in world units",
    )
    dash_speed: float = number(
        0.4, min=-1e12, max=1e12, slider_min=-2.0, slider_max=2.0, doc="speed of the dashes, in world units per second"
    )


class StreamlinesLayer(ContentLayer["_Content"]):
    """Lines of one length along the vectors as they are now, worked out on the GPU for each picture.

    They end where the box does, where nothing moves, and where a vector is not finite. What moves fast is no longer:
    lines show the way, and their color the speed.
    """

    casts: ClassVar[bool] = True
    Style: ClassVar[type[Params]] = StreamlinesStyle
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "vectors": AttributeSpec(True, (2, 3), None, "vectors on a grid (nz, ny, nx, 3), or on a two-dimensional one"),
        "seeds": AttributeSpec(False, (3,), None, "x, y, z of a point on each line", own_rows=True),
        "color": AttributeSpec(
            False, (1, 3, 4), SPEED, "scalars on a grid (nz, ny, nx), or one sRGB; without it, the speed", own_rows=True
        ),
    }

    def bind(self, attributes: Mapping[str, Attribute]) -> None:
        """Draw these from now on.

        Raises `LayoutError` or `ParameterError` for what cannot be drawn, `LimitError` for more places than this
        adapter binds; what was bound before stays then.
        """
        self._take(_Content(self._gpu, self.name, attributes, self.style))
        self._given = attributes

    def prepare(self, moment: Moment | None = None) -> None:
        """Follow the field as it is now."""
        if self._bound.form != _form(self.style):
            self.bind(self._given)
        self._bound.prepare(self.style, moment)

    @property
    def display_referred(self) -> bool:
        """As its lines are."""
        return self._bound.lines.display_referred

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the lines."""
        self._bound.lines.draw(pass_, frame)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw what of them is thinner than a pixel."""
        self._bound.lines.draw_over(pass_, frame)

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the lines as the numbers of their places: line × rows + row."""
        self._bound.lines.draw_rows(pass_, frame)


class _Content(Content):
    """Everything on the device that is needed to draw one set of attributes."""

    def __init__(self, gpu: Gpu, name: str, given: Mapping[str, Attribute], style: StreamlinesStyle):
        self._gpu = gpu
        self.form = _form(style)
        self._time = 0.0
        self._asked: tuple[Any, ...] = ()
        self._plan: Plan | None = None
        self._resident: list[Block] | None = None
        specs = StreamlinesLayer.ATTRIBUTES
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            self._field = VectorField(gpu, name, "vectors", given, style.plane)
            stack.callback(self._field.close)
            self.attributes = Attributes(gpu, name, specs, given, "vertex", beside=tuple(specs))
            self.attributes.add("position", self._field.box.positions, (3,))
            self._seeds = _seeds(gpu, name, given)
            color = given.get("color", SPEED)
            self._scalars = Field(gpu, name, "color", color) if isinstance(color, Tensor) else None
            self._lines, self._rows = self._seeds.rows if self._seeds else style.count, style.vertices
            self._check(name)
            self._places = held(Tensor.empty((self._lines, self._rows, 5), name=f"{name}.places"))
            parts = {"position": slice(0, 3), "color": 3, "width": 4}
            drawn: dict[str, Attribute] = {key: held(self._places[..., part]) for key, part in parts.items()}
            self.lines = LinesLayer(gpu, name, style)
            stack.callback(self.lines.close)
            if not isinstance(color, Tensor) and color != SPEED:
                drawn["color"] = color
            self.lines.bind(drawn)
            if "extent" in self.lines.attributes.tensors:
                extent = self.lines.attributes.tensors["extent"].tensor
                self.attributes.add("extent", extent[:1].expand(self.attributes.rows, 2), (2,))
            self._color = SPEED if isinstance(color, Tensor) else color
            self._field.ends(style)  # so that it can be framed before it is drawn
            self._read = Places(gpu, self._given())
            stack.callback(self._drop_plan)
            self._held = stack.pop_all()

    def prepare(self, style: StreamlinesStyle, moment: Moment | None) -> None:
        if self._read.blocks is not self._resident:
            for tensor in self._given():
                self._gpu.make_resident(tensor.owner)
            self._resident = self._read.blocks
        if moment is not None:
            self._time = moment.time
        place = math.fmod(self._time * style.dash_speed / style.dash_spacing, 1.0) if style.dashes else 0.0
        self._followed(style).replay(dash_phase=place)
        self.lines.prepare(moment)

    def blocks(self) -> Iterable[Block]:
        return [*self.lines.blocks(), *self._read.blocks]

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = {"vectors": self._field.report(), "color": self._color}
        if self._scalars:
            found["color"] = self._scalars.report()
        if self._seeds:
            found |= self._seeds.report()
        return found

    def close(self) -> None:
        self._held.close()

    def _given(self) -> list[Tensor]:
        seeds = [bound.tensor for bound in self._seeds] if self._seeds else []
        return [self._field.tensor, *([self._scalars.tensor] if self._scalars else []), *seeds]

    def _check(self, name: str) -> None:
        nbytes, limit = 12 * self._lines * self._rows, self._gpu.limits["max-storage-buffer-binding-size"]
        if nbytes > limit:
            raise LimitError(
                f"layer {name!r}: {self._rows} places on {self._lines:,} lines are {nbytes:,} bytes; this adapter "
                f"binds {limit:,}; take fewer rows or fewer lines"
            )

    def _followed(self, style: StreamlinesStyle) -> Plan:
        """The plan that follows the field, made anew only when the style has changed."""
        asked = tuple(vars(style).values())
        if self._plan is None or asked != self._asked:
            plan = self._recorded(style)
            self._drop_plan()
            self._plan, self._asked = plan, asked
        return self._plan

    def _recorded(self, style: StreamlinesStyle) -> Plan:
        given: dict[str, Any] = {"seeds_offset": 0, "seeds_strides": 0}
        if self._seeds:
            bound = self._seeds.tensors["seeds"]
            given = {"seeds": bound.tensor, "seeds_strides": bound.layout.stride // bound.tensor.itemsize}
        if self._scalars:
            scalars = self._scalars
            given |= {"scalars": scalars.tensor, "scalars_size": scalars.size, "scalars_strides": scalars.strides}
        else:
            given |= {"scalars_offset": 0, "scalars_size": (0, 0, 0), "scalars_strides": (0, 0, 0)}
        plan = Plan(f"{self._places.name}.plan")
        plan.dispatch(
            Kernel.load(SHADER, defines={"SEEDS": self._seeds is not None, "SCALARS": self._scalars is not None}),
            self._lines,
            overwrites=("places",),
            vectors=self._field.tensor,
            places=self._places,
            **self._field.told,
            **given,
            **self._told(style),
        )
        self.lines.find_extent(plan, style)
        return plan

    def _drop_plan(self) -> None:
        if self._plan is not None:
            self._plan.close()

    def _told(self, style: StreamlinesStyle) -> dict[str, Any]:
        """What of the style the kernel is told."""
        place = self._field.place(style)
        low, high = place["low"], place["high"]
        cell = longest((low, high)) / max(self._field.size)
        step = style.length / (self._rows - 1)
        return place | {
            "count": self._lines,
            "rows": self._rows,
            "nothing": math.nan,
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


def _form(style: StreamlinesStyle) -> tuple[Any, ...]:
    """What tensors depend on."""
    return style.count, style.vertices, style.plane


def _seeds(gpu: Gpu, name: str, given: Mapping[str, Attribute]) -> Attributes | None:
    seeds = given.get("seeds")
    if seeds is None:
        return None
    if not isinstance(seeds, Tensor):
        raise ParameterError(f"layer {name!r}: seeds must be a tensor, in each row x, y, z of a place on a line")
    if seeds.dtype.name != "f32":
        raise LayoutError(f"layer {name!r}: seeds {seeds.name!r} are {seeds.dtype}; they must be f32: cast them")
    specs = {"seeds": StreamlinesLayer.ATTRIBUTES["seeds"]}
    return Attributes(gpu, name, specs, {"seeds": seeds}, "instance")
