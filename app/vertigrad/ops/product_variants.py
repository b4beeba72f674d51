"""The variants of the kernels that multiply matrices, and which of them is for products of which size.

What the defaults rest on was measured on an H100 through Vulkan. There a multiprocessor gives all its workgroups
together 48 KiB of workgroup memory, and the compiler spends registers as if no more workgroups than fit ran next to
each other: tiles above 24 KiB were slow whatever they did.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ..gpu import Gpu
from .tuning import WORKGROUP_INVOCATIONS, WORKGROUP_STORAGE, Family

FEW = 8  # rows or columns up to which a product is one of a few rows with a matrix
SMALL = 16  # rows and columns up to which an invocation makes 4 x 4 elements by itself


class Tile(NamedTuple):
    """How `ops/matmul.wgsl` divides its work; the names are those of the shader."""

    rows: int
    columns: int
    step: int
    each_rows: int
    each_columns: int
    lanes: int = 8
    band: int = 8

    @property
    def threads(self) -> int:
        """Invocations of a workgroup."""
        return self.rows // self.each_rows * (self.columns // self.each_columns)

    @property
    def nbytes(self) -> int:
        """Bytes of workgroup memory, with padding, for values of four bytes."""
        return 2 * self.step * (self.rows + self.columns + 8) * 4


class Lines(NamedTuple):
    """How `ops/gemv.wgsl` divides its work; the names are those of the shader."""

    threads: int
    quads: int
    turns: int
    looped: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of workgroup memory."""
        return self.threads * 16


Variant: TypeAlias = Tile | Lines


def _named(*variants: Variant) -> dict[str, Variant]:
    return {"x".join(str(part) for part in variant if part is not False): variant for variant in variants}


OF_DOUBLES = Tile(32, 32, 8, 4, 4)  # 9 KiB of values of eight bytes: fits the minimum that WebGPU guarantees
_SMALLEST_TILE = Tile(64, 64, 8, 4, 4)  # fits the minimum that WebGPU guarantees, and is compiled soon
_TILES = {
    "wide many": Tile(128, 128, 8, 8, 8),
    "wide some": Tile(64, 128, 8, 8, 8),
    "wide few": Tile(64, 64, 16, 8, 4),
    "64 across": Tile(128, 64, 8, 8, 8, 4),
    "64 down": Tile(64, 128, 8, 8, 8),
    "32 across": Tile(128, 32, 8, 8, 8, 4),
    "32 down": Tile(32, 128, 16, 4, 8),
}
_OTHER_TILES = (
    *(_SMALLEST_TILE, Tile(128, 128, 8, 8, 8, 16), Tile(128, 64, 8, 8, 8), Tile(64, 64, 8, 8, 8)),
    *(Tile(64, 64, 16, 4, 8), Tile(32, 64, 16, 4, 8), Tile(64, 32, 8, 4, 4), Tile(32, 32, 16, 4, 4)),
)


def tiles_class(rows: int, columns: int, batch: int) -> str:
    """The class of sizes that `TILES` has one variant for: a narrow side, or how many tiles of 128 x 128 there are."""
    narrow = next((str(n) for n in (32, 64) if min(rows, columns) <= n), "wide")
    if narrow != "wide":
        return f"{narrow} across" if columns <= rows else f"{narrow} down"
    tiles = -(-rows // 128) * -(-columns // 128) * batch
    return f"wide {'few' if tiles <= 80 else 'some' if tiles <= 220 else 'many'}"


def _default_tile(key: str, gpu: Gpu) -> Variant:
    preferred = _TILES[key]
    return preferred if gpu.adapter.kind != "software" and _fits(preferred, key, gpu) else _SMALLEST_TILE


_LINES = {
    "row-major one": Lines(1024, 8, 16),
    "row-major some": Lines(512, 8, 16),
    "column-major one": Lines(256, 1, 1),
    "column-major some": Lines(128, 4, 4),
}
_SMALLEST_LINES = Lines(128, 4, 4)
_ON_A_CPU = Lines(128, 4, 1, looped=True)  # a CPU waits for no reads, and compiles the shortest kernel soonest
_OTHER_LINES = (
    *(_SMALLEST_LINES, _ON_A_CPU, Lines(256, 4, 8), Lines(256, 4, 16), Lines(256, 2, 2), Lines(256, 8, 4)),
    *(Lines(512, 1, 1), Lines(512, 4, 4), Lines(1024, 8, 8)),
)


def lines_class(rows: int, column_major: bool) -> str:
    """The class of sizes with one variant in `LINES`: the layout of the matrix, and how many rows go through it."""
    return f"{'column-major' if column_major else 'row-major'} {'one' if rows <= 2 else 'some'}"


def _default_lines(key: str, gpu: Gpu) -> Variant:
    if gpu.adapter.kind == "software":
        return _ON_A_CPU
    preferred = _LINES[key]
    return preferred if _fits(preferred, key, gpu) else _SMALLEST_LINES


def _fits(variant: Variant, key: str, gpu: Gpu) -> bool:
    return variant.nbytes <= gpu.limits[WORKGROUP_STORAGE] and variant.threads <= gpu.limits[WORKGROUP_INVOCATIONS]


TILES = Family("matmul", 1, _named(*_TILES.values(), *_OTHER_TILES), _default_tile, _fits)
LINES = Family("gemv", 1, _named(*_LINES.values(), *_OTHER_LINES), _default_lines, _fits)
