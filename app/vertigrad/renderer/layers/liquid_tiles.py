"""`LiquidTiles`: what the lines of sight meet of a liquid's particles, computed tile by tile.

A rasterizer writes each particle to every pixel that it covers; GPUs that are made for computing write few pixels at a
time (record 0169).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import wgpu

from ...gpu import Gpu, Plan
from ...memory import Block
from ...ops.scans import scan
from ...tensor import Tensor, f32, u32
from ..bindings import COMPUTE, bind_group, bind_group_layout, uniform_range
from ..pipelines import compute_pipeline, dispatch, workgroups
from ..target import create_view
from ..view_uniforms import VIEW_SIZE
from .base import Frame
from .latest_values import LatestValues
from .liquid_rows import LISTS, LiquidRows
from .storage import storage_range

LISTS_SHADER, SHADER = "draw/liquid_lists.wgsl", "draw/liquid_tiles.wgsl"
FRONT, COLUMN, BEHIND = "rg32float", "rg32float", "rgba32float"  # mirrored in the shader
TILE = 16  # pixels, across and down
PARTS = 4  # of the particles of a tile, each compared by invocations of its own
SOFTWARE_TILE, SOFTWARE_PARTS = 8, 1  # on a software adapter, where particles are small
CROWDED_PARTS = 8  # there, where an image has more than `MOST_ALONE` particles a tile: llvmpipe ends all loops of an
MOST_ALONE = 100  # invocation after 65,535 iterations together, and a particle takes up to seven
LEVELS = 12  # of sizes of tiles: the last one is wider than any image
WORKGROUP = 128
PAIRS_A_ROW = 24  # of tiles and rows, that there is memory for at first
PAIRS = 1 << 16  # memory for pairs grows by so many
MOST_PAIRS = 1 << 24  # and to so many: where more particles fill an image, tiles are larger
ENTRIES = ("project", "count", "scatter", "find_fronts", "find_behinds")
LISTED = {3: ("particles", "storage"), 4: ("totals", "storage"), 5: ("starts", "storage"), 6: ("rows", "storage")}
# What each entry point reads and writes, by its binding; 0 to 2 are the uniforms `View`, `Style` and `Lists`
BOUND: Mapping[str, Mapping[int, tuple[str, str]]] = {
    "project": {4: ("particles", "written"), 5: ("rects", "written"), 6: ("totals", "written")},
    "count": {5: ("rects", "storage"), 6: ("totals", "storage"), 7: ("counts", "written")},
    "scatter": {
        **{5: ("rects", "storage"), 6: ("totals", "storage"), 7: ("counts", "written")},
        **{8: ("starts", "storage"), 9: ("rows", "written")},
    },
    "find_fronts": {
        **LISTED,
        **{7: ("depth", "depth samples"), 8: ("fronts", "stored pairs"), 9: ("columns", "stored pairs")},
    },
    "find_behinds": {
        **LISTED,
        **{7: ("fronts", "unfilterable"), 8: ("columns", "unfilterable"), 9: ("behinds", "stored")},
    },
}


class LiquidTiles:
    """For images of any size: `record` after opaque objects, outside of any pass.

    `fronts` has for each pixel the distance and the size of the foremost particle, `columns` the lengths of liquid,
    `behinds` the surface behind what is thin: shaders/draw/liquid_tiles.wgsl. There is memory for a number of pairs of
    a tile and a particle; an image with more has larger tiles, which take longer, and later ones more memory.
    """

    fronts: wgpu.GPUTextureView
    columns: wgpu.GPUTextureView
    behinds: wgpu.GPUTextureView

    def __init__(self, gpu: Gpu, name: str, read: LiquidRows, style_size: int):
        self._gpu, self._name, self._read, self._style_size = gpu, name, read, style_size
        self._rows = rows = read.count
        self._is_software = gpu.adapter.kind == "software"
        self._tile = SOFTWARE_TILE if self._is_software else TILE
        self._defines = {"TILE": self._tile, "PARTS": self._parts(0.0), "LEVELS": LEVELS, **read.defines}
        self._size, self._capacity = (0, 0), _rounded(min(PAIRS_A_ROW * rows, MOST_PAIRS), rows)
        self._depth: wgpu.GPUTextureView | None = None  # that is bound
        self._blocks: list[Block] = []  # that are bound
        self._sized, self._of_rows = ExitStack(), ExitStack()  # what depends on the image and the capacity; the rest
        with ExitStack() as stack:
            self._stored = {
                "particles": stack.enter_context(Tensor.empty((rows, 4), f32, name=f"{name}.particles")),
                "rects": stack.enter_context(Tensor.empty((rows, 2), u32, name=f"{name}.rects")),
                "totals": stack.enter_context(Tensor.empty((LEVELS, 2), u32, name=f"{name}.pairs")),
            }
            self._pairs = LatestValues(self._stored["totals"])
            self._layouts = {entry: bind_group_layout(gpu, self._kinds(entry), COMPUTE) for entry in ENTRIES}
            self._of_rows = stack.pop_all()
        self._pipelines = {entry: self._pipeline(entry) for entry in ENTRIES}

    def record(self, frame: Frame, style_offset: int) -> None:
        """Record the lists and what is computed from them."""
        self._grow()
        if frame.size != self._size:
            self._resize(frame.size)
        blocks = [*self.blocks(), *self._read.blocks]
        if (blocks, frame.depth) != (self._blocks, self._depth):
            self._bind(frame)
            self._blocks, self._depth = blocks, frame.depth
        recorder, totals = self._gpu.recorder, self._stored["totals"]
        recorder.use(blocks)
        recorder.encoder.clear_buffer(totals.block.buffer, totals.offset, totals.nbytes)
        offsets = frame.view_offset, style_offset, self._gpu.uniforms.push(self._read.lists(self._size, self._capacity))
        groups = workgroups(self._gpu, self._rows, WORKGROUP)
        self._dispatch("project", offsets, groups)
        self._dispatch("count", offsets[2:], groups)
        self._starts.replay()
        self._dispatch("scatter", offsets[2:], groups)
        for entry in ("find_fronts", "find_behinds"):
            self._dispatch(entry, offsets, self._tiles(self._size))
        self._pairs.request()

    def blocks(self) -> list[Block]:
        """The blocks that it owns."""
        return [tensor.block for tensor in self._stored.values()]

    def report(self) -> dict[str, int]:
        """The pairs that there is memory for."""
        return {"capacity": self._capacity}

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._sized.close()
        self._of_rows.close()
        self._groups = {}

    def _grow(self) -> None:
        """Make room for the pairs of an earlier image, when their number has arrived."""
        found = self._pairs.take()
        if found is None:
            return
        low, high = found[0]
        needed = min(int(low) + (int(high) << 32), MOST_PAIRS)
        if needed > self._capacity:
            self._capacity, self._size = _rounded(min(needed + needed // 4, MOST_PAIRS), self._rows), (0, 0)

    def _resize(self, size: tuple[int, int]) -> None:
        """Create what depends on the size of the image, and on the capacity."""
        self._sized.close()
        self._size = (0, 0)  # until there is memory for all of it
        across, down = self._tiles(size)
        with ExitStack() as stack:
            # One more than there are tiles: where the last list ends.
            counts = stack.enter_context(Tensor.zeros(across * down + 1, u32, name=f"{self._name}.counts"))
            starts = stack.enter_context(Tensor.empty(across * down + 1, u32, name=f"{self._name}.starts"))
            rows = stack.enter_context(Tensor.empty(self._capacity, u32, name=f"{self._name}.rows"))
            self._starts = stack.enter_context(Plan(f"{self._name}.lists"))
            with self._starts.recording():
                scan("sum", counts, exclusive=True, out=starts)
            self._sized = stack.pop_all()
        self._stored |= {"counts": counts, "starts": starts, "rows": rows}
        usage = wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.TEXTURE_BINDING
        formats = FRONT, COLUMN, BEHIND
        self.fronts, self.columns, self.behinds = (create_view(self._gpu, size, one, usage) for one in formats)
        self._blocks, self._size = [], size
        self._divide(self._parts(self._rows / (across * down)))

    def _divide(self, parts: int) -> None:
        """Have so many invocations share the particles of a tile."""
        if parts != self._defines["PARTS"]:
            self._defines["PARTS"] = parts
            self._pipelines |= {entry: self._pipeline(entry) for entry in ENTRIES if entry.startswith("find")}

    def _parts(self, rows_a_tile: float) -> int:
        if not self._is_software:
            return PARTS
        return SOFTWARE_PARTS if rows_a_tile <= MOST_ALONE else CROWDED_PARTS

    def _bind(self, frame: Frame) -> None:
        """Create the bind groups for an image with the depth of this frame."""
        gpu = self._gpu
        sizes = {0: VIEW_SIZE, 1: self._style_size, 2: LISTS.size}
        known: dict[str, Any] = {"fronts": self.fronts, "columns": self.columns, "behinds": self.behinds}
        known |= {name: storage_range(gpu, tensor, "a layer")[0] for name, tensor in self._stored.items()}
        known["depth"] = frame.depth
        self._groups = {}
        for entry in ENTRIES:
            resources = self._read.resources() if entry == "project" else {}
            resources = resources | {binding: known[name] for binding, (name, _) in BOUND[entry].items()}
            uniforms = {n: uniform_range(gpu, sizes[n]) for n, kind in self._kinds(entry).items() if kind == "uniform"}
            self._groups[entry] = bind_group(gpu, self._layouts[entry], uniforms | resources)

    def _kinds(self, entry: str) -> dict[int, str]:
        """The kinds of the resources of an entry point, by their binding."""
        uniforms = {2: "uniform"} if entry in ("count", "scatter") else dict.fromkeys(range(3), "uniform")
        kinds = uniforms | {binding: kind for binding, (_, kind) in BOUND[entry].items()}
        if entry == "project":
            kinds |= self._read.kinds
        return kinds

    def _pipeline(self, entry: str) -> wgpu.GPUComputePipeline:
        shader = SHADER if entry.startswith("find") else LISTS_SHADER
        defines = {**self._defines, "ENTRY": entry}
        return compute_pipeline(self._gpu, shader, entry, [self._layouts[entry]], defines)

    def _dispatch(self, entry: str, offsets: tuple[int, ...], groups: tuple[int, int]) -> None:
        dispatch(self._gpu, "layers", self._pipelines[entry], [self._groups[entry]], offsets, groups)

    def _tiles(self, size: tuple[int, int]) -> tuple[int, int]:
        width, height = size
        return -(-width // self._tile), -(-height // self._tile)


def _rounded(pairs: int, rows: int) -> int:
    """A capacity for so many pairs, and for one of each row: those of tiles that are as large as the image."""
    return -(-max(pairs, rows) // PAIRS) * PAIRS
