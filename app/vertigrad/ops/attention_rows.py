"""Attention of many queries with narrow heads: four invocations of a subgroup have four rows in their registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..gpu import Kernel, gpu
from ..tensor import Tensor
from . import launch, paths

WIDEST = 64  # of a head
ROWS, KEYS = 128, 16  # of a workgroup, and of a tile; two invocations for each row take tiles in turn
FEWEST = 96  # workgroups that keep a large GPU busy
ROUND = 132  # multiprocessors of a large GPU: what it starts at the same time


def suits(q: Tensor, mask: Tensor | None, width: int) -> bool:
    """Whether heads, filled up to `width`, are to be multiplied by this kernel: where it was measured to be faster."""
    limits = gpu().limits
    fits = limits["max-compute-workgroup-storage-size"] >= 32 * KEYS * width + 8 * ROWS
    fits &= limits["max-compute-invocations-per-workgroup"] >= 2 * ROWS
    shuffles = paths.path().subgroup >= 4 and not paths.is_software()
    return fits and shuffles and mask is None and width <= WIDEST and _workgroups(q) >= FEWEST


def launch_rows(operands: Sequence[Any], out: Tensor, bounds: dict[str, Any], width: int, wide: bool) -> None:
    """Record it for q, k, v, no mask, and lengths or None, in heads filled up to `width`."""
    q, k, v, _, lengths = operands
    types = {"Q": q.dtype.name, "K": k.dtype.name, "V": v.dtype.name, "OUT": out.dtype.name}
    shape = {"WIDTH": width, "WIDE": wide, "ROWS": ROWS, "KEYS": KEYS, "ROUND": ROUND}
    own = {"LENGTHS": lengths is not None, "CAPPED": bounds["cap"] > 0, "SUBGROUP": paths.path().subgroup}
    Kernel.load("ops/attention_rows.wgsl", defines=types | shape | own)(
        2 * ROWS * _workgroups(q),
        overwrites=("out",),
        queries=q.shape[2],
        keys=k.shape[2],
        heads=q.shape[1],
        members=q.shape[0],
        group_size=q.shape[1] // k.shape[1],
        width=q.shape[3],
        width_out=v.shape[3],
        **launch.strided(q=q, k=k, v=v, out=out, mask=None, lengths=lengths),
        **bounds,
    )


def _workgroups(q: Tensor) -> int:
    return -(-q.shape[2] // ROWS) * q.shape[0] * q.shape[1]
