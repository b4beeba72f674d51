"""`Drawing`: everything on the device that a layer needs to draw one set of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import wgpu

from ...gpu import Gpu, Plan, VertexBuffers
from ...memory import Block
from ...tensor import Tensor
from ..colormap import colormap_texture
from ..extent import Extent
from ..lighting_layout import lighting_layout
from ..pipelines import draw_cache, draw_shader, smooth_sampler
from ..rows import ROW_TARGETS, rows_depth
from ..target import CLEAR_TARGETS, color_targets, depth_state, handles_samples, multisample_state
from ..view import VIEW_SIZE
from .attributes import Attributes, Bound
from .base import Drawn, Frame
from .content import Content
from .field import whole
from .places import Places


@dataclass(frozen=True)
class Recipe:
    """What all drawings of one kind of layer share.

    `stages` names its pairs of entry points, STAGE_vertex and STAGE_fragment, and says whether each blends over what
    is there, leaving the depth. `locations` are those of the attributes in the shader, `style_size` is the number of
    bytes of its uniform `Style`. `defines` are values for the shader beside those that every layer gives.
    """

    shader: str
    stages: Mapping[str, bool]
    locations: Mapping[str, int]
    style_size: int
    primitive: Mapping[str, str]
    defines: Mapping[str, Any] = field(default_factory=dict)


class Coloring(Protocol):
    """What of a layer's style says how scalars are colored."""

    colormap: str
    colormap_flip: bool
    range: tuple[float, float] | Literal["auto"]


