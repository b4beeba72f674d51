"""`LiquidShadow`: the optical depth of a liquid along the sun's light (record 0172)."""

from __future__ import annotations

from typing import Any

import wgpu

from ...gpu import Gpu
from ...memory import Block
from ...tensor import Tensor, u32
from ..bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, uniform_range
from ..pipelines import compute_pipeline, dispatch, fullscreen_pipeline, tiles, workgroups
from ..target import OPACITY, create_view, pass_states
from ..view_uniforms import VIEW_SIZE
from .base import Frame
from .liquid_rows import LISTS, LiquidRows
from .storage import storage_range

SHADER, COVER_SHADER = "draw/liquid_shadow.wgsl", "draw/opacity_cover.wgsl"
WORKGROUP = 128
SUMS = 3  # of each texel
# What each entry point reads and writes, besides rows; 0 to 2 are the uniforms `View`, `Style` and `Lists`
KINDS = {"add_rows": {4: "written"}, "depths_of_texels": {4: "storage", 5: "stored light"}}


class LiquidShadow:
    """For maps of any size: `compute` outside of any pass, then `cover` in the pass that adds up all layers."""

    def __init__(self, gpu: Gpu, name: str, rows: LiquidRows, style_size: int):
        self._gpu, self._name, self._rows, self._style_size = gpu, name, rows, style_size
        self._texels, self._blocks = 0, list[Block]()  # those that are bound
        self._sums: Tensor | None = None
        uniforms = dict.fromkeys(range(3), "uniform")
        self._layouts = {
            entry: bind_group_layout(gpu, uniforms | rows.kinds | kinds, COMPUTE) for entry, kinds in KINDS.items()
        }
        self._pipelines = {
            entry: compute_pipeline(gpu, SHADER, entry, [layout], {**rows.defines, "ENTRY": entry})
            for entry, layout in self._layouts.items()
        }
        self._read = bind_group_layout(gpu, ("unfilterable",), FRAGMENT)
        self._cover = fullscreen_pipeline(
            *(gpu, COVER_SHADER, "cover_fragment", self._read),
            defines={"LIQUID": True},
            **pass_states(gpu, "opacity", over=True)._asdict(),
        )

    def compute(self, texels: int, frame: Frame, style_offset: int) -> None:
        """Record the optical depths of a map of so many `texels` along each side."""
        if texels != self._texels:
            self._resize(texels)
        assert self._sums is not None
        blocks = [self._sums.block, *self._rows.blocks]
        if blocks != self._blocks:
            self._bind()
            self._blocks = blocks
        recorder = self._gpu.recorder
        recorder.use(blocks)
        recorder.encoder.clear_buffer(self._sums.block.buffer, self._sums.offset, self._sums.nbytes)
        size = (texels, texels)
        offsets = frame.view_offset, style_offset, self._gpu.uniforms.push(self._rows.lists(size))
        groups = {
            "add_rows": workgroups(self._gpu, self._rows.count, WORKGROUP),
            "depths_of_texels": tiles(size),
        }
        for entry, count in groups.items():
            dispatch(self._gpu, "shadows", self._pipelines[entry], [self._groups[entry]], offsets, count)

    def cover(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        """Add what was found to the map."""
        pass_.set_pipeline(self._cover)
        pass_.set_bind_group(0, self._source)
        pass_.draw(3)

    def blocks(self) -> list[Block]:
        """The blocks that it owns."""
        return [] if self._sums is None else [self._sums.block]

    def close(self) -> None:
        """Release the memory. Idempotent."""
        if self._sums is not None:
            self._sums.close()
        self._sums, self._texels, self._groups = None, 0, dict[str, wgpu.GPUBindGroup]()

    def _resize(self, texels: int) -> None:
        self.close()
        self._sums = Tensor.empty((texels, texels, SUMS), u32, name=f"{self._name}.shadow")
        usage = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        self._depths = create_view(self._gpu, (texels, texels), OPACITY, usage)
        self._source = bind_group(self._gpu, self._read, [self._depths])
        self._texels, self._blocks = texels, []

    def _bind(self) -> None:
        assert self._sums is not None
        sizes = VIEW_SIZE, self._style_size, LISTS.size
        known: dict[int, Any] = {n: uniform_range(self._gpu, size) for n, size in enumerate(sizes)}
        known |= self._rows.resources() | {4: storage_range(self._gpu, self._sums, "a layer")[0], 5: self._depths}
        self._groups = {
            entry: bind_group(self._gpu, layout, {n: one for n, one in known.items() if n != 5 or 5 in KINDS[entry]})
            for entry, layout in self._layouts.items()
        }
