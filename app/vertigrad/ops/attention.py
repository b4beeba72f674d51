"""Attention over f32 or f16, computed in f32, whose scores are never written to memory; and over f64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import DtypeError, LimitError, ShapeError
from ..gpu import Kernel, gpu
from ..tensor import Tensor, f64, i32, promote
from . import attention_rows, launch
from .attention_doubles import attend
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign

WIDTHS = (32, 64, 128, 256)  # head sizes that have kernels; others are filled up to the next
ROWS = 8  # that one invocation works on
UNROLL = 16  # steps of a product written out in a row: more do not fit into the cache for instructions
# Invocations of a workgroup, columns of the result and keys of a tile for each, part and gap as in `Tiling`: the
# fastest on an H100 first (1.5 ms, 2.0, 2.4 for 8 heads of 4096 x 64), then what fits into less memory.
CHOICES = (
    *((128, 4, 4, 2048, 1), (128, 4, 4, 2048, 0), (128, 4, 4, 1024, 1), (64, 8, 8, 2048, 1), (64, 8, 8, 1024, 1)),
    *((64, 8, 4, 1024, 1), (64, 8, 4, 512, 1), (64, 8, 4, 512, 0)),
)


class Tiling(NamedTuple):
    """Invocations along a row, rows in groups of eight, keys of a tile, and elements of k or v held at a time.

    `gap` is how many quads are unused between lines of workgroup memory, to keep its banks apart.
    """

    lanes: int
    groups: int
    keys: int
    part: int
    gap: int

    @staticmethod
    def of(width: int, width_out: int, storage: int) -> Tiling:
        """The first of `CHOICES` that fits into `storage` bytes of workgroup memory. Raises `LimitError`."""
        for threads, columns, each_keys, part, gap in CHOICES:
            lanes = max(8, width_out // columns)
            tiling = Tiling(lanes, threads // lanes, lanes * each_keys, part, gap)
            whole = 4 * tiling.keys <= part <= width * tiling.keys and width_out <= part <= width_out * tiling.keys
            if whole and tiling.nbytes(width, width_out) <= storage:
                return tiling
        raise LimitError(f"attention: heads of {width} need more than {storage} bytes of workgroup memory")

    def nbytes(self, width: int, width_out: int) -> int:
        """Bytes of workgroup memory, as ops/attention.wgsl declares it."""
        rows = ROWS * self.groups
        line = rows // 4 + self.gap
        part = max(self.part // self.keys * (self.keys // 4 + self.gap), self.part // width_out * (width_out // 4))
        return 16 * (width * line + self.keys * line + part) + 4 * (rows * (self.lanes + 1) + 2 * rows)


@differentiable
def attention(
    q: Operand,
    k: Operand,
    v: Operand,
    mask: Operand | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    left: int | None = None,
    right: int | None = None,
    offset: int | None = None,
    lengths: Operand | None = None,
    softcap: float = 0.0,
    out: Tensor | None = None,
) -> Tensor:
    """softmax(q kᵀ · scale + mask) v for each head: (N, H, queries, width of v).

    q is (N, H, queries, width), k and v (N, H', keys, width) and (N, H', keys, width of v), where H' divides H: each of
    their heads serves H / H' neighboring heads of q. The mask is broadcast to (N, H, queries, keys): a bool says what
    may be attended, a float is added. `scale` is 1 / √width where none is given; `softcap` c holds scores to ±c by
    c · tanh(s / c) before the mask. Query i stands at key i + `offset`, and attends `left` keys before that (None: all)
    and `right` after it; `causal` is `right` = 0. `lengths` (N,), i32, are the keys that each member has; the offset is
    then lengths − queries unless it is given. A row that may attend nothing is 0. Raises `ShapeError`, `DtypeError`,
    and `LimitError` for heads wider than 256.
    """
    with launch.tensors(q, k, v, mask, lengths) as (query, key, value, bias, counts):
        shape = _shape(query, key, value, bias, counts)
        dtype = promote(promote(query.dtype, key.dtype), value.dtype)
        if not dtype.is_real:
            raise DtypeError(f"attention of {dtype}; cast it first with .to('f32')")
        if min(left or 0, right or 0) < 0:
            raise ShapeError(f"attention: a window of {left} keys before and {right} after; None means all")
        out = launch.prepare_output("attention", shape, dtype, out)
        if out.size:
            widest = shape[2] + key.shape[2] + abs(offset or 0)  # a wider window has the same keys, but sums overflow
            bounds: dict[str, Any] = {
                "left": -1 if left is None else min(left, widest),
                "right": 0 if causal else -1 if right is None else min(right, widest),
                "offset": offset or 0,
                "by_length": int(counts is not None and offset is None),
                "scale": 1 / math.sqrt(max(query.shape[3], 1)) if scale is None else scale,
                "cap": softcap,
            }
            ready: list[Any] = [launch.copy_if_aliased(tensor, out) for tensor in (query, key, value, bias, counts)]
            if dtype is f64:
                return assign(out, attend(*ready, bounds=bounds))
            _launch(ready, out, bounds)
    return out


def _shape(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, lengths: Tensor | None) -> tuple[int, ...]:
    shapes = f"q {q.shape}, k {k.shape} and v {v.shape}"
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ShapeError(f"attention: {shapes} must be (n, heads, length, width)")
    heads, shared = q.shape[1], k.shape[1]
    alike = q.shape[0] == k.shape[0] == v.shape[0] and q.shape[3] == k.shape[3] and k.shape[1:3] == v.shape[1:3]
    if not alike or (heads and (not shared or heads % shared)):
        raise ShapeError(f"attention: {shapes} do not go together")
    if mask is not None:
        if mask.dtype.kind not in ("float", "bool", q.dtype.kind):
            raise DtypeError(f"attention: a mask of {mask.dtype}; it must be of bools or floats")
        mask.expand(*q.shape[:3], k.shape[2])  # raises if it does not broadcast
    if lengths is not None and (lengths.shape != q.shape[:1] or lengths.dtype is not i32):
        raise ShapeError(f"attention: lengths {lengths.dtype} {lengths.shape}; they must be i32 {q.shape[:1]}")
    return (*q.shape[:3], v.shape[3])


def _launch(operands: Sequence[Any], out: Tensor, bounds: dict[str, Any]) -> None:
    q, k, v, mask, lengths = operands
    members, heads, queries, width = q.shape
    width_out = v.shape[3]
    filled = _filled(width), _filled(max(width_out, width if width > 64 else 0))  # few rows: a wide q takes the room
    if attention_rows.suits(q, mask, max(filled)):
        attention_rows.launch_rows(operands, out, bounds, max(filled), all(_in_quads(t) for t in (q, k, v, out)))
        return
    tiling = Tiling.of(*filled, gpu().limits["max-compute-workgroup-storage-size"])
    wide = None if mask is None else mask.expand(members, heads, queries, k.shape[2])
    kernel = Kernel.load(
        "ops/attention.wgsl",
        defines={
            **{"Q": q.dtype.name, "K": k.dtype.name, "V": v.dtype.name, "OUT": out.dtype.name},
            **{"MASK": "" if mask is None else mask.dtype.name, "LENGTHS": lengths is not None},
            **{"WIDTH": filled[0], "WIDTH_OUT": filled[1], "KEYS": tiling.keys, "LANES": tiling.lanes},
            **{"GROUPS": tiling.groups, "PART": tiling.part, "GAP": tiling.gap, "CAPPED": bounds["cap"] > 0},
            **{"UNROLL": UNROLL, "WIDE": all(_in_quads(t) for t in (k, v))},
        },
    )
    kernel(
        -(-queries // (ROWS * tiling.groups)) * heads * members * tiling.lanes * tiling.groups,
        overwrites=("out",),
        queries=queries,
        keys=k.shape[2],
        heads=heads,
        members=members,
        group_size=heads // k.shape[1],
        width=width,
        width_out=width_out,
        **launch.strided(q=q, k=k, v=v, out=out, mask=wide, lengths=lengths),
        **bounds,
    )


def _in_quads(tensor: Tensor) -> bool:
    """Whether four neighboring elements of a row can always be read at once."""
    if tensor.dtype.kind != "float":
        return False
    strides = launch.element_strides(tensor)
    even = all(n % 4 == 0 for n in (*strides[:3], tensor.shape[3], tensor.offset // tensor.itemsize))
    return even and strides[3] == 1 and tensor.extent % (4 * tensor.itemsize) == 0 and tensor.size > 0


def _filled(width: int) -> int:
    """The head size of the kernel to be used. Raises `LimitError`."""
    fitting = [n for n in WIDTHS if n >= width]
    if not fitting:
        raise LimitError(f"attention: a head of {width}; {WIDTHS[-1]} at most")
    return fitting[0]