class Drawing(Content):
    """Pipelines, bind group and vertex buffers for `attributes`.

    A color of one component goes through the colormap; its extent is bound beside it, for the range "auto". `mesh` are
    attributes of another number of rows, those of the mesh that is drawn for each row; `storage` is a tensor that the
    shader reads as such, `scalars` what the colormap's range is found of, if that is more than the color drawn.
    """

    def __init__(
        self,
        gpu: Gpu,
        recipe: Recipe,
        attributes: Attributes,
        mesh: Attributes | None = None,
        storage: Tensor | None = None,
        scalars: Bound | None = None,
    ):
        self._gpu = gpu
        self._recipe = recipe
        self.attributes = attributes
        self._sets = [attributes] if mesh is None else [attributes, mesh]
        self._storage = storage
        self.extent: Extent | None = None
        self._found_elsewhere = False
        self._group: tuple[Any, wgpu.GPUBindGroup] | None = None
        if attributes.components("color") == 1:
            color = scalars or attributes.tensors["color"]
            self.extent = Extent(color.tensor, color.layout)
        self._pipelines: dict[tuple[str, Drawn, bool, bool], wgpu.GPURenderPipeline] = {}
        try:
            if self.extent is not None:
                attributes.add("extent", self.extent.pair.expand(attributes.rows, 2), (2,))
            for stage in recipe.stages:
                self._pipeline_of(stage, "color", False, False)
        except Exception:
            self.close()
            raise
        self._bound = [bound for one in self._sets for bound in one]
        self._places = Places(gpu, [bound.tensor for bound in self._bound])
        self._lying: list[Block] | None = None  # where tensors lay when the vertex buffers were looked up
        self._buffers = VertexBuffers(())

    def prepare(self, style: Coloring) -> None:
        """Upload what is borrowed, and find the extent of the colors if it is wanted."""
        if self._places.blocks is not self._lying:
            self._look_up()
        if self.extent is not None and style.range == "auto" and not self._found_elsewhere:
            self.extent.record()

    def find_extent(self, plan: Plan) -> None:
        """Leave it to `plan`, which makes the colors, to find their extent: one replay instead of two."""
        if self.extent is not None:
            self.extent.add_to(plan)
        self._found_elsewhere = True

    def start(
        self,
        pass_: wgpu.GPURenderPassEncoder,
        frame: Frame,
        stage: str,
        style: Coloring,
        style_offset: int,
        display_referred: bool = False,
    ) -> None:
        """Set pipeline, bind group and vertex buffers; draw calls follow."""
        pass_.set_pipeline(self._pipeline_of(stage, frame.drawn, frame.split, display_referred))
        self._set_resources(pass_, frame, style, style_offset)

    def start_again(
        self,
        pass_: wgpu.GPURenderPassEncoder,
        frame: Frame,
        stage: str,
        style_offset: int,
        display_referred: bool = False,
    ) -> None:
        """`start` of another stage in the same picture: nothing can have moved since."""
        assert self._group is not None, "set by `start`"
        pass_.set_pipeline(self._pipeline_of(stage, frame.drawn, frame.split, display_referred))
        pass_.set_bind_group(0, self._group[1], (frame.view_offset, style_offset))
        self._buffers.set(pass_)

    def start_rows(
        self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, stage: str, style: Coloring, style_offset: int
    ) -> None:
        """The same for a picture of rows."""
        pass_.set_pipeline(self._rows_pipeline(stage))
        self._set_resources(pass_, frame, style, style_offset)

    def _set_resources(
        self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style: Coloring, style_offset: int
    ) -> None:
        pass_.set_bind_group(0, self._bind_group(style), (frame.view_offset, style_offset))
        if self._places.blocks is not self._lying:
            self._look_up()
        self._buffers.set(pass_)

    def blocks(self) -> Iterable[Block]:
        """The blocks of the vertex buffers, and of what is read beside them."""
        found = self._places.blocks
        return found if self._storage is None else [*found, self._storage.block]

    def report(self) -> dict[str, Any]:
        """{attribute: {tensor, block, offset, stride, format}, or the constant}: as it would be drawn now."""
        return self.attributes.report()

    def colormap(self, style: Coloring) -> list[Any]:
        """The texture and the sampler through which scalars go; nothing where colors are none."""
        if self.extent is None:
            return []
        return [colormap_texture(self._gpu, style.colormap, style.colormap_flip), smooth_sampler(self._gpu)]

    def close(self) -> None:
        """Give up the memory that was made here. Idempotent."""
        if self.extent is not None:
            self.extent.close()
            self.extent = None

    def _look_up(self) -> None:
        """Find the vertex buffers: tensors were borrowed, or copy-on-write moved them."""
        for bound in self._bound:
            self._gpu.make_resident(bound.tensor.owner)
        self._lying = self._places.blocks
        shared = [one for attributes in self._sets for one in attributes.buffers]
        self._buffers = VertexBuffers([(one.first.tensor.block.buffer, *one.place) for one in shared])

    def _defines(self, picking: bool, display_referred: bool) -> dict[str, Any]:
        names = self._recipe.locations
        types = {name.upper(): next(filter(None, (one.wgsl(name) for one in self._sets)), "") for name in names}
        return {
            **types,
            **self._recipe.defines,
            "COLOR_COMPONENTS": self.attributes.components("color"),
            "COLORMAPPED": self.extent is not None,
            "SAMPLE_MASK": handles_samples(self._gpu),
            "PICKING": picking,
            "DISPLAY_REFERRED": display_referred,
        }

    def _pipeline_of(self, stage: str, drawn: Drawn, split: bool, display_referred: bool) -> wgpu.GPURenderPipeline:
        if drawn != "color":
            split = display_referred = False
        key = stage, drawn, split, display_referred
        if key not in self._pipelines:
            self._pipelines[key] = self._drawing_pipeline(*key)
        return self._pipelines[key]

    def _drawing_pipeline(
        self, stage: str, drawn: Drawn, split: bool, display_referred: bool
    ) -> wgpu.GPURenderPipeline:
        if drawn == "depth":
            return self._pipeline(stage, (), depth_state(write=True), {"count": 1}, drawn=drawn)
        over = drawn == "clear" or self._recipe.stages[stage]
        targets = CLEAR_TARGETS if drawn == "clear" else color_targets(over, split, display_referred)
        multisample = multisample_state(self._gpu, solid=not over)
        variant = (split, display_referred)
        return self._pipeline(stage, targets, depth_state(write=not over), multisample, drawn=drawn, variant=variant)

    def _rows_pipeline(self, stage: str) -> wgpu.GPURenderPipeline:
        return self._pipeline(stage, ROW_TARGETS, rows_depth(), {"count": 1}, picking=True)

    def _pipeline(
        self,
        stage: str,
        targets: Sequence[Mapping[str, Any]],
        depth: Mapping[str, Any],
        multisample: Mapping[str, Any],
        picking: bool = False,
        drawn: Drawn = "color",
        variant: tuple[bool, bool] = (False, False),
    ) -> wgpu.GPURenderPipeline:
        recipe, device = self._recipe, self._gpu.device
        part = "fragment" if drawn == "color" else drawn

        def make() -> wgpu.GPURenderPipeline:
            module = draw_shader(self._gpu, recipe.shader, self._defines(picking, display_referred=variant[1]))
            buffers = [shared.descriptor(recipe.locations) for one in self._sets for shared in one.buffers]
            layouts = [self._layout()] if picking or drawn == "depth" else [self._layout(), lighting_layout(self._gpu)]
            return device.create_render_pipeline(
                label=f"{recipe.shader}:{stage}",
                layout=device.create_pipeline_layout(bind_group_layouts=layouts),
                vertex={"module": module, "entry_point": f"{stage}_vertex", "buffers": buffers},
                fragment={"module": module, "entry_point": f"{stage}_{part}", "targets": list(targets)},
                primitive=dict(recipe.primitive),
                depth_stencil=dict(depth),
                multisample=dict(multisample),
            )

        keys = tuple(one.key for one in self._sets)
        key = (recipe.shader, stage, picking, drawn, variant, *recipe.defines.items(), *keys)
        return draw_cache(self._gpu).get(key, make)

    def _bind_group(self, style: Coloring) -> wgpu.GPUBindGroup:
        """The bind group; made anew when the colormap changes."""
        key = (style.colormap, style.colormap_flip) if self.extent is not None else None
        if self._storage is not None:
            key = key, self._storage.block.id
        if self._group is None or self._group[0] != key:
            self._group = key, self._made_group(style)
        return self._group[1]

    def _made_group(self, style: Coloring) -> wgpu.GPUBindGroup:
        ring = self._gpu.uniforms.buffer
        sizes = (VIEW_SIZE, self._recipe.style_size)
        entries: list[dict[str, Any]] = [
            {"binding": i, "resource": {"buffer": ring, "offset": 0, "size": size}} for i, size in enumerate(sizes)
        ]
        entries += [{"binding": 2 + n, "resource": part} for n, part in enumerate(self.colormap(style))]
        if self._storage is not None:
            entries.append({"binding": 4, "resource": whole(self._storage)})
        return self._gpu.device.create_bind_group(layout=self._layout(), entries=entries)

    def _layout(self) -> wgpu.GPUBindGroupLayout:
        both = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT
        uniform = {"type": "uniform", "has_dynamic_offset": True}
        entries: list[dict[str, Any]] = [{"binding": i, "visibility": both, "buffer": uniform} for i in (0, 1)]
        if self.extent is not None:
            entries.append({"binding": 2, "visibility": both, "texture": {"sample_type": "float"}})
            entries.append({"binding": 3, "visibility": both, "sampler": {"type": "filtering"}})
        if self._storage is not None:
            entries.append({"binding": 4, "visibility": both, "buffer": {"type": "read-only-storage"}})
        return draw_cache(self._gpu).get(
            ("layer layout", len(entries), self._storage is not None),
            lambda: self._gpu.device.create_bind_group_layout(entries=entries),
        )
