"""`Drawing`: everything on the device that a layer needs to draw one set of attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar

import wgpu

from ...gpu import Gpu, Plan, VertexBuffers
from ...memory import Block
from ...tensor import Tensor
from ..colormap import colormap_texture
from ..extent import Extent
from ..moment import Moment
from ..pipelines import draw_cache, smooth_sampler
from ..target import DEPTH, SAMPLES, Colors, create_view, handles_samples
from ..vertex_layout import StepMode, VertexLayout
from .attributes import Attributes
from .base import Attribute, AttributeSpec, Frame
from .box import Vector
from .recipe import Recipe, Stage, StagePipelines
from .storage import Blocks, storage_range
from .styles import NONE, SYMMETRIC, VIEW, Range, ends


class Closable(Protocol):
    """An object that a drawing may own."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


class Drawing(ABC):
    """Pipelines, bind groups, vertex buffers and uniforms for one set of attributes.

    A subclass defines `build`, which sets `attributes`, calls `hold` for what it owns, and `create`; `uniform`; and
    `draw_call`. A color of one component is mapped by the colormap: `extent` is its range, for the ranges "auto"
    and "symmetric".
    """

    attributes: Attributes
    drawn: Attributes  # of the rows that are drawn, which a layer of a grid may compute itself; see `bind_rows`
    color: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)  # where it is constant, as linear light and alpha
    plan: Plan  # what `record` has recorded
    reads_depth = False  # whether `draw_over` needs the depth of opaque objects
    plans_extent = False  # whether `plan` finds the extent of the colors, after what `record` has recorded
    rebuilds: tuple[str, ...] = ()  # values of the style on which `build` depends
    surveys = False  # whether `survey` and `gather` do anything
    skips_hidden = False  # whether frames of "gbuffer" are drawn faster where it is known what is hidden
    shades = False  # whether `draw_shade` does anything
    occludes = True  # whether its opaque parts take light of the sun and the sky from what is near
    shades_itself = False  # whether it computes how it attenuates the light that it scatters itself
    refracts = False  # whether `refract` and `draw_refracted` do

    def __init__(
        self, gpu: Gpu, name: str, style: Any, values: Mapping[str, Attribute], alongside: Sequence[Tensor] = ()
    ):
        self.gpu, self.name, self.style = gpu, name, style
        self.alongside = alongside  # values that count in the extent of the colors, too
        self.extent: Extent | None = None
        self.reported: dict[str, dict[str, Any] | Any] = {}
        self._held = ExitStack()
        self._plan_key: tuple[object, ...] | None = None
        self._resident: list[Block] | None = None  # the blocks when the vertex buffers were looked up
        self._buffers = VertexBuffers(())
        self._group: wgpu.GPUBindGroup | None = None
        self._depth: wgpu.GPUTextureView | None = None  # that is bound in it
        self._offset = 0  # of the style in the uniform ring
        self._identity = object()
        self._built_for = self._rebuild_values()
        self.style_values: tuple[object, ...] = ()  # that `restyle` was called for, if it was
        try:
            self.build(values)
            self.restyle()
            for stage in self._recipe.stages:
                for drawn in ("gbuffer", "depth") if self.is_deferred and not stage.over else ("color",):
                    self.pipelines.get(stage, drawn, Colors(self.display_referred), self.shown_tone_map)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def build(self, values: Mapping[str, Attribute]) -> None:
        """Create everything for these attributes. Raises as `Layer.bind` does."""

    @abstractmethod
    def uniform(self) -> dict[str, Any]:
        """The values of the shader's `Style` that the style has not, or by another name; called when it has changed."""

    @abstractmethod
    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Record the draw call of a stage."""

    def record(self, plan: Plan) -> None:  # noqa: B027  few layers need it
        """Record what is computed before each frame, where `plan_key` is not None."""

    @property
    def plan_key(self) -> tuple[object, ...] | None:
        """The values on which `plan` depends: it is rerecorded when they change; None: nothing is computed."""
        return (self.is_automatic and self.style.range,) if self.plans_extent else None

    @property
    def row_count(self) -> int:
        """Rows that can be picked."""
        return self.attributes.rows

    @property
    def is_automatic(self) -> bool:
        """Whether the range of the colors is found on the GPU."""
        return self.extent is not None and isinstance(self.style.range, str)

    @property
    def is_display_referred(self) -> bool:
        """Whether colors are shown without tone mapping and bloom of the view, with this style."""
        return getattr(self.style, "tone_map", VIEW) != VIEW

    @property
    def tone_map(self) -> str:
        """The layer's own tone map: "none" if it has none, or that of the view."""
        own = getattr(self.style, "tone_map", VIEW)
        return NONE if own == VIEW else own

    @property
    def shown_tone_map(self) -> str | None:
        """The same, or None if colors are light."""
        return self.tone_map if self.display_referred else None

    @property
    def is_deferred(self) -> bool:
        """Whether `draw` also draws frames of "gbuffer", with this style."""
        return self._recipe.deferred and not self.display_referred and handles_samples(self.gpu)

    def hold(self, owned: T) -> T:
        """Close it with the drawing."""
        self._held.callback(owned.close)
        return owned

    def extent_of(self, values: Tensor, layout: VertexLayout | None = None) -> Extent:
        """The extent of values that are mapped by the colormap."""
        return Extent(values, layout, self.alongside)

    def add_extent(self, extent: Extent) -> None:
        """Compute the extent of the colors."""
        self.extent = self.hold(extent)
        self.extend(self.attributes)

    def extend(self, attributes: Attributes) -> None:
        """Add the extent of the colors, if there is one, as the attribute "extent"."""
        if self.extent is not None:
            attributes.add("extent", self.hold(self.extent.pair.expand(attributes.rows, 2)), (2,))

    def bind_rows(
        self,
        values: Mapping[str, Attribute],
        specs: Mapping[str, AttributeSpec],
        excluded: Iterable[str] = (),
        step_mode: StepMode = "instance",
    ) -> None:
        """Set `attributes` and `drawn` for layers that draw each row, and `color`, with the extent of its scalars."""
        self.attributes = self.drawn = Attributes(self.gpu, self.name, specs, values, step_mode, excluded)
        self.color = self.attributes.color()
        if self.attributes.components("color") == 1:
            scalars = self.attributes.tensors["color"]
            self.add_extent(self.extent_of(scalars.tensor, scalars.layout))

    def bind_grid(
        self,
        values: Mapping[str, Attribute],
        specs: Mapping[str, AttributeSpec],
        excluded: Iterable[str],
        corners: Tensor,
    ) -> None:
        """Set `attributes` for layers of a grid, whose positions are the corners of its box."""
        self.attributes = Attributes(self.gpu, self.name, specs, values, "vertex", excluded)
        self.attributes.add("position", corners, (3,))
        self.extend(self.attributes)

    def create(
        self,
        recipe: Recipe,
        vertices: Sequence[Attributes] = (),
        storage: Sequence[Tensor] = (),
        others: Iterable[Tensor] = (),
        defines: Mapping[str, Any] | None = None,
        textures: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Draw by `recipe`: `vertices` are vertex buffers, `storage` storage buffers; `others` are only kept alive.

        `textures` are bound after them: of each one of `bindings.KINDS`, and what is bound.
        """
        self._recipe, self.vertices, self._storage = recipe, vertices, storage
        self.solid = [stage for stage in recipe.stages if not stage.over]
        self.over = [stage for stage in recipe.stages if stage.over]
        self.rows = [stage for stage in recipe.stages if stage.rows]
        self._stored_extent = [self.extent.pair] if self.extent and "extent" not in recipe.locations else []
        tensors = [bound.tensor for one in vertices for bound in one]
        self._blocks = Blocks(self.gpu, [*tensors, *storage, *self._stored_extent, *others])
        kinds = ["depth samples"] if recipe.depth else []
        kinds += ["storage"] * (len(storage) + len(self._stored_extent))
        self._textures = [resource for _, resource in textures]
        kinds += [kind for kind, _ in textures]
        kinds += ["texture", "sampler"] if self.extent else []
        variant = {"COLORMAPPED": self.extent is not None, **(defines or {})}
        self.pipelines = StagePipelines(self.gpu, recipe, vertices, kinds, variant)

    def is_outdated(self) -> bool:
        """Whether the attributes have to be rebound, for a style that has changed."""
        return self._rebuild_values() != self._built_for

    def restyle(self) -> None:
        """Update what depends on a style that has changed."""
        style = self.style
        range: Range = getattr(style, "range", "auto")
        color_values = {"color": self.color, "range": ends(range), "auto_range": isinstance(range, str)}
        if self.extent is not None:
            self.extent.symmetric = range == SYMMETRIC
        self.packed = self.pipelines.pack_style(vars(style) | color_values | self.uniform())
        self.display_referred = self.is_display_referred
        self._group = None
        key = self.plan_key
        if key is not None and (key != self._plan_key or not self.style_values):
            self._record_plan(key)
        self.style_values = tuple(vars(style).values())

    def forget_style(self) -> None:
        """Have `restyle` called again: what it recorded was dropped."""
        self.style_values = ()

    def state(self, time: float) -> tuple[object, ...] | None:
        """What it draws at `time` [s], after `prepare`: alike means that view and light alone decide about the image.

        None if it depends on more, such as what was read back of earlier images, or what other code may write.
        """
        if self.gpu.may_change(tensor.owner for tensor in self._blocks.tensors):
            return None
        return self._identity, bytes(self.packed), self.style_values, tuple([one.revision for one in self.blocks()])

    def prepare(self, moment: Moment | None) -> None:
        """Upload borrowed tensors, and compute what is drawn."""
        if self._blocks.current is not self._resident:
            self._look_up()
        self.compute(moment)

    def compute(self, moment: Moment | None) -> None:
        """Record what is computed before each frame: the extent of the colors, if it is the range."""
        if self.extent is not None and self.is_automatic:
            self.extent.record()

    def survey(self, frame: Frame) -> None:  # noqa: B027
        """Record what must precede `draw`; called where it `surveys`, outside of any pass."""

    def gather(self, frame: Frame) -> None:  # noqa: B027
        """Record what is computed from the depth of opaque objects, before `draw_over`; called where it `surveys`."""

    def refract(self, frame: Frame) -> None:  # noqa: B027
        """Record what is computed from the light of opaque objects; called where it `refracts`, outside of any pass."""

    def draw_refracted(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:  # noqa: B027
        """Record what is drawn of that, with its depth, in a pass of opaque objects."""

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the stages that do not blend."""
        if self.solid:
            self._draw(pass_, frame, self.solid)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the stages that blend over the opaque parts of all layers; called after `draw` of the same frame."""
        if self.over and self.solid and self._group is not None:
            self._draw_stages(pass_, frame, self.over, self._group)
        elif self.over:
            self._draw(pass_, frame, self.over)

    def draw_shade(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:  # noqa: B027
        """Record the depth of what is not solid, in a shadow map; called where it `shades`."""

    @property
    def attenuates(self) -> bool:
        """Whether it takes some of the sun's light away from what is behind it, without being opaque."""
        return False

    def shadow_box(self) -> tuple[Vector, Vector] | None:
        """Low and high corner in world space of what `attenuates`; None if they are not known."""
        return None

    def compute_opacity(self, texels: int, frame: Frame) -> None:  # noqa: B027
        """Record the optical depths of a frame of "opacity", for a map of so many texels along each side.

        Called where it `attenuates`, outside of any pass.
        """

    def draw_opacity(self, pass_: wgpu.GPURenderPassEncoder) -> None:  # noqa: B027
        """Add them to the map."""

    def draw_rows(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Record the stages of a frame of "rows": each pixel gets the index of a row instead of a color.

        The pass has one sample; fragments return `picked_row` or `picked_cell` of shaders/common/pick_pixel.wgsl.
        Called for a click, not in each frame. Raises `LimitError` if the layer is too large for that.
        """
        if self.rows:
            self._draw(pass_, frame, self.rows)

    def push(self) -> int:
        """Write the style into the uniform ring; returns its offset."""
        return self.gpu.uniforms.push(self.packed)

    def blocks(self) -> list[Block]:
        """Every block that is read."""
        return self._blocks.current

    def report(self) -> dict[str, Any]:
        """See `Layer.report`; `reported` are tensors that are not among the attributes, or constants."""
        others = {name: one() if callable(one) else one for name, one in self.reported.items()}
        return self.attributes.report() | others

    def colormap(self) -> list[Any]:
        """The texture and the sampler of the colormap; none without scalars."""
        if self.extent is None:
            return []
        return [colormap_texture(self.gpu, self.style.colormap, self.style.colormap_flip), smooth_sampler(self.gpu)]

    def close(self) -> None:
        """Release the memory that the drawing owns. Idempotent."""
        self._close_plan()
        self._held.close()
        self.extent = None

    def _rebuild_values(self) -> list[object]:
        return [getattr(self.style, name) for name in self.rebuilds]

    def _record_plan(self, key: tuple[object, ...]) -> None:
        plan = Plan(f"{self.name}.plan")
        try:
            self.record(plan)
            if self.plans_extent and self.extent is not None and self.is_automatic:
                self.extent.add_to(plan)
        except BaseException:
            plan.close()
            raise
        self._close_plan()
        self.plan, self._plan_key = plan, key

    def _close_plan(self) -> None:
        if self._plan_key is not None:
            self.plan.close()
            self._plan_key = None

    def _look_up(self) -> None:
        """Look up the vertex buffers after tensors were borrowed, or moved by copy-on-write."""
        for tensor in self._blocks.tensors:
            self.gpu.make_resident(tensor.owner)
        self._resident, self._group = self._blocks.current, None
        shared = [one for attributes in self.vertices for one in attributes.buffers]
        self._buffers = VertexBuffers([(one.first.tensor.block.buffer, *one.range) for one in shared])

    def bound(self, frame: Frame) -> wgpu.GPUBindGroup:
        """Push the style of this frame; returns the bind group of what is read."""
        self._offset = self.push()
        if self._blocks.current is not self._resident:
            self._look_up()
        if self._group is None or (frame.depth is not self._depth and self._recipe.depth):
            self._group, self._depth = self._find_group(frame), frame.depth
        return self._group

    def _draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, stages: Sequence[Stage]) -> None:
        self._draw_stages(pass_, frame, stages, self.bound(frame))

    def _draw_stages(
        self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, stages: Sequence[Stage], group: wgpu.GPUBindGroup
    ) -> None:
        pass_.set_bind_group(0, group, (frame.view_offset, self._offset))
        if self.vertices:
            self._buffers.set(pass_)
        for stage in stages:
            pipeline = self.pipelines.get(stage, frame.drawn, frame.colors, self.shown_tone_map, frame.area_lights)
            pass_.set_pipeline(pipeline)
            self.draw_call(pass_)

    def _find_group(self, frame: Frame) -> wgpu.GPUBindGroup:
        key: tuple[object, ...] = (frame.depth if self._recipe.depth else None,)
        if self.extent is not None:
            key += (self.style.colormap, self.style.colormap_flip)
        if self._storage:
            key += tuple(self._blocks.current)
        return self.pipelines.bindings.group(key, lambda: self._resources(frame))

    def _resources(self, frame: Frame) -> list[Any]:
        found: list[Any] = [frame.depth or _no_depth(self.gpu)] if self._recipe.depth else []
        found += [storage_range(self.gpu, one, "a layer")[0] for one in [*self._storage, *self._stored_extent]]
        return found + self._textures + self.colormap()


def _no_depth(gpu: Gpu) -> wgpu.GPUTextureView:
    """What is bound as the depth of opaque objects in frames that have none: those of rows."""
    return draw_cache(gpu).get("no depth", lambda: create_view(gpu, (1, 1), DEPTH, samples=SAMPLES))
