"""`PointSplatting`: a compute rasterizer for many points; only the large ones are drawn as spheres."""

from __future__ import annotations

import struct
from collections import OrderedDict
from contextlib import ExitStack
from typing import Any

import wgpu

from ...errors import LimitError
from ...gpu import Gpu, Plan
from ...memory import Block
from ...ops.compaction import nonzero
from ...ops.sizes import draw_size
from ...tensor import Tensor, i32, u32
from ..bindings import BOTH, COMPUTE, bind_group, bind_group_layout, hidden_layout, lighting_layout, uniform_range
from ..pipelines import compute_pipeline, fullscreen_pipeline, render_pipeline, workgroups
from ..target import Colors, Drawn, cover_states, handles_samples, pass_states
from ..view_uniforms import VIEW_SIZE
from .attributes import Attributes
from .base import Frame
from .drawing import Drawing
from .storage import storage_range

SHADER, COMPOSITE_SHADER, SPHERES_SHADER = (
    "draw/point_splatting.wgsl",
    "draw/point_splatting_composite.wgsl",
    "draw/points.wgsl",
)
LAYOUT = struct.Struct("<2II4x2I2I2I8x")  # `PointArrays` in the shader
MANY = 1 << 17  # from so many rows on, adding them up is faster than rasterization
WORDS = 6  # u32 of each pixel: two for light and optical depth, and four for the overflow of the four sums in them
WORKGROUP = 128
QUADS = ("software",)  # kinds of adapters that draw spheres as quads; others as triangles, since they count vertices
CACHED = 12  # bind groups: three for each of four sets of blocks, which may alternate
READ = ("position", "color", "size")


def adds_up(gpu: Gpu, attributes: Attributes) -> bool:
    """Whether there are enough points for splatting, and compute shaders can read their tensors."""
    if attributes.rows < MANY or not handles_samples(gpu):
        return False
    bound = [attributes.tensors[name] for name in READ if name in attributes.tensors]
    try:
        for one in bound:
            one.resource(gpu)
    except LimitError:
        return False
    return all(one.tensor.dtype.name == "f32" for one in bound)


def corners_of(gpu: Gpu) -> int:
    """Of what each sphere is drawn as, `CORNERS` in shaders/common/spheres.wgsl."""
    return 4 if gpu.adapter.kind in QUADS else 3


