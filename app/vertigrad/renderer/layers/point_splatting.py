"""`PointSplatting`: a great many points; few are seen as spheres, the others are added up by compute shaders."""

from __future__ import annotations

import struct
from collections import OrderedDict
from contextlib import ExitStack
from typing import Any

import wgpu

from ...errors import LimitError
from ...gpu import Gpu, Plan
from ...memory import Block
from ...ops.compaction import record_nonzero
from ...ops.sizes import record_draw_size
from ...tensor import Tensor, i32, u32
from ..lighting_layout import lighting_layout
from ..pipelines import draw_cache, draw_shader
from ..target import DEPTH, color_targets, depth_state, handles_samples, multisample_state
from ..view import VIEW_SIZE
from .attributes import Attributes
from .base import Frame
from .drawing import Coloring, Drawing
from .field import storage_range, whole

SHADER, COMPOSITE_SHADER, SPHERES_SHADER = (
    "draw/point_splatting.wgsl",
    "draw/point_splatting_composite.wgsl",
    "draw/points.wgsl",
)
PLACES = struct.Struct("<2II4x2I2I2I8x")  # `Places` in the shader
MANY = 1 << 17  # rows from which on they are added up: a rasterizer takes longer for them by then
WORDS = 6  # u32 of each pixel: two for light and optical depth, and one for what does not fit of each number in them
WORKGROUP = 128
REMEMBERED = 12  # bind groups: three for each of four sets of blocks, which may alternate
BOUND = ("position", "color", "size")
UNIFORM: dict[str, Any] = {"buffer": {"type": "uniform", "has_dynamic_offset": True}}
READ: dict[str, Any] = {"buffer": {"type": "read-only-storage"}}
WRITTEN: dict[str, Any] = {"buffer": {"type": "storage"}}
COMPUTED = wgpu.ShaderStage.COMPUTE
DRAWN = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT


def adds_up(gpu: Gpu, attributes: Attributes) -> bool:
    """Whether points are so many that they are added up, and lie so that compute shaders can read them."""
    if attributes.rows < MANY or not handles_samples(gpu):
        return False
    bound = [attributes.tensors[name] for name in BOUND if name in attributes.tensors]
    try:
        for one in bound:
            storage_range(gpu, one.tensor, "", one.layout.nbytes)
    except LimitError:
        return False
    return all(one.tensor.dtype.name == "f32" for one in bound)


