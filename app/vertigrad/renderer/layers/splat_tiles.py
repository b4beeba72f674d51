"""`SplatTiles`: many splats, blended tile by tile in compute, which ends at each pixel where nothing behind is seen."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import wgpu

from ...gpu import Gpu, Kernel, Plan
from ...memory import Block
from ...ops.scans import scan
from ...ops.sorting import argsort, sort_pairs
from ...tensor import Tensor, u32
from ..bindings import COMPUTE, FRAGMENT, bind_group, bind_group_layout, lighting_layout, uniform_range
from ..pipelines import compute_pipeline, dispatch, fullscreen_pipeline, workgroups
from ..target import COLOR, NO_DEPTH_TEST, SAMPLES, Colors, handles_samples, pass_states
from ..view_uniforms import VIEW_SIZE
from .attributes import Bound
from .base import Frame
from .drawing import Drawing
from .latest_values import LatestValues
from .storage import storage_range

SHADER, LISTS_SHADER, COVER_SHADER = "draw/splat_tiles.wgsl", "draw/splat_lists.wgsl", "draw/splat_tiles_cover.wgsl"
MANY = 1 << 8  # from so many rows on, tiles are faster than the rasterizer
SOFTWARE_MANY = 1 << 15  # on a software adapter
TILE = 16  # pixels, across and down; mirrored in the shader
WORDS = 8  # of a `Projected` in the shader
PAIRS_A_ROW = 4  # of tiles and rows, that there is memory for at first
PAIRS = 1 << 16  # memory for pairs grows by so many
WORKGROUP = 128
FIRST = 20  # the binding of positions in the shader
STORAGE_BUFFERS = 16  # that the shaders bind at most
CACHED = 8  # bind groups


def blends_in_tiles(gpu: Gpu, rows: int) -> bool:
    """Whether there are enough splats for tiles, and shaders can read samples and bind what they need."""
    enough = gpu.limits["max-storage-buffers-per-shader-stage"] >= STORAGE_BUFFERS
    many = SOFTWARE_MANY if gpu.adapter.kind == "software" else MANY
    return rows >= many and enough and handles_samples(gpu)


class SplatTiles:
    """Splats blended in compute, for images of any size: `gather` after opaque objects, then `cover` as they blend.

    There is memory for a number of pairs of a tile and a row. If an image has more, `draw` gets all visible rows, for
    quads that are rasterized instead, and later images have more memory; else `draw` gets none. `order` are the rows
    by distance.
    """

    def __init__(
        self, drawing: Drawing, read: dict[str, Bound], defines: Mapping[str, Any], order: Tensor, draw: Tensor
    ):
        self._gpu, self._name, self._drawing, self._read = drawing.gpu, drawing.name, drawing, read
        self._order, self._draw, self._defines = order, draw, defines
        self._groups: OrderedDict[Any, wgpu.GPUBindGroup] = OrderedDict()
        self._covers: dict[Colors, wgpu.GPURenderPipeline] = {}
        self._size = (0, 0)
        self._capacity = self._rounded(PAIRS_A_ROW * drawing.attributes.rows)
        self._sized, self._of_rows = ExitStack(), ExitStack()  # what depends on the image and the capacity; the rest
        self._layouts = {
            "compute": bind_group_layout(self._gpu, self._kinds(), COMPUTE),
            "cover": bind_group_layout(self._gpu, {0: "uniform", 1: "storage"}, FRAGMENT),
        }
        groups = [self._layouts["compute"]]
        if defines["SHADOWED"]:
            groups.append(lighting_layout(self._gpu))
        self._computes = {
            entry: compute_pipeline(self._gpu, SHADER, entry, groups, defines) for entry in ("project", "blend")
        }
        rows = drawing.attributes.rows
        with ExitStack() as stack:
            self._projected, self._keys = self._words(stack, "projected", rows, WORDS), self._words(stack, "keys", rows)
            self._counts, self._rects = self._words(stack, "counts", rows), self._words(stack, "rects", rows, 2)
            self._total = self._words(stack, "pairs", 1)
            self._pairs = LatestValues(self._total)
            self._of_rows = stack.pop_all()

    def fits(self, frame: Frame) -> bool:
        """Whether the pixels of the image fit into a storage binding, and are of half floats, as tiles store them."""
        width, height = self._viewport(frame)
        if frame.colors.format != COLOR:
            return False
        return width * height * SAMPLES * 8 <= self._gpu.limits["max-storage-buffer-binding-size"]

    def gather(self, frame: Frame, style_offset: int) -> None:
        """Blend all splats, as far as nothing opaque hides them."""
        self._grow()
        if self._viewport(frame) != self._size:
            self._resize(*self._viewport(frame))
        across, down = self._tiles()
        self._dispatch("project", frame, style_offset, workgroups(self._gpu, self._drawing.attributes.rows, WORKGROUP))
        self._lists.replay()
        self._dispatch("blend", frame, style_offset, (across, down))
        self._pairs.request()

    def cover(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw what was blended."""
        offset = self._gpu.uniforms.push(struct.pack("<I12x", self._size[0]))
        pass_.set_pipeline(self._cover_pipeline(frame.colors))
        pass_.set_bind_group(0, self._group("cover", None), (offset,))
        pass_.draw(3)

    def blocks(self) -> list[Block]:
        """The blocks that it owns."""
        owned = (self._projected, self._keys, self._counts, self._rects, self._total)
        return [one.block for one in (*owned, *((self._ranges, self._rows, self._pixels) if self._size[0] else ()))]

    def report(self) -> dict[str, int]:
        """The pairs of the latest image that was counted, and those that there is memory for."""
        found = self._pairs.wait()
        return {"pairs": 0 if found is None else int(found[0]), "capacity": self._capacity}

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._sized.close()
        self._of_rows.close()
        self._groups.clear()

    def _grow(self) -> None:
        """Make room for the pairs of an earlier image, when their number has arrived."""
        found = self._pairs.take()
        pairs = 0 if found is None else int(found[0])
        if pairs > self._capacity:
            capacity = min(self._rounded(pairs + pairs // 4), self._gpu.limits["max-storage-buffer-binding-size"] // 4)
            if capacity > self._capacity:
                self._capacity, self._size = capacity, (0, 0)

    def _resize(self, width: int, height: int) -> None:
        self._sized.close()
        self._groups.clear()
        self._size = width, height
        across, down = self._tiles()
        with ExitStack() as stack:
            self._ranges = self._words(stack, "ranges", across * down, 2)
            self._pixels = self._words(stack, "pixels", width * height * SAMPLES, 2)
            self._rows = self._words(stack, "rows", self._capacity)
            self._lists = self._recorded(stack, across, across * down)
            self._sized = stack.pop_all()

    def _recorded(self, stack: ExitStack, across: int, tiles: int) -> Plan:
        """The kernels that sort rows by distance, and into lists of the tiles."""
        rows, capacity = self._drawing.attributes.rows, self._capacity
        bits = 8 * -(-(tiles + 1).bit_length() // 8)
        touched, starts = (self._words(stack, name, rows) for name in ("touched", "starts"))
        names = "tiles", "pair_rows", "sorted_tiles"
        pair_tiles, pair_rows, sorted_tiles = (self._words(stack, name, capacity) for name in names)
        plan = stack.enter_context(Plan(f"{self._name}.lists"))
        sizes = {"rows": rows, "capacity": capacity, "across": across, "tiles": tiles, "none": (1 << bits) - 1}

        def add(entry: str, threads: int, overwrites: tuple[str, ...], **tensors: Tensor) -> None:
            kernel = Kernel.load(LISTS_SHADER, entry, {"ENTRY": entry})
            plan.dispatch(kernel, threads, overwrites=overwrites, **tensors, **sizes)

        with plan.recording():
            argsort(self._keys, out=self._order)
        order = self._order.bitcast(u32)
        add("ordered", rows, ("touched",), order=order, counts=self._counts, touched=touched)
        with plan.recording():
            scan("sum", touched, exclusive=True, out=starts)
        pairs = {"pair_tiles": pair_tiles, "pair_rows": pair_rows}
        add("pair", rows, tuple(pairs), order=order, touched=touched, starts=starts, rects=self._rects, **pairs)
        written = {"pair_tiles": pair_tiles, "ranges": self._ranges, "total": self._total, "draw": self._draw}
        add("finish", max(capacity, tiles), ("ranges", "total", "draw"), touched=touched, starts=starts, **written)
        with plan.recording():
            sort_pairs(pair_tiles, pair_rows, key_bits=bits, out=(sorted_tiles, self._rows))
        add("delimit", capacity, (), sorted=sorted_tiles, total=self._total, ranges=self._ranges)
        return plan

    def _words(self, stack: ExitStack, name: str, *shape: int) -> Tensor:
        return stack.enter_context(Tensor.empty(shape, u32, name=f"{self._name}.{name}"))

    def _rounded(self, pairs: int) -> int:
        return max(-(-pairs // PAIRS), 1) * PAIRS

    def _viewport(self, frame: Frame) -> tuple[int, int]:
        assert frame.depth is not None
        width, height, _ = frame.depth.texture.size
        return width, height

    def _tiles(self) -> tuple[int, int]:
        width, height = self._size
        return -(-width // TILE), -(-height // TILE)

    def _dispatch(self, entry: str, frame: Frame, style_offset: int, workgroups: tuple[int, int]) -> None:
        self._gpu.recorder.use(self.blocks())
        groups = [self._group("compute", frame.depth)]
        if self._defines["SHADOWED"] and frame.lighting is not None:
            groups.append(frame.lighting)
        dispatch(self._gpu, "layers", self._computes[entry], groups, (frame.view_offset, style_offset), workgroups)

    def _group(self, kind: str, depth: wgpu.GPUTextureView | None) -> wgpu.GPUBindGroup:
        style = self._drawing.style
        key = (kind, depth, style.colormap, style.colormap_flip, *self._drawing.blocks())
        if key not in self._groups:
            sources = self._sources(depth) if kind == "compute" else {0: uniform_range(self._gpu, 16), 1: self._pixels}
            resources = {n: self._range(one) if isinstance(one, Tensor) else one for n, one in sources.items()}
            self._groups[key] = bind_group(self._gpu, self._layouts[kind], resources)
            if len(self._groups) > CACHED:
                self._groups.popitem(last=False)
        return self._groups[key]

    def _range(self, tensor: Tensor) -> dict[str, Any]:
        return storage_range(self._gpu, tensor, "a layer")[0]

    def _sources(self, depth: wgpu.GPUTextureView | None) -> dict[int, Any]:
        """The resources, by their binding in the shader."""
        gpu, extent = self._gpu, self._drawing.extent
        written = (self._projected, self._keys, self._counts, self._rects, self._ranges, self._rows, self._pixels)
        uniforms = [uniform_range(gpu, size) for size in (VIEW_SIZE, self._drawing.pipelines.style.size)]
        found: dict[int, Any] = dict(enumerate([*uniforms, *written, depth]))
        rows = [bound.resource(gpu)[0] for bound in self._read.values()]
        rest = [] if extent is None else [extent.pair, *self._drawing.colormap()]
        return found | dict(enumerate([*rows, *rest], FIRST))

    def _kinds(self) -> dict[int, str]:
        """The kinds of the resources, by their binding in the shader."""
        own = ["uniform"] * 2 + ["written"] * 4 + ["storage"] * 2 + ["written", "depth samples"]
        read = ["storage"] * len(self._read)
        read += ["storage", "texture", "sampler"] if self._drawing.extent is not None else []
        return dict(enumerate(own)) | dict(enumerate(read, FIRST))

    def _cover_pipeline(self, colors: Colors) -> wgpu.GPURenderPipeline:
        if colors not in self._covers:
            states = pass_states(self._gpu, "color", over=True, colors=colors, display_referred=True)
            self._covers[colors] = fullscreen_pipeline(
                self._gpu,
                COVER_SHADER,
                "cover_fragment",
                self._layouts["cover"],
                **states._replace(depth=NO_DEPTH_TEST)._asdict(),
            )
        return self._covers[colors]