class PointSplatting:
    """Splatting of the small points and drawing of the large ones as spheres, for images of any size.

    In each frame `survey` is called first, then `draw` in the pass of opaque objects, then `gather`, then `cover` in
    the pass that blends.
    """

    def __init__(self, drawing: Drawing):
        self._gpu, self._name, self._drawing = drawing.gpu, drawing.name, drawing
        self._corners = corners_of(drawing.gpu)
        tensors, rows, name = drawing.attributes.tensors, drawing.attributes.rows, drawing.name
        self._read = {name: tensors[name] for name in READ if name in tensors}
        self._sums: Tensor | None = None
        self._size, self._layout_offset = (0, 0), 0
        self._groups: OrderedDict[Any, wgpu.GPUBindGroup] = OrderedDict()
        components = drawing.attributes.components("color")
        self._defines = {
            "COLOR": ("", "f32", "", "vec3f", "vec4f")[components],
            "COLOR_COMPONENTS": components,
            "COLORMAPPED": drawing.extent is not None,
            "SIZE": "f32" if "size" in self._read else "",
        }
        self._layouts = {
            kind: bind_group_layout(self._gpu, self._kinds(kind), COMPUTE if kind == "compute" else BOTH)
            for kind in ("compute", "spheres", "cover")
        }
        with ExitStack() as stack:
            self._is_sphere = stack.enter_context(Tensor.empty((rows,), u32, name=f"{name}.is_sphere"))
            self._spheres = stack.enter_context(Tensor.empty((rows, 1), i32, name=f"{name}.spheres"))
            self._many = stack.enter_context(Tensor.empty((4,), u32, name=f"{name}.many"))  # an indirect draw
            self._listing = stack.enter_context(self._recorded(stack))
            self._computes = {
                entry: compute_pipeline(self._gpu, SHADER, entry, [self._layouts["compute"]], self._defines)
                for entry in ("survey", "gather")
            }
            self._covers: dict[Colors, wgpu.GPURenderPipeline] = {}
            self._sphere_draws: dict[tuple[Colors, Drawn], wgpu.GPURenderPipeline] = {}
            self._held = stack.pop_all()

    def survey(self, frame: Frame, style_offset: int) -> None:
        """Clear the sums, and list the rows that are drawn as spheres."""
        encoder, sums = self._gpu.recorder.encoder, self._fitted(frame)
        self._layout_offset = self._gpu.uniforms.push(self._layout())
        encoder.clear_buffer(sums.block.buffer, 0, sums.nbytes)
        self._dispatch("survey", frame, style_offset)
        self._listing.replay()

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame, style_offset: int) -> None:
        """Draw the spheres."""
        pass_.set_pipeline(self._spheres_pipeline(frame))
        pass_.set_bind_group(0, self._group("spheres", None), (frame.view_offset, style_offset, self._layout_offset))
        pass_.draw_indirect(self._many.block.buffer, 0)

    def gather(self, frame: Frame, style_offset: int) -> None:
        """Add up all small points that are not hidden by opaque objects."""
        self._dispatch("gather", frame, style_offset)

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the sums."""
        pass_.set_pipeline(self._cover_pipeline(frame.colors))
        pass_.set_bind_group(0, self._group("cover", None), (self._layout_offset,))
        pass_.draw(3)

    def blocks(self) -> list[Block]:
        """The blocks that it owns."""
        return [one.block for one in (self._is_sphere, self._spheres, self._many, self._sums) if one is not None]

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._held.close()
        if self._sums is not None:
            self._sums.close()
        self._groups.clear()

    def _recorded(self, stack: ExitStack) -> Plan:
        """The kernels that list the rows of spheres, in order: spheres of equal depth do not flicker."""
        count, plan = stack.enter_context(Tensor.empty(1, u32, name=f"{self._name}.count")), Plan(self._spheres.name)
        with plan.recording():
            nonzero(self._is_sphere, out=(self._spheres, count))
            draw_size(count, vertices=self._corners, out=self._many)
        return plan

    def _fitted(self, frame: Frame) -> Tensor:
        """The sums of each pixel of the image."""
        assert frame.depth is not None
        width, height, _ = frame.depth.texture.size
        if self._sums is None or self._size != (width, height):
            fresh = Tensor.empty((WORDS * width * height,), u32, name=f"{self._name}.spots")
            if self._sums is not None:
                self._sums.close()
            self._sums, self._size = fresh, (width, height)
            self._groups.clear()
        return self._sums

    def _layout(self) -> bytes:
        found: list[int] = []  # of each attribute, its first element and the elements from one row to the next
        for name in READ:
            bound = self._read.get(name)
            found += (bound.resource(self._gpu)[1], bound.stride) if bound else (0, 0)
        return LAYOUT.pack(*self._size, self._drawing.attributes.rows, *found)

    def _dispatch(self, entry: str, frame: Frame, style_offset: int) -> None:
        recorder = self._gpu.recorder
        recorder.use(self.blocks())
        with recorder.group("layers"):
            pass_ = recorder.compute_pass()
            pass_.set_pipeline(self._computes[entry])
            offsets = frame.view_offset, style_offset, self._layout_offset
            pass_.set_bind_group(0, self._group("compute", frame.depth), offsets)
            pass_.dispatch_workgroups(*workgroups(self._gpu, self._drawing.attributes.rows, WORKGROUP))
        recorder.dispatches += 1

    def _group(self, kind: str, depth: wgpu.GPUTextureView | None) -> wgpu.GPUBindGroup:
        style = self._drawing.style
        key = (kind, depth, style.colormap, style.colormap_flip, *self._drawing.blocks())
        if key not in self._groups:
            sources = self._sources(depth)
            resources = {n: sources[n] for n in self._kinds(kind)}
            self._groups[key] = bind_group(self._gpu, self._layouts[kind], resources)
            if len(self._groups) > CACHED:
                self._groups.popitem(last=False)
        return self._groups[key]

    def _sources(self, depth: wgpu.GPUTextureView | None) -> dict[int, Any]:
        """The resources, by their binding in the shaders."""
        gpu, own = self._gpu, {5: self._sums, 6: self._is_sphere, 12: self._spheres}
        sizes = {0: VIEW_SIZE, 1: self._drawing.pipelines.style.size, 4: LAYOUT.size}
        return {
            **{n: uniform_range(gpu, size) for n, size in sizes.items()},
            **dict(enumerate(self._drawing.colormap(), 2)),
            **{n: storage_range(gpu, tensor, "a layer")[0] for n, tensor in own.items() if tensor is not None},
            7: depth,
            **{8 + READ.index(name): bound.resource(gpu)[0] for name, bound in self._read.items()},
            11: storage_range(gpu, self._drawing.extent.pair, "a layer")[0] if self._drawing.extent else None,
        }

    def _kinds(self, kind: str) -> dict[int, str]:
        """The kinds of the resources, by their binding in the shaders."""
        if kind == "cover":
            return {4: "uniform", 5: "storage"}
        found = {0: "uniform", 1: "uniform", 4: "uniform"} | {8 + READ.index(name): "storage" for name in self._read}
        if self._drawing.extent is not None:
            found |= {2: "texture", 3: "sampler", 11: "storage"}
        return found | ({12: "storage"} if kind == "spheres" else {5: "written", 6: "written", 7: "depth samples"})

    def _spheres_pipeline(self, frame: Frame) -> wgpu.GPURenderPipeline:
        key = frame.colors, frame.drawn
        if key not in self._sphere_draws:
            gbuffer = frame.drawn == "gbuffer"
            defines = {"POSITION": "vec3f", "PICKING": False, "PULLED": True, "SAMPLE_MASK": True, "GBUFFER": gbuffer}
            defines |= {"CORNERS": self._corners}
            self._sphere_draws[key] = render_pipeline(
                self._gpu,
                SPHERES_SHADER,
                ("solid_vertex", "solid_fragment"),
                [self._layouts["spheres"], (hidden_layout if gbuffer else lighting_layout)(self._gpu)],
                defines={**self._defines, **defines},
                topology="triangle-strip",
                **pass_states(self._gpu, frame.drawn, over=False, colors=frame.colors)._asdict(),
            )
        return self._sphere_draws[key]

    def _cover_pipeline(self, colors: Colors) -> wgpu.GPURenderPipeline:
        if colors not in self._covers:
            self._covers[colors] = fullscreen_pipeline(
                *(self._gpu, COMPOSITE_SHADER, "cover_fragment", self._layouts["cover"]),
                **cover_states(self._gpu, colors)._asdict(),
            )
        return self._covers[colors]