class PointSplatting:
    """The spots and spheres of a drawing of points, for pictures of any size.

    In each picture `survey` comes first, then `draw` in the pass of what is solid, then `gather`, and `cover` in the
    pass that blends.
    """

    def __init__(self, gpu: Gpu, name: str, drawing: Drawing, style_size: int):
        self._gpu, self._name, self._drawing, self._style_size = gpu, name, drawing, style_size
        tensors = drawing.attributes.tensors
        self._bound = {name: tensors[name] for name in BOUND if name in tensors}
        self._sums: Tensor | None = None
        self._size, self._places_offset = (0, 0), 0
        self._groups: OrderedDict[Any, wgpu.GPUBindGroup] = OrderedDict()
        with ExitStack() as stack:
            rows = drawing.attributes.rows
            self._seen = stack.enter_context(Tensor.empty((rows,), u32, name=f"{name}.seen"))
            self._spheres = stack.enter_context(Tensor.empty((rows, 1), i32, name=f"{name}.spheres"))
            self._many = stack.enter_context(Tensor.empty((4,), u32, name=f"{name}.many"))  # an indirect draw
            self._listing = stack.enter_context(self._recorded(stack))
            self._layouts = {kind: self._layout(kind) for kind in ("compute", "spheres", "cover")}
            self._computes = {entry: self._compute_pipeline(entry) for entry in ("survey", "gather")}
            self._draws: dict[bool, dict[str, wgpu.GPURenderPipeline]] = {}
            self._pipelines(split=False)
            self._held = stack.pop_all()

    def survey(self, frame: Frame, style: Coloring, style_offset: int) -> None:
        """Clear the sums, and list the rows that are seen as spheres."""
        encoder, sums = self._gpu.recorder.encoder, self._fitted(frame)
        self._places_offset = self._gpu.uniforms.push(self._places())
        encoder.clear_buffer(sums.block.buffer, 0, sums.nbytes)
        self._dispatch("survey", frame, style, style_offset)
        self._listing.replay()

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style: Coloring, style_offset: int) -> None:
        """Draw the spheres."""
        pass_.set_pipeline(self._pipelines(frame.split)["spheres"])
        offsets = frame.view_offset, style_offset, self._places_offset
        pass_.set_bind_group(0, self._group("spheres", None, style), offsets)
        pass_.draw_indirect(self._many.block.buffer, 0)

    def gather(self, frame: Frame, style: Coloring, style_offset: int) -> None:
        """Add all spots up, but for what is hidden by what is solid."""
        self._dispatch("gather", frame, style, style_offset)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style: Coloring) -> None:
        """Draw the sums."""
        pass_.set_pipeline(self._pipelines(frame.split)["cover"])
        pass_.set_bind_group(0, self._group("cover", None, style), (self._places_offset,))
        pass_.draw(3)

    def blocks(self) -> list[Block]:
        """Every block that is made here."""
        made = [self._seen, self._spheres, self._many, *([] if self._sums is None else [self._sums])]
        return [tensor.block for tensor in made]

    def close(self) -> None:
        """Give up the memory. Idempotent."""
        self._held.close()
        if self._sums is not None:
            self._sums.close()
        self._groups.clear()

    def _recorded(self, stack: ExitStack) -> Plan:
        """What lists the rows of spheres, in their order, so that those as deep as each other do not take turns."""
        count, plan = stack.enter_context(Tensor.empty(1, u32, name=f"{self._name}.count")), Plan(self._spheres.name)
        record_nonzero(plan, self._seen, self._spheres, count)
        record_draw_size(plan, count, self._many, vertices=4)
        return plan

    def _fitted(self, frame: Frame) -> Tensor:
        """The sums, as many as the picture has pixels."""
        assert frame.depth is not None
        width, height, _ = frame.depth.texture.size
        if self._sums is None or self._size != (width, height):
            fresh = Tensor.empty((WORDS * width * height,), u32, name=f"{self._name}.spots")
            if self._sums is not None:
                self._sums.close()
            self._sums, self._size = fresh, (width, height)
            self._groups.clear()
        return self._sums

    def _places(self) -> bytes:
        found: list[int] = []
        for name in BOUND:
            found += self._place(name) if name in self._bound else (0, 0)
        return PLACES.pack(*self._size, self._drawing.attributes.rows, *found)

    def _place(self, name: str) -> tuple[int, int]:
        """The first element, and the elements from one row to the next."""
        bound = self._bound[name]
        _, first = storage_range(self._gpu, bound.tensor, f"layer {self._name!r}: {name}", bound.layout.nbytes)
        return first // 4, bound.layout.stride // 4

    def _dispatch(self, entry: str, frame: Frame, style: Coloring, style_offset: int) -> None:
        recorder = self._gpu.recorder
        recorder.use(self.blocks())
        with recorder.group("layers"):
            pass_ = recorder.compute_pass()
            pass_.set_pipeline(self._computes[entry])
            offsets = frame.view_offset, style_offset, self._places_offset
            pass_.set_bind_group(0, self._group("compute", frame.depth, style), offsets)
            pass_.dispatch_workgroups(*self._workgroups())
        recorder.dispatches += 1

    def _workgroups(self) -> tuple[int, int]:
        """Enough for all rows, folded where they are more than fit into one dimension."""
        wanted = -(-self._drawing.attributes.rows // WORKGROUP)
        down = -(-wanted // self._gpu.limits["max-compute-workgroups-per-dimension"])
        return -(-wanted // down), down

    def _group(self, kind: str, depth: wgpu.GPUTextureView | None, style: Coloring) -> wgpu.GPUBindGroup:
        key = (kind, depth, style.colormap, style.colormap_flip, *self._drawing.blocks(), *self.blocks())
        if key not in self._groups:
            self._groups[key] = self._made_group(kind, depth, style)
            if len(self._groups) > REMEMBERED:
                self._groups.popitem(last=False)
        return self._groups[key]

    def _made_group(self, kind: str, depth: wgpu.GPUTextureView | None, style: Coloring) -> wgpu.GPUBindGroup:
        assert self._sums is not None
        sizes = {0: VIEW_SIZE, 1: self._style_size, 4: PLACES.size}
        there: dict[int, Any] = {
            n: {"buffer": self._gpu.uniforms.buffer, "offset": 0, "size": size} for n, size in sizes.items()
        }
        there |= {2 + n: part for n, part in enumerate(self._drawing.colormap(style))}
        there |= {5: whole(self._sums), 6: whole(self._seen), 7: depth, 12: whole(self._spheres)}
        for name, bound in self._bound.items():
            there[8 + BOUND.index(name)] = storage_range(self._gpu, bound.tensor, "a layer", bound.layout.nbytes)[0]
        if self._drawing.extent is not None:
            there[11] = whole(self._drawing.extent.pair)
        entries: list[Any] = [{"binding": n, "resource": there[n]} for n in self._kinds(kind)]
        return self._gpu.device.create_bind_group(layout=self._layouts[kind], entries=entries)

    def _kinds(self, kind: str) -> dict[int, dict[str, Any]]:
        """What is bound, by its number in the shaders."""
        if kind == "cover":
            return {4: UNIFORM, 5: READ}
        found = {0: UNIFORM, 1: UNIFORM, 4: UNIFORM} | {8 + BOUND.index(name): READ for name in self._bound}
        if self._drawing.extent is not None:
            found |= {2: {"texture": {"sample_type": "float"}}, 3: {"sampler": {"type": "filtering"}}, 11: READ}
        if kind == "spheres":
            return found | {12: READ}
        depth = {"texture": {"sample_type": "depth", "multisampled": True}}
        return found | {5: WRITTEN, 6: WRITTEN, 7: depth}

    def _layout(self, kind: str) -> wgpu.GPUBindGroupLayout:
        kinds, stages = self._kinds(kind), COMPUTED if kind == "compute" else DRAWN
        entries: list[Any] = [{"binding": n, "visibility": stages, **entry} for n, entry in kinds.items()]
        device = self._gpu.device
        return draw_cache(self._gpu).get(
            ("point splatting layout", kind, *kinds), lambda: device.create_bind_group_layout(entries=entries)
        )

    def _defines(self) -> dict[str, Any]:
        components = self._drawing.attributes.components("color")
        return {
            "COLOR": ("", "f32", "", "vec3f", "vec4f")[components],
            "COLOR_COMPONENTS": components,
            "COLORMAPPED": self._drawing.extent is not None,
            "SIZE": "f32" if "size" in self._bound else "",
        }

    def _compute_pipeline(self, entry: str) -> wgpu.GPUComputePipeline:
        gpu, defines = self._gpu, self._defines()

        def make() -> wgpu.GPUComputePipeline:
            return gpu.device.create_compute_pipeline(
                label=f"{SHADER}:{entry}",
                layout=gpu.device.create_pipeline_layout(bind_group_layouts=[self._layouts["compute"]]),
                compute={"module": draw_shader(gpu, SHADER, defines), "entry_point": entry},
            )

        return draw_cache(gpu).get((SHADER, entry, *defines.items()), make)

    def _pipelines(self, split: bool) -> dict[str, wgpu.GPURenderPipeline]:
        """What draws spheres and sums, into a target that is split or not."""
        if split not in self._draws:
            self._draws[split] = {"spheres": self._spheres_pipeline(split), "cover": self._cover_pipeline(split)}
        return self._draws[split]

    def _spheres_pipeline(self, split: bool) -> wgpu.GPURenderPipeline:
        given = {"POSITION": "vec3f", "PICKING": False, "PULLED": True, "SAMPLE_MASK": True}
        layouts = [self._layouts["spheres"], lighting_layout(self._gpu)]
        stages = ("solid_vertex", "solid_fragment")
        return self._draw_pipeline(SPHERES_SHADER, {**self._defines(), **given}, layouts, stages, True, split)

    def _cover_pipeline(self, split: bool) -> wgpu.GPURenderPipeline:
        stages = ("fullscreen_vertex", "cover_fragment")
        return self._draw_pipeline(COMPOSITE_SHADER, {}, [self._layouts["cover"]], stages, False, split)

    def _draw_pipeline(
        self,
        shader: str,
        defines: dict[str, Any],
        layouts: list[wgpu.GPUBindGroupLayout],
        stages: tuple[str, str],
        solid: bool,
        split: bool,
    ) -> wgpu.GPURenderPipeline:
        gpu = self._gpu
        anywhere = {"format": DEPTH, "depth_write_enabled": False, "depth_compare": "always"}
        targets: Any = color_targets(over=not solid, split=split)

        def make() -> wgpu.GPURenderPipeline:
            module = draw_shader(gpu, shader, defines)
            return gpu.device.create_render_pipeline(
                label=shader,
                layout=gpu.device.create_pipeline_layout(bind_group_layouts=layouts),
                vertex={"module": module, "entry_point": stages[0]},
                fragment={"module": module, "entry_point": stages[1], "targets": targets},
                primitive={"topology": "triangle-strip" if solid else "triangle-list"},
                depth_stencil=depth_state(write=True) if solid else anywhere,  # pyright: ignore
                multisample=multisample_state(gpu, solid=solid),  # pyright: ignore
            )

        return draw_cache(gpu).get((shader, "point splatting", split, *defines.items()), make)
